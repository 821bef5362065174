//! Penalties for tokens that the answer has already.
//!
//! The tokens counted are a function of the answer so far: a longer answer adds its new tokens, a shorter
//! one takes tokens back, as rollback does to a cache. Drafted tokens that were rejected never stand in an
//! answer, so they are never counted.

use std::collections::HashMap;

use super::Sampling;
use crate::model::Token;

/// The penalties, and what they count.
#[derive(Debug)]
pub(super) struct Penalties {
    repetition: f64,
    presence: f64,
    /// The tokens counted, in order.
    counted: Vec<Token>,
    /// How often each of them was counted.
    counts: HashMap<Token, usize>,
    /// The row with penalties, to be used again.
    row: Vec<f32>,
}

impl Penalties {
    pub fn new(sampling: &Sampling) -> Self {
        Self {
            repetition: sampling.repetition_penalty,
            presence: sampling.presence_penalty,
            counted: Vec::new(),
            counts: HashMap::new(),
            row: Vec::new(),
        }
    }

    /// Forgets every token.
    pub fn clear(&mut self) {
        self.counted.clear();
        self.counts.clear();
    }

    /// `row` with the penalties for the tokens of `answer`, which goes on from the last one given, or is
    /// the start of it. Work beside the copy of the row: tokens added or taken back, and tokens penalised.
    pub fn apply<'a>(&'a mut self, row: &'a [f32], answer: &[Token]) -> &'a [f32] {
        if self.change_nothing() {
            return row;
        }
        self.count(answer);
        self.row.clear();
        self.row.extend_from_slice(row);
        for &token in self.counts.keys() {
            if let Some(logit) = self.row.get_mut(token as usize) {
                let raw = f64::from(*logit);
                let divided = if raw > 0.0 {
                    raw / self.repetition
                } else {
                    raw * self.repetition
                };
                *logit = (divided - self.presence) as f32;
            }
        }
        &self.row
    }

    #[expect(clippy::float_cmp, reason = "the neutral values, as they were set")]
    fn change_nothing(&self) -> bool {
        self.repetition == 1.0 && self.presence == 0.0
    }

    fn count(&mut self, answer: &[Token]) {
        while self.counted.len() > answer.len()
            && let Some(token) = self.counted.pop()
            && let Some(count) = self.counts.get_mut(&token)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&token);
            }
        }
        debug_assert!(
            answer.starts_with(&self.counted),
            "an answer goes on from the last one given, or is the start of it"
        );
        for &token in &answer[self.counted.len()..] {
            self.counted.push(token);
            *self.counts.entry(token).or_default() += 1;
        }
    }
}
