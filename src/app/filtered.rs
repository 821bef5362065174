//! A list that typing filters, with a choice in it.

use crate::app::input::Edit;
use crate::app::keymap::Action;
use crate::clean::clean;

/// Characters of a filter at most.
const MAX_FILTER: usize = 200;

/// What stands in such a list.
pub trait Searched {
    /// The text in which the words of the filter are looked for.
    fn text(&self) -> String;
}

/// The list.
#[derive(Debug)]
pub struct Filtered<T> {
    /// `None` until it is known what there is.
    items: Option<Vec<T>>,
    filter: String,
    /// The place of the choice among those that the filter lets through.
    selected: usize,
}

/// What a key asks of the one who shows a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The list has done it.
    Nothing,
    /// To take the choice.
    Take,
    /// To close the list.
    Close,
    /// It does what it does elsewhere.
    Elsewhere,
}

impl<T> Default for Filtered<T> {
    fn default() -> Self {
        Self {
            items: None,
            filter: String::new(),
            selected: 0,
        }
    }
}

impl<T: Searched> Filtered<T> {
    /// Takes what there is, with the place of the choice.
    pub fn fill(&mut self, items: Vec<T>, selected: usize) {
        self.items = Some(items);
        self.selected = selected;
    }

    /// Whether it is not known yet what there is.
    pub fn is_waiting(&self) -> bool {
        self.items.is_none()
    }

    /// How many there are, once that is known.
    pub fn count(&self) -> Option<usize> {
        self.items.as_ref().map(Vec::len)
    }

    /// What is typed to filter; clean.
    pub fn filter(&self) -> &str {
        &self.filter
    }

    /// What the filter lets through: all its words are in the text, in upper or lower case.
    pub fn shown(&self) -> Vec<&T> {
        let words = self.filter.split_whitespace().map(str::to_lowercase);
        let words: Vec<String> = words.collect();
        let fits = |item: &&T| {
            let text = item.text().to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.items.iter().flatten().filter(fits).collect()
    }

    /// The place of the choice in [`Self::shown`].
    pub fn selected(&self) -> usize {
        self.selected
    }

    /// The choice, if the filter lets any through.
    pub fn choice(&self) -> Option<&T> {
        self.shown().get(self.selected).copied()
    }

    /// Adds to the filter; of a text of several lines the first.
    pub fn paste(&mut self, text: &str) {
        let room = MAX_FILTER.saturating_sub(self.filter.chars().count());
        let text = clean(text);
        let line = text.lines().next().unwrap_or_default().replace('\t', " ");
        self.filter.extend(line.chars().take(room));
        self.selected = 0;
    }

    /// Does what a key does in a list, with `page` rows in view.
    pub fn act(&mut self, action: Action, page: isize) -> Asked {
        match action {
            Action::Up | Action::LineUp | Action::HistoryBack => self.go(-1),
            Action::Down | Action::LineDown | Action::HistoryForward => self.go(1),
            Action::PageUp => self.go(-page),
            Action::PageDown => self.go(page),
            Action::Home => self.go(isize::MIN),
            Action::End => self.go(isize::MAX),
            Action::Help => self.paste("?"),
            Action::Edit(edit) => self.edit(edit),
            Action::Complete | Action::SearchHistory | Action::OpenEditor | Action::Find => {}
            Action::Send => return Asked::Take,
            Action::Escape | Action::Interrupt | Action::EndOfInput => return Asked::Close,
            Action::NextStrategy | Action::TogglePanel | Action::Redraw | Action::Suspend => {
                return Asked::Elsewhere;
            }
        }
        Asked::Nothing
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

#[cfg(test)]
mod tests {
    use super::*;

    impl Searched for &str {
        fn text(&self) -> String {
            (*self).to_owned()
        }
    }

    fn list() -> Filtered<&'static str> {
        let mut list = Filtered::default();
        assert!(list.is_waiting() && list.shown().is_empty() && list.choice().is_none());
        list.fill(vec!["Red apple", "green apple", "green pear"], 1);
        list
    }

    #[test]
    fn all_words_of_the_filter_must_be_there() {
        let check = |filter: &str, expect: &[&str]| {
            let mut list = list();
            list.paste(filter);
            assert!(list.shown().into_iter().eq(expect), "{filter}");
        };
        check("", &["Red apple", "green apple", "green pear"]);
        check("APPLE", &["Red apple", "green apple"]);
        check("apple gr", &["green apple"]);
        check("pear\nred", &["green pear"]);
        check("plum", &[]);
    }

    #[test]
    fn keys_move_filter_and_ask() {
        let mut list = list();
        assert_eq!(list.choice(), Some(&"green apple"));
        for (action, asked, choice) in [
            (Action::Down, Asked::Nothing, Some("green pear")),
            (Action::Down, Asked::Nothing, Some("green pear")),
            (Action::Home, Asked::Nothing, Some("Red apple")),
            (Action::Up, Asked::Nothing, Some("Red apple")),
            (
                Action::Edit(Edit::Insert('n')),
                Asked::Nothing,
                Some("green apple"),
            ),
            (Action::End, Asked::Nothing, Some("green pear")),
            (Action::Send, Asked::Take, Some("green pear")),
            (Action::Edit(Edit::Left), Asked::Nothing, Some("green pear")),
            (Action::Help, Asked::Nothing, None),
            (
                Action::Edit(Edit::Backspace),
                Asked::Nothing,
                Some("green apple"),
            ),
            (
                Action::Edit(Edit::DeleteWord),
                Asked::Nothing,
                Some("Red apple"),
            ),
            (Action::Redraw, Asked::Elsewhere, Some("Red apple")),
            (Action::Escape, Asked::Close, Some("Red apple")),
        ] {
            assert_eq!(list.act(action, 5), asked, "{action:?}");
            assert_eq!(list.choice().copied(), choice, "{action:?}");
        }
        list.paste(&"x".repeat(1000));
        assert_eq!(list.filter().len(), MAX_FILTER);
    }
}
