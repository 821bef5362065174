//! The help: all keys and commands, from their tables.

use crate::app::keymap::BINDINGS;
use crate::app::slash::COMMANDS;

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

/// The rows of the help.
pub fn rows() -> Vec<Row> {
    let keys = BINDINGS.iter().filter(|binding| !binding.label.is_empty());
    let mut rows = vec![Row::Title("keys")];
    rows.extend(keys.map(|binding| Row::Entry(binding.label.to_owned(), binding.help)));
    rows.extend([Row::Blank, Row::Title("commands")]);
    rows.extend(
        COMMANDS
            .iter()
            .map(|command| Row::Entry(command.usage(), command.help)),
    );
    rows
}
