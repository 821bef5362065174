//! The search in the messages typed before (Ctrl-R).
//!
//! While it is open the input is what is searched for, with all its keys, and the matches stand in the
//! list above it, newest first. What was being typed is kept aside and comes back with Esc.

use crate::app::draft::Draft;
use crate::app::history::History;
use crate::app::input::Edit;
use crate::app::keymap::Action;
use crate::app::popup::{Popup, PopupRow};
use crate::app::{App, Effect};
use crate::clean::clean;

/// Characters before a match that are shown at most.
const BEFORE_MATCH: usize = 24;

/// A search that is open.
#[derive(Debug)]
pub struct Search {
    /// What was being typed.
    draft: Box<Draft>,
    query: String,
    /// The messages that match, newest first.
    matches: Vec<usize>,
    selected: usize,
}

impl Search {
    /// The message that was put aside.
    pub(super) fn into_draft(self) -> Draft {
        *self.draft
    }

    /// The matches as a list; without any, its title says so.
    pub(super) fn found(&self, history: &History) -> Popup {
        let messages = self.matches.iter().filter_map(|at| history.get(*at));
        let rows = messages.map(|message| {
            let line = clean(&message.line()).into_owned();
            PopupRow::new(around_match(&line, &self.query))
        });
        let title = match (history.is_empty(), self.matches.is_empty()) {
            (true, _) => "history: nothing was typed before",
            (false, true) => "history: nothing matches",
            (false, false) => "history",
        };
        Popup {
            title,
            rows: rows.collect(),
            selected: self.selected,
            enter_takes: true,
            enter_runs: true,
        }
    }
}

impl App {
    /// Opens the search.
    pub(super) fn search_history(&mut self) {
        if self.own_geometry().popup_rows() == 0 {
            self.refuse("no room for the search: Ctrl-P goes back in the history");
            return;
        }
        let search = Search {
            draft: Box::new(self.input.put_aside()),
            query: String::new(),
            matches: self.input.history().search(""),
            selected: 0,
        };
        self.open(search);
    }

    /// Searches again when something else is searched for.
    pub(super) fn settle_search(&mut self) {
        if let Some(search) = self.overlay.search_mut() {
            let query = self.input.text();
            if query != search.query {
                search.matches = self.input.history().search(&query);
                search.selected = 0;
                search.query = query;
            }
        }
    }

    /// Moves in the matches, takes one or closes the search; `None` where the action is not the search's.
    pub(super) fn act_in_search(&mut self, action: Action) -> Option<Vec<Effect>> {
        let search = self.overlay.search_mut()?;
        let last = search.matches.len().saturating_sub(1);
        let older = [Action::SearchHistory, Action::Down, Action::HistoryForward];
        let closing = [Action::Escape, Action::Interrupt, Action::EndOfInput];
        if older.contains(&action) {
            search.selected = (search.selected + 1).min(last);
        } else if [Action::Up, Action::HistoryBack].contains(&action) {
            search.selected = search.selected.saturating_sub(1);
        } else if closing.contains(&action) {
            self.close();
        } else if [Action::Send, Action::Complete].contains(&action) {
            self.take_match();
        } else if action == Action::Help {
            self.input.edit(Edit::Insert('?'));
        } else if ![Action::Edit(Edit::Newline), Action::OpenEditor].contains(&action) {
            return None;
        }
        Some(Vec::new())
    }

    /// Closes the search and takes the marked message into the input, if there is one.
    fn take_match(&mut self) {
        let Some(search) = self.overlay.search() else {
            return;
        };
        let chosen = search.matches.get(search.selected);
        let chosen = chosen.and_then(|at| self.input.history().get(*at)).cloned();
        self.close();
        if let Some(message) = chosen {
            self.input.set_typed(message);
        }
    }
}

/// The line from shortly before where it matches.
fn around_match(line: &str, query: &str) -> String {
    let lower = line.to_lowercase();
    let before = lower.find(&query.to_lowercase()).unwrap_or(0);
    let column = lower[..before].chars().count();
    match column.saturating_sub(BEFORE_MATCH) {
        0 => line.to_owned(),
        skip => format!("…{}", line.chars().skip(skip + 1).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_from_before_its_match() {
        let check = |line, query, expect| assert_eq!(around_match(line, query), expect);
        check("write a poem", "POEM", "write a poem");
        let long = "0123456789 0123456789 0123456789 poem";
        check(long, "poem", "… 0123456789 0123456789 poem");
        check("anything", "", "anything");
        check("no match", "xyz", "no match");
    }
}
