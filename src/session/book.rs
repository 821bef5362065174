//! One chat that is being saved: its file, once it has one, and the records that wait for it.

use std::io;
use std::path::PathBuf;

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
    begun: bool,
    waiting: Vec<Record>,
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

    /// What waits to be written.
    pub fn waiting(&self) -> &[Record] {
        &self.waiting
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
                    // Known when the file is made.
                    id: String::new(),
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

    /// Takes the last record back.
    pub fn pop(&mut self) {
        self.waiting.pop();
    }

    /// Writes what waits: all of it, or nothing.
    pub fn write(&mut self, folder: Option<&Folder>) -> io::Result<()> {
        if let Some((_, file)) = &mut self.file {
            // A part of an answer is safe from a crash of the program when it is written; a disk that is
            // made to work every two seconds would be heard.
            let is_part = |record: &Record| matches!(record, Record::Partial { .. });
            file.append(&self.waiting, !self.waiting.iter().all(is_part))?;
        } else {
            let folder = folder.ok_or_else(|| io::Error::other("there is no home folder"))?;
            self.file = Some(create(folder, &mut self.waiting)?);
        }
        self.waiting.clear();
        Ok(())
    }
}

/// Makes the file that the header's id names, or, where that is taken, of another id.
fn create(folder: &Folder, records: &mut [Record]) -> io::Result<(Id, SessionFile)> {
    let mut taken = io::Error::from(io::ErrorKind::AlreadyExists);
    for _ in 0..MAX_IDS {
        let id = Id::new(&Zoned::now());
        if let Some(Record::Header(header)) = records.first_mut() {
            header.id = id.to_string();
        }
        match folder.create(&id, records) {
            Ok(file) => return Ok((id, file)),
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
            Record::Asked { text, .. } | Record::Partial { text } => text.len(),
            Record::Turn(turn) => turn.user.len() + turn.answer.len(),
            Record::Rewound { .. } => 0,
            Record::Failed { message } => message.len(),
            Record::System { text } => text.as_ref().map_or(0, String::len),
            Record::Name { name } => name.len(),
        }
}
