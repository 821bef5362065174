//! One chat that is being saved: its file, once it has one, and the records that wait for it.

use std::path::PathBuf;
use std::{io, iter};

use jiff::Zoned;

use super::record::{Header, Record, Settings, VERSION};
use super::{Folder, Id, SessionFile};

/// Ids that are tried for a new chat: one that is taken is rare.
const MAX_IDS: usize = 100;
/// What a record takes in memory beside its texts, in bytes, roughly.
const RECORD: usize = 256;

/// A chat with what waits to be written. Nothing is written before the first record.
#[derive(Debug, Default)]
pub(super) struct Book {
    file: Option<(Id, SessionFile)>,
    /// Whether all of it was written anew, and nobody was told.
    anew: bool,
    begun: bool,
    waiting: Vec<Record>,
    /// Why it could not be written when this was tried last.
    trouble: Option<String>,
    /// Whether a record was not kept.
    lost: bool,
}

impl Book {
    /// A chat that goes on.
    pub fn of(id: Id, file: SessionFile) -> Self {
        Self {
            file: Some((id, file)),
            ..Self::default()
        }
    }

    /// Its id, once it has a file.
    pub fn id(&self) -> Option<&Id> {
        self.file.as_ref().map(|(id, _)| id)
    }

    /// Its id and its file.
    pub fn place(&self) -> Option<(Id, PathBuf)> {
        let (id, file) = self.file.as_ref()?;
        Some((id.clone(), file.path().to_owned()))
    }

    /// Whether nothing was ever said in it.
    pub fn is_unused(&self) -> bool {
        self.file.is_none() && !self.begun
    }

    /// Whether it is to be written: something waits, or its file could not be put right.
    pub fn is_behind(&self) -> bool {
        !self.waiting.is_empty() || self.trouble.is_some()
    }

    /// Whether its file, if it has one, holds what was written to it.
    pub fn is_as_written(&mut self) -> bool {
        let file = self.file.as_mut();
        file.is_none_or(|(_, file)| file.is_as_written().unwrap_or(false))
    }

    /// Why it cannot be written.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Whether something that was said is in no file and waits for none.
    pub fn has_lost(&self) -> bool {
        self.lost
    }

    /// Bytes of memory that this takes, roughly.
    pub fn n_bytes(&self) -> usize {
        self.waiting.iter().map(n_bytes).sum()
    }

    /// Adds a record; before a run's first, `settings` say how it was set up.
    pub fn push(&mut self, record: Record, settings: Settings) {
        if !std::mem::replace(&mut self.begun, true) {
            self.waiting.push(match &self.file {
                Some(_) => Record::Resumed(settings),
                None => Record::Header(Header {
                    version: VERSION,
                    settings,
                }),
            });
        }
        if let Record::Turn(_) = record {
            // It holds all that they do.
            self.waiting.retain(|waiting| {
                !matches!(waiting, Record::Asked { .. } | Record::Partial { .. })
            });
        }
        self.waiting.push(record);
    }

    /// Takes the last record back, for which there is no room.
    pub fn lose(&mut self) {
        self.waiting.pop();
        self.lost = true;
    }

    /// Where all of it was written anew, if it was since this was asked last: also where what waited could
    /// not be written then.
    pub fn take_anew(&mut self) -> Option<PathBuf> {
        let anew = std::mem::take(&mut self.anew);
        self.place().filter(|_| anew).map(|(_, path)| path)
    }

    /// Writes what waits: all of it, or nothing. Where its file was taken away or changed, all is written anew.
    /// Gives whether that went well; else there is a [`Self::trouble`].
    pub fn write(&mut self, folder: Option<&Folder>) -> bool {
        let written = self.try_to_write(folder);
        let place = self.place().map(|(_, path)| path);
        let place = place.or_else(|| folder.map(|folder| folder.path().to_owned()));
        self.trouble = written.err().map(|error| match &place {
            Some(place) => format!("{}: {error}", place.display()),
            None => error.to_string(),
        });
        self.trouble.is_none()
    }

    fn try_to_write(&mut self, folder: Option<&Folder>) -> io::Result<()> {
        let folder = folder.ok_or_else(|| io::Error::other("there is no home folder"));
        if let Some((id, file)) = &mut self.file {
            if !file.is_as_written()? {
                let folder = folder?;
                // Another may stand in its place by now.
                let ids = iter::once(id.clone()).chain(new_ids());
                (*id, ()) = first_free(ids, |id| folder.write_anew(id, file))?;
                self.anew = true;
            }
            // A part of an answer is safe from a crash of the program when it is written; a disk that is
            // made to work every two seconds would be heard.
            let is_part = |record: &Record| matches!(record, Record::Partial { .. });
            file.append(&self.waiting, !self.waiting.iter().all(is_part))?;
        } else {
            let folder = folder?;
            self.file = Some(first_free(new_ids(), |id| {
                folder.create(id, &self.waiting)
            })?);
        }
        self.waiting.clear();
        Ok(())
    }
}

fn new_ids() -> impl Iterator<Item = Id> {
    iter::repeat_with(|| Id::new(&Zoned::now()))
}

/// Makes the file that the first id names, or, where that is taken, the next.
fn first_free<T>(
    ids: impl Iterator<Item = Id>,
    mut make: impl FnMut(&Id) -> io::Result<T>,
) -> io::Result<(Id, T)> {
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for id in ids.take(MAX_IDS) {
        match make(&id) {
            Ok(it) => return Ok((id, it)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => taken = error,
            Err(error) => return Err(error),
        }
    }
    Err(taken)
}

fn n_bytes(record: &Record) -> usize {
    RECORD
        + match record {
            Record::Header(Header { settings, .. }) | Record::Resumed(settings) => {
                settings.system.as_ref().map_or(0, String::len)
            }
            Record::Asked { text, .. } | Record::Partial { text, .. } => text.len(),
            Record::Turn(turn) => turn.user.len() + turn.answer.len(),
            Record::Rewound { .. } | Record::Dropped { .. } => 0,
            Record::Failed { message } => message.len(),
            Record::System { text } => text.as_ref().map_or(0, String::len),
            Record::Name { name } => name.len(),
        }
}
