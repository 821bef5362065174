//! The draft model, with the tokens in its cache; every strategy that drafts with it holds a clone.
//!
//! It rolls itself back to its common prefix with the committed tokens on each call, so rejection, full
//! acceptance, swaps, another strategy's drafts and new turns are all the same case.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::anyhow;

use super::common_prefix;
use crate::cancel::Cancel;
use crate::clock;
use crate::model::{Logits, Model, PassError, Token};
use crate::sampling::{Sampler, Sampling};

/// Committed tokens that are fed together with the first step; more are prefilled before it.
const CATCH_UP_ROWS: usize = 16;

/// A draft model that strategies share: one drafts at a time.
#[derive(Clone)]
pub struct Drafter(Arc<Mutex<Cached>>);

struct Cached {
    model: Box<dyn Model>,
    /// The tokens in the model's cache.
    tokens: Vec<Token>,
    sampler: Sampler,
}

impl Drafter {
    /// Drafts with `model`, whose vocabulary is the target's, and chooses tokens as the target does, which
    /// follows `sampling`.
    pub fn new(mut model: Box<dyn Model>, sampling: Sampling) -> Self {
        model.truncate(0);
        Self(Arc::new(Mutex::new(Cached {
            model,
            tokens: Vec::new(),
            sampler: Sampler::new(sampling.without_penalties()),
        })))
    }

    /// Chooses tokens as a target does that follows `sampling` from now on.
    pub fn set_sampling(&self, sampling: Sampling) {
        self.lock().sampler = Sampler::new(sampling.without_penalties());
    }

    /// Tokens that the model's cache can hold.
    pub fn capacity(&self) -> usize {
        self.lock().model.capacity()
    }

    /// Tokens at the end of `committed`, which is not empty, that a draft would have to read first: at
    /// least the last.
    pub fn lag(&self, committed: &[Token]) -> usize {
        committed.len() - self.lock().reusable(committed)
    }

    /// Drafts tokens after `committed`, at most `length`. After each one, `goes_on` is told
    /// the token and the row of logits that it was chosen from, and says whether to draft another.
    pub fn draft(
        &self,
        committed: &[Token],
        length: usize,
        cancel: &Cancel,
        goes_on: &mut dyn FnMut(Token, &[f32]) -> bool,
    ) -> Result<Vec<Token>, PassError> {
        let mut n_drafted = 0;
        self.draft_watched(committed, length, 1, cancel, &mut |picks, logits| {
            n_drafted += 1;
            n_drafted == length || goes_on(picks[picks.len() - 1], logits.row(logits.rows() - 1))
        })
    }

    /// The same, where `goes_on` is told all rows of each pass, also after the last token, and the tokens
    /// chosen from the last of them: `rows` at most, the next of the draft at the end. The rows of the first
    /// pass are for the last tokens of `committed`: at least `rows`, if as many had not been read.
    pub fn draft_watched(
        &self,
        committed: &[Token],
        length: usize,
        rows: usize,
        cancel: &Cancel,
        goes_on: &mut dyn FnMut(&[Token], &Logits) -> bool,
    ) -> Result<Vec<Token>, PassError> {
        if length == 0 {
            return Ok(Vec::new());
        }
        let cached = &mut *self.lock();
        let capacity = cached.model.capacity();
        if committed.len() + length - 1 > capacity {
            return Err(anyhow!("the draft model's context of {capacity} tokens is full").into());
        }
        let mut fed = cached.catch_up(committed, rows, cancel)?.to_vec();
        let mut drafted = Vec::with_capacity(length);
        loop {
            let logits = cached.model.forward(&fed, cancel)?;
            cached.tokens.extend_from_slice(&fed);
            let picks = cached
                .picks(&logits, rows)
                .ok_or_else(|| anyhow!("the draft model's logits are not numbers"))?;
            let next = picks[picks.len() - 1];
            drafted.push(next);
            let more = goes_on(&picks, &logits);
            if drafted.len() == length || !more {
                return Ok(drafted);
            }
            fed = vec![next];
        }
    }

    /// Forgets all that the model has read.
    pub fn forget(&self) {
        let cached = &mut *self.lock();
        cached.model.truncate(0);
        cached.tokens.clear();
    }

    /// Wall time of a pass over `rows` rows, at least 1, and the choice of a token after the last. Leaves
    /// the cache as it was; `None` when it has no room.
    pub fn time_pass(&self, rows: usize, cancel: &Cancel) -> Result<Option<Duration>, PassError> {
        let cached = &mut *self.lock();
        let fed = cached.model.len();
        if fed + rows > cached.model.capacity() {
            return Ok(None);
        }
        let last = cached.tokens.last().copied().unwrap_or(0);
        let started = clock::now();
        let logits = cached.model.forward(&vec![last; rows], cancel);
        cached.model.truncate(fed);
        let logits = logits?;
        std::hint::black_box(cached.sampler.pick(logits.row(rows - 1), &cached.tokens));
        Ok(Some(clock::since(started)))
    }

    /// A panic in a pass leaves at most a cache that is shorter or longer than is known of it, which the
    /// next draft cuts.
    fn lock(&self) -> MutexGuard<'_, Cached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cached {
    /// The tokens chosen from the last rows of a pass, whose tokens are in the cache: `rows` if there are as
    /// many, at least one. `None` where a row holds no number.
    fn picks(&mut self, logits: &Logits, rows: usize) -> Option<Vec<Token>> {
        let n = logits.rows();
        let before = self.tokens.len() - n;
        (n - rows.clamp(1, n)..n)
            .map(|row| {
                let prefix = &self.tokens[..=before + row];
                self.sampler.pick(logits.row(row), prefix)
            })
            .collect()
    }

    /// Tokens at the start of `committed` without its last that are in the cache.
    fn reusable(&self, committed: &[Token]) -> usize {
        let known = &self.tokens[..self.tokens.len().min(self.model.len())];
        common_prefix(known, &committed[..committed.len() - 1])
    }

    /// Brings the cache to `committed` without its last few tokens, and returns those: at least `rows`, if
    /// as many were missing.
    fn catch_up<'a>(
        &mut self,
        committed: &'a [Token],
        rows: usize,
        cancel: &Cancel,
    ) -> Result<&'a [Token], PassError> {
        let reused = self.reusable(committed);
        self.model.truncate(reused);
        self.tokens.truncate(reused);
        let missing = &committed[reused..];
        if missing.len() <= CATCH_UP_ROWS {
            return Ok(missing);
        }
        let (before, last) = missing.split_at(missing.len() - rows.clamp(1, CATCH_UP_ROWS));
        let outcome = self.model.prefill(before, cancel, &mut |_| {});
        self.tokens
            .extend_from_slice(&before[..self.model.len() - reused]);
        outcome.map(|()| last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::argmax;
    use crate::model::scripted::{ScriptedModel, Step};

    #[test]
    fn what_was_missed_is_read_once_and_its_last_rows_are_told() {
        let counting = |context: &[Token]| Step::Write(context[context.len() - 1] + 1);
        let model = Drafter::new(
            Box::new(ScriptedModel::new("counting", 200, 200, counting)),
            Sampling::default(),
        );
        let check = |committed: &[Token], wanted: usize, lag: usize, rows: usize| {
            assert_eq!(model.lag(committed), lag, "{committed:?}");
            let mut passes = Vec::new();
            let drafted =
                model.draft_watched(committed, 3, wanted, &Cancel::new(), &mut |_, logits| {
                    let choices = (0..logits.rows()).filter_map(|row| argmax(logits.row(row)));
                    passes.push(choices.collect::<Vec<_>>());
                    true
                });
            let last = committed[committed.len() - 1];
            assert_eq!(drafted.unwrap(), [last + 1, last + 2, last + 3]);
            let read = committed[committed.len() - rows..]
                .iter()
                .map(|token| token + 1);
            assert_eq!(passes, [read.collect(), vec![last + 2], vec![last + 3]]);
        };
        let text: Vec<Token> = (1..=60).collect();
        check(&text[..40], 16, 40, 16);
        check(&text[..40], 16, 1, 1);
        // Two of the drafted tokens are in the cache; the third is not.
        check(&text[..44], 16, 2, 2);
        check(&[&text[..41], &[90]].concat(), 16, 1, 1);
        check(&text[..60], 1, 19, 1);
        check(&text[20..60], 99, 40, 16);
    }

    #[test]
    fn timing_leaves_the_cache_as_it_was_and_forgetting_empties_it() {
        let model = ScriptedModel::new("counting", 200, 30, |_| Step::Write(1));
        let model = Drafter::new(Box::new(model), Sampling::default());
        let time = |rows| model.time_pass(rows, &Cancel::new()).unwrap();
        assert!(time(30).is_some());
        assert!(time(31).is_none());
        let text: Vec<Token> = (0..21).collect();
        model
            .draft(&text, 1, &Cancel::new(), &mut |_, _| true)
            .unwrap();
        assert!(time(9).is_some());
        assert!(time(10).is_none());
        assert_eq!(model.lag(&text), 1);
        assert!(model.lag(&[&text[..], &[4, 5]].concat()) == 2);
        model.forget();
        assert_eq!(model.lag(&text), 21);
        assert!(time(30).is_some());
    }
}
