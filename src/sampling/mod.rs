//! Sampling: a row of logits and the tokens before it → the token that is written.
//!
//! **The choice is a function of the row, the tokens before it, their number and the seed**: never of how
//! many rows a pass has or who drafted. That is why every strategy writes the same text.
//!
//! Order of what acts on a row, which is that of the Python library transformers: penalties, temperature,
//! top-k, top-p, min-p; each acts on the distribution that the one before leaves. docs/sampling.md tells
//! what each does.

mod filter;
mod noise;
mod penalties;
mod sampler;

pub use filter::Candidate;
pub use sampler::Sampler;

#[cfg(test)]
pub mod definition;
#[cfg(test)]
mod tests;

/// How tokens are chosen. The default is greedy: the likeliest token, without penalties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Divides the logits, 0 or more; at 0 the likeliest token is taken.
    pub temperature: f64,
    /// Keeps this many of the likeliest tokens; 0 keeps all.
    pub top_k: usize,
    /// Keeps the fewest of the likeliest tokens that have this probability together, 0 to 1; 1 keeps all.
    pub top_p: f64,
    /// Keeps tokens with at least this share of the likeliest one's probability, 0 to 1; 0 keeps all.
    pub min_p: f64,
    /// Divides the positive and multiplies the negative logits of tokens that the answer has already, 1 or
    /// more; 1 changes nothing (Keskar et al. 2019, arXiv 1909.05858).
    pub repetition_penalty: f64,
    /// Is subtracted from the logits of tokens that the answer has already; 0 changes nothing.
    pub presence_penalty: f64,
    /// What the noise is made from.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            temperature: 0.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            seed: 0,
        }
    }
}

impl Sampling {
    /// Whether the likeliest token is taken, so that the seed has no say.
    pub fn is_greedy(&self) -> bool {
        self.temperature <= 0.0
    }

    /// The same without penalties.
    #[must_use]
    pub fn without_penalties(self) -> Self {
        let Self {
            repetition_penalty,
            presence_penalty,
            ..
        } = Self::default();
        Self {
            repetition_penalty,
            presence_penalty,
            ..self
        }
    }
}
