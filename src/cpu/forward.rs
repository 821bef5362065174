//! A pass of a llama-like decoder: every thread walks the layers, sharing out the units of each phase.
//!
//! A layer's phases, with a barrier after each:
//! 1. rows: add what the layer before left, norm, quantise
//! 2. heads of k and v into the cache (k rotated); columns of q
//! 3. attention by row and head, quantised where it stands
//! 4. output projection
//! 5. rows: add, norm, quantise
//! 6. gate and up, activation, quantised where they stand
//! 7. down projection
//!
//! **What a row's numbers are depends on its own prefix alone**: not on the other rows of the pass, the
//! number of threads, or who took which unit.

use std::sync::atomic::{AtomicBool, Ordering};

use super::attention::{attend, narrow};
use super::kernel::{Activations, Isa, Out};
use super::matmul::multiply_group;
use super::ops::{add, quantize, rms_norm, rotate_halves, rotate_neighbours, silu_product};
use super::pack::{BLOCK, GROUP, Matrix};
use super::pool::{Pool, Team};
use super::shared::Shared;
use crate::cancel::{Cancel, Cancelled};

/// Rows of a pass at most; longer inputs are fed in several.
pub(crate) const MAX_ROWS: usize = 64;

/// Largest head.
pub(crate) const MAX_HEAD: usize = 256;

/// The shape of a decoder.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub hidden: usize,
    pub inner: usize,
    pub n_heads: usize,
    pub n_kv_heads: usize,
    pub head_dim: usize,
    pub rms_epsilon: f32,
    /// Whether rotated pairs are half a head apart, rather than neighbours.
    pub rotate_halves: bool,
}

/// The weights of a layer. Norms and biases are f32.
pub(crate) struct Layer {
    pub attention_norm: Vec<f32>,
    pub q: Matrix,
    pub k: Matrix,
    pub v: Matrix,
    pub q_bias: Option<Vec<f32>>,
    pub k_bias: Option<Vec<f32>>,
    pub v_bias: Option<Vec<f32>>,
    /// Norms of each head of q and k before rotation (Qwen3).
    pub q_norm: Option<Vec<f32>>,
    pub k_norm: Option<Vec<f32>>,
    pub output: Matrix,
    pub feed_forward_norm: Vec<f32>,
    pub gate: Matrix,
    pub up: Matrix,
    pub down: Matrix,
}

/// The weights of a decoder.
pub(crate) struct Weights {
    pub embedding: Matrix,
    pub layers: Vec<Layer>,
    pub norm: Vec<f32>,
    /// The output head, where it is not the embedding.
    pub head: Option<Matrix>,
    /// Cosines and sines, `(capacity, head size / 2)`.
    pub cos: Vec<f32>,
    pub sin: Vec<f32>,
}

impl Weights {
    pub fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }
}

/// Quantised rows that a matrix product reads.
struct Quantized {
    quants: Shared<i8>,
    scales: Shared<f32>,
    sums: Shared<f32>,
    columns: usize,
}

impl Quantized {
    fn new(columns: usize) -> Self {
        let blocks = columns / BLOCK;
        Self {
            quants: Shared::new(MAX_ROWS * columns),
            scales: Shared::new(MAX_ROWS * blocks),
            sums: Shared::new(MAX_ROWS * blocks),
            columns,
        }
    }

    /// Stores columns of a row, from `column` on.
    ///
    /// # Safety
    /// Nobody else touches these columns in this phase.
    unsafe fn put(&self, isa: Isa, row: usize, column: usize, x: &[f32]) {
        let start = row * self.columns + column;
        let (block, blocks) = (start / BLOCK, x.len() / BLOCK);
        // SAFETY: passed on.
        unsafe {
            let quants = self.quants.slice(start, x.len());
            let scales = self.scales.slice(block, blocks);
            quantize(isa, x, quants, scales, self.sums.slice(block, blocks));
        }
    }

    /// The rows, to multiply with.
    ///
    /// # Safety
    /// Nobody writes them in this phase.
    unsafe fn rows(&self) -> Activations<'_> {
        let n_blocks = self.columns / BLOCK;
        // SAFETY: passed on.
        unsafe {
            Activations {
                quants: self.quants.read(0, self.quants.len()),
                scales: self.scales.read(0, self.scales.len()),
                sums: self.sums.read(0, self.sums.len()),
                n_blocks,
            }
        }
    }
}

/// Keys and values of a layer, f16, `(kv heads, capacity, head size)` each.
struct LayerCache {
    keys: Shared<u16>,
    values: Shared<u16>,
}

/// A decoder's cache and working memory, allocated once.
struct Buffers {
    shape: Shape,
    isa: Isa,
    capacity: usize,
    cache: Vec<LayerCache>,
    /// The residual stream, `(rows, hidden)`.
    x: Shared<f32>,
    /// What the last projection gave, to be added to `x`.
    projected: Shared<f32>,
    /// `(rows, heads × head size)`.
    queries: Shared<f32>,
    normed: Quantized,
    attended: Quantized,
    inner: Quantized,
    logits: Shared<f32>,
    /// Per thread: a row; a head of q, k or v for all rows; gate and up of 32 columns for all rows;
    /// scores for all positions.
    row: Shared<f32>,
    heads: Shared<f32>,
    gate_up: Shared<f32>,
    scores: Shared<f32>,
}

/// A decoder's threads, cache and working memory.
pub(crate) struct Forward {
    pool: Pool,
    buffers: Buffers,
}

impl Forward {
    /// Room for `capacity` tokens of a decoder with `n_layers` layers and `n_logits` logits a row.
    pub fn new(
        shape: Shape,
        n_layers: usize,
        n_logits: usize,
        capacity: usize,
        isa: Isa,
        n_threads: usize,
    ) -> std::io::Result<Self> {
        let pool = Pool::new(n_threads)?;
        let threads = pool.n_threads();
        let (hidden, size) = (shape.hidden, shape.head_dim);
        let cached = shape.n_kv_heads * capacity * size;
        let buffers = Buffers {
            cache: (0..n_layers)
                .map(|_| LayerCache {
                    keys: Shared::new(cached),
                    values: Shared::new(cached),
                })
                .collect(),
            x: Shared::new(MAX_ROWS * hidden),
            projected: Shared::new(MAX_ROWS * hidden),
            queries: Shared::new(MAX_ROWS * shape.n_heads * size),
            normed: Quantized::new(hidden),
            attended: Quantized::new(shape.n_heads * size),
            inner: Quantized::new(shape.inner),
            logits: Shared::new(MAX_ROWS * n_logits.next_multiple_of(GROUP)),
            row: Shared::new(threads * hidden),
            heads: Shared::new(threads * MAX_ROWS * size),
            gate_up: Shared::new(threads * MAX_ROWS * 2 * BLOCK),
            scores: Shared::new(threads * capacity),
            shape,
            isa,
            capacity,
        };
        Ok(Self { pool, buffers })
    }

    /// Feeds `tokens` (at most [`MAX_ROWS`]) behind `start` cached ones; with `logits`, appends a row of
    /// them for each token.
    pub fn pass(
        &mut self,
        weights: &Weights,
        tokens: &[u32],
        start: usize,
        logits: Option<&mut Vec<f32>>,
        cancel: &Cancel,
    ) -> Result<(), Cancelled> {
        let buffers = &self.buffers;
        assert!(tokens.len() <= MAX_ROWS && start + tokens.len() <= buffers.capacity);
        let stopped = AtomicBool::new(false);
        let with_logits = logits.is_some();
        let pass = Pass {
            buffers,
            weights,
            tokens,
            start,
            with_logits,
            cancel,
            stopped: &stopped,
        };
        self.pool.run(&|team| pass.run(team));
        if stopped.into_inner() {
            return Err(Cancelled);
        }
        if let Some(out) = logits {
            let head = weights.head();
            for row in 0..tokens.len() {
                // SAFETY: the threads have ended the pass.
                let logits = unsafe {
                    buffers
                        .logits
                        .read(row * head.groups() * GROUP, head.rows())
                };
                out.extend_from_slice(logits);
            }
        }
        Ok(())
    }
}

/// One pass, as its threads see it.
struct Pass<'a> {
    buffers: &'a Buffers,
    weights: &'a Weights,
    tokens: &'a [u32],
    start: usize,
    with_logits: bool,
    cancel: &'a Cancel,
    stopped: &'a AtomicBool,
}

// In all of these: SAFETY: within a phase a unit is one thread's alone, and it writes only the parts
// of the buffers that belong to it; what it reads was written before the last barrier.
impl Pass<'_> {
    fn run(&self, team: &Team) {
        let b = self.buffers;
        let (n, hidden) = (self.tokens.len(), b.shape.hidden);
        team.share(n, 1, |rows| {
            for row in rows {
                let x = unsafe { b.x.slice(row * hidden, hidden) };
                self.weights.embedding.row(self.tokens[row] as usize, x);
            }
        });
        for (i, layer) in self.weights.layers.iter().enumerate() {
            let last = i + 1 == self.weights.layers.len();
            if team.index == 0 && self.cancel.is_cancelled() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            self.norm_rows(team, i > 0, &layer.attention_norm);
            if self.stopped.load(Ordering::Relaxed) {
                return;
            }
            self.heads(team, layer, &b.cache[i]);
            if last && !self.with_logits {
                return;
            }
            self.attend(team, layer, &b.cache[i]);
            self.project(team, &layer.output, &b.attended);
            self.norm_rows(team, true, &layer.feed_forward_norm);
            self.gate_up(team, layer);
            self.project(team, &layer.down, &b.inner);
        }
        self.norm_rows(team, true, &self.weights.norm);
        let head = self.weights.head();
        let stride = head.groups() * GROUP;
        let activations = unsafe { b.normed.rows() };
        team.share(head.groups(), 16, |groups| {
            for group in groups {
                let out = Out {
                    values: &b.logits,
                    start: group * GROUP,
                    stride,
                };
                multiply_group(b.isa, head, group, activations, n, out);
            }
        });
    }

    /// Adds what the last projection gave, norms and quantises each row.
    fn norm_rows(&self, team: &Team, add_projected: bool, weight: &[f32]) {
        let b = self.buffers;
        let hidden = b.shape.hidden;
        let normed = unsafe { b.row.slice(team.index * hidden, hidden) };
        team.share(self.tokens.len(), 1, |rows| {
            for row in rows {
                unsafe {
                    let x = b.x.slice(row * hidden, hidden);
                    if add_projected {
                        add(b.isa, x, b.projected.read(row * hidden, hidden));
                    }
                    rms_norm(b.isa, x, weight, b.shape.rms_epsilon, normed);
                    b.normed.put(b.isa, row, 0, normed);
                }
            }
        });
    }

    /// Keys and values of the new tokens into the cache, and their queries.
    fn heads(&self, team: &Team, layer: &Layer, cache: &LayerCache) {
        let b = self.buffers;
        let Shape {
            n_heads,
            n_kv_heads,
            head_dim: size,
            ..
        } = b.shape;
        let n = self.tokens.len();
        let activations = unsafe { b.normed.rows() };
        let groups = size / GROUP;
        let own = team.index * MAX_ROWS * size;
        team.share(2 * n_kv_heads + n_heads, 1, |units| {
            for unit in units {
                // Heads of k, then of v, then of q.
                let (matrix, head) = match unit {
                    _ if unit < n_kv_heads => (&layer.k, unit),
                    _ if unit < 2 * n_kv_heads => (&layer.v, unit - n_kv_heads),
                    _ => (&layer.q, unit - 2 * n_kv_heads),
                };
                let is_query = unit >= 2 * n_kv_heads;
                for group in 0..groups {
                    let out = if is_query {
                        let start = head * size + group * GROUP;
                        Out {
                            values: &b.queries,
                            start,
                            stride: n_heads * size,
                        }
                    } else {
                        Out {
                            values: &b.heads,
                            start: own + group * GROUP,
                            stride: size,
                        }
                    };
                    multiply_group(b.isa, matrix, head * groups + group, activations, n, out);
                }
                if is_query {
                    continue;
                }
                for row in 0..n {
                    let (x, cached) = unsafe {
                        let at = (head * b.capacity + self.start + row) * size;
                        let rows = if unit < n_kv_heads {
                            &cache.keys
                        } else {
                            &cache.values
                        };
                        (b.heads.slice(own + row * size, size), rows.slice(at, size))
                    };
                    if unit < n_kv_heads {
                        let norm = layer.k_norm.as_deref();
                        self.finish_head(x, head, layer.k_bias.as_deref(), norm, Some(row));
                    } else {
                        self.finish_head(x, head, layer.v_bias.as_deref(), None, None);
                    }
                    for (cached, &x) in cached.iter_mut().zip(x.iter()) {
                        *cached = narrow(x);
                    }
                }
            }
        });
    }

    /// Bias, norm and rotation of one head of one row, where there are any.
    fn finish_head(
        &self,
        x: &mut [f32],
        head: usize,
        bias: Option<&[f32]>,
        norm: Option<&[f32]>,
        rotate_row: Option<usize>,
    ) {
        let Buffers { shape, isa, .. } = self.buffers;
        let (isa, size) = (*isa, shape.head_dim);
        if let Some(bias) = bias {
            add(isa, x, &bias[head * size..][..size]);
        }
        if let Some(norm) = norm {
            let mut normed = [0.0; MAX_HEAD];
            rms_norm(isa, x, norm, shape.rms_epsilon, &mut normed[..size]);
            x.copy_from_slice(&normed[..size]);
        }
        if let Some(row) = rotate_row {
            let at = (self.start + row) * size / 2;
            let (cos, sin) = (
                &self.weights.cos[at..][..size / 2],
                &self.weights.sin[at..][..size / 2],
            );
            if shape.rotate_halves {
                rotate_halves(isa, x, cos, sin);
            } else {
                rotate_neighbours(isa, x, cos, sin);
            }
        }
    }

    fn attend(&self, team: &Team, layer: &Layer, cache: &LayerCache) {
        let b = self.buffers;
        let Shape {
            n_heads,
            n_kv_heads,
            head_dim: size,
            ..
        } = b.shape;
        let n = self.tokens.len();
        let mut out = [0.0; MAX_HEAD];
        let out = &mut out[..size];
        // Head by head, so that a head's keys and values stay in the core's cache for all rows.
        team.share(n_heads * n, 1, |units| {
            for unit in units {
                let (head, row) = (unit / n, unit % n);
                let seen = self.start + row + 1;
                let kv_start = head / (n_heads / n_kv_heads) * b.capacity * size;
                unsafe {
                    let q = b.queries.slice((row * n_heads + head) * size, size);
                    let (bias, norm) = (layer.q_bias.as_deref(), layer.q_norm.as_deref());
                    self.finish_head(q, head, bias, norm, Some(row));
                    let keys = cache.keys.read(kv_start, seen * size);
                    let values = cache.values.read(kv_start, seen * size);
                    let scores = b.scores.slice(team.index * b.capacity, seen);
                    attend(b.isa, q, keys, values, scores, out);
                    b.attended.put(b.isa, row, head * size, out);
                }
            }
        });
    }

    /// `projected = rows · matrixᵀ`.
    fn project(&self, team: &Team, matrix: &Matrix, rows: &Quantized) {
        let b = self.buffers;
        let activations = unsafe { rows.rows() };
        team.share(matrix.groups(), 2, |groups| {
            for group in groups {
                let start = group * GROUP;
                let out = Out {
                    values: &b.projected,
                    start,
                    stride: b.shape.hidden,
                };
                multiply_group(b.isa, matrix, group, activations, self.tokens.len(), out);
            }
        });
    }

    fn gate_up(&self, team: &Team, layer: &Layer) {
        let b = self.buffers;
        let n = self.tokens.len();
        let activations = unsafe { b.normed.rows() };
        let own = team.index * MAX_ROWS * 2 * BLOCK;
        team.share(b.shape.inner / BLOCK, 1, |blocks| {
            for block in blocks {
                for (part, matrix) in [&layer.gate, &layer.up].into_iter().enumerate() {
                    for group in 0..BLOCK / GROUP {
                        let start = own + part * BLOCK + group * GROUP;
                        let out = Out {
                            values: &b.gate_up,
                            start,
                            stride: 2 * BLOCK,
                        };
                        let group = block * BLOCK / GROUP + group;
                        multiply_group(b.isa, matrix, group, activations, n, out);
                    }
                }
                for row in 0..n {
                    let columns = unsafe { b.gate_up.slice(own + row * 2 * BLOCK, 2 * BLOCK) };
                    let (gate, up) = columns.split_at_mut(BLOCK);
                    silu_product(b.isa, gate, up);
                    unsafe { b.inner.put(b.isa, row, block * BLOCK, gate) };
                }
            }
        });
    }
}
