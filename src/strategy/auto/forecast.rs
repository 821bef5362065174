//! What `auto` would choose where every guess is accepted with one and the same chance: the worth of
//! drafting on a machine, before anything is written on it.

use serde::Serialize;

use super::Calibration;
use super::choose::{Chooser, DraftedBy, MAX_DRAFT, Offer};
use super::cost::Costs;
use super::ledger::Ledger;

/// A choice and what it is expected to bring.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// Tokens to draft in a round; 0: plain decoding.
    pub length: usize,
    /// How many times faster than plain decoding that is.
    pub speedup: f64,
}

/// The choices at one acceptance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Choices {
    /// The chance that a drafted token is accepted if those before it are.
    pub acceptance: f64,
    /// With drafts that cost nothing, as those of prompt lookup.
    pub free: Forecast,
    /// With the draft model alone, which has read all before; `None` where no such model was timed.
    pub draft: Option<Forecast>,
}

/// What `auto` would choose at `acceptance` by the passes of `calibration`.
pub fn choices(calibration: &Calibration, acceptance: f64) -> Choices {
    let costs = Costs::calibrated(calibration);
    let choice = |drafter, step| {
        let offer = Offer {
            drafter,
            chances: vec![acceptance; MAX_DRAFT],
            step,
            catch_up: 0.0,
            horizon: 1.0,
        };
        let unlimited = Ledger::new(f64::INFINITY);
        let plan = Chooser::default().choose(&[offer], &costs, &unlimited);
        Forecast {
            length: plan.length,
            speedup: plan.rate,
        }
    };
    let has_draft = !calibration.draft_ms.is_empty();
    Choices {
        acceptance,
        free: choice(DraftedBy::Lookup, 0.0),
        draft: has_draft.then(|| choice(DraftedBy::Model, costs.step())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_length_is_chosen_by_the_measured_curve() {
        let check = |target: &[(usize, f64)], draft: &[(usize, f64)], acceptance, expect: &str| {
            let calibration = Calibration {
                target_ms: target.iter().copied().collect(),
                draft_ms: draft.iter().copied().collect(),
            };
            let Choices { free, draft, .. } = choices(&calibration, acceptance);
            let word = |choice: Forecast| format!("{} {:.2}", choice.length, choice.speedup);
            let got = [Some(free), draft].map(|choice| choice.map_or("none".into(), word));
            assert_eq!(got.join(", "), expect, "{target:?} {draft:?} {acceptance}");
        };
        let flat = [(1, 10.0), (32, 10.0)];
        let linear = [(1, 10.0), (2, 20.0), (32, 320.0)];
        let step = [(1, 10.0), (2, 20.0), (17, 20.0)];
        check(&flat, &[], 1.0, "16 17.00, none");
        check(&flat, &[(1, 10.0)], 0.9, "16 8.33, 0 1.00");
        check(&flat, &[(1, 1.0)], 0.5, "16 2.00, 2 1.46");
        check(&linear, &[(1, 1.0)], 1.0, "0 1.00, 0 1.00");
        check(&step, &[(1, 0.1)], 0.9, "16 4.17, 16 3.86");
        check(&step, &[], 0.0, "0 1.00, none");
    }
}
