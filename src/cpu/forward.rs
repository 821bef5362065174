//! A pass of a llama-like decoder: every thread walks the layers, sharing out the units of each phase.
//!
//! A layer's phases, with a barrier after each:
//! 1. rows: add what the layer before left, norm, quantise
//! 2. heads of k and v into the cache (k normed and rotated); columns of q
//! 3. attention by row and head (q normed and rotated), quantised where it stands
//! 4. output projection
//! 5. rows: add, norm, quantise
//! 6. gate and up, activation, quantised where they stand
//! 7. down projection
//!
//! **What a row's numbers are depends on its own prefix alone**: not on the other rows of the pass, the
//! number of threads, or who took which unit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Cores;
use super::attention::{HeadCache, TILE, attend, put_key, put_value};
use super::buffers::{Buffers, LayerCache, MAX_HEAD, MAX_ROWS, Quantized};
use super::kernel::Out;
use super::matmul::multiply_group;
use super::ops::{add, rms_norm, rotate_halves, rotate_neighbours, silu_product};
use super::pack::{GROUP, Matrix};
use super::pool::{Pool, Team};
use super::shared::Shared;
use super::unpack::BLOCK;
use super::weights::{Layer, Shape, Weights};
use crate::cancel::{Cancel, Cancelled};

/// A pass that panicked has been cleared away by then.
fn lock(pool: &Mutex<Pool>) -> MutexGuard<'_, Pool> {
    pool.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A decoder's threads, cache and working memory.
pub(crate) struct Forward {
    /// Shared with other models: two pools would spin on the same cores.
    pool: Arc<Mutex<Pool>>,
    buffers: Buffers,
}

impl Forward {
    /// Room for `capacity` tokens of a decoder with `n_layers` layers and `n_logits` logits a row.
    pub fn new(
        shape: Shape,
        n_layers: usize,
        n_logits: usize,
        capacity: usize,
        cores: &Cores,
    ) -> Self {
        let Cores {
            isa,
            n_threads,
            ref pool,
        } = *cores;
        assert!(isa.is_here(), "an instruction set that this machine has");
        let buffers = Buffers::new(shape, n_layers, n_logits, capacity, isa, n_threads);
        Self {
            pool: Arc::clone(pool),
            buffers,
        }
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
        lock(&self.pool).run(&|team| pass.run(team));
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
// of the buffers that belong to it; what it reads was written before the last barrier,
// or by this thread.
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
            let cache_only = last && !self.with_logits;
            self.heads(team, layer, &b.cache[i], cache_only);
            if cache_only {
                return;
            }
            self.attend(team, layer, &b.cache[i]);
            self.project(team, &layer.output, &b.attended, &b.projected, 2);
            self.norm_rows(team, true, &layer.feed_forward_norm);
            self.gate_up(team, layer);
            self.project(team, &layer.down, &b.inner, &b.projected, 2);
        }
        self.norm_rows(team, true, &self.weights.norm);
        self.project(team, self.weights.head(), &b.normed, &b.logits, 16);
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

    /// Keys and values of the new tokens into the cache, and their queries unless `cache_only`.
    fn heads(&self, team: &Team, layer: &Layer, cache: &LayerCache, cache_only: bool) {
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
        let units = 2 * n_kv_heads + if cache_only { 0 } else { n_heads };
        team.share(units, 1, |units| {
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
                let is_key = unit < n_kv_heads;
                let cached = if is_key { &cache.keys } else { &cache.values };
                let cached = unsafe { cached.slice(head * b.capacity * size, b.capacity * size) };
                for row in 0..n {
                    let x = unsafe { b.heads.slice(own + row * size, size) };
                    if is_key {
                        let (bias, norm) = (layer.k_bias.as_deref(), layer.k_norm.as_deref());
                        self.finish_head(x, head, bias, norm, Some(row));
                        put_key(cached, self.start + row, x);
                    } else {
                        self.finish_head(x, head, layer.v_bias.as_deref(), None, None);
                        put_value(cached, self.start + row, x);
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
        if let Some(weight) = norm {
            let mut normed = [0.0; MAX_HEAD];
            rms_norm(isa, x, weight, shape.rms_epsilon, &mut normed);
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
        let tiles = n.div_ceil(TILE);
        let (mut q, mut out) = ([0.0; TILE * MAX_HEAD], [0.0; TILE * MAX_HEAD]);
        // Head by head, so that a head's keys and values stay in the core's cache for all rows.
        team.share(n_heads * tiles, 1, |units| {
            for unit in units {
                let (head, first) = (unit / tiles, unit % tiles * TILE);
                let n = TILE.min(n - first);
                let (q, out) = (&mut q[..n * size], &mut out[..n * size]);
                let (bias, norm) = (layer.q_bias.as_deref(), layer.q_norm.as_deref());
                for (i, q) in q.chunks_exact_mut(size).enumerate() {
                    let row = first + i;
                    q.copy_from_slice(unsafe {
                        b.queries.read((row * n_heads + head) * size, size)
                    });
                    self.finish_head(q, head, bias, norm, Some(row));
                }
                let kv_start = head / (n_heads / n_kv_heads) * b.capacity * size;
                let seen = self.start + first + 1;
                unsafe {
                    let cache = HeadCache {
                        keys: cache.keys.read(kv_start, b.capacity * size),
                        values: cache.values.read(kv_start, b.capacity * size),
                    };
                    let scores = b
                        .scores
                        .slice(team.index * TILE * b.capacity, n * b.capacity);
                    attend(b.isa, q, n, cache, seen, scores, out);
                    for (i, out) in out.chunks_exact(size).enumerate() {
                        b.attended.put(b.isa, first + i, head * size, out);
                    }
                }
            }
        });
    }

    /// `out = rows · matrixᵀ`, each row filled up to whole groups; threads take `chunk` groups at a time.
    fn project(
        &self,
        team: &Team,
        matrix: &Matrix,
        rows: &Quantized,
        out: &Shared<f32>,
        chunk: usize,
    ) {
        let activations = unsafe { rows.rows() };
        let stride = matrix.groups() * GROUP;
        team.share(matrix.groups(), chunk, |groups| {
            for group in groups {
                let out = Out {
                    values: out,
                    start: group * GROUP,
                    stride,
                };
                multiply_group(
                    self.buffers.isa,
                    matrix,
                    group,
                    activations,
                    self.tokens.len(),
                    out,
                );
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
