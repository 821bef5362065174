//! One matrix times a few rows, alone: what benchmarks time.

use anyhow::Result;
use candle_core::quantized::GgmlDType;

use super::buffers::{MAX_ROWS, Quantized};
use super::isa::Isa;
use super::kernel::Out;
use super::matmul::multiply_group;
use super::pack::{GROUP, Matrix};
use super::shared::Shared;

/// A packed matrix `(rows, columns)` with room for what is multiplied with it.
pub struct Product {
    matrix: Matrix,
    columns: usize,
    activations: Quantized,
    out: Shared<f32>,
}

impl Product {
    /// Packs the blocks of a tensor of a model file.
    pub fn new(dtype: GgmlDType, bytes: &[u8], rows: usize, columns: usize) -> Result<Self> {
        let matrix = Matrix::pack(dtype, bytes, rows, columns)?;
        let out = Shared::new(MAX_ROWS * matrix.groups() * GROUP);
        Ok(Self {
            matrix,
            columns,
            activations: Quantized::new(columns),
            out,
        })
    }

    /// Quantises `x`, `(n, columns)` with `n` up to 64, and multiplies: `(n, rows)`, each row filled up
    /// to a multiple of 16. On this thread alone; the instruction set must be one that this machine has.
    pub fn run(&mut self, isa: Isa, x: &[f32]) -> &[f32] {
        assert!(isa.is_here(), "an instruction set that this machine has");
        assert!(x.len().is_multiple_of(self.columns), "whole rows");
        let n = x.len() / self.columns;
        assert!(n <= MAX_ROWS, "at most {MAX_ROWS} rows");
        let stride = self.matrix.groups() * GROUP;
        // SAFETY: `self` is borrowed alone, so nobody else has its buffers.
        let activations = unsafe {
            for (row, x) in x.chunks_exact(self.columns).enumerate() {
                self.activations.put(isa, row, 0, x);
            }
            self.activations.rows()
        };
        for group in 0..self.matrix.groups() {
            let out = Out {
                values: &self.out,
                start: group * GROUP,
                stride,
            };
            multiply_group(isa, &self.matrix, group, activations, n, out);
        }
        // SAFETY: as above.
        unsafe { self.out.read(0, n * stride) }
    }
}
