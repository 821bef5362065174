//! One saved chat's file, opened to be written: locked, appended to, and written anew where it was taken
//! away or changed.
//!
//! **It never holds less than what was acknowledged**: an append is whole or undone. All that was written
//! stays in memory too, so that whatever becomes of the file it can be written again.

mod repair;

use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::mem;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Result, anyhow, bail};

use super::log::{self, Log, MAX_FILE};
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
    /// Whole records: what the file holds.
    written: Vec<u8>,
    /// When the file was changed last by us; `None` where the system does not tell.
    changed: Option<SystemTime>,
    /// Whether an append failed, which may have left bytes behind the whole records.
    torn: bool,
}

impl SessionFile {
    /// Makes a new file of these records in a folder that exists: whole, or not at all. An error when
    /// there is one of that name.
    pub fn create(path: &Path, records: &[Record]) -> io::Result<Self> {
        must_be_free(path)?;
        Self::make(path, place, |new| new.append(records, true))
    }

    /// Makes a file that `fill` writes, locked before anyone sees it: beside its place, then moved there
    /// by `place`.
    fn make(
        path: &Path,
        place: impl FnOnce(&Path, &Path) -> io::Result<()>,
        fill: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<Self> {
        let new = path.with_extension("new");
        let mut this = Self::of(create_beside(&new)?, path);
        let made = fill(&mut this).and_then(|()| place(&new, path));
        if made.is_err() {
            let _ = fs::remove_file(&new);
        }
        made?;
        sync_folder_of(path);
        Ok(this)
    }

    /// A file that holds nothing yet.
    fn of(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            seq: 0,
            written: Vec::new(),
            changed: None,
            torn: false,
        }
    }

    /// Whether its path still leads to it and it holds what was written: it may have been deleted, moved,
    /// replaced, cut or written to by others meanwhile.
    pub fn is_as_written(&mut self) -> io::Result<bool> {
        if !is_at(&self.file, &self.path)? {
            return Ok(false);
        }
        self.undo()?;
        let now = self.file.metadata()?;
        if now.len() != self.length() {
            return Ok(false);
        }
        let changed = now.modified().ok();
        if changed.is_some() && changed == self.changed {
            return Ok(true);
        }
        (&self.file).rewind()?;
        let same = is_same(&self.file, &self.written[..])?;
        if same {
            self.changed = changed;
        }
        Ok(same)
    }

    /// Makes a new file of all that was written, whatever became of this one, and goes on there. An error
    /// when there is one of that name.
    pub fn write_anew(&mut self, path: &Path) -> io::Result<()> {
        must_be_free(path)?;
        let new = Self::make(path, place, |new| {
            new.file.write_all(&self.written)?;
            new.file.sync_data()?;
            new.note_change();
            Ok(())
        })?;
        *self = Self {
            seq: self.seq,
            written: mem::take(&mut self.written),
            ..new
        };
        Ok(())
    }

    /// Opens a chat to go on with it: its records, and what had to be put right, if anything.
    pub fn open(path: &Path) -> Result<(Self, Vec<Record>, Option<String>)> {
        // Not through a pipe or a device that has its name.
        files::open(path)?;
        let opened = File::options().read(true).append(true).open(path);
        let file = opened.map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                anyhow!("{error}: with --no-save it is only read")
            }
            _ => error.into(),
        })?;
        Self::go_on(file, path)
    }

    /// The same with the file that was just opened there: by now its path may lead to another.
    pub(super) fn go_on(file: File, path: &Path) -> Result<(Self, Vec<Record>, Option<String>)> {
        lock(&file)?;
        if !is_at(&file, path)? {
            bail!(InUse);
        }
        let new = path.with_extension("new");
        if is_at(&file, &new)? {
            // A crash has left it between the two steps of `place`.
            fs::remove_file(new)?;
        }
        let Log {
            records,
            next,
            good,
            flaws,
        } = log::read(BufReader::new(&file))?;
        let mut this = Self::of(file, path);
        this.written = vec![0; usize::try_from(good)?];
        (&this.file).rewind()?;
        (&this.file).read_exact(&mut this.written)?;
        this.seq = next;
        this.note_change();
        let repaired = this.repair(&flaws, &records)?;
        Ok((this, records, repaired))
    }

    /// Appends records, all or none. With `sync` they are on the disk when this returns.
    pub fn append(&mut self, records: &[Record], sync: bool) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (record, seq) in records.iter().zip(self.seq..) {
            bytes.extend(encode(seq, record).ok_or_else(too_large)?);
        }
        if self.length() + bytes.len() as u64 > MAX_FILE {
            return Err(too_large());
        }
        self.add(&bytes, sync)?;
        self.seq += records.len() as u64;
        Ok(())
    }

    /// Appends bytes, all or none.
    fn add(&mut self, bytes: &[u8], sync: bool) -> io::Result<()> {
        self.undo()?;
        let written = self.file.write_all(bytes);
        let written = written.and_then(|()| if sync { self.file.sync_data() } else { Ok(()) });
        if let Err(error) = written {
            self.torn = true;
            // Should this fail too, the next try begins with it.
            let _ = self.undo();
            return Err(error);
        }
        self.written.extend_from_slice(bytes);
        self.note_change();
        Ok(())
    }

    /// Cuts off what an append that failed has left.
    fn undo(&mut self) -> io::Result<()> {
        if self.torn {
            if self.file.metadata()?.len() > self.length() {
                self.file.set_len(self.length())?;
            }
            self.torn = false;
            self.note_change();
        }
        Ok(())
    }

    /// What the file looks like now is our doing.
    fn note_change(&mut self) {
        let now = self.file.metadata().and_then(|now| now.modified());
        self.changed = now.ok();
    }

    /// Bytes of whole records.
    fn length(&self) -> u64 {
        self.written.len() as u64
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a file that only this program knows of, and locks it. One that a crash has left is taken away: who is
/// still at work on it holds its lock.
fn create_beside(new: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).append(true).mode(0o600);
    let taken = || io::Error::from(ErrorKind::AlreadyExists);
    let own = |file: &File| match lock(file) {
        Ok(()) => is_at(file, new),
        Err(InUse) => Ok(false),
    };
    let created = match options.clone().create_new(true).open(new) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            // Not through a link that leads nowhere.
            let left = files::open(new).map_err(|_| taken())?;
            if !own(&left)? {
                return Err(taken());
            }
            fs::remove_file(new)?;
            options.create_new(true).open(new)?
        }
        created => created?,
    };
    if own(&created)? {
        Ok(created)
    } else {
        Err(taken())
    }
}

/// Moves a file to a place where there is none: what came there meanwhile is not written over.
fn place(new: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(new, path) {
        Ok(()) => {
            // Should this fail, it goes when the chat is opened.
            let _ = fs::remove_file(new);
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no links.
        Err(_) => {
            must_be_free(path)?;
            fs::rename(new, path)
        }
    }
}

/// Whether a path leads to this file.
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (own.dev(), own.ino())),
        Err(error) if is_nowhere(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether two streams give the same bytes.
fn is_same(one: impl Read, other: impl Read) -> io::Result<bool> {
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    loop {
        let (left, right) = (one.fill_buf()?, other.fill_buf()?);
        let n = left.len().min(right.len());
        if n == 0 {
            return Ok(left.len() == right.len());
        }
        if left[..n] != right[..n] {
            return Ok(false);
        }
        one.consume(n);
        other.consume(n);
    }
}

/// So that a file's name is on the disk too. Where a folder cannot be synced the file is there all the same, and
/// a failure would make another.
fn sync_folder_of(path: &Path) {
    if let Some(folder) = path.parent() {
        File::open(folder).and_then(|folder| folder.sync_all()).ok();
    }
}

/// There must be no file yet.
fn must_be_free(path: &Path) -> io::Result<()> {
    // Not even a link that leads nowhere.
    match fs::symlink_metadata(path) {
        Ok(_) => Err(ErrorKind::AlreadyExists.into()),
        Err(error) if is_nowhere(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether an error says that there is no such file: a folder on the way may have given way to a file.
fn is_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
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

#[cfg(test)]
mod tests;
