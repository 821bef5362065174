//! The numbers that quantised blocks leave out, times their column of weights.

use super::{Activations, Job, marks_of_row};
use crate::cpu::isa::{Isa, for_each_isa};
use crate::cpu::lanes::{LANES, Lanes};
use crate::cpu::pack::{Form, GROUP, STEP};
use crate::cpu::unpack::BLOCK;

for_each_isa! {
    /// Adds to the products of rows `first..first + n` what their outliers give, block after block.
    fn add_outliers<L>(job: &Job, first: usize, n: usize) {
        let Activations { outlier_columns, outlier_values, n_blocks, .. } = job.activations;
        let block_bytes = job.form.block_bytes();
        for row in first..first + n {
            // SAFETY: this call's kernel wrote these products, and nobody else touches them.
            let products = unsafe { job.out.values.slice(job.out.start + row * job.out.stride, GROUP) };
            let products = &mut products.as_chunks_mut::<LANES>().0[0];
            let stride = marks_of_row(n_blocks);
            let (columns, _) = outlier_columns[row * stride..][..stride].as_chunks::<8>();
            let values = &outlier_values[row * n_blocks..][..n_blocks];
            let mut y = L::load(products);
            for (i, columns) in columns.iter().enumerate() {
                // Eight at a time, of which most have none.
                let mut left = !u64::from_le_bytes(*columns);
                while left != 0 {
                    let at = left.trailing_zeros() as usize / 8;
                    left &= !(0xFF << (8 * at));
                    let b = i * 8 + at;
                    let block = &job.weights[b * block_bytes..][..block_bytes];
                    y = add::<L>(job.form, block, columns[at], values[b], y);
                }
            }
            y.store(products);
        }
    }
}

/// `y = fma(value * quant, scale, y)` for 16 weight rows.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled for its caller's instruction set"
)]
#[inline(always)]
fn add<L: Lanes>(form: Form, block: &[u8], column: u8, value: f32, y: L) -> L {
    let (step, lane) = (usize::from(column) / 4, u32::from(column) % 4);
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
        Form::Q8Half if usize::from(column) >= BLOCK / 2 => &scales[1],
        Form::Q4 | Form::Q8 | Form::Q8Min | Form::Q8Half => &scales[0],
    };
    let scale = scale.as_chunks::<2>().0;
    let scale: [u16; LANES] = std::array::from_fn(|i| u16::from_le_bytes(scale[i]));
    L::splat(value).mul(quants).mul_add(L::widen(&scale), y)
}
