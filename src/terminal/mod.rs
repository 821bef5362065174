//! Everything between the operating system and the program: the screen's loop, output without a
//! screen, signals, and the terminal's modes.

mod run;

mod awake;
mod cells;
mod clipboard;
mod data;
mod divert;
mod editor;
pub mod frame;
pub mod guard;
pub mod highlight;
pub mod history_file;
pub mod input;
mod last_resort;
mod pen;
mod signals;
pub mod themes;

mod columns;
pub mod depth;
pub mod exit;
pub mod host;

mod json;
pub mod lines;
pub mod oneshot;
pub mod progress;
pub mod saving;
pub mod stdout;
mod summary;
mod text;
mod throttle;

use std::future::pending;
use std::time::{Duration, Instant};

use tokio::time::{sleep_until, timeout};

use crate::engine::protocol::Handle;

pub use columns::{columns, fitted};
pub use exit::Exit;
pub use host::Host;
pub use run::{ScreenSettings, run};
pub use signals::cancel_on_interrupt;

/// How long the program waits for its engine when it ends.
const ENGINE_ENDS: Duration = Duration::from_millis(500);

/// Ends the engine, and with it what it has started (such as a download by another program).
async fn end(engine: Handle) {
    let Handle {
        commands,
        mut events,
        quit,
    } = engine;
    quit.cancel();
    drop(commands);
    // One that is in the middle of a pass ends with the process.
    timeout(ENGINE_ENDS, async {
        while events.recv().await.is_some() {}
    })
    .await
    .ok();
}

/// Waits until `time`; for ever when there is none.
async fn until(time: Option<Instant>) {
    match time {
        // The runtime's timers stand still while it is never idle.
        Some(time) if time <= Instant::now() => {}
        Some(time) => sleep_until(time.into()).await,
        None => pending().await,
    }
}
