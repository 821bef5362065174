//! The folder of saved chats: lists, finds and deletes them.

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, BufReader};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use jiff::Timestamp;

use super::export::{brief, local};
use super::file::{InUse, is_at, lock};
use super::id::Id;
use super::log::{self, Flaw};
use super::record::Record;
use super::{Conversation, SessionFile};
use crate::files;

/// How a saved chat's file ends.
const EXTENSION: &str = "jsonl";
/// The word for the chat that was used last.
const LAST: &str = "last";
/// Chats that an error about an id names.
const MAX_NAMED: usize = 5;

/// Where saved chats are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder(PathBuf);

/// A saved chat in a list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: Id,
    /// When it was used last.
    pub updated: Timestamp,
    /// The same by the user's clock, to the minute.
    pub when: String,
    /// The same in few columns, as seen from when it was listed.
    pub brief: String,
    /// What it holds, or why it cannot be read.
    pub summary: Result<Summary, String>,
}

/// What a saved chat holds, in short. Texts are raw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The name that the user gave it.
    pub name: Option<String>,
    /// How it begins.
    pub first_words: String,
    /// Messages with their answers.
    pub turns: usize,
    /// The model that answered last.
    pub model: String,
    /// Where its file is damaged, if it is.
    pub damaged: Option<String>,
}

/// Characters of a chat's beginning that a list knows.
const FIRST_WORDS: usize = 200;

impl Summary {
    fn new(told: Conversation, damaged: Option<String>) -> Self {
        Self {
            first_words: told.first_words().chars().take(FIRST_WORDS).collect(),
            turns: told.turns.len(),
            model: told.model().to_owned(),
            name: told.name,
            damaged,
        }
    }

    /// What to call it: its name, or else how it begins.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.first_words)
    }
}

/// `speck` under `XDG_DATA_HOME`, or where the system keeps data: `~/.local/share`, on a Mac
/// `~/Library/Application Support`. `None` when the user has no home.
pub fn data_of_user() -> Option<PathBuf> {
    let set = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = set
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(directories::BaseDirs::new()?.data_dir().to_owned()))?;
    Some(data.join("speck"))
}

impl Folder {
    /// The user's: `speck/sessions` under `XDG_DATA_HOME`, or where the system keeps such data. `None`
    /// when the user has no home.
    pub fn of_user() -> Option<Self> {
        Some(Self(data_of_user()?.join("sessions")))
    }

    /// A folder of one's own, which need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The file of a chat.
    pub fn file(&self, id: &Id) -> PathBuf {
        self.0.join(id.as_str()).with_extension(EXTENSION)
    }

    /// Makes the file of a new chat, and the folder where it is missing; both are the user's alone.
    pub fn create(&self, id: &Id, records: &[Record]) -> io::Result<SessionFile> {
        self.make()?;
        SessionFile::create(&self.file(id), records)
    }

    /// Writes all that was written to the file of a chat anew, under this id: from now on that is its file.
    pub fn write_anew(&self, id: &Id, file: &mut SessionFile) -> io::Result<()> {
        self.make()?;
        file.write_anew(&self.file(id))
    }

    fn make(&self) -> io::Result<()> {
        let mut folder = DirBuilder::new();
        folder.recursive(true).mode(0o700).create(&self.0)
    }

    /// The ids of all chats, in order.
    pub fn ids(&self) -> io::Result<Vec<Id>> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut ids = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == EXTENSION) {
                let stem = path.file_stem().and_then(|stem| stem.to_str());
                ids.extend(stem.and_then(Id::parse));
            }
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// All chats, the one that was used last first.
    pub fn list(&self) -> Result<Vec<Entry>> {
        let ids = self.ids().with_context(|| self.unreadable())?;
        let mut entries: Vec<Entry> = ids.into_iter().map(|id| self.entry(id)).collect();
        entries.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        Ok(entries)
    }

    fn entry(&self, id: Id) -> Entry {
        let (updated, summary) = match self.read(&id) {
            Ok((told, mut flaws)) => {
                flaws.retain(Flaw::is_damage);
                let damaged = (!flaws.is_empty()).then(|| Flaw::list(&flaws));
                (told.updated, Ok(Summary::new(told, damaged)))
            }
            Err(error) => {
                let changed = self.changed(&id).unwrap_or(Timestamp::UNIX_EPOCH);
                (changed, Err(format!("{error:#}")))
            }
        };
        Entry {
            id,
            updated,
            when: local(updated),
            brief: brief(updated, Timestamp::now()),
            summary,
        }
    }

    fn changed(&self, id: &Id) -> Option<Timestamp> {
        let time = fs::metadata(self.file(id)).ok()?.modified().ok()?;
        Timestamp::try_from(time).ok()
    }

    /// What a chat holds, as far as its file is whole, and where it is not; the file stays as it is.
    pub fn read(&self, id: &Id) -> Result<(Conversation, Vec<Flaw>)> {
        let log = log::read(BufReader::new(files::open(&self.file(id))?))?;
        let told = Conversation::new(log.records).context("it has no header")?;
        Ok((told, log.flaws))
    }

    /// The chat that `text` names: its id, the start of it that no other has, or `last`.
    pub fn find(&self, text: &str) -> Result<Id> {
        self.find_from(text, None)
    }

    /// The same from within the chat `current`, which is not the `last` that is meant there.
    pub fn find_from(&self, text: &str, current: Option<&Id>) -> Result<Id> {
        let ids = self.ids().with_context(|| self.unreadable())?;
        if ids.is_empty() {
            bail!("there are no saved chats yet: `speck chat` saves what is said in it");
        }
        if text == LAST {
            let others = ids.into_iter().filter(|id| Some(id) != current);
            let last = others.max_by_key(|id| (self.changed(id), id.clone()));
            return last.context("there is no other saved chat yet");
        }
        let fitting: Vec<&Id> = ids
            .iter()
            .filter(|id| !text.is_empty() && id.as_str().starts_with(text))
            .collect();
        let exact = ids.iter().find(|id| id.as_str() == text);
        match (exact, &fitting[..]) {
            (Some(id), _) | (None, &[id]) => Ok(id.clone()),
            (None, []) => {
                bail!(
                    "there is no saved chat whose ID begins with `{text}`: `speck sessions` lists them"
                )
            }
            (None, several) => {
                let named: Vec<&str> = several.iter().rev().map(|id| id.as_str()).collect();
                let more = if named.len() > MAX_NAMED { ", …" } else { "" };
                let named = named[..named.len().min(MAX_NAMED)].join(", ");
                bail!(
                    "{} saved chats begin with `{text}`: {named}{more}. Type more of the id",
                    several.len()
                )
            }
        }
    }

    /// Opens a chat to go on with it: its file, what was said, and what had to be put right.
    pub fn open(&self, id: &Id) -> Result<(SessionFile, Conversation, Option<String>)> {
        let opened = SessionFile::open(&self.file(id));
        let (file, records, repaired) =
            opened.with_context(|| format!("cannot open the saved chat {id}"))?;
        let conversation = Conversation::new(records).context("it has no header")?;
        Ok((file, conversation, repaired))
    }

    /// Deletes a chat, with the copies that were kept of it when it was damaged and what a crash has left of
    /// it. Of a link, only the link goes; a folder that has a chat's name stays.
    pub fn delete(&self, id: &Id) -> Result<()> {
        let path = self.file(id);
        let is = fs::symlink_metadata(&path)?;
        if is.is_dir() {
            bail!(
                "{} is a folder, no chat: move or delete it yourself",
                path.display()
            );
        }
        let file = is.is_file().then(|| files::open(&path)).transpose()?;
        if let Some(file) = &file {
            lock(file)?;
            ensure!(is_at(file, &path)?, InUse);
        }
        for entry in fs::read_dir(&self.0)? {
            let beside = entry?.path();
            let end = beside.extension().and_then(|end| end.to_str());
            if beside.file_stem() == path.file_stem()
                && end.is_some_and(|end| end == "new" || end.starts_with("damaged-"))
            {
                fs::remove_file(beside)?;
            }
        }
        Ok(fs::remove_file(path)?)
    }

    fn unreadable(&self) -> String {
        format!(
            "cannot read the folder of saved chats, {}",
            self.0.display()
        )
    }
}
