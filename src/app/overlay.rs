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

impl From<Find> for Overlay {
    fn from(find: Find) -> Self {
        Self::Find(find)
    }
}

impl From<Search> for Overlay {
    fn from(search: Search) -> Self {
        Self::Search(search)
    }
}

impl From<Picker> for Overlay {
    fn from(picker: Picker) -> Self {
        Self::Picker(picker)
    }
}

impl From<SavedChats> for Overlay {
    fn from(saved: SavedChats) -> Self {
        Self::Saved(saved)
    }
}

/// The one that is open, for its own file, which knows nothing of the others.
impl Overlay {
    /// Whether anything is open.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// The line that finds text, while it is open.
    pub(super) fn find_mut(&mut self) -> Option<&mut Find> {
        match self {
            Self::Find(find) => Some(find),
            Self::None | Self::Help(_) | Self::Search(_) | Self::Picker(_) | Self::Saved(_) => None,
        }
    }

    /// The search in the history, while it is open.
    pub(super) fn search(&self) -> Option<&Search> {
        match self {
            Self::Search(search) => Some(search),
            Self::None | Self::Help(_) | Self::Find(_) | Self::Picker(_) | Self::Saved(_) => None,
        }
    }

    /// The same, to change it.
    pub(super) fn search_mut(&mut self) -> Option<&mut Search> {
        match self {
            Self::Search(search) => Some(search),
            Self::None | Self::Help(_) | Self::Find(_) | Self::Picker(_) | Self::Saved(_) => None,
        }
    }

    /// The picker, while it is open.
    pub(super) fn picker_mut(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Picker(picker) => Some(picker),
            Self::None | Self::Help(_) | Self::Find(_) | Self::Search(_) | Self::Saved(_) => None,
        }
    }

    /// The list of saved chats, while it is open.
    pub(super) fn saved_mut(&mut self) -> Option<&mut SavedChats> {
        match self {
            Self::Saved(saved) => Some(saved),
            Self::None | Self::Help(_) | Self::Find(_) | Self::Search(_) | Self::Picker(_) => None,
        }
    }
}

impl App {
    /// What stands over the conversation, or in the place of the input.
    pub fn overlay(&self) -> &Overlay {
        &self.overlay
    }

    /// Puts `overlay` in the place of what is open.
    pub(super) fn open(&mut self, overlay: impl Into<Overlay>) {
        self.close();
        self.overlay = overlay.into();
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
        self.overlay.search().is_some()
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
