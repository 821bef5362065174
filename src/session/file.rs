//! One saved chat's file, opened to be written: locked, put right if it was damaged, appended to.
//!
//! **It never holds less than what was acknowledged**: an append is whole or undone, and nothing is cut
//! off a file that was damaged before a copy of it stands beside it.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufReader, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

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
        let new = path.with_extension("new");
        let mut options = File::options();
        options.read(true).append(true).create_new(true).mode(0o600);
        let mut this = Self {
            file: options.open(&new)?,
            path: path.to_owned(),
            seq: 0,
            length: 0,
        };
        let created = this.publish(&new, records);
        if created.is_err() {
            let _ = fs::remove_file(&new);
        }
        created.map(|()| this)
    }

    /// Writes the records, then gives the file its name, which only one program can be about to do.
    fn publish(&mut self, new: &Path, records: &[Record]) -> io::Result<()> {
        if self.path.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        lock(&self.file).map_err(io::Error::other)?;
        self.append(records, true)?;
        fs::rename(new, &self.path)?;
        // So that the file's name is on the disk too. Where a folder cannot be synced the file is there all the
        // same, and a failure would make another.
        if let Some(folder) = self.path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).ok();
        }
        Ok(())
    }

    /// Opens a chat to go on with it: its records, and what had to be put right, if anything.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>, Option<String>)> {
        // Not through a pipe or a device that has its name.
        files::open(path)?;
        let file = File::options().read(true).append(true).open(path)?;
        lock(&file)?;
        let Log {
            records,
            good,
            flaw,
        } = log::read(BufReader::new(&file))?;
        let mut this = Self {
            file,
            path: path.to_owned(),
            seq: records.len() as u64,
            length: good,
        };
        let repaired = flaw.map(|flaw| this.repair(flaw)).transpose()?;
        Ok((this, records, repaired))
    }

    /// Cuts off what is not whole; says what that was.
    fn repair(&mut self, flaw: Flaw) -> Result<String> {
        let rest = self.file.metadata()?.len() - self.length;
        let said = match flaw {
            Flaw::Unended => {
                "The end of its last line was missing and has been put there.".to_owned()
            }
            Flaw::Torn => format!(
                "Its last record was not written to the end ({rest} bytes) and has been cut off."
            ),
            Flaw::Damaged(line, why) => {
                let kept = self.keep_aside()?;
                format!(
                    "It is damaged from line {line} on ({why}). What stands before that is here; \
                     the damaged file with the other {rest} bytes is kept as {}.",
                    kept.display()
                )
            }
        };
        self.undo()?;
        if !self.ends_line()? {
            self.file.write_all(b"\n")?;
            self.length += 1;
        }
        self.file.sync_data()?;
        Ok(said)
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
        if self.file.metadata()?.nlink() == 0 {
            return Err(io::Error::other("its file has been deleted"));
        }
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
