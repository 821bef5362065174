//! The sampler: picks the token of a row.
//!
//! A draw is the largest of score plus noise over the tokens that may be picked, where the noise is a
//! function of seed, position and token: two rows at one position, a draft's and a target's, share it.

use super::Sampling;
use super::filter::{Candidate, keep};
use super::noise::Noise;
use super::penalties::Penalties;
use crate::model::Token;

/// Picks tokens as a [`Sampling`] says.
#[derive(Debug)]
pub struct Sampler {
    sampling: Sampling,
    /// Where the answer begins, whose tokens have penalties.
    answer_from: usize,
    penalties: Penalties,
    /// The tokens that may be picked, to be used again.
    kept: Vec<Candidate>,
}

impl Sampler {
    /// A sampler before its first answer.
    pub fn new(sampling: Sampling) -> Self {
        Self {
            sampling,
            answer_from: 0,
            penalties: Penalties::new(&sampling),
            kept: Vec::new(),
        }
    }

    /// How it picks.
    pub fn sampling(&self) -> &Sampling {
        &self.sampling
    }

    /// Starts an answer to a prompt of this many tokens.
    pub fn begin(&mut self, prompt_tokens: usize) {
        self.answer_from = prompt_tokens;
        self.penalties.clear();
    }

    /// The token after `prefix`, the prompt and what stands of the answer, by the logits in `row`. From
    /// one call to the next within an answer, `prefix` grows, or is cut. `None` when the row holds no
    /// number above minus infinity.
    pub fn pick(&mut self, row: &[f32], prefix: &[Token]) -> Option<Token> {
        let best = self.keep(row, prefix)?;
        if self.kept.len() == 1 {
            return Some(best.token);
        }
        let noise = Noise::new(self.sampling.seed, prefix.len());
        let mut winner = best;
        let mut most = noise.gumbel(best.token);
        for candidate in &self.kept {
            let needed = most - candidate.score;
            let Some(noise) = noise.gumbel_from(candidate.token, needed) else {
                continue;
            };
            let drawn = candidate.score + noise;
            if drawn > most || (drawn >= most && candidate.token < winner.token) {
                (winner, most) = (*candidate, drawn);
            }
        }
        Some(winner.token)
    }

    /// The tokens that [`Self::pick`] chooses from, in no order; empty when the row holds no number. Those
    /// that no noise could make win, with less than 2e-9 of the best one's probability, are left out.
    pub fn candidates(&mut self, row: &[f32], prefix: &[Token]) -> &[Candidate] {
        if self.keep(row, prefix).is_none() {
            self.kept.clear();
        }
        &self.kept
    }

    fn keep(&mut self, row: &[f32], prefix: &[Token]) -> Option<Candidate> {
        let answer = prefix.get(self.answer_from..).unwrap_or_default();
        let row = self.penalties.apply(row, answer);
        keep(row, &self.sampling, &mut self.kept)
    }
}
