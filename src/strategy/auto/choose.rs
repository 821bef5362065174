//! The choice of a round: over all drafters and lengths, the most tokens for the time.
//!
//! With P(i) the chance that the first i drafted tokens are all accepted, c(k) the cost of drafting k and
//! V(n) that of a pass over n rows, all in plain passes, a round of k emits E(k) = 1 + P(1) + … + P(k)
//! tokens and R(k) = E(k) / (c(k) + V(k + 1)) is how many times faster than plain it is. **All k are
//! looked at, never one step up or down**: where V is a step, one drafted token loses and fifteen win.

use super::cost::Costs;
use super::ledger::Ledger;

/// Tokens that are drafted in a round at most.
pub(super) const MAX_DRAFT: usize = 16;
/// How much better a change must be.
pub(super) const BETTER: f64 = 1.03;
/// How much better still where the budget is nearly lost: what is left of it is kept for drafts that are worth
/// more than those that lost it.
const CAUTION: f64 = 0.08;
/// Rounds in a row for which it must be so before the draft model is taken up or left.
const ROUNDS: usize = 3;
/// Further drafts that must be affordable before a draft model reads much.
const TRIES: f64 = 3.0;
/// Rounds without a plain one after which one is made, so that what plain costs stays known. At 32 they cost
/// 1 % of a simulated story.
const ANCHOR_EVERY: usize = 64;

/// Who drafts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DraftedBy {
    Model,
    Lookup,
    Recycling,
}

impl DraftedBy {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "draft",
            Self::Lookup => "lookup",
            Self::Recycling => "recycling",
        }
    }
}

/// What a drafter can do this round.
#[derive(Clone, Debug)]
pub(super) struct Offer {
    pub drafter: DraftedBy,
    /// For each token it can draft, the chance that it is accepted if those before it are.
    pub chances: Vec<f64>,
    /// Plain passes for each drafted token.
    pub step: f64,
    /// Plain passes that it takes once, to read what it has missed.
    pub catch_up: f64,
    /// Tokens that what is read once is expected to serve.
    pub horizon: f64,
}

/// A draft length and how many times faster than plain it is expected to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rated {
    pub length: usize,
    pub rate: f64,
}

impl Offer {
    /// What is lost if all `length` drafted tokens are rejected, in plain passes.
    pub fn worst(&self, length: usize, costs: &Costs) -> f64 {
        self.catch_up + self.loss(length, costs)
    }

    /// The same without what is read once.
    fn loss(&self, length: usize, costs: &Costs) -> f64 {
        length as f64 * self.step + costs.pass(length + 1) - 1.0
    }

    /// What must be affordable for a draft of `length`: what it may lose, and after much was read for it
    /// some further tries, or the reading is lost by one token's bad luck.
    fn stake(&self, length: usize, costs: &Costs) -> f64 {
        let one = self.loss(1, costs);
        let tries = if self.catch_up > one { TRIES } else { 0.0 };
        self.worst(length, costs) + tries * one
    }

    /// The best of all lengths from 1 whose loss is at most `affordable`.
    pub fn best(&self, costs: &Costs, affordable: f64) -> Option<Rated> {
        let mut reached = 1.0;
        let mut emitted = 1.0;
        let mut best: Option<Rated> = None;
        for (i, chance) in self.chances.iter().enumerate() {
            let length = i + 1;
            reached *= chance;
            emitted += reached;
            if self.stake(length, costs) > affordable {
                break;
            }
            let cost = length as f64 * self.step + costs.pass(length + 1);
            let rate = 1.0 / (cost / emitted + self.catch_up / self.horizon);
            if best.is_none_or(|best| rate > best.rate) {
                best = Some(Rated { length, rate });
            }
        }
        best
    }

    /// The longest draft whose loss is at most `affordable`.
    pub fn longest(&self, costs: &Costs, affordable: f64) -> usize {
        let lengths = (1..=self.chances.len()).rev();
        lengths
            .into_iter()
            .find(|&length| self.stake(length, costs) <= affordable)
            .unwrap_or(0)
    }
}

/// What a round does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Who drafts; nobody: plain.
    pub drafter: Option<DraftedBy>,
    /// Tokens to draft.
    pub length: usize,
    /// How many times faster than plain this is expected to be.
    pub rate: f64,
    /// Why, where it is not that nothing is faster.
    pub because: Because,
}

/// What led to a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Because {
    /// It has the best rate.
    Best,
    /// Something better could lose more than the ledger allows.
    NotAffordable(DraftedBy),
    /// What plain costs was to be measured again.
    Anchor,
    /// The first token of an answer waits for nothing.
    FirstToken,
}

const PLAIN: Plan = Plan {
    drafter: None,
    length: 0,
    rate: 1.0,
    because: Because::Best,
};

/// The plan for the first round of an answer, whatever is offered: a draft would make its only certain token
/// wait, most of all for a draft model that has the prompt still to read.
pub(super) const FIRST: Plan = Plan {
    because: Because::FirstToken,
    ..PLAIN
};

/// Chooses, and holds on to its choice.
#[derive(Clone, Debug, Default)]
pub(super) struct Chooser {
    /// Whether the draft model is in use; `None` before the first choice.
    using_model: Option<bool>,
    /// Rounds in a row that spoke for the opposite.
    against: usize,
}

impl Chooser {
    /// The plan for a round in which drafters offer `offers`.
    ///
    /// A free drafter's offer is taken whenever it is 3 % better; it is gone in the next round. The draft
    /// model is taken up or left after three rounds in which that was 3 % better, since it has to read
    /// what it missed.
    pub fn choose(&mut self, offers: &[Offer], costs: &Costs, ledger: &Ledger) -> Plan {
        if costs.plain_ms().is_none() || costs.since_plain() >= ANCHOR_EVERY {
            return Plan {
                because: Because::Anchor,
                ..PLAIN
            };
        }
        let affordable = ledger.affordable();
        let enough = BETTER + CAUTION * ledger.strain();
        let mut free = PLAIN;
        let mut model = None;
        let mut refused: Option<(DraftedBy, f64)> = None;
        for offer in offers {
            let wanted = offer.best(costs, f64::INFINITY);
            let best = offer.best(costs, affordable);
            if best.is_none_or(|best| best.rate < BETTER)
                && let Some(wanted) = wanted.filter(|wanted| wanted.rate >= BETTER)
                && refused.is_none_or(|(_, rate)| wanted.rate > rate)
            {
                refused = Some((offer.drafter, wanted.rate));
            }
            let Some(Rated { length, rate }) = best else {
                continue;
            };
            let plan = Plan {
                drafter: Some(offer.drafter),
                length,
                rate,
                because: Because::Best,
            };
            match offer.drafter {
                DraftedBy::Model => model = Some(plan),
                DraftedBy::Lookup | DraftedBy::Recycling => {
                    if rate >= enough && rate > free.rate {
                        free = plan;
                    }
                }
            }
        }
        let mut plan = self.free_or_model(free, model, enough);
        if plan.drafter.is_none()
            && let Some((drafter, _)) = refused
        {
            plan.because = Because::NotAffordable(drafter);
        }
        plan
    }

    fn free_or_model(&mut self, free: Plan, model: Option<Plan>, enough: f64) -> Plan {
        let Some(model) = model else {
            return free;
        };
        let enter = model.rate >= BETTER * free.rate && model.rate >= enough;
        let leave = free.rate >= BETTER * model.rate;
        let using = *self.using_model.get_or_insert(enter);
        self.against = match (using, enter, leave) {
            (true, _, true) | (false, true, _) => self.against + 1,
            (true, _, false) | (false, false, _) => 0,
        };
        if self.against >= ROUNDS {
            self.using_model = Some(!using);
            self.against = 0;
        }
        let gone_next_round = free.drafter.is_some() && leave;
        if self.using_model == Some(true) && !gone_next_round {
            model
        } else {
            free
        }
    }
}

/// Whether to draft on with a model after some tokens, which are all accepted with chance `reached`:
/// whether some number of the `next` ones, given by their chances, is worth more than its time would bring
/// at `rate`.
pub(super) fn goes_on(
    reached: f64,
    drafted: usize,
    next: &[f64],
    step: f64,
    costs: &Costs,
    rate: f64,
) -> bool {
    let mut reached = reached;
    let mut gain = 0.0;
    let mut spent = 0.0;
    next.iter().enumerate().any(|(i, chance)| {
        reached *= chance;
        gain += reached;
        spent += step;
        let rows = drafted + 1;
        gain >= rate * (spent + costs.pass(rows + i + 1) - costs.pass(rows))
    })
}

/// How many of the drafted tokens, given by their `chances`, to verify: the prefix whose tokens exceed by
/// most what its pass would bring at `rate`.
pub(super) fn best_prefix(chances: &[f64], costs: &Costs, rate: f64) -> usize {
    let mut reached = 1.0;
    let mut emitted = 1.0;
    let mut best = (0, 1.0 - rate * costs.pass(1));
    for (i, chance) in chances.iter().enumerate() {
        reached *= chance;
        emitted += reached;
        let value = emitted - rate * costs.pass(i + 2);
        if value > best.1 {
            best = (i + 1, value);
        }
    }
    best.0
}

#[cfg(test)]
mod tests;
