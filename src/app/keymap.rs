//! Keys → actions: one table, which is also the help.
//!
//! Every key works in Terminal.app over SSH with no settings changed; keys that some terminals
//! keep for themselves (page up, Shift-arrows) are never the only way.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::app::input::Edit;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Sends the message, or runs the command that is typed.
    Send,
    /// Completes a command.
    Complete,
    /// Drafts with the next strategy.
    NextStrategy,
    /// Stops the answer, or clears the input, or quits when asked twice.
    Interrupt,
    /// Closes the help, or stops the answer, or follows the end.
    Escape,
    /// Quits when nothing is typed, else deletes.
    EndOfInput,
    /// Up in an input of several lines, else scrolls.
    Up,
    /// Down in an input of several lines, else scrolls.
    Down,
    /// Scrolls up by a line.
    LineUp,
    /// Scrolls down by a line.
    LineDown,
    /// Scrolls up by a page.
    PageUp,
    /// Scrolls down by a page.
    PageDown,
    /// To the start of the line, or of the conversation when nothing is typed.
    Home,
    /// To the end of the line, or of the conversation.
    End,
    /// The message typed before.
    HistoryBack,
    /// The message typed after.
    HistoryForward,
    /// Searches the messages typed before.
    SearchHistory,
    /// Opens the message in an editor.
    OpenEditor,
    /// Opens the line that finds text in the conversation.
    Find,
    /// Panel on or off.
    TogglePanel,
    /// Draws everything anew.
    Redraw,
    /// Suspends the program.
    Suspend,
    /// Shows the keys, when nothing is typed.
    Help,
    /// Changes the text.
    Edit(Edit),
}

/// An action with its keys.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The keys.
    pub keys: &'static [(KeyModifiers, KeyCode)],
    /// What they ask for.
    pub action: Action,
    /// The keys' name in the help.
    pub label: &'static str,
    /// What the help says; bindings that say nothing share the line of the binding before.
    pub help: &'static str,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;
const ALT: KeyModifiers = KeyModifiers::ALT;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;

const fn bind(
    keys: &'static [(KeyModifiers, KeyCode)],
    action: Action,
    label: &'static str,
    help: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        label,
        help,
    }
}

/// All keys, in the order of the help.
pub const BINDINGS: &[Binding] = &[
    bind(&[(NONE, KeyCode::Enter)], Action::Send, "Enter", "send"),
    bind(
        &[
            (CTRL, KeyCode::Char('j')),
            (SHIFT, KeyCode::Enter),
            (ALT, KeyCode::Enter),
        ],
        Action::Edit(Edit::Newline),
        "Ctrl-J",
        "new line (or \\ Enter)",
    ),
    bind(
        &[(NONE, KeyCode::Tab)],
        Action::Complete,
        "/ Tab",
        "complete a command",
    ),
    bind(
        &[(NONE, KeyCode::BackTab)],
        Action::NextStrategy,
        "Shift-Tab",
        "next strategy",
    ),
    bind(
        &[(CTRL, KeyCode::Char('c'))],
        Action::Interrupt,
        "Ctrl-C",
        "stop, clear, 2x: quit",
    ),
    bind(
        &[(NONE, KeyCode::Esc)],
        Action::Escape,
        "Esc",
        "close, stop, go to end",
    ),
    bind(
        &[(CTRL, KeyCode::Char('d'))],
        Action::EndOfInput,
        "Ctrl-D",
        "quit (nothing typed)",
    ),
    bind(&[(NONE, KeyCode::Up)], Action::Up, "↑ ↓", "move, or scroll"),
    bind(&[(NONE, KeyCode::Down)], Action::Down, "", ""),
    bind(
        &[(NONE, KeyCode::PageUp)],
        Action::PageUp,
        "PgUp PgDn",
        "scroll by a page",
    ),
    bind(&[(NONE, KeyCode::PageDown)], Action::PageDown, "", ""),
    bind(
        &[(SHIFT, KeyCode::Up)],
        Action::LineUp,
        "Shift-↑ ↓",
        "scroll by a line",
    ),
    bind(&[(SHIFT, KeyCode::Down)], Action::LineDown, "", ""),
    bind(
        &[(NONE, KeyCode::End)],
        Action::End,
        "End",
        "line end, or chat end",
    ),
    bind(
        &[(NONE, KeyCode::Home)],
        Action::Home,
        "Home",
        "line start, chat start",
    ),
    bind(
        &[(CTRL, KeyCode::Char('f'))],
        Action::Find,
        "Ctrl-F",
        "find in the chat",
    ),
    bind(
        &[(CTRL, KeyCode::Char('p'))],
        Action::HistoryBack,
        "Ctrl-P Ctrl-N",
        "messages typed before",
    ),
    bind(
        &[(CTRL, KeyCode::Char('n'))],
        Action::HistoryForward,
        "",
        "",
    ),
    bind(
        &[(CTRL, KeyCode::Char('r'))],
        Action::SearchHistory,
        "Ctrl-R",
        "search them",
    ),
    bind(
        &[(CTRL, KeyCode::Char('g'))],
        Action::OpenEditor,
        "Ctrl-G",
        "write in an editor",
    ),
    bind(
        &[(CTRL, KeyCode::Char('t'))],
        Action::TogglePanel,
        "Ctrl-T",
        "panel on or off",
    ),
    bind(
        &[(CTRL, KeyCode::Char('l'))],
        Action::Redraw,
        "Ctrl-L",
        "draw anew",
    ),
    bind(
        &[(CTRL, KeyCode::Char('z'))],
        Action::Suspend,
        "Ctrl-Z",
        "suspend",
    ),
    bind(
        &[(NONE, KeyCode::Char('?'))],
        Action::Help,
        "?",
        "help (nothing typed)",
    ),
    bind(
        &[(CTRL, KeyCode::Char('a'))],
        Action::Edit(Edit::LineStart),
        "Ctrl-A Ctrl-E",
        "line start, line end",
    ),
    bind(
        &[(CTRL, KeyCode::Char('e'))],
        Action::Edit(Edit::LineEnd),
        "",
        "",
    ),
    bind(
        &[(CTRL, KeyCode::Char('w')), (ALT, KeyCode::Backspace)],
        Action::Edit(Edit::DeleteWord),
        "Ctrl-W",
        "delete a word",
    ),
    bind(
        &[(CTRL, KeyCode::Char('u'))],
        Action::Edit(Edit::DeleteToStart),
        "Ctrl-U Ctrl-K",
        "delete to start, end",
    ),
    bind(
        &[(CTRL, KeyCode::Char('k'))],
        Action::Edit(Edit::DeleteToEnd),
        "",
        "",
    ),
    bind(
        &[(CTRL, KeyCode::Char('y'))],
        Action::Edit(Edit::Yank),
        "Ctrl-Y",
        "put back the deleted",
    ),
    // Terminals send Ctrl-_ as the byte 0x1f, which is Ctrl-7.
    bind(
        &[(CTRL, KeyCode::Char('_')), (CTRL, KeyCode::Char('7'))],
        Action::Edit(Edit::Undo),
        "Ctrl-_",
        "undo",
    ),
    bind(
        &[(NONE, KeyCode::Left), (CTRL, KeyCode::Char('b'))],
        Action::Edit(Edit::Left),
        "",
        "",
    ),
    bind(&[(NONE, KeyCode::Right)], Action::Edit(Edit::Right), "", ""),
    bind(
        &[
            (ALT, KeyCode::Char('b')),
            (CTRL, KeyCode::Left),
            (ALT, KeyCode::Left),
        ],
        Action::Edit(Edit::WordLeft),
        "",
        "",
    ),
    bind(
        &[
            (ALT, KeyCode::Char('f')),
            (CTRL, KeyCode::Right),
            (ALT, KeyCode::Right),
        ],
        Action::Edit(Edit::WordRight),
        "",
        "",
    ),
    bind(
        &[(NONE, KeyCode::Backspace), (CTRL, KeyCode::Char('h'))],
        Action::Edit(Edit::Backspace),
        "",
        "",
    ),
    bind(
        &[(NONE, KeyCode::Delete)],
        Action::Edit(Edit::Delete),
        "",
        "",
    ),
];

/// What `key` asks for, if it asks for anything.
pub fn action(key: KeyEvent) -> Option<Action> {
    let (modifiers, code) = normal(key);
    let bound = BINDINGS
        .iter()
        .find(|binding| binding.keys.contains(&(modifiers, code)));
    if let Some(binding) = bound {
        return Some(binding.action);
    }
    match code {
        KeyCode::Char(c) if modifiers.is_empty() => Some(Action::Edit(Edit::Insert(c))),
        _ => None,
    }
}

/// One spelling for keys that terminals report in several ways.
fn normal(key: KeyEvent) -> (KeyModifiers, KeyCode) {
    let modifiers = key.modifiers & (CTRL | ALT | SHIFT);
    match key.code {
        KeyCode::Char(c) if modifiers.contains(CTRL) => {
            (modifiers - SHIFT, KeyCode::Char(c.to_ascii_lowercase()))
        }
        KeyCode::Char(_) => (modifiers - SHIFT, key.code),
        KeyCode::BackTab => (modifiers - SHIFT, KeyCode::BackTab),
        KeyCode::Tab if modifiers == SHIFT => (NONE, KeyCode::BackTab),
        code => (modifiers, code),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_bound_twice_and_every_label_says_something() {
        let mut keys: Vec<_> = BINDINGS.iter().flat_map(|binding| binding.keys).collect();
        let all = keys.len();
        keys.dedup();
        for (i, key) in keys.iter().enumerate() {
            assert!(!keys[..i].contains(key), "{key:?}");
        }
        assert_eq!(keys.len(), all);
        assert!(
            BINDINGS
                .iter()
                .all(|binding| binding.label.is_empty() == binding.help.is_empty())
        );
    }

    #[test]
    fn keys_are_found_however_the_terminal_reports_them() {
        let check =
            |code, modifiers, expect| assert_eq!(action(KeyEvent::new(code, modifiers)), expect);
        check(KeyCode::BackTab, SHIFT, Some(Action::NextStrategy));
        check(KeyCode::BackTab, NONE, Some(Action::NextStrategy));
        check(KeyCode::Tab, SHIFT, Some(Action::NextStrategy));
        check(KeyCode::Char('C'), CTRL | SHIFT, Some(Action::Interrupt));
        check(
            KeyCode::Char('A'),
            SHIFT,
            Some(Action::Edit(Edit::Insert('A'))),
        );
        check(KeyCode::Char('?'), SHIFT, Some(Action::Help));
        check(KeyCode::Char('q'), ALT, None);
        check(KeyCode::F(1), NONE, None);
    }
}
