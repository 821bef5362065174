//! What a language model is to the rest of speck: a cache of tokens that can be extended and cut.
//!
//! In come token ids, out go logits. **The cache owns the position: no method takes one.**

pub mod gguf;
pub mod hyperparameters;

pub mod tokenizer;

pub mod chat_template;

pub mod tensors;

mod attention;
pub mod candle_decoder;
pub mod cpu_decoder;
mod kv_cache;
mod rotary;

mod demo;
pub mod scripted;

pub mod fetch;
pub mod registry;

pub mod device;
pub mod inventory;
pub mod load;
pub mod memory;
pub mod pair;
pub mod progress;
pub mod shape;

#[cfg(test)]
#[path = "../../tests/support/gguf_writer.rs"]
mod gguf_writer;

use anyhow::anyhow;

use crate::cancel::{Cancel, Cancelled};

mod logits;

pub use logits::{Logits, argmax, probability};

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

impl PassError {
    /// As an error for people, of which a stop can still be told.
    pub fn into_error(self) -> anyhow::Error {
        match self {
            Self::Cancelled(cancelled) => cancelled.into(),
            Self::Failed(error) => error,
        }
    }
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

    /// Bytes of weights that a pass with logits reads, without the embeddings it looks up; 0 where there
    /// are none.
    fn pass_bytes(&self) -> u64;

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

/// An error where `n` more tokens do not fit into the cache.
fn check_room(model: &impl Model, n: usize) -> Result<(), PassError> {
    let capacity = model.capacity();
    if model.len() + n > capacity {
        return Err(anyhow!("the context of {capacity} tokens is full").into());
    }
    Ok(())
}

/// [`Model::prefill`] by passes of at most `size` tokens, each of which appends its tokens.
fn prefill_in_chunks<M: Model>(
    model: &mut M,
    tokens: &[Token],
    size: usize,
    progress: &mut dyn FnMut(usize),
    mut pass: impl FnMut(&mut M, &[Token]) -> Result<(), PassError>,
) -> Result<(), PassError> {
    check_room(model, tokens.len())?;
    let mut done = 0;
    for chunk in tokens.chunks(size) {
        pass(model, chunk)?;
        done += chunk.len();
        progress(done);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
