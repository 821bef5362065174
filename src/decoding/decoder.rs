//! The loop, one for every strategy: draft → verify → accept → rollback.
//!
//! **Between rounds, after a stop and after an error `target.len() == committed.len() - 1`: the last
//! token is known but not yet fed.** A worked sequence: committed A B C, cache A B. Draft D E F. One
//! pass over C D E F gives four rows. Row C picks D (accepted), row D picks E (accepted), row E picks X
//! (F is rejected). Emitted D E X; committed A B C D E X; cache truncated to A B C D E.

use std::time::{Duration, Instant};

use anyhow::anyhow;

use super::verify;
use crate::cancel::Cancel;
use crate::clock;
use crate::engine::protocol::{self, Explanation};
use crate::model::{Model, PassError, Token};
use crate::sampling::{Sampler, Sampling};
use crate::strategy::{Calibration, Feedback, Strategy, common_prefix};

/// A target, the tokens committed so far, and the strategies that draft for it.
///
/// ```text
/// decoder.begin(prompt, …)?;
/// while !round.ended { round = decoder.round(budget, …)?; }    // swap, stop and publish in between
/// ```
pub struct Decoder {
    target: Box<dyn Model>,
    strategies: Vec<Box<dyn Strategy>>,
    active: usize,
    ends: Vec<Token>,
    sampler: Sampler,
    committed: Vec<Token>,
    /// When the target's last pass ended.
    last_pass: Option<Instant>,
}

/// How a prompt was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefill {
    /// Tokens that were in the cache already.
    pub reused: usize,
    /// Wall time of feeding the others.
    pub time: Duration,
}

/// One round, as measured.
#[derive(Clone, Debug)]
pub struct Round {
    /// Who drafted.
    pub strategy: &'static str,
    /// The tokens drafted.
    pub drafted: Vec<Token>,
    /// How many of them the target judged.
    pub n_verified: usize,
    /// How many of them it accepted.
    pub n_accepted: usize,
    /// The tokens committed by this round: the accepted ones and the target's own next one.
    pub emitted: Vec<Token>,
    /// Whether the last emitted token ends the answer.
    pub ended: bool,
    /// Wall time of drafting.
    pub draft_time: Duration,
    /// Wall time of the target's pass.
    pub verify_time: Duration,
    /// The rest of the round.
    pub other_time: Duration,
    /// Why the strategy could not draft, if so.
    pub draft_error: Option<String>,
}

impl Round {
    /// Its counts and times, as the statistics take them: without text, context or reasons.
    pub fn counts(&self) -> protocol::Round {
        protocol::Round {
            strategy: self.strategy,
            n_drafted: self.drafted.len(),
            n_verified: self.n_verified,
            n_accepted: self.n_accepted,
            n_emitted: self.emitted.len(),
            draft_time: self.draft_time,
            verify_time: self.verify_time,
            other_time: self.other_time,
            pieces: Vec::new(),
            context_used: 0,
            note: None,
            explanation: None,
        }
    }
}

impl Decoder {
    /// A decoder with nothing committed. `strategies` is not empty; the first is active. An answer
    /// ends after a token of `ends`. Choices are greedy: see [`Self::with_sampling`].
    pub fn new(
        target: Box<dyn Model>,
        strategies: Vec<Box<dyn Strategy>>,
        ends: Vec<Token>,
    ) -> Self {
        assert!(!strategies.is_empty(), "at least one strategy");
        Self {
            target,
            strategies,
            active: 0,
            ends,
            sampler: Sampler::new(Sampling::default()),
            committed: Vec::new(),
            last_pass: None,
        }
    }

    /// Chooses tokens as `sampling` says. An answer is a function of its prompt and that alone.
    #[must_use]
    pub fn with_sampling(mut self, sampling: Sampling) -> Self {
        self.sampler = Sampler::new(sampling);
        self
    }

    /// Chooses tokens as `sampling` says from the next answer on.
    pub fn set_sampling(&mut self, sampling: Sampling) {
        self.sampler = Sampler::new(sampling);
        self.sampler.begin(self.committed.len());
    }

    /// Prompt and answer so far.
    pub fn committed(&self) -> &[Token] {
        &self.committed
    }

    /// Tokens that prompt and answer may hold together.
    pub fn capacity(&self) -> usize {
        self.target.capacity()
    }

    /// The active strategy's name.
    pub fn strategy(&self) -> &'static str {
        self.strategies[self.active].name()
    }

    /// The names of the strategies, in order.
    pub fn strategies(&self) -> impl Iterator<Item = &'static str> {
        self.strategies.iter().map(|strategy| strategy.name())
    }

    /// Drafts with `name` from the next round on; false when there is no such strategy here.
    pub fn set_strategy(&mut self, name: &str) -> bool {
        let found = self
            .strategies
            .iter()
            .position(|strategy| strategy.name() == name);
        if let Some(index) = found {
            self.select(index);
        }
        found.is_some()
    }

    /// Drafts with the strategy at `index` of those given to [`Self::new`] from the next round on.
    pub fn select(&mut self, index: usize) {
        if index != self.active {
            self.active = index;
            self.strategies[index].begin(&self.committed);
        }
    }

    /// Puts `strategy` in the place of the one of its name, if there is one.
    pub fn replace_strategy(&mut self, strategy: Box<dyn Strategy>) {
        let name = strategy.name();
        let mut places = self.strategies.iter_mut();
        if let Some(place) = places.find(|place| place.name() == name) {
            *place = strategy;
        }
    }

    /// What the active strategy's last draft was chosen by, where it had a choice.
    pub fn explanation(&self) -> Option<Explanation> {
        self.strategies[self.active].explanation()
    }

    /// Makes the active strategy forget what it has learnt and read.
    pub fn forget(&mut self) {
        self.strategies[self.active].forget();
    }

    /// Tells the strategies what passes cost on this machine.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        for strategy in &mut self.strategies {
            strategy.calibrate(calibration);
        }
    }

    /// Starts an answer to `prompt`, which is not empty: keeps what the cache shares with it and feeds
    /// the rest but its last token. `progress` is told tokens fed and tokens to feed.
    pub fn begin(
        &mut self,
        prompt: &[Token],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Prefill, PassError> {
        let Some((_, before)) = prompt.split_last() else {
            return Err(anyhow!("an empty prompt").into());
        };
        if prompt.len() > self.capacity() {
            let (tokens, capacity) = (prompt.len(), self.capacity());
            return Err(anyhow!("a prompt of {tokens} tokens in a context of {capacity}").into());
        }
        let started = clock::now();
        let reused = common_prefix(&self.committed, before).min(self.target.len());
        self.target.truncate(reused);
        self.committed = prompt.to_vec();
        self.sampler.begin(prompt.len());
        let missing = &before[reused..];
        progress(0, missing.len());
        let outcome = self
            .target
            .prefill(missing, cancel, &mut |done| progress(done, missing.len()));
        if outcome.is_err() {
            self.committed.truncate(self.target.len() + 1);
        }
        outcome?;
        self.strategies[self.active].begin(&self.committed);
        self.last_pass = Some(clock::now());
        Ok(Prefill {
            reused,
            time: clock::since(started),
        })
    }

    /// One round: emits at least one token and at most `budget`, which is at least 1. The context has
    /// room for one token or more.
    pub fn round(&mut self, budget: usize, cancel: &Cancel) -> Result<Round, PassError> {
        self.round_until(budget, cancel, &mut |_| false)
    }

    /// As [`Self::round`]; `stop` is told each token that is emitted, in order, and may end the answer
    /// after it. What it was told in a round that fails is not committed.
    pub fn round_until(
        &mut self,
        budget: usize,
        cancel: &Cancel,
        stop: &mut dyn FnMut(Token) -> bool,
    ) -> Result<Round, PassError> {
        cancel.check()?;
        let started = clock::now();
        let fed = self.committed.len() - 1;
        let room = self.capacity().saturating_sub(self.committed.len());
        let limit = room.min(budget.saturating_sub(1));

        let strategy = &mut self.strategies[self.active];
        let (mut drafted, draft_error) = match strategy.draft(&self.committed, limit, cancel) {
            Ok(drafted) => (drafted, None),
            Err(PassError::Cancelled(cancelled)) => return Err(cancelled.into()),
            Err(PassError::Failed(error)) => (Vec::new(), Some(format!("{error:#}"))),
        };
        drafted.truncate(limit);
        let draft_time = clock::since(started);

        let pass_started = clock::now();
        let rows: Vec<Token> = self.committed[fed..]
            .iter()
            .chain(&drafted)
            .copied()
            .collect();
        let logits = self.target.forward(&rows, cancel)?;
        let verify_time = clock::since(pass_started);

        let verified = verify(
            &mut self.committed,
            &drafted,
            &logits,
            |row, prefix| self.sampler.pick(row, prefix),
            |token| stop(token) | self.ends.contains(&token),
        );
        self.target.truncate(self.committed.len() - 1);
        let Some(verified) = verified else {
            return Err(
                anyhow!("the model's logits are not numbers: its file may be damaged").into(),
            );
        };

        let rested = self
            .last_pass
            .map(|end| started.saturating_duration_since(end));
        let strategy = &mut self.strategies[self.active];
        strategy.accept(&Feedback {
            committed: &self.committed,
            n_emitted: self.committed.len() - fed - 1,
            n_drafted: drafted.len(),
            draft_time,
            verify_time,
            other_time: clock::since(started).saturating_sub(draft_time + verify_time),
            idle: rested.unwrap_or_default(),
        });
        self.last_pass = Some(clock::now());

        Ok(Round {
            strategy: strategy.name(),
            drafted,
            n_verified: verified.n_verified,
            n_accepted: verified.n_accepted,
            emitted: self.committed[fed + 1..].to_vec(),
            ended: verified.ended,
            draft_time,
            verify_time,
            other_time: clock::since(started).saturating_sub(draft_time + verify_time),
            draft_error,
        })
    }

    /// Forgets everything committed, also after a panic in the middle of a pass.
    pub fn reset(&mut self) {
        self.target.truncate(0);
        self.committed.clear();
        self.sampler.begin(0);
    }

    /// Wall time of a pass over `rows` rows, at least 1, and the choice of a token in each: what a round
    /// costs at this context without drafting. Leaves everything as it was; `None` when the context has no
    /// room.
    pub fn time_pass(
        &mut self,
        rows: usize,
        cancel: &Cancel,
    ) -> Result<Option<Duration>, PassError> {
        let last = self.committed.last().copied().unwrap_or(0);
        let fed = self.target.len();
        if fed + rows > self.target.capacity() {
            return Ok(None);
        }
        let started = clock::now();
        let logits = self.target.forward(&vec![last; rows], cancel);
        self.target.truncate(fed);
        let logits = logits?;
        for row in 0..rows {
            std::hint::black_box(self.sampler.pick(logits.row(row), &self.committed));
        }
        Ok(Some(clock::since(started)))
    }
}

#[cfg(test)]
mod sampled_tests;
#[cfg(test)]
mod tests;
