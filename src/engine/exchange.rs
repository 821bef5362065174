//! Other models in the place of those that are loaded, while the conversation goes on.
//!
//! **The old pair stays until the new one is there**, so that a stop or a failure costs nothing. Only where
//! memory does not hold both is it let go first, and loaded anew if need be.

use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::Context as _;

use super::protocol::{Event, ModelRef, NotLoaded};
use super::worker::{Request, Worker};
use super::{Load, Wanted, panic_message};
use crate::cancel::{Cancel, Cancelled};
use crate::model::load::Progress;
use crate::model::memory::NoRoomBeside;
use crate::model::pair::Loaded;

/// Loads what is `request`ed with `load` and goes on with it, or with the old models where that fails. An error
/// means that there are none; `quit` ends everything.
pub(super) fn exchange<'a>(
    worker: Worker<'a>,
    request: &Request,
    load: &mut Load,
    quit: &Cancel,
) -> anyhow::Result<Worker<'a>> {
    let outbox = worker.outbox();
    let mut load = |models: &ModelRef, occupied, cancel: &Cancel| {
        let wanted = Wanted {
            models: Some(models),
            occupied,
        };
        let mut progress = |progress: Progress| {
            // A front end that has gone needs no progress.
            let _ = outbox.send(progress.into());
        };
        catch_unwind(AssertUnwindSafe(|| load(&wanted, cancel, &mut progress)))
            .unwrap_or_else(|panic| Err(anyhow::anyhow!(panic_message(panic.as_ref()))))
    };
    let cancel = request.cancel.or(quit);
    match load(&request.models, worker.memory(), &cancel) {
        Ok(loaded) => Ok(worker.let_go().go_on(loaded)),
        Err(error) if error.is::<NoRoomBeside>() => {
            let old = worker.models().clone();
            let state = worker.let_go();
            let loaded: anyhow::Result<Loaded> = load(&request.models, 0, &cancel);
            match loaded {
                Ok(loaded) => Ok(state.go_on(loaded)),
                Err(error) => {
                    let again = load(&old, 0, quit)
                        .with_context(|| format!("cannot load {} again", old.target))?;
                    let worker = state.go_on(again);
                    worker.tell(not_loaded(&error));
                    Ok(worker)
                }
            }
        }
        Err(error) => {
            worker.tell(not_loaded(&error));
            Ok(worker)
        }
    }
}

fn not_loaded(error: &anyhow::Error) -> Event {
    Event::NotLoaded(if error.is::<Cancelled>() {
        NotLoaded::Stopped
    } else {
        NotLoaded::Failed(format!("{error:#}"))
    })
}
