//! The list above the input: what completes a command, or the history's matches.
//!
//! It is a function of the state; only what is selected, and for which text, is kept. **It stands there
//! for a line that starts with `/` and nothing else**, and not while messages typed before are walked
//! through, so that typing and Ctrl-P are never in its way.

use crate::app::keymap::Action;
use crate::app::likeness::best;
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
    /// Whether Enter takes it too: it was chosen, or is the only one that what is typed can stand for.
    pub enter_takes: bool,
    /// Whether Enter runs something, the row or what is typed.
    pub enter_runs: bool,
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
        if let Some(search) = self.overlay.search() {
            return Some(search.found(self.input.history()));
        }
        if self.overlay.is_open() {
            return None;
        }
        let typed = self.input.command_line()?;
        if self.popup.closed || self.own_geometry().popup_rows() == 0 {
            return None;
        }
        let Offer {
            title,
            rows,
            certain,
        } = offer(self, typed);
        let last = rows.len().checked_sub(1)?;
        let enter_takes = self.popup.moved || certain && !may_be_left_out(typed);
        Some(Popup {
            title,
            rows,
            selected: self.popup.selected.min(last),
            enter_takes,
            enter_runs: enter_takes || typed.contains(char::is_whitespace),
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

    /// Closes the list until something else is typed.
    pub(super) fn close_popup(&mut self) {
        self.popup.closed = true;
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
            self.close_popup();
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
        let command = Command::meant_by(name);
        let optional = command.is_some_and(|it| matches!(it.argument, Argument::Optional(_)));
        optional && argument.trim().is_empty()
    })
}

/// What completes something that is typed.
struct Offer {
    title: &'static str,
    rows: Vec<PopupRow>,
    /// Whether what is typed is the first row, or the start of no other.
    certain: bool,
}

/// What completes `typed`, which starts with `/`.
fn offer(app: &App, typed: &str) -> Offer {
    let typed = typed.strip_prefix('/').unwrap_or(typed);
    let Some((name, argument)) = typed.split_once(char::is_whitespace) else {
        let (commands, certain) = best(COMMANDS, typed, |command| command.name);
        return Offer {
            title: "commands",
            rows: commands.into_iter().map(command_row).collect(),
            certain,
        };
    };
    let Some(command) = Command::meant_by(name) else {
        return Offer {
            title: "",
            rows: Vec::new(),
            certain: false,
        };
    };
    let choices = (command.choices)(app);
    let (rows, certain) = best(&choices, argument.trim(), |choice| &choice.value);
    let rows = rows.into_iter().map(|choice| choice_row(command, choice));
    Offer {
        title: command.name,
        rows: rows.collect(),
        certain,
    }
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
