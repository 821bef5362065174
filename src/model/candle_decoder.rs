//! A llama-like decoder on candle tensors: Metal, and the reference on the CPU.
//!
//! Written here because the models of candle-transformers return only the last row's logits and hide
//! a cache that cannot be cut. Architectures: `llama` (interleaved `RoPE`, as converted files have it),
//! `qwen2` (half-split `RoPE`, biases on q, k and v) and `qwen3` (half-split `RoPE`, heads of q and k normed).

use std::ops::ControlFlow;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use candle_core::quantized::{QMatMul, QTensor};
use candle_core::{Device, Module, Tensor};
use candle_nn::ops::{rms_norm, silu};
use candle_nn::rotary_emb::{rope, rope_i};

use super::attention::{attend, causal_mask};
use super::gguf::GgufFile;
use super::hyperparameters::Hyperparameters;
use super::kv_cache::KvCache;
use super::rotary::rotations;
use super::tensors::Tensors;
use super::{Logits, Model, PassError, Token, check_room, prefill_in_chunks};
use crate::cancel::Cancel;

/// Tokens of one prefill chunk: the steps of progress.
const CHUNK: usize = 32;

/// Rows up to which Metal multiplies row by row: its matrix kernel works on tiles of 32 rows and costs
/// as much for 2 as for 32, while k rows through the vector kernel cost less than that up to about here.
const METAL_VECTOR_ROWS: usize = 6;

/// The decoder with its weights and its cache.
pub struct CandleDecoder {
    name: String,
    hyper: Hyperparameters,
    device: Device,
    embedding: Arc<QTensor>,
    layers: Vec<Layer>,
    norm: Tensor,
    head: QMatMul,
    n_logits: usize,
    pass_bytes: u64,
    cos: Tensor,
    sin: Tensor,
    cache: KvCache,
}

struct Layer {
    attention_norm: Tensor,
    q: Linear,
    k: Linear,
    v: Linear,
    /// `(head size)`.
    q_norm: Option<Tensor>,
    k_norm: Option<Tensor>,
    output: Linear,
    feed_forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
}

/// A matrix `(outputs, inputs)` and sometimes a bias.
struct Linear {
    weight: QMatMul,
    bias: Option<Tensor>,
}

impl Linear {
    /// `(rows, inputs)` → `(rows, outputs)`.
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let y = multiply(&self.weight, x)?;
        match &self.bias {
            Some(bias) => y.broadcast_add(bias),
            None => Ok(y),
        }
    }
}

/// `x · weightᵀ`, `(rows, inputs)` → `(rows, outputs)`, by the kernel that suits the number of rows.
fn multiply(weight: &QMatMul, x: &Tensor) -> candle_core::Result<Tensor> {
    let rows = x.dim(0)?;
    if x.device().is_metal() && (2..=METAL_VECTOR_ROWS).contains(&rows) {
        return weight.forward(&x.unsqueeze(1)?)?.squeeze(1);
    }
    weight.forward(x)
}

impl CandleDecoder {
    /// Reads the weights of the model that people see as `title` onto `device`, with a cache for
    /// `capacity` tokens.
    pub fn load<'a>(
        title: &str,
        hyper: &Hyperparameters,
        tensors: Tensors<'a>,
        capacity: usize,
        device: &'a Device,
    ) -> Result<Self> {
        let mut weights = Weights { tensors, device };
        let (hidden, inner) = (hyper.hidden, hyper.feed_forward);
        let (q_size, kv_size) = (
            hyper.n_heads * hyper.head_dim,
            hyper.n_kv_heads * hyper.head_dim,
        );

        let embedding = Arc::new(weights.matrix("token_embd.weight", hyper.vocab, hidden)?);
        let embedding_bytes = weights.tensors.n_bytes();
        let mut layers = Vec::with_capacity(hyper.n_layers);
        for i in 0..hyper.n_layers {
            let name = |part: &str| format!("blk.{i}.{part}");
            layers.push(Layer {
                attention_norm: weights.vector(&name("attn_norm.weight"), hidden)?,
                q: weights.linear(&name("attn_q"), q_size, hidden)?,
                k: weights.linear(&name("attn_k"), kv_size, hidden)?,
                v: weights.linear(&name("attn_v"), kv_size, hidden)?,
                q_norm: weights.head_norm(&name("attn_q_norm.weight"), hyper)?,
                k_norm: weights.head_norm(&name("attn_k_norm.weight"), hyper)?,
                output: weights.linear(&name("attn_output"), hidden, q_size)?,
                feed_forward_norm: weights.vector(&name("ffn_norm.weight"), hidden)?,
                gate: weights.linear(&name("ffn_gate"), inner, hidden)?,
                up: weights.linear(&name("ffn_up"), inner, hidden)?,
                down: weights.linear(&name("ffn_down"), hidden, inner)?,
            });
        }
        let norm = weights.vector("output_norm.weight", hidden)?;
        let (head, n_logits) = match weights.tensors.head_rows(hyper)? {
            Some(rows) => {
                let head = weights.matrix("output.weight", rows, hidden)?;
                (Arc::new(head), rows)
            }
            None => (Arc::clone(&embedding), hyper.vocab),
        };
        let factors = weights
            .tensors
            .optional("rope_freqs.weight", hyper.head_dim / 2)?;
        let looked_up = if Arc::ptr_eq(&head, &embedding) {
            0
        } else {
            embedding_bytes
        };
        let pass_bytes = weights.tensors.n_bytes() - looked_up;
        weights.tensors.finish()?;
        let (cos, sin) = rotations(hyper, factors.as_deref(), capacity);
        let table = |values| Tensor::from_vec(values, (capacity, hyper.head_dim / 2), device);
        let (cos, sin) = (table(cos)?, table(sin)?);
        let cache = KvCache::new(
            hyper.n_layers,
            hyper.n_kv_heads,
            hyper.head_dim,
            capacity,
            device,
        )?;
        Ok(Self {
            name: title.to_owned(),
            hyper: hyper.clone(),
            device: device.clone(),
            embedding,
            layers,
            norm,
            head: QMatMul::from_arc(head)?,
            n_logits,
            pass_bytes,
            cos,
            sin,
            cache,
        })
    }

    /// Bytes that the weights of `file` and a cache for `capacity` tokens take.
    pub fn memory(file: &GgufFile, hyper: &Hyperparameters, capacity: usize) -> u64 {
        file.weight_bytes()
            + KvCache::bytes(hyper.n_layers, hyper.n_kv_heads, hyper.head_dim, capacity)
    }

    /// Feeds `tokens` through the layers: `(n, hidden)` before the final norm. `Break` on cancel.
    #[expect(
        clippy::many_single_char_names,
        reason = "x, h, q, k, v are what papers and other programs call them"
    )]
    fn hidden(
        &mut self,
        tokens: &[Token],
        cancel: &Cancel,
    ) -> candle_core::Result<ControlFlow<(), Tensor>> {
        let (n, start) = (tokens.len(), self.cache.len());
        let epsilon = self.hyper.rms_epsilon;
        let cos = self.cos.narrow(0, start, n)?;
        let sin = self.sin.narrow(0, start, n)?;
        let mask = causal_mask(start, n, &self.device)?;
        let rotate = |x: &Tensor| {
            let x = x.unsqueeze(0)?.contiguous()?;
            if self.hyper.architecture.rotates_halves() {
                rope(&x, &cos, &sin)?.squeeze(0)
            } else {
                rope_i(&x, &cos, &sin)?.squeeze(0)
            }
        };
        // (n, heads × head size) → (heads, n, head size)
        let by_head = |x: &Tensor, heads: usize| {
            x.reshape((n, heads, self.hyper.head_dim))?
                .transpose(0, 1)?
                .contiguous()
        };

        let norm_heads = |x: Tensor, weight: &Option<Tensor>| match weight {
            Some(weight) => rms_norm(&x, weight, epsilon),
            None => Ok(x),
        };

        let ids = Tensor::new(tokens, &self.device)?;
        let mut x = self.embedding.embedding(&ids)?;
        for (i, layer) in self.layers.iter().enumerate() {
            if cancel.is_cancelled() {
                return Ok(ControlFlow::Break(()));
            }
            let h = rms_norm(&x, &layer.attention_norm, epsilon)?;
            let q = by_head(&layer.q.forward(&h)?, self.hyper.n_heads)?;
            let q = rotate(&norm_heads(q, &layer.q_norm)?)?;
            let k = by_head(&layer.k.forward(&h)?, self.hyper.n_kv_heads)?;
            let k = rotate(&norm_heads(k, &layer.k_norm)?)?;
            let v = by_head(&layer.v.forward(&h)?, self.hyper.n_kv_heads)?;
            let (k, v) = self.cache.write(i, &k, &v)?;
            let attended = attend(&q, &k, &v, mask.as_ref())?;
            x = (x + layer.output.forward(&attended)?)?;
            let h = rms_norm(&x, &layer.feed_forward_norm, epsilon)?;
            let inner = (silu(&layer.gate.forward(&h)?)? * layer.up.forward(&h)?)?;
            x = (x + layer.down.forward(&inner)?)?;
        }
        self.cache.advance(n);
        Ok(ControlFlow::Continue(x))
    }

    fn pass(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Tensor, PassError> {
        check_room(self, tokens.len())?;
        match self
            .hidden(tokens, cancel)
            .context("a pass of the model failed")?
        {
            ControlFlow::Continue(x) => Ok(x),
            ControlFlow::Break(()) => Err(crate::cancel::Cancelled.into()),
        }
    }

    fn logits(&self, x: &Tensor) -> Result<Logits> {
        let x = rms_norm(x, &self.norm, self.hyper.rms_epsilon)?;
        let rows = multiply(&self.head, &x)?.flatten_all()?.to_vec1()?;
        Ok(Logits::new(rows, self.n_logits))
    }
}

impl Model for CandleDecoder {
    fn name(&self) -> &str {
        &self.name
    }

    fn n_logits(&self) -> usize {
        self.n_logits
    }

    fn capacity(&self) -> usize {
        self.cache.capacity()
    }

    fn len(&self) -> usize {
        self.cache.len()
    }

    fn pass_bytes(&self) -> u64 {
        self.pass_bytes
    }

    fn truncate(&mut self, len: usize) {
        self.cache.truncate(len);
    }

    fn prefill(
        &mut self,
        tokens: &[Token],
        cancel: &Cancel,
        progress: &mut dyn FnMut(usize),
    ) -> Result<(), PassError> {
        prefill_in_chunks(self, tokens, CHUNK, progress, |model, chunk| {
            model.pass(chunk, cancel).map(drop)
        })
    }

    fn forward(&mut self, tokens: &[Token], cancel: &Cancel) -> Result<Logits, PassError> {
        let before = self.cache.len();
        let x = self.pass(tokens, cancel)?;
        self.logits(&x).map_err(|error| {
            self.cache.truncate(before);
            error.into()
        })
    }
}

/// Puts the tensors of a file onto a device.
struct Weights<'a> {
    tensors: Tensors<'a>,
    device: &'a Device,
}

impl Weights<'_> {
    fn matrix(&mut self, name: &str, rows: usize, columns: usize) -> Result<QTensor> {
        let (dtype, bytes) = self.tensors.read(name, &[rows, columns])?;
        qtensor_from_ggml(dtype, bytes, vec![rows, columns], self.device)
            .with_context(|| format!("reading tensor {name}"))
    }

    fn vector(&mut self, name: &str, len: usize) -> Result<Tensor> {
        let values = self.tensors.vector(name, len)?;
        Ok(Tensor::new(values, self.device)?)
    }

    fn head_norm(&mut self, name: &str, hyper: &Hyperparameters) -> Result<Option<Tensor>> {
        let weight = self.tensors.head_norm(name, hyper)?;
        Ok(weight
            .map(|weight| Tensor::new(weight, self.device))
            .transpose()?)
    }

    fn linear(&mut self, name: &str, outputs: usize, inputs: usize) -> Result<Linear> {
        let weight = self.matrix(&format!("{name}.weight"), outputs, inputs)?;
        let bias = self.tensors.optional(&format!("{name}.bias"), outputs)?;
        Ok(Linear {
            weight: QMatMul::from_qtensor(weight)?,
            bias: bias
                .map(|bias| Tensor::new(bias, self.device))
                .transpose()?,
        })
    }
}
