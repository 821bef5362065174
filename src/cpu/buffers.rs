//! A decoder's cache and working memory, allocated once.

use super::attention;
use super::isa::Isa;
use super::kernel::{Activations, NONE, marks_of_row};
use super::lanes::LANES;
use super::ops::{QuantizedBlocks, quantize};
use super::pack::GROUP;
use super::shared::Shared;
use super::unpack::BLOCK;
use super::weights::Shape;

/// Rows of a pass at most; longer inputs are fed in several.
pub(crate) const MAX_ROWS: usize = 64;

/// Largest head.
pub(crate) const MAX_HEAD: usize = 256;

/// Quantised rows that a matrix product reads.
pub(super) struct Quantized {
    pub quants: Shared<i8>,
    pub quant_sums: Shared<[i32; 2]>,
    pub scales: Shared<f32>,
    pub sums: Shared<f32>,
    pub outlier_columns: Shared<u8>,
    pub outlier_values: Shared<f32>,
    pub columns: usize,
}

impl Quantized {
    /// Room for [`MAX_ROWS`] rows.
    pub fn new(columns: usize) -> Self {
        let blocks = columns / BLOCK;
        Self {
            quants: Shared::new(MAX_ROWS * columns),
            quant_sums: Shared::new(MAX_ROWS * blocks),
            scales: Shared::new(MAX_ROWS * blocks),
            sums: Shared::new(MAX_ROWS * blocks),
            outlier_columns: Shared::filled(NONE, MAX_ROWS * marks_of_row(blocks)),
            outlier_values: Shared::new(MAX_ROWS * blocks),
            columns,
        }
    }

    /// Stores columns of a row, from `column` on.
    ///
    /// # Safety
    /// Nobody else touches these columns in this phase.
    pub unsafe fn put(&self, isa: Isa, row: usize, column: usize, x: &[f32]) {
        let start = row * self.columns + column;
        let (block, blocks) = (start / BLOCK, x.len() / BLOCK);
        let mark = row * marks_of_row(self.columns / BLOCK) + column / BLOCK;
        // SAFETY: passed on.
        unsafe {
            let out = QuantizedBlocks {
                quants: self.quants.slice(start, x.len()),
                quant_sums: self.quant_sums.slice(block, blocks),
                scales: self.scales.slice(block, blocks),
                sums: self.sums.slice(block, blocks),
                outlier_columns: self.outlier_columns.slice(mark, blocks),
                outlier_values: self.outlier_values.slice(block, blocks),
            };
            quantize(isa, x, out);
        }
    }

    /// The rows, to multiply with.
    ///
    /// # Safety
    /// Nobody writes them in this phase.
    pub unsafe fn rows(&self) -> Activations<'_> {
        let n_blocks = self.columns / BLOCK;
        // SAFETY: passed on.
        unsafe {
            Activations {
                quants: self.quants.read(0, self.quants.len()),
                quant_sums: self.quant_sums.read(0, self.quant_sums.len()),
                scales: self.scales.read(0, self.scales.len()),
                sums: self.sums.read(0, self.sums.len()),
                outlier_columns: self.outlier_columns.read(0, self.outlier_columns.len()),
                outlier_values: self.outlier_values.read(0, self.outlier_values.len()),
                n_blocks,
            }
        }
    }
}

/// Keys and values of a layer, f16, a [`HeadCache`](super::attention::HeadCache) per KV head.
pub(super) struct LayerCache {
    pub keys: Shared<u16>,
    pub values: Shared<u16>,
}

/// A decoder's cache and working memory, allocated once.
pub(super) struct Buffers {
    pub shape: Shape,
    pub isa: Isa,
    /// Tokens that the cache holds, a multiple of [`LANES`].
    pub capacity: usize,
    pub cache: Vec<LayerCache>,
    /// The residual stream, `(rows, hidden)`.
    pub x: Shared<f32>,
    /// What the last projection gave, to be added to `x`.
    pub projected: Shared<f32>,
    /// `(rows, heads × head size)`.
    pub queries: Shared<f32>,
    pub normed: Quantized,
    pub attended: Quantized,
    pub inner: Quantized,
    pub logits: Shared<f32>,
    /// Per thread: a row; a head of k or v for all rows; gate and up of 32 columns for all rows; scores of
    /// a tile of rows for all positions.
    pub row: Shared<f32>,
    pub heads: Shared<f32>,
    pub gate_up: Shared<f32>,
    pub scores: Shared<f32>,
}

impl Buffers {
    /// Room for `capacity` tokens of a decoder with `n_layers` layers and `n_logits` logits a row, worked
    /// on by `threads` threads.
    pub fn new(
        shape: Shape,
        n_layers: usize,
        n_logits: usize,
        capacity: usize,
        isa: Isa,
        threads: usize,
    ) -> Self {
        let (hidden, size) = (shape.hidden, shape.head_dim);
        let capacity = capacity.next_multiple_of(LANES);
        let cached = shape.n_kv_heads * capacity * size;
        Self {
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
            scores: Shared::new(threads * attention::TILE * capacity),
            shape,
            isa,
            capacity,
        }
    }
}
