//! The specification: what every instruction set computes, in plain Rust. (Outliers are added by
//! `outliers`, of which [`Array`](crate::cpu::lanes::Array) is the specification.)

use std::ops::Range;

use super::{Job, TILE};
use crate::cpu::pack::{Form, GROUP, get};
use crate::cpu::unpack::{BLOCK, RowBlock};

pub(super) fn group(job: &Job, first: usize, n: usize) {
    let activations = job.activations;
    let mut y = [[0.0f32; GROUP]; TILE];
    for b in 0..activations.n_blocks {
        let block = &job.weights[b * job.form.block_bytes()..][..job.form.block_bytes()];
        for row in 0..GROUP {
            let weights = get(job.form, block, row);
            for (t, y) in y[..n].iter_mut().enumerate() {
                let at = (first + t) * activations.n_blocks + b;
                let quants = &activations.quants[at * BLOCK..][..BLOCK];
                let (scale, sum) = (activations.scales[at], activations.sums[at]);
                y[row] = add_block(job.form, &weights, quants, scale, sum, y[row]);
            }
        }
    }
    for (t, y) in y[..n].iter().enumerate() {
        let at = job.out.start + (first + t) * job.out.stride;
        // SAFETY: no other call writes these columns.
        unsafe { job.out.values.slice(at, GROUP) }.copy_from_slice(y);
    }
}

/// `y` and one block more.
fn add_block(form: Form, row: &RowBlock, quants: &[i8], scale: f32, sum: f32, y: f32) -> f32 {
    let dot = |columns: Range<usize>| -> f32 {
        let products = columns.map(|i| i32::from(row.quants[i]) * i32::from(quants[i]));
        products.sum::<i32>() as f32
    };
    match form {
        Form::Q8 => (dot(0..BLOCK) * scale).mul_add(row.scale, y),
        Form::Q4 | Form::Q8Min => {
            sum.mul_add(row.extra, (dot(0..BLOCK) * scale).mul_add(row.scale, y))
        }
        Form::Q8Half => {
            let y = (dot(0..BLOCK / 2) * scale).mul_add(row.scale, y);
            (dot(BLOCK / 2..BLOCK) * scale).mul_add(row.extra, y)
        }
    }
}
