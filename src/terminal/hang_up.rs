//! Ends the program when its terminal has gone and the loop cannot notice.
//!
//! crossterm 0.29 reads input until there is none; a terminal that has gone gives an error for ever
//! instead, so that its loop never returns to ours, where the signal waits. A thread of its own looks
//! whether there is still a terminal, gives the loop a moment to end by itself, and saves the chat.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Exit;
use crate::session::saver::Closer;

/// How often it looks; the loop has as long to end.
const PERIOD: Duration = Duration::from_millis(500);
/// How long it waits for the disk: all in all, the program ends within 2 s.
const SAVING: Duration = Duration::from_millis(800);

/// Watches until it is dropped.
pub(super) struct HangUpWatch {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl HangUpWatch {
    /// Begins to watch the terminal behind standard output, with the way to save the chat.
    pub fn start(saver: Closer) -> io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = thread::Builder::new()
            .name("hang-up watch".into())
            .spawn(move || watch(&seen, &saver))?;
        Ok(Self { ended, thread })
    }
}

impl Drop for HangUpWatch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
    }
}

fn watch(ended: &AtomicBool, saver: &Closer) {
    let mut was_gone = false;
    loop {
        thread::park_timeout(PERIOD);
        if ended.load(Ordering::Relaxed) {
            return;
        }
        let gone = !terminal_is_there();
        if gone && was_gone {
            saver.close(SAVING);
            std::process::exit(Exit::HungUp.code().into());
        }
        was_gone = gone;
    }
}

/// Whether there is still a terminal behind standard output.
pub(super) fn terminal_is_there() -> bool {
    rustix::termios::tcgetattr(io::stdout()).is_ok()
}
