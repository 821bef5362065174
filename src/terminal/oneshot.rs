//! One question, one answer on standard output: as text, or as JSON Lines.
//!
//! Ctrl-C stops the answer and keeps what is there; a second one does not wait. SIGTERM and SIGHUP
//! keep their meaning where nothing is saved: there is nothing to put right.

use std::future::pending;
use std::time::Instant;

use anyhow::{Context, bail};
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};

use crate::cancel::Cancel;
use crate::engine::protocol::{Command, Event, FinishReason, Handle};
use crate::session::{Opened, Saver};
use crate::stats::Stats;

use super::exit::Exit;
use super::json::Line;
use super::saving::{Saving, other_model, tell_ended, tell_opened};
use super::signals::{Ending, outlive_file_size_limit};
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
pub fn answer(
    handle: Handle,
    saving: Saving,
    question: String,
    format: Format,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let out = match format {
        Format::Text => Out::Text(Box::default()),
        Format::Json => Out::Json(Box::new((Stats::default(), Throttle::default()))),
    };
    runtime.block_on(run(handle, saving, question, out))
}

async fn run(
    mut handle: Handle,
    saving: Saving,
    question: String,
    mut out: Out,
) -> anyhow::Result<Exit> {
    let Saving {
        saver,
        opened,
        saves,
        ..
    } = saving;
    let mut ending = saves.then(Ending::listen).transpose()?;
    let ended = select! {
        ended = ask(&mut handle, &saver, opened, question, &mut out) => ended,
        exit = next(&mut ending) => Ok(exit),
    };
    let saved = saver.end();
    let line_ended = out.end_line();
    tell_ended(&saved, |line| out.note(line));
    match ended {
        Ok(Exit::Done) => {}
        // It may be at work still.
        Ok(_) | Err(_) => super::end(handle).await,
    }
    let exit = ended?;
    line_ended?;
    Ok(exit.once_saved(&saved))
}

/// Waits for a request to end; for ever where none is listened to.
async fn next(ending: &mut Option<Ending>) -> Exit {
    match ending {
        Some(ending) => ending.next().await,
        None => pending().await,
    }
}

/// Asks, and writes the answer as it comes.
async fn ask(
    handle: &mut Handle,
    saver: &Saver,
    opened: Option<Box<Opened>>,
    question: String,
    out: &mut Out,
) -> anyhow::Result<Exit> {
    let was_with = opened
        .as_ref()
        .map(|opened| opened.conversation.model().to_owned());
    let send = |command: Command| {
        saver.sent(&command);
        // An engine that has ended already says why in its events.
        handle.commands.send(command).ok();
    };
    if let Some(opened) = opened {
        tell_opened(&opened, |line| out.note(line));
        opened.commands().into_iter().for_each(send);
    }
    outlive_file_size_limit()?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let cancel = Cancel::new();
    let ask = Command::Send {
        text: question,
        cancel: cancel.clone(),
        pasted: Vec::new(),
    };
    send(ask);
    let mut ready = false;
    loop {
        let event = select! {
            event = handle.events.recv() => event.context("the engine ended without an answer")?,
            _ = interrupt.recv() => {
                if !ready || cancel.is_cancelled() {
                    return Ok(Exit::Interrupted);
                }
                cancel.cancel();
                continue;
            }
        };
        saver.heard(&event);
        out.event(&event)?;
        match event {
            Event::Ready(loaded) => {
                let was = was_with.as_deref().unwrap_or(&loaded.target);
                if let Some(told) = other_model(was, &loaded.target) {
                    out.note(&told);
                }
                ready = true;
            }
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
            | Event::StrategyRefused(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_)
            | Event::Prefill { .. }
            | Event::Round(_) => {}
        }
    }
}

enum Out {
    Text(Box<TextOut>),
    Json(Box<(Stats, Throttle)>),
}

impl Out {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        match self {
            Self::Text(out) => out.event(event),
            Self::Json(out) => {
                let (stats, throttle) = &mut **out;
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

    fn note(&self, text: &str) {
        match self {
            Self::Text(out) => out.note(text),
            Self::Json(..) => {}
        }
    }

    fn end_line(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Text(out) => out.end_line(),
            Self::Json(..) => Ok(()),
        }
    }
}
