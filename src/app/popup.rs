//! The list above the input: what completes a command, or the history's matches.
//!
//! It is a function of the state; only what is selected, and for which text, is kept. **It stands there
//! for a line that starts with `/` and nothing else**, and not while messages typed before are walked
//! through, so that typing and Ctrl-P are never in its way.

use crate::app::keymap::Action;
use crate::app::slash::{Argument, COMMANDS, Choice, Command};
use crate::app::{App, Effect};

/// The list, as it is to be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popup {
    /// What it lists.
    pub title: &'static str,
    /// Its rows, best first.
    pub rows: Vec<PopupRow>,
    /// The row that Tab takes.
    pub selected: usize,
    /// Whether Enter takes it too. Where an argument can be left out, it runs what is typed until a row is
    /// chosen.
    pub enter_takes: bool,
}

/// A row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PopupRow {
    /// What it offers.
    pub label: String,
    /// What that does.
    pub help: String,
    /// The input once it is taken.
    text: String,
    /// Whether the command can run then.
    whole: bool,
}

impl PopupRow {
    /// A row that is no command.
    pub(super) fn new(label: String) -> Self {
        Self {
            label,
            help: String::new(),
            text: String::new(),
            whole: true,
        }
    }
}

/// What is kept between two keys.
#[derive(Debug, Default)]
pub(super) struct PopupState {
    typed: String,
    selected: usize,
    moved: bool,
    closed: bool,
}

impl App {
    /// The list above the input, where there is something to list and room for it.
    pub fn popup(&self) -> Option<Popup> {
        if self.find.is_some() || self.saved.is_some() || self.picker.is_some() {
            return None;
        }
        if self.searching() {
            return self.found();
        }
        let typed = self.input.command_line()?;
        if self.popup.closed || self.help.is_some() || self.own_geometry().popup_rows() == 0 {
            return None;
        }
        let (title, rows) = rows(self, typed);
        let last = rows.len().checked_sub(1)?;
        Some(Popup {
            title,
            rows,
            selected: self.popup.selected.min(last),
            enter_takes: self.popup.moved || !may_be_left_out(typed),
        })
    }

    /// Begins anew when something else is typed.
    pub(super) fn settle_popup(&mut self) {
        let typed = self.input.command_line().unwrap_or_default();
        if typed != self.popup.typed {
            self.popup = PopupState {
                typed: typed.to_owned(),
                ..PopupState::default()
            };
        }
    }

    /// Moves in the list, takes its row or closes it; `None` where the action is not the list's.
    pub(super) fn act_in_popup(&mut self, action: Action) -> Option<Vec<Effect>> {
        if self.searching() {
            return None;
        }
        if action == Action::Complete {
            self.popup.closed = false;
        }
        let popup = self.popup()?;
        let n = popup.rows.len();
        let row = &popup.rows[popup.selected];
        if [Action::Up, Action::HistoryBack].contains(&action) {
            self.popup.selected = (popup.selected + n - 1) % n;
            self.popup.moved = true;
        } else if [Action::Down, Action::HistoryForward].contains(&action) {
            self.popup.selected = if popup.enter_takes {
                (popup.selected + 1) % n
            } else {
                0
            };
            self.popup.moved = true;
        } else if action == Action::Escape {
            self.popup.closed = true;
        } else if action == Action::Send && !popup.enter_takes {
            return None;
        } else if action == Action::Complete || action == Action::Send && !row.whole {
            self.input.replace(&row.text);
        } else if action == Action::Send {
            self.input.replace(row.text.trim_end());
            return None;
        } else {
            return None;
        }
        Some(Vec::new())
    }
}

/// Whether `typed` is a command without its argument, which may be left out.
fn may_be_left_out(typed: &str) -> bool {
    let words = typed.strip_prefix('/').and_then(|it| it.split_once(' '));
    words.is_some_and(|(name, argument)| {
        let command = Command::named(name);
        let optional = command.is_some_and(|it| matches!(it.argument, Argument::Optional(_)));
        optional && argument.trim().is_empty()
    })
}

/// What completes `typed`, which starts with `/`.
fn rows(app: &App, typed: &str) -> (&'static str, Vec<PopupRow>) {
    let typed = typed.strip_prefix('/').unwrap_or(typed);
    let Some((name, argument)) = typed.split_once(char::is_whitespace) else {
        let commands = best(COMMANDS, typed, |command| command.name);
        return ("commands", commands.into_iter().map(command_row).collect());
    };
    let Some(command) = Command::named(name) else {
        return ("", Vec::new());
    };
    let choices = (command.choices)(app);
    let rows = best(&choices, argument.trim(), |choice| &choice.value);
    let rows = rows.into_iter().map(|choice| choice_row(command, choice));
    (command.name, rows.collect())
}

fn command_row(command: &Command) -> PopupRow {
    let (more, whole) = match command.argument {
        Argument::None => ("", true),
        Argument::Optional(_) => (" ", true),
        Argument::Required(_) => (" ", false),
    };
    PopupRow {
        label: command.usage(),
        help: command.help.to_owned(),
        text: format!("/{}{more}", command.name),
        whole,
    }
}

fn choice_row(command: &Command, choice: &Choice) -> PopupRow {
    let more = if choice.more { " " } else { "" };
    PopupRow {
        label: choice.value.clone(),
        help: choice.help.clone(),
        text: format!("/{} {}{more}", command.name, choice.value),
        whole: !choice.more,
    }
}

/// What `typed` may stand for, the best first: the same, then what begins with it, then what has it,
/// then what has its letters in this order.
fn best<'a, T>(all: &'a [T], typed: &str, name: impl Fn(&T) -> &str) -> Vec<&'a T> {
    let mut ranked: Vec<_> = all
        .iter()
        .filter_map(|one| Some((rank(name(one), typed)?, one)))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, one)| one).collect()
}

fn rank(name: &str, typed: &str) -> Option<u8> {
    let (name, typed) = (name.to_lowercase(), typed.to_lowercase());
    if name == typed {
        return Some(0);
    }
    if name.starts_with(&typed) {
        return Some(1);
    }
    if name.contains(&typed) {
        return Some(2);
    }
    let mut letters = name.chars();
    let in_order = typed.chars().all(|c| letters.any(|letter| letter == c));
    in_order.then_some(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_match_comes_first() {
        let names = ["mode", "model", "new", "show", "theme", "help"];
        let check = |typed, expect: &[&str]| {
            let found: Vec<&str> = best(&names, typed, |name| name)
                .into_iter()
                .copied()
                .collect();
            assert_eq!(found, expect, "{typed}");
        };
        check("", &names);
        check("model", &["model"]);
        check("mode", &["mode", "model"]);
        check("h", &["help", "show", "theme"]);
        check("mdl", &["model"]);
        check("Sh", &["show"]);
        check("xyz", &[]);
    }
}
