//! `auto`: each round, the drafter and length that measured time and observed acceptance say is fastest,
//! and never much slower than plain decoding.
//!
//! ```text
//! committed tokens ─▶ free, model: what can be drafted, with which chances ─┐
//! times of rounds ──▶ cost: V(n), D ───────────────────────────────────────┼─▶ choose ─▶ draft
//! tokens and times ─▶ ledger: what may be lost ────────────────────────────┘
//! ```
//!
//! **Nothing here reads a clock**: times come in with the [`Feedback`], so that a simulator can run this
//! very code. docs/auto.md has the formulas.

mod acceptance;
mod choose;
mod cost;
mod explain;
mod forecast;
mod free;
mod guess;
mod ledger;
mod model;
mod recycling;

use std::time::Duration;

use self::choose::{Chooser, DraftedBy, Offer, Plan};
use self::cost::Costs;
use self::free::Free;
use self::guess::Guesser;
use self::ledger::{BUDGET, Ledger};
use self::model::DraftSide;
use super::{Feedback, Parts, Strategy};
use crate::cancel::Cancel;
use crate::engine::protocol::Explanation;
use crate::model::{PassError, Token};

pub use cost::Calibration;
pub use forecast::{Choices, Forecast, choices};

pub(super) const NAME: &str = "auto";

/// A rest of the target after which its next pass is not typical.
const IDLE: Duration = Duration::from_secs(1);
/// Committed tokens after which the draft model is asked what it would have guessed.
const PROBE_EVERY: usize = 64;
/// The share of plain decoding's time that asking may take.
const PROBE_BUDGET: f64 = 0.005;
/// The acceptance that is hoped for when asking.
const HOPE: f64 = 0.9;

/// Drafts with whatever pays.
pub struct Auto {
    ends: Vec<Token>,
    costs: Costs,
    /// The costs that were measured, or guessed, before the first round.
    start: Costs,
    free: Free,
    model: Option<DraftSide>,
    chooser: Chooser,
    ledger: Ledger,
    /// Plain passes' worth of time that probes may take.
    probe_budget: f64,
    /// Whether the next pass is the first of an answer, which is not typical.
    first: bool,
    last: Option<Choice>,
}

/// A round's plan, and what was to choose from.
struct Choice {
    plan: Plan,
    offers: Vec<Offer>,
    drafted: usize,
    affordable: f64,
}

impl Auto {
    /// Drafts from the conversation, and with the draft model of `parts` if there is one.
    pub fn new(parts: &Parts) -> Self {
        let model = parts.draft.as_ref().ok();
        let guesser = model.map(|drafter| Box::new(drafter.clone()) as Box<dyn Guesser>);
        let costs = parts.calibration.as_ref().map(Costs::calibrated);
        Self::with(
            guesser,
            costs.unwrap_or_else(Costs::guess),
            Ledger::new(BUDGET),
            parts.ends.clone(),
        )
    }

    fn with(
        guesser: Option<Box<dyn Guesser>>,
        costs: Costs,
        ledger: Ledger,
        ends: Vec<Token>,
    ) -> Self {
        Self {
            free: Free::new(ends.clone()),
            model: guesser.map(DraftSide::new),
            chooser: Chooser::default(),
            ledger,
            start: costs.clone(),
            costs,
            ends,
            probe_budget: 0.0,
            first: true,
            last: None,
        }
    }

    /// What it costs to let the draft model read what it missed, for the sake of what it would have guessed
    /// there, if that is due: where it has not been heard for long and could be better than `rate`.
    fn probe(&self, committed: &[Token], rate: f64, offer: &Offer) -> Option<f64> {
        let unjudged = self.model.as_ref()?.unjudged(committed);
        let hoped = Offer {
            chances: vec![HOPE; offer.chances.len()],
            ..offer.clone()
        };
        let cost = offer.catch_up + offer.step;
        let affordable = cost <= self.probe_budget && self.ledger.allows(cost);
        let hopeful = hoped.best(&self.costs, f64::INFINITY)?.rate > rate;
        (unjudged >= PROBE_EVERY && affordable && hopeful).then_some(cost)
    }
}

impl Strategy for Auto {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, committed: &[Token]) {
        self.free.begin(committed);
        if let Some(model) = &mut self.model {
            model.begin(committed);
        }
        self.ledger.begin_answer();
        self.first = true;
        self.last = None;
    }

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        self.free.read(committed);
        let drafts = self.free.drafts(committed, limit);
        let mut offers: Vec<_> = drafts.iter().map(|draft| draft.offer.clone()).collect();
        if let Some(model) = &mut self.model {
            model.forget_round();
            offers.extend(model.offer(committed, limit, &self.costs));
        }
        let plan = if self.first {
            choose::FIRST
        } else {
            self.chooser.choose(&offers, &self.costs, &self.ledger)
        };
        let affordable = self.ledger.affordable();
        let by_model = offers
            .iter()
            .find(|offer| offer.drafter == DraftedBy::Model);
        let probe = by_model
            .filter(|_| !self.first)
            .and_then(|offer| self.probe(committed, plan.rate, offer));

        let known = (&self.costs, &self.ends[..]);
        let drafted = match (plan.drafter, &mut self.model, by_model) {
            (Some(DraftedBy::Model), Some(model), Some(offer)) => {
                let length = offer.longest(&self.costs, affordable);
                model.draft(committed, length, plan.rate, known, cancel)
            }
            (drafter, model, _) => {
                if let (Some(cost), Some(model)) = (probe, model) {
                    self.probe_budget -= cost;
                    model.draft(committed, 1, plan.rate, known, cancel)?;
                }
                let mut drafts = drafts.into_iter();
                let found = drafts.find(|draft| Some(draft.offer.drafter) == drafter);
                let mut tokens = found.map(|draft| draft.tokens).unwrap_or_default();
                tokens.truncate(plan.length);
                Ok(tokens)
            }
        };
        self.last = Some(Choice {
            plan,
            drafted: drafted.as_ref().map_or(0, Vec::len),
            offers,
            affordable,
        });
        drafted
    }

    fn accept(&mut self, round: &Feedback) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let rows = round.n_drafted + 1;
        let pass_ms = ms(round.verify_time + round.other_time);
        let typical = !std::mem::replace(&mut self.first, false) && round.idle < IDLE;
        if typical {
            self.costs.observe_pass(rows, pass_ms);
        }
        let mut spent = self.costs.pass(rows);
        if let Some(model) = &mut self.model {
            let draft_ms = ms(round.draft_time);
            let passes = model.passes();
            spent += if model.prefilled() {
                self.costs.observe_reading(passes, draft_ms, rows, pass_ms)
            } else {
                if typical {
                    self.costs.observe_draft(passes, draft_ms, rows, pass_ms);
                }
                passes.iter().map(|&rows| self.costs.draft_pass(rows)).sum()
            };
            model.accept(round.committed, round.n_emitted);
        }
        self.ledger.settle(round.n_emitted, spent);
        self.probe_budget += PROBE_BUDGET * round.n_emitted as f64;
        self.free.read(round.committed);
    }

    fn explanation(&self) -> Option<Explanation> {
        let choice = self.last.as_ref()?;
        let acceptance = self.model.as_ref().map(DraftSide::acceptance);
        Some(explain::explain(
            choice,
            acceptance,
            &self.costs,
            &self.ledger,
        ))
    }

    fn calibrate(&mut self, calibration: &Calibration) {
        self.start = Costs::calibrated(calibration);
        self.costs = self.start.clone();
    }

    fn forget(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        let model = self.model.take().map(DraftSide::forget);
        *self = Self {
            model,
            ..Self::with(None, self.start.clone(), Ledger::new(BUDGET), ends)
        };
    }
}

#[cfg(test)]
mod simulator;
#[cfg(test)]
mod tests;
