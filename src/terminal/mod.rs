//! terminal.
