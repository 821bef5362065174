//! The help: all keys and commands, from their tables, in groups.
//!
//! Wide screens show two columns, which scroll together.

use crate::app::input::Edit;
use crate::app::keymap::{Action, BINDINGS};
use crate::app::overlay::Overlay;
use crate::app::slash::COMMANDS;
use crate::app::{App, Effect};

/// From this width on there are two columns.
const TWO_COLUMNS_FROM: u16 = 76;

/// The groups of keys: the title, and the action that a group begins with.
const GROUPS: &[(&str, Action)] = &[
    ("chat", Action::Send),
    ("view", Action::Up),
    ("what was typed", Action::HistoryBack),
    ("screen", Action::TogglePanel),
    ("editing", Action::Edit(Edit::LineStart)),
];
/// Groups that stand in the left one of two columns.
const LEFT_GROUPS: usize = 3;

/// A row of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A title.
    Title(&'static str),
    /// Space.
    Blank,
    /// A key or command, and what it does.
    Entry(String, &'static str),
}

/// The help's columns, one or two, on a screen part of this width.
pub fn columns(width: u16) -> Vec<Vec<Row>> {
    let mut groups = keys();
    let mut commands = vec![Row::Title("commands")];
    commands.extend(
        COMMANDS
            .iter()
            .map(|command| Row::Entry(command.usage(), command.help)),
    );
    groups.insert(LEFT_GROUPS, commands);
    if width < TWO_COLUMNS_FROM {
        return vec![groups.join(&Row::Blank)];
    }
    let right = groups.split_off(LEFT_GROUPS);
    vec![groups.join(&Row::Blank), right.join(&Row::Blank)]
}

/// Rows of the longest column.
pub fn height(width: u16) -> usize {
    columns(width).iter().map(Vec::len).max().unwrap_or(0)
}

fn keys() -> Vec<Vec<Row>> {
    let mut groups: Vec<Vec<Row>> = Vec::new();
    for binding in BINDINGS {
        let begun = GROUPS.iter().find(|(_, first)| *first == binding.action);
        if let Some((title, _)) = begun {
            groups.push(vec![Row::Title(title)]);
        }
        let entry = Row::Entry(binding.label.to_owned(), binding.help);
        match groups.last_mut() {
            Some(group) if !binding.label.is_empty() => group.push(entry),
            Some(_) | None => {}
        }
    }
    groups
}

impl App {
    /// What a key does while the help is open; `None` where it does what it does elsewhere. **What is typed closes
    /// the help and is not lost.**
    pub(super) fn act_in_help(&mut self, action: Action) -> Option<Vec<Effect>> {
        let by = match action {
            Action::Up | Action::LineUp | Action::HistoryBack => -1,
            Action::Down | Action::LineDown | Action::HistoryForward => 1,
            Action::PageUp => -self.page(),
            Action::PageDown | Action::Edit(Edit::Insert(' ')) => self.page(),
            Action::Home => isize::MIN,
            Action::End => isize::MAX,
            Action::Escape
            | Action::Help
            | Action::Send
            | Action::Interrupt
            | Action::EndOfInput
            | Action::Edit(Edit::Insert('q')) => {
                self.close();
                return Some(Vec::new());
            }
            Action::Edit(Edit::Insert(_)) => {
                self.close();
                return None;
            }
            Action::Complete
            | Action::SearchHistory
            | Action::OpenEditor
            | Action::Find
            | Action::Edit(
                Edit::Newline
                | Edit::Backspace
                | Edit::Delete
                | Edit::DeleteWord
                | Edit::DeleteToStart
                | Edit::DeleteToEnd
                | Edit::Yank
                | Edit::Undo
                | Edit::Left
                | Edit::Right
                | Edit::WordLeft
                | Edit::WordRight
                | Edit::LineStart
                | Edit::LineEnd,
            ) => return Some(Vec::new()),
            Action::NextStrategy | Action::TogglePanel | Action::Redraw | Action::Suspend => {
                return None;
            }
        };
        self.scroll_help(by);
        Some(Vec::new())
    }

    fn scroll_help(&mut self, lines: isize) {
        let area = self.own_geometry().help();
        let last = height(area.width).saturating_sub(area.height.into());
        if let Overlay::Help(top) = &mut self.overlay {
            *top = top.saturating_add_signed(lines).min(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_in_the_help_at_every_width() {
        let labelled = BINDINGS.iter().filter(|binding| !binding.label.is_empty());
        let entries = labelled.count() + COMMANDS.len();
        for width in [20, 76, 200] {
            let rows: Vec<Row> = columns(width).concat();
            let count = |wanted: fn(&Row) -> bool| rows.iter().filter(|row| wanted(row)).count();
            assert_eq!(count(|row| matches!(row, Row::Entry(..))), entries);
            assert_eq!(count(|row| matches!(row, Row::Title(_))), GROUPS.len() + 1);
        }
        assert_eq!(columns(75).len(), 1);
        assert_eq!(columns(76).len(), 2);
    }
}
