//! The numbers that quantised blocks leave out, times their column of weights.

use super::{Isa, Job, NONE, Outlier};
use crate::cpu::lanes::Lanes;
use crate::cpu::ops::{LANES, for_each_isa};
use crate::cpu::pack::{BLOCK, Form, GROUP, STEP};

for_each_isa! {
    /// Adds to the products of rows `first..first + n` what their outliers give, block after block.
    fn add_outliers<L>(job: &Job, first: usize, n: usize) {
        let n_blocks = job.activations.n_blocks;
        for row in first..first + n {
            // SAFETY: this call's kernel wrote these products, and nobody else touches them.
            let y = unsafe { job.out.values.slice(job.out.start + row * job.out.stride, GROUP) };
            let (y, _) = y.as_chunks_mut::<LANES>();
            let outliers = &job.activations.outliers[row * n_blocks..][..n_blocks];
            for (outlier, block) in outliers.iter().zip(job.weights.chunks_exact(job.form.block_bytes())) {
                if outlier.column != NONE {
                    add::<L>(job.form, block, *outlier, &mut y[0]);
                }
            }
        }
    }
}

/// `y = fma(value * quant, scale, y)` for 16 weight rows.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled for its caller's instruction set"
)]
#[inline(always)]
fn add<L: Lanes>(form: Form, block: &[u8], outlier: Outlier, y: &mut [f32; LANES]) {
    let column = outlier.column as usize % BLOCK;
    let (step, lane) = (column / 4, column as u32 % 4);
    let (quants, scales) = block.split_at(form.quant_bytes());
    let words = |step: usize| -> &[u8; STEP] {
        quants[step * STEP..]
            .first_chunk()
            .expect("a step is whole")
    };
    let quants = match form {
        Form::Q4 if step < 4 => L::unsigned(words(step), 8 * lane, 4),
        Form::Q4 => L::unsigned(words(step - 4), 8 * lane + 4, 4),
        Form::Q8 | Form::Q8Min | Form::Q8Half => L::signed(words(step), 8 * lane, 8),
    };
    let (scales, _) = scales.as_chunks::<{ 2 * LANES }>();
    let scale = match form {
        Form::Q8Half if column >= BLOCK / 2 => &scales[1],
        Form::Q4 | Form::Q8 | Form::Q8Min | Form::Q8Half => &scales[0],
    };
    let scale = scale.as_chunks::<2>().0;
    let scale: [u16; LANES] = std::array::from_fn(|i| u16::from_le_bytes(scale[i]));
    let value = L::splat(outlier.value);
    value
        .mul(quants)
        .mul_add(L::widen(&scale), L::load(y))
        .store(y);
}
