//! Ends the program when a signal asks for it and the loop cannot.
//!
//! The loop may wait for a terminal that does not read, as behind a connection that hangs, and a blocked write
//! cannot be called off. A thread of its own hears the same signals, gives the loop time to end by itself, and
//! then ends the process without writing anything. What was said is on the disk but for the last two seconds.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::time::sleep;

use super::exit::Exit;
use super::guard::restore_modes;
use super::signals::{Signal, Signals};

/// How long the loop has: it saves the chat and ends the engine.
const GRACE: Duration = Duration::from_secs(4);

/// Signals that the loop has heard and that do not end the program.
static OUTLIVED: AtomicUsize = AtomicUsize::new(0);

/// Starts to watch. To be called once.
pub(super) fn watch() -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _entered = runtime.enter();
        Signals::listen()?
    };
    let watch = async move {
        loop {
            let Some(exit) = ends(signals.next().await) else {
                continue;
            };
            let outlived = OUTLIVED.load(Ordering::SeqCst);
            sleep(GRACE).await;
            if OUTLIVED.load(Ordering::SeqCst) == outlived {
                restore_modes();
                std::process::exit(exit.code().into());
            }
        }
    };
    let thread = thread::Builder::new().name("last resort".into());
    thread.spawn(move || runtime.block_on(watch)).map(drop)
}

/// The loop has heard a signal and goes on.
pub(super) fn outlived() {
    OUTLIVED.fetch_add(1, Ordering::SeqCst);
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
