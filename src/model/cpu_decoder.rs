//! A llama-like decoder on the CPU engine.

use anyhow::{Context as _, Result, anyhow, ensure};

use super::gguf::{GgufFile, quote};
use super::hyperparameters::Hyperparameters;
use super::rotary::rotations;
use super::tensors::Tensors;
use super::{Logits, Model, PassError, Token, check_room, prefill_in_chunks};
use crate::cancel::Cancel;
use crate::cpu::Cores;
use crate::cpu::buffers::{MAX_HEAD, MAX_ROWS};
use crate::cpu::forward::Forward;
use crate::cpu::pack::Matrix;
use crate::cpu::unpack::BLOCK;
use crate::cpu::weights::{Layer, Shape, Weights};

/// The decoder with its weights and its cache.
pub struct CpuDecoder {
    name: String,
    weights: Weights,
    forward: Forward,
    n_logits: usize,
    capacity: usize,
    len: usize,
}

impl CpuDecoder {
    /// Packs the weights of the model that people see as `title`, with a cache for `capacity` tokens.
    pub fn load(
        title: &str,
        hyper: &Hyperparameters,
        mut tensors: Tensors,
        capacity: usize,
        cores: &Cores,
    ) -> Result<Self> {
        Self::check(tensors.file(), hyper)?;
        let weights = pack(&mut tensors, hyper, capacity)?;
        tensors.finish()?;
        let shape = Shape {
            hidden: hyper.hidden,
            inner: hyper.feed_forward,
            n_heads: hyper.n_heads,
            n_kv_heads: hyper.n_kv_heads,
            head_dim: hyper.head_dim,
            rms_epsilon: hyper.rms_epsilon,
            rotate_halves: hyper.architecture.rotates_halves(),
        };
        let n_logits = weights.head().rows();
        let forward = Forward::new(shape, hyper.n_layers, n_logits, capacity, cores);
        Ok(Self {
            name: title.to_owned(),
            weights,
            forward,
            n_logits,
            capacity,
            len: 0,
        })
    }

    /// Whether the kernels can take this file; the error says why not.
    pub fn check(file: &GgufFile, hyper: &Hyperparameters) -> Result<()> {
        for (what, size) in [
            ("a width", hyper.hidden),
            ("a feed-forward width", hyper.feed_forward),
            ("a head size", hyper.head_dim),
        ] {
            ensure!(
                size.is_multiple_of(BLOCK),
                "{what} of {size} is not a multiple of {BLOCK}"
            );
        }
        ensure!(
            hyper.head_dim <= MAX_HEAD,
            "heads of {} are too large",
            hyper.head_dim
        );
        let unsupported = [
            "attn_output.bias",
            "ffn_gate.bias",
            "ffn_up.bias",
            "ffn_down.bias",
        ];
        for info in file.tensors() {
            ensure!(
                !unsupported.iter().any(|part| info.name.ends_with(part)),
                "{} is not supported",
                quote(&info.name)
            );
        }
        Ok(())
    }

    /// Bytes that the packed weights of `file` and a cache for `capacity` tokens take.
    pub fn memory(file: &GgufFile, hyper: &Hyperparameters, capacity: usize) -> u64 {
        let weights: usize = file
            .tensors()
            .map(|info| match info.shape[..] {
                [rows, columns] => Matrix::packed_bytes(info.dtype, rows, columns),
                _ => info.shape.iter().product::<usize>() * size_of::<f32>(),
            })
            .sum();
        let per_token = hyper.n_layers * hyper.n_kv_heads * hyper.head_dim * 2 * size_of::<u16>()
            + hyper.head_dim * size_of::<f32>();
        weights as u64 + (per_token as u64).saturating_mul(capacity as u64)
    }

    fn check_tokens(&self, tokens: &[Token]) -> Result<(), PassError> {
        let known = self.weights.embedding.rows();
        if let Some(token) = tokens.iter().find(|&&token| token as usize >= known) {
            return Err(anyhow!("{} knows {known} tokens, not token {token}", self.name).into());
        }
        check_room(self, tokens.len())
    }
}

impl Model for CpuDecoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn n_logits(&self) -> usize {
        self.n_logits
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.len
    }

    fn pass_bytes(&self) -> u64 {
        self.weights.pass_bytes() as u64
    }

    fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    fn prefill(
        &mut self,
        tokens: &[Token],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), PassError> {
        self.check_tokens(tokens)?;
        prefill_in_chunks(self, tokens, MAX_ROWS, progress, |model, chunk| {
            model
                .forward
                .pass(&model.weights, chunk, model.len, None, cancel)?;
            model.len += chunk.len();
            Ok(())
        })
    }

    fn forward(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Logits, PassError> {
        self.check_tokens(tokens)?;
        let mut data = Vec::with_capacity(tokens.len() * self.n_logits);
        let mut start = self.len;
        for chunk in tokens.chunks(MAX_ROWS) {
            self.forward
                .pass(&self.weights, chunk, start, Some(&mut data), cancel)?;
            start += chunk.len();
        }
        self.len = start;
        Ok(Logits::new(data, self.n_logits))
    }
}

/// Packs the weights of a decoder, with tables for `capacity` positions.
fn pack(tensors: &mut Tensors, hyper: &Hyperparameters, capacity: usize) -> Result<Weights> {
    let (hidden, inner) = (hyper.hidden, hyper.feed_forward);
    let (q_size, kv_size) = (
        hyper.n_heads * hyper.head_dim,
        hyper.n_kv_heads * hyper.head_dim,
    );
    let embedding = matrix(tensors, "token_embd.weight", hyper.vocab, hidden)?;
    let mut layers = Vec::with_capacity(hyper.n_layers);
    for i in 0..hyper.n_layers {
        let name = |part: &str| format!("blk.{i}.{part}");
        layers.push(Layer {
            attention_norm: tensors.vector(&name("attn_norm.weight"), hidden)?,
            q: matrix(tensors, &name("attn_q.weight"), q_size, hidden)?,
            k: matrix(tensors, &name("attn_k.weight"), kv_size, hidden)?,
            v: matrix(tensors, &name("attn_v.weight"), kv_size, hidden)?,
            q_bias: tensors.optional(&name("attn_q.bias"), q_size)?,
            k_bias: tensors.optional(&name("attn_k.bias"), kv_size)?,
            v_bias: tensors.optional(&name("attn_v.bias"), kv_size)?,
            q_norm: tensors.head_norm(&name("attn_q_norm.weight"), hyper)?,
            k_norm: tensors.head_norm(&name("attn_k_norm.weight"), hyper)?,
            output: matrix(tensors, &name("attn_output.weight"), hidden, q_size)?,
            feed_forward_norm: tensors.vector(&name("ffn_norm.weight"), hidden)?,
            gate: matrix(tensors, &name("ffn_gate.weight"), inner, hidden)?,
            up: matrix(tensors, &name("ffn_up.weight"), inner, hidden)?,
            down: matrix(tensors, &name("ffn_down.weight"), hidden, inner)?,
        });
    }
    let head = match tensors.head_rows(hyper)? {
        Some(rows) => Some(matrix(tensors, "output.weight", rows, hidden)?),
        None => None,
    };
    let norm = tensors.vector("output_norm.weight", hidden)?;
    let factors = tensors.optional("rope_freqs.weight", hyper.head_dim / 2)?;
    let (cos, sin) = rotations(hyper, factors.as_deref(), capacity);
    Ok(Weights {
        embedding,
        layers,
        norm,
        head,
        cos,
        sin,
    })
}

fn matrix(tensors: &mut Tensors, name: &str, rows: usize, columns: usize) -> Result<Matrix> {
    let (dtype, bytes) = tensors.read(name, &[rows, columns])?;
    Matrix::pack(dtype, bytes, rows, columns).with_context(|| format!("packing tensor {name}"))
}

#[cfg(test)]
mod tests;
