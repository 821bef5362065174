//! The engine: a thread that owns models, strategies and cache. [`protocol`] is all that its front
//! ends know of it.
//!
//! **Whatever happens on the thread becomes an event**: an error, a panic, a stop.

mod answer_text;
mod baseline;
mod calibration;
mod calibration_cache;
mod conversation;
mod pair;
pub mod protocol;
mod stop_strings;
mod worker;

#[cfg(test)]
mod calibration_tests;
#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::cancel::{Cancel, Cancelled};
use crate::config::options::Options;
use crate::model::load::{self, LoadSettings, Loaded, Progress};
use protocol::{Event, Failure, Handle, Inbox, THREAD_NAME};

/// How to answer.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The strategy to start with, one of [`crate::strategy::names`].
    pub strategy: &'static str,
    /// What holds until others are set; no stop string is empty.
    pub options: Options,
    /// speck's cache, where what passes cost is kept from one start to the next; `None`: nowhere.
    pub cache: Option<PathBuf>,
}

/// Starts an engine that loads the models `load` names.
pub fn start(load: LoadSettings, settings: Settings) -> Handle {
    start_with(
        move |cancel, progress| load::load(&load, cancel, progress),
        settings,
    )
}

/// Starts an engine with a loader of one's own, which runs on the engine's thread.
pub fn start_with(
    load: impl FnOnce(&Cancel, &mut dyn FnMut(Progress)) -> anyhow::Result<Loaded> + Send + 'static,
    settings: Settings,
) -> Handle {
    let (commands, inbox) = protocol::channel();
    let (outbox, events) = unbounded_channel();
    let quit = Cancel::new();
    let cancel = quit.clone();
    std::thread::Builder::new()
        .name(THREAD_NAME.into())
        .spawn(move || run(load, settings, &inbox, &outbox, &cancel))
        .expect("the system gives a program a second thread");
    Handle {
        commands,
        events,
        quit,
    }
}

impl From<Progress> for Event {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Fetch(fetch) => Self::Fetch(fetch),
            Progress::Loading(loading) => Self::Loading(loading),
        }
    }
}

fn run(
    load: impl FnOnce(&Cancel, &mut dyn FnMut(Progress)) -> anyhow::Result<Loaded>,
    settings: Settings,
    inbox: &Inbox,
    outbox: &UnboundedSender<Event>,
    cancel: &Cancel,
) {
    let mut progress = |progress: Progress| {
        // A front end that has gone needs no progress.
        let _ = outbox.send(progress.into());
    };
    let worked = catch_unwind(AssertUnwindSafe(|| -> anyhow::Result<()> {
        let loaded = load(cancel, &mut progress)?;
        worker::Worker::new(loaded, settings, inbox, outbox).work();
        Ok(())
    }));
    let message = match worked {
        Ok(Ok(())) => return,
        Ok(Err(error)) if error.is::<Cancelled>() => return,
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => panic_message(panic.as_ref()),
    };
    let _ = outbox.send(Event::Failed(Failure {
        message,
        fatal: true,
    }));
}

/// What a panic said, for people.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    format!("a bug in speck: {said}. Please report it")
}
