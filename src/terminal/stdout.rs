//! The one way to standard output without a screen.
//!
//! **To a terminal, text goes through [`clean`]; to a pipe or a file it goes raw.**

use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::Context;

use crate::clean::clean;

/// Whoever read standard output has gone: nothing more is wanted, and that is no failure.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("standard output was closed")]
pub struct ReaderGone;

/// Writes `text` at once. The error is [`ReaderGone`] when nobody reads any more.
pub fn write(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let written = if out.is_terminal() {
        out.write_all(clean(text).as_bytes())
    } else {
        out.write_all(text.as_bytes())
    };
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        written => written.context("cannot write to standard output"),
    }
}

/// Writes `text` and ends the line.
pub fn write_line(text: &str) -> anyhow::Result<()> {
    write(&format!("{text}\n"))
}
