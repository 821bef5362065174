//! The clock of measurements: it stands still while the program is stopped (Ctrl-Z).
//!
//! The process may be stopped in the middle of a pass, and must not count the time until `fg` as the pass's.

use std::sync::Mutex;
use std::time::{Duration, Instant};

static STOPS: Mutex<Stops> = Mutex::new(Stops {
    before: Duration::ZERO,
    since: None,
});

struct Stops {
    /// How long the program was stopped before.
    before: Duration,
    /// When it began to stop.
    since: Option<Instant>,
}

/// The time of now. Only differences of such times have a meaning.
pub fn now() -> Instant {
    let stops = lock();
    let now = stops.since.unwrap_or_else(Instant::now);
    now.checked_sub(stops.before).unwrap_or(now)
}

/// Time since `start`, which [`now`] gave.
pub fn since(start: Instant) -> Duration {
    now().saturating_duration_since(start)
}

/// The program is about to stop.
pub fn stop() {
    lock().since.get_or_insert_with(Instant::now);
}

/// The program goes on.
pub fn go_on() {
    let mut stops = lock();
    if let Some(since) = stops.since.take() {
        stops.before += since.elapsed();
    }
}

fn lock() -> std::sync::MutexGuard<'static, Stops> {
    STOPS
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_still_while_stopped() {
        let start = now();
        stop();
        let stopped = now();
        let real = Instant::now();
        while real.elapsed() < Duration::from_millis(20) {
            std::hint::spin_loop();
        }
        assert_eq!(now(), stopped);
        go_on();
        go_on();
        let outside = real.elapsed();
        assert!(since(start) < outside, "{:?} of {outside:?}", since(start));
        let later = now();
        assert!(later >= stopped && since(later) < Duration::from_secs(5));
    }
}
