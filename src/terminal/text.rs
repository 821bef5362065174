//! Events as plain text: the answer on standard output, everything else on standard error, and that
//! only when it is a terminal.

use std::io::{self, IsTerminal, Write};

use crate::clean::clean;
use crate::engine::protocol::{Event, FinishReason};
use crate::stats::Stats;

use super::progress::Progress;
use super::{stdout, summary};

/// Writes answers as they come.
pub struct TextOut {
    err_is_terminal: bool,
    progress: Progress,
    stats: Stats,
    in_line: bool,
}

impl TextOut {
    /// Writes to the process's standard output and standard error.
    pub fn new() -> Self {
        Self {
            err_is_terminal: io::stderr().is_terminal(),
            progress: Progress::default(),
            stats: Stats::default(),
            in_line: false,
        }
    }

    /// Starts counting a new answer.
    pub fn begin_answer(&mut self) {
        self.stats.begin_answer();
    }

    /// Shows `event`. A failure is not shown: it is for the caller to tell.
    pub fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        self.progress.show(event);
        match event {
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::Prefill { .. }
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_) => {}
            Event::Ready(ready) => {
                ready.notes.iter().for_each(|note| self.note(note));
                if let Some(told) = ready.replaced.as_ref().filter(|_| !self.err_is_terminal) {
                    tell(&format!("speck: {told}"));
                }
                if let Some(sampling) = ready.sampling() {
                    self.note(&summary::sampling(sampling));
                }
            }
            Event::Baseline(baseline) => self.stats.set_baseline(*baseline),
            Event::Round(round) => {
                self.stats.push(round);
                self.answer(&round.text())?;
            }
            Event::Finished(finished) => {
                self.answer(&finished.rest)?;
                self.end_line()?;
                match finished.reason {
                    FinishReason::EndOfTurn | FinishReason::StopString | FinishReason::Stopped => {}
                    FinishReason::MaxTokens => {
                        self.note("the token limit is reached (--max-tokens)");
                    }
                    FinishReason::ContextFull => self.note("the context is full"),
                }
                if let Some(line) = summary::line(self.stats.tally()) {
                    self.note(&line);
                }
            }
            Event::Failed(_) => self.end_line()?,
        }
        Ok(())
    }

    fn answer(&mut self, text: &str) -> anyhow::Result<()> {
        let Some(last) = text.chars().next_back() else {
            return Ok(());
        };
        self.in_line = last != '\n';
        stdout::write(text)
    }

    /// Ends the line of the answer, if one was begun.
    pub fn end_line(&mut self) -> anyhow::Result<()> {
        if std::mem::take(&mut self.in_line) {
            stdout::write("\n")
        } else {
            Ok(())
        }
    }

    /// Tells the user something beside the answer, which a script need not know.
    pub fn note(&self, text: &str) {
        if self.err_is_terminal {
            tell(text);
        }
    }
}

/// Tells what a script's log should hold, too.
pub(super) fn tell(text: &str) {
    // Whoever closed standard error does not want to be told.
    writeln!(io::stderr(), "{}", clean(text)).ok();
}

impl Default for TextOut {
    fn default() -> Self {
        Self::new()
    }
}
