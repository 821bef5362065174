//! A front end's end of the line to the one who saves chats.

use std::io::{self, IsTerminal};

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::text::tell;
use crate::session::{Ended, Note, Opened, Saver, SessionFile, Setup};

/// The saver, its news, and the chat to go on with.
pub struct Saving {
    /// To it.
    pub saver: Saver,
    /// From it.
    pub notes: UnboundedReceiver<Note>,
    /// What is to be shown, and told to the engine, before anything else.
    pub opened: Option<Box<Opened>>,
    /// Whether what is said is saved.
    pub saves: bool,
}

/// Says that a chat was with another model than the one that is loaded, if it was.
pub(super) fn other_model(was: &str, loaded: &str) -> Option<String> {
    let told = || format!("this chat was with {was}; it goes on with {loaded}");
    (was != loaded).then(told)
}

/// Says what came of saving: what went wrong to whoever is there, where the chat is by `note`.
pub(super) fn tell_ended(ended: &Ended, note: impl Fn(&str)) {
    for line in ended.warnings() {
        tell(&format!("speck: {line}"));
    }
    ended.place().iter().for_each(|line| note(line));
}

/// Tells of a chat that was opened; where it was damaged, in any case.
pub(super) fn tell_opened(opened: &Opened, note: impl Fn(&str)) {
    if let Some(repaired) = &opened.repaired
        && !io::stderr().is_terminal()
    {
        tell(repaired);
    }
    note(&opened.about());
}

impl Saving {
    /// Starts a saver, with the chat to go on with, if there is one.
    pub fn start(setup: Setup, resumed: Option<(Option<SessionFile>, Opened)>) -> io::Result<Self> {
        let (to, notes) = unbounded_channel();
        let (file, opened) = resumed.unzip();
        let from = file.zip(opened.as_ref());
        let saves = setup.save;
        Ok(Self {
            saver: Saver::start(setup, from, to)?,
            notes,
            opened: opened.map(Box::new),
            saves,
        })
    }
}
