//! Fewer events of progress, for who reads them as lines: of each stage the first and the last, and in
//! between at most one per [`INTERVAL`].
//!
//! The last one is known when something else happens, so the latest is held until then.

use std::time::{Duration, Instant};

use crate::engine::protocol::Event;

/// Shortest time between two events of one stage: 10 a second.
const INTERVAL: Duration = Duration::from_millis(100);

/// Lets events through.
#[derive(Default)]
pub struct Throttle {
    /// The latest event that was let through, and when.
    told: Option<(Event, Instant)>,
    /// A later one of the same stage.
    held: Option<Event>,
}

impl Throttle {
    /// The events to tell, in order, when `event` comes at `now`.
    pub fn pass(&mut self, event: &Event, now: Instant) -> Vec<Event> {
        let same_stage = |told: &Event| stage(event).is_some() && stage(told) == stage(event);
        let again = self.told.as_ref().filter(|(told, _)| same_stage(told));
        let held = match again {
            Some((_, at)) if now.saturating_duration_since(*at) < INTERVAL => {
                self.held = Some(event.clone());
                return Vec::new();
            }
            // Older than this event of the same stage.
            Some(_) => {
                self.held = None;
                None
            }
            None => self.held.take(),
        };
        self.told = stage(event).map(|_| (event.clone(), now));
        held.into_iter().chain([event.clone()]).collect()
    }
}

/// What an event tells the progress of: a kind, a name and a way.
fn stage(event: &Event) -> Option<(&'static str, &str, &str)> {
    match event {
        Event::Fetch(fetch) => Some(("fetch", &fetch.what, &fetch.how)),
        Event::Loading(loading) => Some(("loading", &loading.what, "")),
        Event::Prefill { .. } => Some(("prefill", "", "")),
        Event::Ready(_)
        | Event::Baseline(_)
        | Event::Strategy(_)
        | Event::StrategyRefused(_)
        | Event::Options(_)
        | Event::Dropped { .. }
        | Event::NotLoaded(_)
        | Event::Round(_)
        | Event::Finished(_)
        | Event::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocol::Loading;

    fn loading(what: &str, done: u64) -> Event {
        Event::Loading(Loading {
            what: what.to_owned(),
            done,
            total: 1000,
        })
    }

    #[test]
    fn of_each_stage_the_first_the_last_and_ten_a_second() {
        let mut throttle = Throttle::default();
        let start = Instant::now();
        let mut told = Vec::new();
        let mut tell = |event, ms| {
            let events = throttle.pass(&event, start + Duration::from_millis(ms));
            told.extend(events.iter().map(|event| match event {
                Event::Loading(Loading { what, done, .. }) => format!("{what} {done}"),
                other => format!("{other:?}"),
            }));
        };
        for done in 0..=250 {
            tell(loading("target", done), done);
        }
        tell(loading("draft", 0), 251);
        tell(loading("draft", 1), 252);
        tell(Event::Strategy("plain"), 253);
        tell(Event::Strategy("draft"), 254);
        assert_eq!(
            told,
            [
                "target 0",
                "target 100",
                "target 200",
                "target 250",
                "draft 0",
                "draft 1",
                "Strategy(\"plain\")",
                "Strategy(\"draft\")",
            ]
        );
    }
}
