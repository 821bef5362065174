//! A small model drafts (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318).
//!
//! Each token is chosen as the target's is, with the same noise, so that the two agree as often as their
//! distributions let them; without penalties, which would have to be kept for tokens that may be rejected.
//! That is valid because a token is accepted when the target picks it too (see `decoding::verify`); under
//! the rule that compares probabilities, shared noise would change the text's distribution.
//!
//! The draft model rolls itself back to its common prefix with the committed tokens on each call, so
//! rejection, full acceptance, swaps and new turns are all the same case.

use anyhow::anyhow;

use super::{Strategy, common_prefix};
use crate::cancel::Cancel;
use crate::model::{Model, PassError, Token};
use crate::sampling::{Sampler, Sampling};

pub(super) const NAME: &str = "draft";

/// Committed tokens that are fed together with the first step; more are prefilled before it.
const CATCH_UP_ROWS: usize = 16;

/// Drafts a fixed number of tokens with a model of its own.
pub struct DraftModel {
    model: Box<dyn Model>,
    /// The tokens in the model's cache.
    cached: Vec<Token>,
    sampler: Sampler,
    length: usize,
}

impl DraftModel {
    /// Drafts the likeliest `length` tokens a round with `model`, whose vocabulary is the target's.
    pub fn new(mut model: Box<dyn Model>, length: usize) -> Self {
        model.truncate(0);
        Self {
            model,
            cached: Vec::new(),
            sampler: Sampler::new(Sampling::default()),
            length,
        }
    }

    /// Chooses tokens as the target does, which follows `sampling`.
    #[must_use]
    pub fn with_sampling(mut self, sampling: Sampling) -> Self {
        self.sampler = Sampler::new(sampling.without_penalties());
        self
    }

    /// Feeds `tokens` and returns the token chosen after the last of them.
    fn step(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Token, PassError> {
        let logits = self.model.forward(tokens, cancel)?;
        self.cached.extend_from_slice(tokens);
        let last = logits.row(logits.rows() - 1);
        let next = self.sampler.pick(last, &self.cached);
        next.ok_or_else(|| anyhow!("the draft model's logits are not numbers").into())
    }

    /// Brings the cache to `committed` without its last few tokens, and returns those.
    fn catch_up<'a>(
        &mut self,
        committed: &'a [Token],
        cancel: &Cancel,
    ) -> Result<&'a [Token], PassError> {
        let known = &self.cached[..self.cached.len().min(self.model.len())];
        let reused = common_prefix(known, &committed[..committed.len() - 1]);
        self.model.truncate(reused);
        self.cached.truncate(reused);
        let missing = &committed[reused..];
        if missing.len() <= CATCH_UP_ROWS {
            return Ok(missing);
        }
        let (before, last) = missing.split_at(missing.len() - 1);
        let outcome = self.model.prefill(before, cancel, &mut |_| {});
        self.cached
            .extend_from_slice(&before[..self.model.len() - reused]);
        outcome.map(|()| last)
    }
}

impl Strategy for DraftModel {
    fn name(&self) -> &'static str {
        NAME
    }

    fn begin(&mut self, _committed: &[Token]) {}

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let length = self.length.min(limit);
        if length == 0 {
            return Ok(Vec::new());
        }
        if committed.len() + length - 1 > self.model.capacity() {
            let capacity = self.model.capacity();
            return Err(anyhow!("the draft model's context of {capacity} tokens is full").into());
        }
        let missing = self.catch_up(committed, cancel)?;
        let mut drafted = vec![self.step(missing, cancel)?];
        while drafted.len() < length {
            let last = drafted[drafted.len() - 1];
            drafted.push(self.step(&[last], cancel)?);
        }
        Ok(drafted)
    }
}
