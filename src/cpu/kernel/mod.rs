//! The inner products of one group of 16 weight rows with a few rows of activations: one file per
//! instruction set, all with the same bits.
//!
//! For row `r` and weight row `w`, over the blocks `b` of 32 columns in order:
//! `y = fma(dot(b) * scale_r(b), scale_w(b), y)`, then, where the form has a minimum,
//! `y = fma(sum_r(b), min_w(b), y)`. `dot` is an exact integer; `Q8Half` does the first line twice, for
//! the two halves of 16 columns. After all blocks, again in order, the block's outlier if it has one:
//! `y = fma(value * quant_w, scale_w, y)`. **That order is all there is: it does not depend on how many rows
//! share a call, so neither do the bits.**

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
mod outliers;
mod scalar;

use outliers::add_outliers;

use super::isa::Isa;
use super::pack::{Form, GROUP};
use super::shared::Shared;
use super::unpack::BLOCK;

/// Rows of activations that one call multiplies at most.
pub(super) const TILE: usize = 4;

/// Bytes between a block in work and the one asked for from memory.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const AHEAD: usize = 4096;

/// Quantised activations of the rows of a pass.
#[derive(Clone, Copy)]
pub(super) struct Activations<'a> {
    /// `(rows, columns)`, -127..=127.
    pub quants: &'a [i8],
    /// `(rows, blocks)`: the sums of the quants of a block's two halves.
    pub quant_sums: &'a [[i32; 2]],
    /// `(rows, blocks)`: what a quant is multiplied with.
    pub scales: &'a [f32],
    /// `(rows, blocks)`: the sum of the numbers that a block stands for, the outlier among them.
    pub sums: &'a [f32],
    /// `(rows, marks_of_row(blocks))`: the column of the number that a block's quants leave out, or
    /// [`NONE`].
    pub outlier_columns: &'a [u8],
    /// `(rows, blocks)`: that number.
    pub outlier_values: &'a [f32],
    /// Blocks of a row.
    pub n_blocks: usize,
}

/// No column.
pub(super) const NONE: u8 = u8::MAX;

/// Outliers' columns are looked at eight at a time: a row of them is filled up with [`NONE`].
pub(super) fn marks_of_row(n_blocks: usize) -> usize {
    n_blocks.next_multiple_of(8)
}

/// The weights of one group, and where the products go.
pub(super) struct Job<'a> {
    pub form: Form,
    /// The group's blocks.
    pub weights: &'a [u8],
    pub activations: Activations<'a>,
    pub out: Out<'a>,
}

/// Where products go: row `r` of the pass writes 16 values from `start + r * stride` on.
#[derive(Clone, Copy)]
pub(super) struct Out<'a> {
    pub values: &'a Shared<f32>,
    pub start: usize,
    pub stride: usize,
}

/// Multiplies the rows `first..first + n` of a job, `n <= TILE`.
pub(super) fn group(isa: Isa, job: &Job, first: usize, n: usize) {
    job.check(first, n);
    match isa {
        Isa::Scalar => scalar::group(job, first, n),
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the instruction set is only chosen where `Isa::is_here`; the job has been checked.
        Isa::Avx2 => unsafe { avx2::group(job, first, n) },
        #[cfg(target_arch = "x86_64")]
        // SAFETY: as above.
        Isa::Avx512Vnni => unsafe { avx512::group(job, first, n) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::Dotprod => unsafe { neon::dotprod(job, first, n) },
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        Isa::I8mm => unsafe { neon::i8mm(job, first, n) },
    }
    add_outliers(isa, job, first, n);
}

impl Job<'_> {
    /// That every index of a call lies in its slice: what the unsafe kernels rely on.
    fn check(&self, first: usize, n: usize) {
        let Activations {
            quants,
            quant_sums,
            scales,
            sums,
            outlier_columns,
            outlier_values,
            n_blocks,
        } = self.activations;
        let rows = first + n;
        assert!((1..=TILE).contains(&n));
        assert!(self.weights.len() >= n_blocks * self.form.block_bytes());
        assert!(quants.len() >= rows * n_blocks * BLOCK);
        assert!(quant_sums.len() >= rows * n_blocks);
        assert!(scales.len() >= rows * n_blocks && sums.len() >= rows * n_blocks);
        assert!(outlier_columns.len() >= rows * marks_of_row(n_blocks));
        assert!(outlier_values.len() >= rows * n_blocks);
        assert!(self.out.start + (rows - 1) * self.out.stride + GROUP <= self.out.values.len());
    }
}
