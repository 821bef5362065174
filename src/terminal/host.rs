//! What the screen cannot do itself, because it knows nothing of models: it is given as functions.

use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot::{Receiver, channel};

use crate::engine::protocol::{Handle, ModelEntry, ModelRef};

/// Starts an engine with these models, or with those that the program was started for.
type Start = dyn Fn(Option<ModelRef>) -> Handle;

/// Who starts engines and knows which models there are.
pub struct Host {
    start: Box<Start>,
    models: Arc<dyn Fn() -> Vec<ModelEntry> + Send + Sync>,
}

impl Host {
    /// From a function that starts an engine, and one that lists models, which may take a while.
    pub fn new(
        start: impl Fn(Option<ModelRef>) -> Handle + 'static,
        models: impl Fn() -> Vec<ModelEntry> + Send + Sync + 'static,
    ) -> Self {
        Self {
            start: Box::new(start),
            models: Arc::new(models),
        }
    }

    /// A new engine.
    pub(super) fn start(&self, models: Option<ModelRef>) -> Handle {
        (self.start)(models)
    }

    /// The models that there are, once they are listed; nothing where that fails.
    pub(super) fn models(&self) -> Receiver<Vec<ModelEntry>> {
        let (sender, receiver) = channel();
        let models = Arc::clone(&self.models);
        // A thread that cannot be had drops the sender.
        drop(thread::Builder::new().spawn(move || sender.send(models())));
        receiver
    }
}
