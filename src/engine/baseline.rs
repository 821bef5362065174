//! The measured cost of plain decoding: what every speed-up is compared with.

use std::collections::VecDeque;
use std::time::Duration;

use super::protocol::Baseline;

/// Passes that a baseline is the median of, at most.
const KEEP: usize = 15;
/// Passes timed when nothing else is to be done.
pub(super) const IDLE_PASSES: usize = 5;
/// Plain rounds of an answer between two reports.
const REPORT_EVERY: usize = 4;

/// The latest timings of one-row passes at about one context length.
#[derive(Default)]
pub(super) struct Meter {
    times: VecDeque<Duration>,
    since_report: usize,
}

impl Meter {
    /// Forgets timings that were taken at another context length.
    pub fn restart(&mut self) {
        self.times.clear();
        self.since_report = 0;
    }

    /// Adds the time of one plain pass.
    pub fn push(&mut self, time: Duration) {
        if self.times.len() == KEEP {
            self.times.pop_front();
        }
        self.times.push_back(time);
        self.since_report += 1;
    }

    /// Number of timings.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// The median, when enough new timings have come in since the last report.
    pub fn report_due(&mut self, context: usize) -> Option<Baseline> {
        (self.since_report >= REPORT_EVERY)
            .then(|| self.report(context))
            .flatten()
    }

    /// The median of the timings.
    pub fn report(&mut self, context: usize) -> Option<Baseline> {
        self.since_report = 0;
        let mut sorted: Vec<_> = self.times.iter().copied().collect();
        sorted.sort_unstable();
        let per_token = *sorted.get(sorted.len() / 2)?;
        Some(Baseline { per_token, context })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_the_median_of_the_latest_timings() {
        let mut meter = Meter::default();
        assert_eq!(meter.report(0), None);
        for ms in [900, 900].into_iter().chain(1..=15) {
            meter.push(Duration::from_millis(ms));
        }
        let expect = Baseline {
            per_token: Duration::from_millis(8),
            context: 7,
        };
        assert_eq!(meter.report_due(7), Some(expect));
        assert_eq!(meter.report_due(7), None);
        meter.restart();
        assert_eq!((meter.report(7), meter.len()), (None, 0));
    }
}
