//! Ends the program when a signal asks for it and the loop cannot.
//!
//! The loop may wait for a terminal that does not read, as behind a connection that hangs, and a blocked write
//! cannot be called off. A thread of its own hears the same signals, gives the loop time to end by itself, and
//! then ends the process without writing anything. What was said is on the disk but for the last two seconds.

use std::collections::VecDeque;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::select;

use super::exit::Exit;
use super::guard::restore_modes;
use super::signals::{Signal, Signals};
use super::until;

/// How long the loop has: it saves the chat and ends the engine.
const GRACE: Duration = Duration::from_secs(4);

/// The loop may hear a signal that much sooner than the thread does.
const EARLIER: Duration = Duration::from_secs(1);

/// When the loop last heard a signal that does not end the program.
static OUTLIVED: Mutex<Option<Instant>> = Mutex::new(None);

/// Starts to watch. To be called once.
pub(super) fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        Signals::listen()?
    };
    let watch = async move {
        let mut heard: VecDeque<(Instant, Exit)> = VecDeque::new();
        loop {
            let next = heard.front().map(|(at, _)| *at + GRACE);
            select! {
                signal = signals.next() => {
                    heard.extend(ends(signal).map(|exit| (Instant::now(), exit)));
                }
                () = until(next) => {
                    let due = heard.pop_front();
                    if let Some((_, exit)) = due.filter(|(at, exit)| !is_outlived(*at, *exit)) {
                        restore_modes();
                        std::process::exit(exit.code().into());
                    }
                }
            }
        }
    };
    let thread = thread::Builder::new().name("last resort".into());
    thread.spawn(move || runtime.block_on(watch)).map(drop)
}

/// The loop has heard a signal and goes on.
pub(super) fn outlived() {
    *OUTLIVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Whether the loop goes on after a signal that was heard `at` this time and would end the program by `exit`.
fn is_outlived(at: Instant, exit: Exit) -> bool {
    if !matches!(exit, Exit::Interrupted | Exit::Quit) {
        return false;
    }
    let outlived = *OUTLIVED.lock().unwrap_or_else(PoisonError::into_inner);
    outlived.is_some_and(|outlived| outlived + EARLIER >= at)
}

/// How the program ends by `signal`, if it does.
pub(super) fn ends(signal: Signal) -> Option<Exit> {
    match signal {
        Signal::Interrupt => Some(Exit::Interrupted),
        Signal::Terminate => Some(Exit::Terminated),
        Signal::Quit => Some(Exit::Quit),
        Signal::HangUp => Some(Exit::HungUp),
        Signal::Other(number) => Some(Exit::Signalled(number)),
        Signal::Stop | Signal::Continue | Signal::Resize => None,
    }
}
