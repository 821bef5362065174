//! The draft model as `auto` uses it: what it is worth now, when to stop drafting, how many to verify.
//!
//! **Whatever it reads is scored**: tokens that were committed without it go through its next pass as
//! rows, which tell what it would have guessed there.

use super::acceptance::{ByConfidence, ByRun};
use super::choose::{DraftedBy, MAX_DRAFT, Offer, best_prefix, goes_on};
use super::cost::Costs;
use super::guess::{Guess, Guesser, SCORED_ROWS};
use crate::cancel::Cancel;
use crate::model::{PassError, Token};

/// Tokens that are committed unjudged before a run of right guesses says nothing any more.
const STALE: usize = 4;
/// Tokens that an answer is expected to go on for at least.
const LEAST_HORIZON: usize = 32;

/// A draft model and what is known of it.
pub(super) struct DraftSide {
    guesser: Box<dyn Guesser>,
    chances: Chances,
    answer_start: usize,
    /// Whether it failed in this answer.
    failed: bool,
    /// Its guesses in this round, also those that were not verified.
    guesses: Vec<Guess>,
    /// Rows of its passes in this round.
    passes: Vec<usize>,
}

/// What its guesses were worth.
struct Chances {
    by_confidence: ByConfidence,
    by_run: ByRun,
    /// How many guesses in a row were right.
    run: usize,
    /// Committed tokens up to which guesses were judged.
    judged: usize,
}

impl Chances {
    /// Judges the guess at `position` by the token that was committed there.
    fn judge(&mut self, position: usize, guess: Guess, token: Token) -> bool {
        let hit = guess.token == token;
        if position > self.judged {
            self.run = 0;
        }
        self.by_confidence.record(guess.confidence, hit);
        self.by_run.record(self.run, hit);
        self.run = if hit { self.run + 1 } else { 0 };
        self.judged = position + 1;
        hit
    }

    /// The chances of `length` guesses after `position`, of which some may be made already.
    fn ahead(&self, position: usize, made: usize, length: usize) -> Vec<f64> {
        let run = if position > self.judged + STALE {
            0
        } else {
            self.run
        };
        (made..length).map(|i| self.by_run.rate(run + i)).collect()
    }
}

impl DraftSide {
    /// Nothing is known of `guesser` yet.
    pub fn new(guesser: Box<dyn Guesser>) -> Self {
        Self {
            guesser,
            chances: Chances {
                by_confidence: ByConfidence::new(),
                by_run: ByRun::new(),
                run: 0,
                judged: 0,
            },
            answer_start: 0,
            failed: false,
            guesses: Vec::new(),
            passes: Vec::new(),
        }
    }

    /// The same model, of which nothing is known, and which has read nothing.
    pub fn forget(mut self) -> Self {
        self.guesser.forget();
        Self::new(self.guesser)
    }

    /// An answer follows `committed`.
    pub fn begin(&mut self, committed: &[Token]) {
        self.answer_start = committed.len();
        self.chances.judged = committed.len();
        self.chances.run = 0;
        self.failed = false;
        self.forget_round();
    }

    /// A round begins.
    pub fn forget_round(&mut self) {
        self.guesses.clear();
        self.passes.clear();
    }

    /// What it can draft after `committed`, at most `limit` tokens; `None` where it cannot.
    pub fn offer(&self, committed: &[Token], limit: usize, costs: &Costs) -> Option<Offer> {
        let room = (self.guesser.capacity() + 1).saturating_sub(committed.len());
        let length = limit.min(MAX_DRAFT).min(room);
        if self.failed || length == 0 {
            return None;
        }
        let lag = self.guesser.lag(committed);
        let answered = committed.len() - self.answer_start;
        Some(Offer {
            drafter: DraftedBy::Model,
            chances: self.chances.ahead(committed.len(), 0, length),
            step: costs.step(),
            catch_up: costs.draft_pass(lag) - costs.step(),
            // An answer is expected to go on for as long as it has lasted.
            horizon: answered.max(LEAST_HORIZON).min(limit + 1) as f64,
        })
    }

    /// Committed tokens since its guesses were last judged.
    pub fn unjudged(&self, committed: &[Token]) -> usize {
        committed.len() - self.chances.judged.min(committed.len())
    }

    /// The share of its guesses that were right lately.
    pub fn acceptance(&self) -> f64 {
        self.chances.by_run.overall()
    }

    /// Rows of its passes in this round.
    pub fn passes(&self) -> &[usize] {
        &self.passes
    }

    /// Drafts at most `length` tokens after `committed` where the time would else bring `rate` tokens a
    /// plain pass: stops once going on is not worth it, and returns the tokens that are worth verifying.
    pub fn draft(
        &mut self,
        committed: &[Token],
        length: usize,
        rate: f64,
        (costs, ends): (&Costs, &[Token]),
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let Self {
            guesser,
            chances,
            answer_start,
            guesses,
            passes,
            ..
        } = self;
        let lag = guesser.lag(committed);
        let mut reached = 1.0;
        let mut worth = Vec::with_capacity(length);
        let outcome = guesser.guess(committed, length, cancel, &mut |rows| {
            if passes.is_empty() {
                passes.push(lag);
                let first = committed.len() + 1 - rows.len();
                for (position, guess) in (first..committed.len()).zip(rows) {
                    if position >= chances.judged.max(*answer_start) {
                        chances.judge(position, *guess, committed[position]);
                    }
                }
            } else {
                passes.push(1);
            }
            let Some(&guess) = rows.last() else {
                return false;
            };
            guesses.push(guess);
            let chance = chances.by_confidence.rate(guess.confidence);
            reached *= chance;
            worth.push(chance);
            let next = chances.ahead(committed.len(), guesses.len(), length);
            !ends.contains(&guess.token)
                && goes_on(reached, guesses.len(), &next, costs.step(), costs, rate)
        });
        if let Err(PassError::Failed(_)) = &outcome {
            self.failed = true;
            self.guesses.clear();
        }
        outcome?;
        let verified = best_prefix(&worth, costs, rate);
        Ok(self.guesses[..verified]
            .iter()
            .map(|guess| guess.token)
            .collect())
    }

    /// Takes what this round emitted, which `committed` ends with.
    pub fn accept(&mut self, committed: &[Token], n_emitted: usize) {
        let start = committed.len() - n_emitted;
        for (position, guess) in (start..committed.len()).zip(&self.guesses) {
            if !self.chances.judge(position, *guess, committed[position]) {
                break;
            }
        }
    }

    /// Whether this round read more than its last pass's rows: a prefill, which has a price of its own.
    pub fn prefilled(&self) -> bool {
        self.passes.first().is_some_and(|&lag| lag > SCORED_ROWS)
    }
}
