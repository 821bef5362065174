//! A request to stop, shared by the one who asks and the one who works.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One request to stop one piece of work (an answer, a load, a download).
///
/// Clones share the request. It is never taken back: each piece of work gets a new one, so a late
/// request cannot hit the wrong work.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    asked: Arc<AtomicBool>,
    /// Another request that counts as well.
    also: Option<Arc<AtomicBool>>,
}

/// The error of work that stopped because it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stopped on request")]
pub struct Cancelled;

impl Cancel {
    /// A request that nobody has made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// Whether the work was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        let made = |request: &Arc<AtomicBool>| request.load(Ordering::Relaxed);
        made(&self.asked) || self.also.as_ref().is_some_and(made)
    }

    /// This request, for work that `other` stops as well.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            asked: Arc::clone(&self.asked),
            also: Some(Arc::clone(&other.asked)),
        }
    }

    /// `Err(Cancelled)` once the work was asked to stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }
}
