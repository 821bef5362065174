//! What stands over the conversation, or in the place of the input: one at a time.
//!
//! It gets the keys first. **Another one takes its place**, and whichever way the search of the history goes, the
//! message that it has put aside is in the input again.

use crate::app::find::Find;
use crate::app::keymap::Action;
use crate::app::picker::Picker;
use crate::app::saved::SavedChats;
use crate::app::search::Search;
use crate::app::{App, Effect};

/// What stands over the conversation, or in the place of the input.
#[derive(Debug, Default)]
pub enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// The help, from this line on.
    Help(usize),
    /// The line that finds text in the conversation.
    Find(Find),
    /// The search in the messages typed before.
    Search(Search),
    /// The models to choose from.
    Picker(Picker),
    /// The saved chats to choose from.
    Saved(SavedChats),
}

impl App {
    /// What stands over the conversation, or in the place of the input.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Puts `overlay` in the place of what is open.
    pub(super) fn open(&mut self, overlay: Overlay) {
        self.close();
        self.overlay = overlay;
    }

    /// Closes what is open.
    pub(super) fn close(&mut self) {
        match std::mem::take(&mut self.overlay) {
            Overlay::Search(search) => self.input.take_back(search.into_draft()),
            Overlay::None
            | Overlay::Help(_)
            | Overlay::Find(_)
            | Overlay::Picker(_)
            | Overlay::Saved(_) => {}
        }
    }

    /// What a key does to what is open; `None` where it does what it does elsewhere.
    pub(super) fn act_in_overlay(&mut self, action: Action) -> Option<Vec<Effect>> {
        match &self.overlay {
            Overlay::None => None,
            Overlay::Help(_) => self.act_in_help(action),
            Overlay::Find(_) => self.act_in_find(action),
            Overlay::Search(_) => self.act_in_search(action),
            Overlay::Picker(_) => self.act_in_picker(action),
            Overlay::Saved(_) => self.act_in_saved(action),
        }
    }

    /// Takes a paste where it belongs: into what filters, finds or searches, else into the message.
    pub(super) fn take_paste(&mut self, text: &str) {
        match &mut self.overlay {
            Overlay::Picker(picker) => picker.paste(text),
            Overlay::Saved(saved) if !saved.is_opening() => saved.paste(text),
            Overlay::Find(_) => self.paste_into_find(text),
            Overlay::Search(_) => self.paste(text.lines().next().unwrap_or_default()),
            Overlay::Help(_) => {
                self.close();
                self.paste(text);
            }
            Overlay::None | Overlay::Saved(_) => self.paste(text),
        }
    }

    /// The first line of the help in view, while it is open.
    pub fn help(&self) -> Option<usize> {
        if let Overlay::Help(top) = self.overlay {
            Some(top)
        } else {
            None
        }
    }

    /// What is looked for in the conversation, while the find line is open.
    pub fn find(&self) -> Option<&Find> {
        if let Overlay::Find(find) = &self.overlay {
            Some(find)
        } else {
            None
        }
    }

    /// Whether the input is what is searched for in the history.
    pub fn searching(&self) -> bool {
        matches!(self.overlay, Overlay::Search(_))
    }

    /// The open picker.
    pub fn picker(&self) -> Option<&Picker> {
        if let Overlay::Picker(picker) = &self.overlay {
            Some(picker)
        } else {
            None
        }
    }

    /// The list of saved chats, while it is open.
    pub fn saved(&self) -> Option<&SavedChats> {
        if let Overlay::Saved(saved) = &self.overlay {
            Some(saved)
        } else {
            None
        }
    }
}
