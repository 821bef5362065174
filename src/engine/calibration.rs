//! Times the passes of both models while nobody waits for anything, so that `auto` need not guess their
//! costs.
//!
//! One pass a call, in rotation: what slows the machine for a while slows passes of all sizes.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::cancel::Cancel;
use crate::decoding::Decoder;
use crate::measure::{DRAFT_ROWS, median};
use crate::model::PassError;
use crate::strategy::{Calibration, Drafter};

/// Rows of the target's passes: between them the curve is straight.
const TARGET_ROWS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, 16];
/// Passes of each size.
const ROUNDS: usize = 5;

/// A pass over some rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pass {
    Target(usize),
    Draft(usize),
}

/// A calibration in the making.
pub(super) struct Calibrator {
    draft: Option<Drafter>,
    passes: Vec<Pass>,
    /// Passes timed.
    done: usize,
    ms: BTreeMap<Pass, Vec<f64>>,
    due: bool,
}

impl Calibrator {
    /// Of a target, and of its draft model if there is one; `due` where nothing is known of them.
    pub fn new(draft: Option<Drafter>, due: bool) -> Self {
        let target = TARGET_ROWS.map(Pass::Target);
        let drafting = draft.iter().flat_map(|_| DRAFT_ROWS.map(Pass::Draft));
        Self {
            passes: target.into_iter().chain(drafting).collect(),
            draft,
            done: 0,
            ms: BTreeMap::new(),
            due,
        }
    }

    /// Whether passes are still to be timed.
    pub fn is_due(&self) -> bool {
        self.due && self.done < ROUNDS * self.passes.len()
    }

    /// Begins anew if it is not complete: the context has changed, and with it what passes cost.
    pub fn restart(&mut self) {
        if self.is_due() {
            self.done = 0;
            self.ms.clear();
        }
    }

    /// Times the next pass; the calibration when it was the last. Caches are left as they were. A pass that
    /// is cancelled is timed again; where one fails or has no room, the calibration is given up.
    pub fn time_pass(&mut self, decoder: &mut Decoder, cancel: &Cancel) -> Option<Calibration> {
        let pass = self.passes[self.done % self.passes.len()];
        let timed = catch_unwind(AssertUnwindSafe(|| self.timed(pass, decoder, cancel)));
        match timed {
            Ok(Ok(Some(time))) => {
                let ms = time.as_secs_f64() * 1e3;
                self.ms.entry(pass).or_default().push(ms);
                self.done += 1;
            }
            Ok(Err(PassError::Cancelled(_))) => return None,
            Ok(Ok(None) | Err(PassError::Failed(_))) | Err(_) => self.due = false,
        }
        (self.due && !self.is_due()).then(|| self.medians())
    }

    fn timed(
        &self,
        pass: Pass,
        decoder: &mut Decoder,
        cancel: &Cancel,
    ) -> Result<Option<Duration>, PassError> {
        match (pass, &self.draft) {
            (Pass::Target(rows), _) => decoder.time_pass(rows, cancel),
            (Pass::Draft(rows), Some(draft)) => draft.time_pass(rows, cancel),
            (Pass::Draft(_), None) => Ok(None),
        }
    }

    fn medians(&self) -> Calibration {
        let mut calibration = Calibration::default();
        for (&pass, ms) in &self.ms {
            let ms = median(ms.clone());
            match pass {
                Pass::Target(rows) => calibration.target_ms.insert(rows, ms),
                Pass::Draft(rows) => calibration.draft_ms.insert(rows, ms),
            };
        }
        calibration
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Token;
    use crate::model::scripted::{ScriptedModel, Step};
    use crate::sampling::Sampling;
    use crate::strategy::Plain;

    const TEXT: [Token; 3] = [1, 2, 3];

    fn model(capacity: usize, step: Step) -> ScriptedModel {
        ScriptedModel::new("scripted", 8, capacity, move |_| step)
    }

    fn decoder(capacity: usize, committed: bool) -> Decoder {
        let target = model(capacity, Step::Write(1));
        let mut decoder = Decoder::new(Box::new(target), vec![Box::new(Plain)], vec![]);
        if committed {
            decoder
                .begin(&TEXT, &Cancel::new(), &mut |_, _| {})
                .unwrap();
        }
        decoder
    }

    fn draft(capacity: usize, step: Step) -> Drafter {
        let draft = Drafter::new(Box::new(model(capacity, step)), Sampling::default());
        if let Step::Write(_) = step {
            draft
                .draft(&TEXT, 1, &Cancel::new(), &mut |_, _| true)
                .unwrap();
        }
        draft
    }

    /// Times passes until none is due: how many, and the calibration.
    fn run(calibrator: &mut Calibrator, decoder: &mut Decoder) -> (usize, Option<Calibration>) {
        let mut calls = 0;
        let mut found = None;
        while calibrator.is_due() {
            calls += 1;
            assert!(found.is_none());
            found = calibrator.time_pass(decoder, &Cancel::new());
        }
        (calls, found)
    }

    #[test]
    fn all_passes_are_timed_at_any_context_and_caches_are_kept() {
        for committed in [false, true] {
            for draft in [None, Some(draft(30, Step::Write(1)))] {
                let mut decoder = decoder(30, committed);
                let mut calibrator = Calibrator::new(draft.clone(), true);
                let (calls, found) = run(&mut calibrator, &mut decoder);
                let found = found.unwrap();
                assert!(found.target_ms.keys().copied().eq(TARGET_ROWS));
                let drafting = draft.iter().flat_map(|_| DRAFT_ROWS);
                assert!(found.draft_ms.keys().copied().eq(drafting));
                assert_eq!(
                    calls,
                    ROUNDS * (found.target_ms.len() + found.draft_ms.len())
                );
                if committed {
                    let reused = decoder.begin(&TEXT, &Cancel::new(), &mut |_, _| {});
                    assert_eq!(reused.unwrap().reused, TEXT.len() - 1);
                    let lag = draft.map(|draft| draft.lag(&TEXT));
                    assert!(lag.is_none_or(|lag| lag == 1), "{lag:?}");
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_timed_is_given_up() {
        let check = |capacity, draft, expect| {
            let mut calibrator = Calibrator::new(draft, true);
            let (calls, found) = run(&mut calibrator, &mut decoder(capacity, true));
            assert_eq!((calls, found), (expect, None));
        };
        let good = || Some(draft(30, Step::Write(1)));
        // Two tokens are in the cache: there is no room for 16 more, or for 4.
        check(17, good(), 8);
        check(5, None, 4);
        check(30, Some(draft(9, Step::Write(1))), 8 + 4);
        check(30, Some(draft(30, Step::Fail)), 8 + 1);
        check(30, Some(draft(30, Step::Panic)), 8 + 1);
    }

    #[test]
    fn an_interruption_costs_a_pass_and_a_new_context_a_restart() {
        let mut decoder = decoder(30, true);
        let mut calibrator = Calibrator::new(None, true);
        let stopped = Cancel::new();
        stopped.cancel();
        assert_eq!(calibrator.time_pass(&mut decoder, &stopped), None);
        calibrator.time_pass(&mut decoder, &Cancel::new());
        assert_eq!((calibrator.done, calibrator.is_due()), (1, true));
        calibrator.restart();
        assert_eq!((calibrator.done, calibrator.ms.len()), (0, 0));
        let (_, found) = run(&mut calibrator, &mut decoder);
        assert!(found.is_some());
        calibrator.restart();
        assert!(!calibrator.is_due());
        assert!(!Calibrator::new(None, false).is_due());
    }
}
