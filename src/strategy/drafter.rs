//! The draft model, with the tokens in its cache; every strategy that drafts with it holds a clone.
//!
//! It rolls itself back to its common prefix with the committed tokens on each call, so rejection, full
//! acceptance, swaps, another strategy's drafts and new turns are all the same case.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;

use super::common_prefix;
use crate::cancel::Cancel;
use crate::model::{Model, PassError, Token, argmax};

/// Committed tokens that are fed together with the first step; more are prefilled before it.
const CATCH_UP_ROWS: usize = 16;

/// A draft model that strategies share: one drafts at a time.
#[derive(Clone)]
pub struct Drafter(Arc<Mutex<Cached>>);

struct Cached {
    model: Box<dyn Model>,
    /// The tokens in the model's cache.
    tokens: Vec<Token>,
}

impl Drafter {
    /// Drafts with `model`, whose vocabulary is the target's.
    pub fn new(mut model: Box<dyn Model>) -> Self {
        model.truncate(0);
        let tokens = Vec::new();
        Self(Arc::new(Mutex::new(Cached { model, tokens })))
    }

    /// Drafts the likeliest tokens after `committed`, at most `length`. After each one, `goes_on` is told
    /// the token and the row of logits that it was chosen from, and says whether to draft another.
    pub fn draft(
        &self,
        committed: &[Token],
        length: usize,
        cancel: &Cancel,
        goes_on: &mut dyn FnMut(Token, &[f32]) -> bool,
    ) -> Result<Vec<Token>, PassError> {
        if length == 0 {
            return Ok(Vec::new());
        }
        // A panic in a pass leaves at most a cache that is shorter or longer than is known of it, which
        // the next draft cuts.
        let cached = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let capacity = cached.model.capacity();
        if committed.len() + length - 1 > capacity {
            return Err(anyhow!("the draft model's context of {capacity} tokens is full").into());
        }
        let mut fed = cached.catch_up(committed, cancel)?.to_vec();
        let mut drafted = Vec::with_capacity(length);
        loop {
            let logits = cached.model.forward(&fed, cancel)?;
            cached.tokens.extend_from_slice(&fed);
            let row = logits.row(logits.rows() - 1);
            let next =
                argmax(row).ok_or_else(|| anyhow!("the draft model's logits are not numbers"))?;
            drafted.push(next);
            if drafted.len() == length || !goes_on(next, row) {
                return Ok(drafted);
            }
            fed = vec![next];
        }
    }
}

impl Cached {
    /// Brings the cache to `committed` without its last few tokens, and returns those.
    fn catch_up<'a>(
        &mut self,
        committed: &'a [Token],
        cancel: &Cancel,
    ) -> Result<&'a [Token], PassError> {
        let known = &self.tokens[..self.tokens.len().min(self.model.len())];
        let reused = common_prefix(known, &committed[..committed.len() - 1]);
        self.model.truncate(reused);
        self.tokens.truncate(reused);
        let missing = &committed[reused..];
        if missing.len() <= CATCH_UP_ROWS {
            return Ok(missing);
        }
        let (before, last) = missing.split_at(missing.len() - 1);
        let outcome = self.model.prefill(before, cancel, &mut |_| {});
        self.tokens
            .extend_from_slice(&before[..self.model.len() - reused]);
        outcome.map(|()| last)
    }
}
