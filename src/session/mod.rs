//! Saved chats: an append-only log for each, written by a thread of its own.
//!
//! In goes what front ends send to the engine and hear from it ([`Saver`]); out come files from which a
//! conversation can go on. **What was acknowledged is on the disk**, and what a file says is taken only
//! as far as its checksums hold: the rest is reported and kept aside, never dropped in silence.
//! docs/sessions.md has the format.

mod book;
pub mod conversation;
pub mod export;
mod file;
pub mod folder;
pub mod id;
pub mod listing;
pub mod log;
pub mod record;
mod recorder;
pub mod saver;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::PathBuf;

use crate::engine::protocol::Command;
use export::one_line;
use writer::MAX_WAITING;

pub use conversation::{Conversation, Unanswered};
pub use file::{InUse, SessionFile};
pub use folder::{Entry, Folder};
pub use id::Id;
pub use saver::Saver;
pub use writer::Setup;

/// What a front end may ask of the [`Saver`]; each is answered by a [`Note`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The saved chats.
    List,
    /// Goes on with the chat that this text names: the start of its id, or `last`.
    Open(String),
    /// Saves what there is, and names the chat.
    Save(Option<String>),
    /// Writes the chat to a new file; without a name, to one named after the chat in the current folder.
    Export {
        /// Where to, as typed.
        file: Option<String>,
        /// What the document is called where the chat has no name.
        title: String,
        /// Who said what, as Markdown.
        said: String,
    },
}

/// What the [`Saver`] tells its front end. All texts are for people, and raw: clean them.
#[derive(Clone, Debug)]
pub enum Note {
    /// The saved chats, the latest first; or why they cannot be read.
    Listed(Result<Vec<Entry>, String>),
    /// A chat was opened: what is said from now on is saved there.
    Opened(Box<Opened>),
    /// What was asked for is done.
    Done(String),
    /// What was asked for cannot be done, and why.
    Refused(String),
    /// How saving goes, where nothing was asked for.
    News(News),
}

/// How saving goes. It is shown as sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing can be saved at the moment. Told once, until [`News::SavesAgain`].
    Trouble(String),
    /// What was kept in memory meanwhile is saved.
    SavesAgain {
        /// Whether something was not kept, because too much waited.
        lost: bool,
    },
    /// The chat's file was taken away or changed, and all of it is written anew, to this file.
    WrittenAnew(PathBuf),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trouble(why) => write!(
                f,
                "This chat cannot be saved: {why}. It goes on; what is said is kept in memory and saved as \
                 soon as that works again."
            ),
            Self::SavesAgain { lost: false } => {
                f.write_str("Saving works again: nothing is missing.")
            }
            Self::SavesAgain { lost: true } => {
                write!(f, "Saving works again, but {}.", missing())
            }
            Self::WrittenAnew(path) => write!(
                f,
                "The file of this chat was gone or changed: all of it is written anew, to {}.",
                path.display()
            ),
        }
    }
}

/// A chat that was opened to go on with it.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Its id.
    pub id: Id,
    /// What was said.
    pub conversation: Conversation,
    /// What was damaged, if anything, and where the damaged file is kept if that was put right.
    pub repaired: Option<String>,
}

impl Opened {
    /// What makes an engine go on with it.
    pub fn commands(&self) -> [Command; 2] {
        let system = self.conversation.settings.system.clone();
        [Command::SetSystem(system), self.restore()]
    }

    /// The one of them that gives an engine the turns.
    pub fn restore(&self) -> Command {
        Command::Restore {
            turns: self.conversation.messages(),
        }
    }

    /// What the user should know, for where the conversation itself is not shown.
    pub fn about(&self) -> String {
        let turns = match self.conversation.turns.len() {
            1 => "1 turn".to_owned(),
            n => format!("{n} turns"),
        };
        let unanswered = self.conversation.unanswered_text();
        let unanswered = unanswered
            .map(|text| format!(" Its last message was not answered: {}", one_line(text)));
        let repaired = self.repaired.as_ref().map(|told| format!(" {told}"));
        format!(
            "{} goes on after {turns}.{}{}",
            self.id,
            unanswered.unwrap_or_default(),
            repaired.unwrap_or_default()
        )
    }
}

/// How saving ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// The chat that was saved last, if there is one: its id and its file.
    pub saved: Option<(Id, PathBuf)>,
    /// Why the end of it could not be saved.
    pub unsaved: Option<String>,
    /// Whether something in its midst was not kept, because too much waited.
    pub lost: bool,
    /// The files that were written anew last, because others had gone or were changed.
    pub anew: Vec<PathBuf>,
}

/// What is told of what was not kept.
fn missing() -> String {
    format!(
        "what was said while {} MiB waited is missing",
        MAX_WAITING >> 20
    )
}

impl Ended {
    /// Nothing more could be saved, and why.
    fn failed(why: &str) -> Self {
        Self {
            unsaved: Some(why.to_owned()),
            ..Self::default()
        }
    }

    /// Whether all of the chat is saved.
    pub fn is_whole(&self) -> bool {
        self.unsaved.is_none() && !self.lost
    }

    /// What went wrong, in lines: the user is told wherever that is.
    pub fn warnings(&self) -> Vec<String> {
        let unsaved = self.unsaved.iter();
        let unsaved = unsaved.map(|why| format!("the end of this chat is not saved: {why}"));
        let anew = self.anew.iter();
        let anew = anew.map(|path| News::WrittenAnew(path.clone()).to_string());
        let lost = self.lost.then(|| format!("in this chat, {}", missing()));
        anew.chain(lost).chain(unsaved).collect()
    }

    /// Where the chat is, in lines.
    pub fn place(&self) -> Vec<String> {
        let saved = self.saved.iter();
        let lines = saved.flat_map(|(id, path)| {
            let resume = format!("saved: speck chat --resume {id}");
            [resume, path.display().to_string()]
        });
        lines.collect()
    }
}
