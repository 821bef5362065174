//! What a language model is to the rest of speck: a cache of tokens that can be extended and cut.
//!
//! In come token ids, out go logits. **The cache owns the position: no method takes one.**

pub mod fetch;
pub mod registry;

use crate::cancel::{Cancel, Cancelled};

/// A token id of a model's vocabulary.
pub type Token = u32;

/// Why a pass ended without a result. The cache is as it was before the pass.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// Someone asked for it.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The pass failed.
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

/// A decoder-only language model with its KV cache.
pub trait Model: Send {
    /// The model's name, for people.
    fn name(&self) -> &str;

    /// Number of logits in a row: the first ids of the vocabulary that the model can choose.
    fn n_logits(&self) -> usize;

    /// Number of tokens that the cache can hold.
    fn capacity(&self) -> usize;

    /// Number of tokens in the cache.
    fn len(&self) -> usize;

    /// Whether the cache is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Cuts the cache to its first `len` tokens: rollback is setting a length. No effect when the
    /// cache is not longer.
    fn truncate(&mut self, len: usize);

    /// Appends `tokens` to the cache without logits, in chunks; after each chunk `progress` is told
    /// how many of them are in. On cancel, whole chunks that are in stay in.
    fn prefill(
        &mut self,
        tokens: &[Token],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), PassError>;

    /// Appends `tokens` in one pass and returns one row of logits for each: row `i` is for the token
    /// after `tokens[i]`.
    fn forward(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Logits, PassError>;
}

/// Logits of the rows of one pass, row-major `(rows, n_logits)`.
#[derive(Clone, Debug)]
pub struct Logits {
    data: Vec<f32>,
    n_logits: usize,
}

impl Logits {
    /// Takes row-major logits; `data.len()` is a multiple of `n_logits`.
    pub fn new(data: Vec<f32>, n_logits: usize) -> Self {
        assert!(n_logits > 0 && data.len().is_multiple_of(n_logits), "whole rows of logits");
        Self { data, n_logits }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.n_logits
    }

    /// The logits of row `index`, one for each id from 0.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.n_logits..][..self.n_logits]
    }
}
