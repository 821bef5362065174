//! The picker of `/model`: what can be loaded, a filter that is typed, and a choice.

use crate::app::input::Edit;
use crate::app::keymap::Action;
use crate::app::overlay::Overlay;
use crate::app::{App, Effect};
use crate::clean::clean;
use crate::engine::protocol::ModelEntry;

/// Characters of a filter at most.
const MAX_FILTER: usize = 200;

/// The open picker.
#[derive(Debug, Default)]
pub struct Picker {
    /// What there is, once that is known.
    entries: Option<Vec<ModelEntry>>,
    filter: String,
    /// The place of the choice among those that the filter lets through.
    selected: usize,
}

impl Picker {
    /// Takes what there is; the choice starts at the one called `current`.
    pub fn fill(&mut self, entries: Vec<ModelEntry>, current: Option<&str>) {
        let cleaned = |entry: ModelEntry| ModelEntry {
            title: clean(&entry.title).into_owned(),
            about: clean(&entry.about).into_owned(),
            unfit: entry.unfit.map(|why| clean(&why).into_owned()),
            ..entry
        };
        let place = |entry: &ModelEntry| Some(entry.reference.as_str()) == current;
        self.selected = entries.iter().position(place).unwrap_or(0);
        self.entries = Some(entries.into_iter().map(cleaned).collect());
    }

    /// Whether it is not known yet what there is.
    pub fn is_waiting(&self) -> bool {
        self.entries.is_none()
    }

    /// How many there are, once that is known.
    pub fn count(&self) -> Option<usize> {
        self.entries.as_ref().map(Vec::len)
    }

    /// What is typed to filter.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// What the filter lets through: all words of it are in the name or the description.
    pub fn shown(&self) -> Vec<&ModelEntry> {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let fits = |entry: &&ModelEntry| {
            let text = format!("{} {} {}", entry.title, entry.reference, entry.about);
            let text = text.to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.entries.iter().flatten().filter(fits).collect()
    }

    /// The place of the choice in [`Self::shown`].
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// Adds what was pasted, as one line.
    pub(super) fn paste(&mut self, text: &str) {
        let room = MAX_FILTER.saturating_sub(self.filter.chars().count());
        let text = clean(text);
        let line = text.lines().next().unwrap_or_default();
        self.filter.extend(line.chars().take(room));
        self.selected = 0;
    }

    fn go(&mut self, by: isize) {
        let last = self.shown().len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Insert(c) => self.paste(c.encode_utf8(&mut [0; 4])),
            Edit::Backspace => drop(self.filter.pop()),
            Edit::DeleteWord | Edit::DeleteToStart => self.filter.clear(),
            Edit::Newline
            | Edit::Delete
            | Edit::DeleteToEnd
            | Edit::Yank
            | Edit::Undo
            | Edit::Left
            | Edit::Right
            | Edit::WordLeft
            | Edit::WordRight
            | Edit::LineStart
            | Edit::LineEnd => return,
        }
        self.selected = 0;
    }
}

impl App {
    /// What a key does while the picker is open; `None` where it does what it does elsewhere.
    pub(super) fn act_in_picker(&mut self, action: Action) -> Option<Vec<Effect>> {
        let page = self.page();
        let Overlay::Picker(picker) = &mut self.overlay else {
            return None;
        };
        match action {
            Action::Up | Action::LineUp | Action::HistoryBack => picker.go(-1),
            Action::Down | Action::LineDown | Action::HistoryForward => picker.go(1),
            Action::PageUp => picker.go(-page),
            Action::PageDown => picker.go(page),
            Action::Home => picker.go(isize::MIN),
            Action::End => picker.go(isize::MAX),
            Action::Help => picker.edit(Edit::Insert('?')),
            Action::Edit(edit) => picker.edit(edit),
            Action::Send => return Some(self.pick()),
            Action::Complete | Action::SearchHistory | Action::OpenEditor | Action::Find => {}
            Action::Escape | Action::Interrupt | Action::EndOfInput => self.close(),
            Action::NextStrategy | Action::TogglePanel | Action::Redraw | Action::Suspend => {
                return None;
            }
        }
        Some(Vec::new())
    }

    /// Takes the choice, if it can be loaded.
    fn pick(&mut self) -> Vec<Effect> {
        let Some(picker) = self.picker() else {
            return Vec::new();
        };
        let shown = picker.shown();
        let Some(entry) = shown.get(picker.selected) else {
            return Vec::new();
        };
        if let Some(why) = entry.unfit.clone() {
            self.refuse(&why);
            return Vec::new();
        }
        let reference = entry.reference.clone();
        self.close();
        match self.must_not_load("/model") {
            Ok(()) => self.load_model(reference),
            Err(why) => {
                self.refuse(&why);
                Vec::new()
            }
        }
    }
}
