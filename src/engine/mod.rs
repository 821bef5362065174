//! The engine: a thread that owns models, strategies and cache. [`protocol`] is all that its front
//! ends know of it.
//!
//! **Whatever happens on the thread becomes an event**: an error, a panic, a stop.

mod answer_text;
mod baseline;
mod calibration;
mod calibration_cache;
mod conversation;
mod exchange;
mod pair;
pub mod protocol;
mod stop_strings;
mod worker;

#[cfg(test)]
mod calibration_tests;
#[cfg(test)]
mod control_tests;
#[cfg(test)]
mod exchange_tests;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::cancel::{Cancel, Cancelled};
use crate::config::options::Options;
use crate::model::load::{self, Progress};
use crate::model::pair::{LoadSettings, Loaded};
use exchange::exchange;
use protocol::{Event, Failure, Handle, Inbox, ModelRef, THREAD_NAME};
use worker::State;

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

/// What is to be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Which models; `None`: those that the engine was started for.
    pub models: Option<&'a ModelRef>,
    /// Bytes that the models need that stay until these are there.
    pub occupied: u64,
}

/// Loads models, on the engine's thread.
pub type Load =
    dyn FnMut(&Wanted, &Cancel, &mut dyn FnMut(Progress)) -> anyhow::Result<Loaded> + Send;

/// Starts an engine that loads the models `load` names, or `models` if there are any; further ones too.
pub fn start(load: LoadSettings, models: Option<ModelRef>, settings: Settings) -> Handle {
    start_with(
        move |wanted, cancel, progress| {
            let load = match wanted.models.or(models.as_ref()) {
                Some(names) => &load.of(names)?,
                None => &load,
            };
            load::load_beside(wanted.occupied, load, cancel, progress)
        },
        settings,
    )
}

/// Starts an engine with a loader of one's own.
pub fn start_with(
    load: impl FnMut(&Wanted, &Cancel, &mut dyn FnMut(Progress)) -> anyhow::Result<Loaded>
    + Send
    + 'static,
    settings: Settings,
) -> Handle {
    let (commands, inbox) = protocol::channel();
    let (outbox, events) = unbounded_channel();
    let quit = Cancel::new();
    let cancel = quit.clone();
    std::thread::Builder::new()
        .name(THREAD_NAME.into())
        .spawn(move || run(Box::new(load), settings, &inbox, &outbox, &cancel))
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
    mut load: Box<Load>,
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
        let first = Wanted {
            models: None,
            occupied: 0,
        };
        let loaded = load(&first, cancel, &mut progress)?;
        let mut worker = State::new(settings, inbox, outbox).go_on(loaded);
        while let Some(request) = worker.work() {
            worker = exchange(worker, &request, &mut *load, cancel)?;
        }
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
