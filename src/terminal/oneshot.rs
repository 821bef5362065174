//! One question, one answer on standard output: as text, or as JSON Lines.
//!
//! Ctrl-C stops the answer and keeps what is there; a second one does not wait. SIGTERM and SIGHUP
//! keep their meaning: there is nothing to put right, and `nohup` works.

use std::time::Instant;

use anyhow::{Context, bail};
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};

use crate::cancel::Cancel;
use crate::engine::protocol::{Command, Event, FinishReason, Handle};
use crate::stats::Stats;

use super::exit::Exit;
use super::json::Line;
use super::stdout;
use super::text::TextOut;
use super::throttle::Throttle;

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Its text.
    Text,
    /// JSON Lines: everything that happens.
    Json,
}

/// Asks `question` and writes the answer. A failure of the engine is an error.
pub fn answer(handle: Handle, question: String, format: Format) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let out = match format {
        Format::Text => Out::Text(TextOut::new()),
        Format::Json => Out::Json(Box::default(), Throttle::default()),
    };
    runtime.block_on(run(handle, question, out))
}

async fn run(mut handle: Handle, question: String, mut out: Out) -> anyhow::Result<Exit> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancel = Cancel::new();
    let ask = Command::Send {
        text: question,
        cancel: cancel.clone(),
    };
    // An engine that has ended already says why in its events.
    handle.commands.send(ask).ok();
    let mut ready = false;
    loop {
        let event = select! {
            event = handle.events.recv() => event.context("the engine ended without an answer")?,
            _ = interrupt.recv() => {
                if !ready || cancel.is_cancelled() {
                    super::end(handle).await;
                    out.end_line()?;
                    return Ok(Exit::Interrupted);
                }
                cancel.cancel();
                continue;
            }
        };
        out.event(&event)?;
        match event {
            Event::Ready(_) => ready = true,
            Event::Finished(finished) => {
                return Ok(match finished.reason {
                    FinishReason::Stopped => Exit::Interrupted,
                    FinishReason::EndOfTurn
                    | FinishReason::StopString
                    | FinishReason::MaxTokens
                    | FinishReason::ContextFull => Exit::Done,
                });
            }
            Event::Failed(failure) => bail!(failure.message),
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::Baseline(_)
            | Event::Strategy(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_)
            | Event::Prefill { .. }
            | Event::Round(_) => {}
        }
    }
}

enum Out {
    Text(TextOut),
    Json(Box<Stats>, Throttle),
}

impl Out {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match self {
            Self::Text(out) => out.event(event),
            Self::Json(stats, throttle) => {
                if let Event::Round(round) = event {
                    stats.push(round);
                }
                if let Event::Baseline(baseline) = event {
                    stats.set_baseline(*baseline);
                }
                for event in throttle.pass(event, Instant::now()) {
                    for line in Line::of(&event, stats) {
                        stdout::write_line(&serde_json::to_string(&line)?)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Text(out) => out.end_line(),
            Self::Json(..) => Ok(()),
        }
    }
}
