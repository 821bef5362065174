//! Tells the front end how a fetch gets on, at a rate a screen can follow.

use std::time::{Duration, Instant};

use crate::engine::protocol::Fetch;

/// Shortest time between two reports of one stage: about 20 a second.
const INTERVAL: Duration = Duration::from_millis(50);

/// Reports the progress of one file.
pub struct Progress<'a> {
    sink: &'a mut dyn FnMut(Fetch),
    state: Fetch,
    reported: Instant,
}

impl<'a> Progress<'a> {
    /// Progress of the file named `what`; every report goes to `sink`.
    pub fn new(what: &str, sink: &'a mut dyn FnMut(Fetch)) -> Self {
        let state = Fetch {
            what: what.to_owned(),
            how: String::new(),
            done: 0,
            total: None,
        };
        Self {
            sink,
            state,
            reported: Instant::now(),
        }
    }

    /// A new stage of the work begins; reported at once.
    pub fn stage(&mut self, how: &str, total: Option<u64>) {
        how.clone_into(&mut self.state.how);
        self.state.done = 0;
        self.state.total = total;
        self.report();
    }

    /// `done` bytes of this stage are through: reported when the last report is old enough or the
    /// stage is complete.
    pub fn done(&mut self, done: u64) {
        let complete = self.state.total == Some(done) && self.state.done != done;
        self.state.done = done;
        if complete || self.reported.elapsed() >= INTERVAL {
            self.report();
        }
    }

    fn report(&mut self) {
        (self.sink)(self.state.clone());
        self.reported = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_reported_at_its_start_and_end() {
        let mut reports = Vec::new();
        let mut sink = |fetch: Fetch| reports.push((fetch.how, fetch.done));
        let start = Instant::now();
        let mut progress = Progress::new("file", &mut sink);
        progress.stage("hub", Some(1000));
        for done in 1..=1000 {
            progress.done(done);
        }
        let most = 2 + start.elapsed().as_millis() / INTERVAL.as_millis();
        assert!(reports.len() as u128 <= most, "{} reports", reports.len());
        assert_eq!(reports.first(), Some(&("hub".to_owned(), 0)));
        assert_eq!(reports.last(), Some(&("hub".to_owned(), 1000)));
    }
}
