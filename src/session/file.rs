//! One saved chat's file, opened to be written: locked, put right if it was damaged, appended to, and
//! written anew where it was taken away.
//!
//! **It never holds less than what was acknowledged**: an append is whole or undone, and nothing is cut
//! off a file that was damaged before a copy of it stands beside it.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::export::sentence;
use super::log::{self, Flaw, Log, MAX_FILE};
use super::record::{Record, encode};
use crate::files;

/// Another program has the chat open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this chat is open in another speck: leave it there first, or start a new chat (speck chat without --resume)"
)]
pub struct InUse;

/// A file that records are appended to.
#[derive(Debug)]
pub struct SessionFile {
    file: File,
    path: PathBuf,
    /// The number of the next record.
    seq: u64,
    /// Bytes of whole records.
    length: u64,
}

impl SessionFile {
    /// Makes a new file of these records in a folder that exists: whole, or not at all. An error when
    /// there is one of that name.
    pub fn create(path: &Path, records: &[Record]) -> io::Result<Self> {
        Self::make(path, |new| {
            must_be_free(path)?;
            new.append(records, true)
        })
    }

    /// Makes a file that `fill` writes, locked before anyone sees it: beside its place, then in it.
    fn make(path: &Path, fill: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<Self> {
        let new = path.with_extension("new");
        let mut options = File::options();
        options.read(true).append(true).create_new(true).mode(0o600);
        let mut this = Self {
            file: options.open(&new)?,
            path: path.to_owned(),
            seq: 0,
            length: 0,
        };
        let made = lock(&this.file)
            .map_err(io::Error::other)
            .and_then(|()| fill(&mut this))
            .and_then(|()| fs::rename(&new, path));
        if made.is_err() {
            let _ = fs::remove_file(&new);
        }
        made?;
        // So that the file's name is on the disk too. Where a folder cannot be synced the file is there all the
        // same, and a failure would make another.
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).ok();
        }
        Ok(this)
    }

    /// Whether its path still leads to it: it may have been deleted, moved or replaced meanwhile.
    pub fn is_in_place(&self) -> io::Result<bool> {
        let own = self.file.metadata()?;
        match fs::metadata(&self.path) {
            Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
            Err(error) if is_nowhere(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a new file of all that this one holds, which need not be in its place any more. An error when
    /// there is one of that name.
    pub fn copy(&self, path: &Path) -> io::Result<Self> {
        Self::make(path, |new| {
            must_be_free(path)?;
            (&self.file).rewind()?;
            io::copy(&mut (&self.file).take(self.length), &mut new.file)?;
            new.file.sync_data()?;
            new.seq = self.seq;
            new.length = self.length;
            Ok(())
        })
    }

    /// Opens a chat to go on with it: its records, and what had to be put right, if anything.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>, Option<String>)> {
        // Not through a pipe or a device that has its name.
        files::open(path)?;
        let file = File::options().read(true).append(true).open(path)?;
        lock(&file)?;
        let Log {
            records,
            next,
            good,
            flaws,
        } = log::read(BufReader::new(&file))?;
        let mut this = Self {
            file,
            path: path.to_owned(),
            seq: next,
            length: good,
        };
        let repaired = this.repair(&flaws, &records)?;
        Ok((this, records, repaired))
    }

    /// Cuts off what is not whole, and writes a file without a header anew with one; says what that was.
    fn repair(&mut self, flaws: &[Flaw], records: &[Record]) -> Result<Option<String>> {
        if flaws.is_empty() {
            return Ok(None);
        }
        let rest = self.file.metadata()?.len() - self.length;
        let damaged = |flaw: &Flaw| matches!(flaw, Flaw::Headless(_) | Flaw::Damaged(..));
        let kept = flaws
            .iter()
            .any(damaged)
            .then(|| self.keep_aside())
            .transpose()?;
        let mut said: Vec<String> = flaws.iter().map(|flaw| match flaw {
            Flaw::Headless(_) => format!("{}.", sentence(&flaw.to_string())),
            Flaw::Unended => {
                "The end of its last line was missing and has been put there.".to_owned()
            }
            Flaw::Torn => format!(
                "Its last record was not written to the end ({rest} bytes) and has been cut off."
            ),
            Flaw::Damaged(line, why) => format!(
                "It is damaged from line {line} on ({why}): what stands there, {rest} bytes, is missing."
            ),
        }).collect();
        said.extend(kept.map(|kept| format!("The damaged file is kept as {}.", kept.display())));
        if let Some(Flaw::Headless(_)) = flaws.first() {
            let path = self.path.clone();
            *self = Self::make(&path, |new| new.append(records, true))?;
        } else {
            self.undo()?;
            if !self.ends_line()? {
                self.file.write_all(b"\n")?;
                self.length += 1;
            }
            self.file.sync_data()?;
        }
        Ok(Some(said.join(" ")))
    }

    /// Whether the last whole record's line has its end.
    fn ends_line(&self) -> io::Result<bool> {
        let mut last = [0];
        std::os::unix::fs::FileExt::read_exact_at(&self.file, &mut last, self.length - 1)?;
        Ok(last == *b"\n")
    }

    /// Copies the file beside itself, as it is.
    fn keep_aside(&self) -> Result<PathBuf> {
        for number in 1_u32.. {
            let kept = self.path.with_extension(format!("damaged-{number}"));
            let mut options = File::options();
            let mut copy = match options.write(true).create_new(true).mode(0o600).open(&kept) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                copy => copy.with_context(|| format!("cannot write {}", kept.display()))?,
            };
            let copied = io::copy(&mut File::open(&self.path)?, &mut copy);
            if let Err(error) = copied.and_then(|_| copy.sync_all()) {
                let _ = fs::remove_file(&kept);
                let why = format!("cannot keep the damaged file aside as {}", kept.display());
                return Err(error).context(why);
            }
            return Ok(kept);
        }
        bail!(
            "there are too many damaged copies of {}",
            self.path.display()
        )
    }

    /// Appends records, all or none. With `sync` they are on the disk when this returns.
    pub fn append(&mut self, records: &[Record], sync: bool) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (record, seq) in records.iter().zip(self.seq..) {
            bytes.extend(encode(seq, record).ok_or_else(too_large)?);
        }
        if self.length + bytes.len() as u64 > MAX_FILE {
            return Err(too_large());
        }
        let written = self.file.write_all(&bytes);
        let written = written.and_then(|()| if sync { self.file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            // Should this fail too, the next try begins with it.
            let _ = self.undo();
            return Err(error);
        }
        self.seq += records.len() as u64;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Cuts off what is not known to be whole.
    fn undo(&self) -> io::Result<()> {
        if self.file.metadata()?.len() > self.length {
            self.file.set_len(self.length)?;
        }
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// There must be no file yet.
fn must_be_free(path: &Path) -> io::Result<()> {
    // Not even a link that leads nowhere.
    match fs::symlink_metadata(path) {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(error) if is_nowhere(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether an error says that there is no such file: a folder on the way may have given way to a file.
fn is_nowhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn too_large() -> io::Error {
    io::Error::other("a saved chat holds no more than this: /new begins another")
}

/// Locks a file for this program, until it is closed.
pub(super) fn lock(file: &File) -> Result<(), InUse> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(InUse),
        // Some network file systems have no locks: better no lock than no saved chats.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}
