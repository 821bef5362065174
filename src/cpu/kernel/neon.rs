//! NEON: four weight rows to a register, the integer products by `sdot` or `smmla` (see `dots`).
//!
//! Intrinsics for those two and for f16 are not in stable Rust: small wrappers of assembler stand in.

#![expect(
    clippy::inline_always,
    reason = "what works on registers must be compiled into its caller, for its instruction set"
)]
#![expect(
    clippy::needless_range_loop,
    reason = "constant loops over registers: indices are what the compiler unrolls"
)]

mod dots;

#[allow(
    clippy::wildcard_imports,
    reason = "intrinsics carry their module in their names; not `expect`: the lint is silent in tests"
)]
use std::arch::aarch64::*;
use std::arch::asm;
use std::array::from_fn;

use dots::{Dotprod, Dots, I8mm};

use super::{AHEAD, Job, TILE};
use crate::cpu::lanes::neon::halves;
use crate::cpu::pack::{Form, GROUP, STEP};
use crate::cpu::unpack::BLOCK;

/// Bytes of a line of the cache.
const LINE: usize = if cfg!(target_vendor = "apple") {
    128
} else {
    64
};

/// See [`super::group`].
///
/// # Safety
/// The machine has the feature, and `job.check(first, n)` has passed.
#[target_feature(enable = "neon,dotprod")]
pub(super) unsafe fn dotprod(job: &Job, first: usize, n: usize) {
    // SAFETY: passed on.
    unsafe {
        match n {
            1 => group::<Dotprod<1>, 1>(job, first),
            2 => group::<Dotprod<2>, 2>(job, first),
            3 => group::<Dotprod<3>, 3>(job, first),
            _ => group::<Dotprod<TILE>, TILE>(job, first),
        }
    }
}

/// See [`super::group`]. A single row has no partner: `sdot` does it with less rearranging.
///
/// # Safety
/// The machine has the features, and `job.check(first, n)` has passed.
#[target_feature(enable = "neon,dotprod,i8mm")]
pub(super) unsafe fn i8mm(job: &Job, first: usize, n: usize) {
    // SAFETY: passed on.
    unsafe {
        match n {
            1 => group::<Dotprod<1>, 1>(job, first),
            2 => group::<I8mm<2>, 2>(job, first),
            3 => group::<I8mm<3>, 3>(job, first),
            _ => group::<I8mm<TILE>, TILE>(job, first),
        }
    }
}

/// A group by `T` rows. One copy for each form, in which the form is a constant.
///
/// # Safety
/// The caller has been compiled for the instruction set of `D`; `job.check(first, T)` has passed.
#[inline(always)]
unsafe fn group<D: Dots<T>, const T: usize>(job: &Job, first: usize) {
    // SAFETY: passed on.
    unsafe {
        match job.form {
            Form::Q4 => blocks::<D, T>(job, first, Form::Q4),
            Form::Q8 => blocks::<D, T>(job, first, Form::Q8),
            Form::Q8Min => blocks::<D, T>(job, first, Form::Q8Min),
            Form::Q8Half => blocks::<D, T>(job, first, Form::Q8Half),
        }
    }
}

/// # Safety
/// As [`group`].
#[inline(always)]
unsafe fn blocks<D: Dots<T>, const T: usize>(job: &Job, first: usize, form: Form) {
    let a = job.activations;
    // SAFETY: the job was checked: every block, row, scale and output lies in its slice, and no other
    // call writes these columns.
    unsafe {
        let row = |t: usize| (first + t) * a.n_blocks;
        let quants: [_; T] = from_fn(|t| a.quants.as_ptr().add(row(t) * BLOCK));
        let scales: [_; T] = from_fn(|t| a.scales.as_ptr().add(row(t)));
        let sums: [_; T] = from_fn(|t| a.sums.as_ptr().add(row(t)));
        let mut y = [[vdupq_n_f32(0.0); 4]; T];
        let mut block = job.weights.as_ptr();
        for b in 0..a.n_blocks {
            prefetch(block, form);
            let x: [_; 2] = from_fn(|half| {
                D::quants(from_fn(|t| vld1q_s8(quants[t].add(b * BLOCK + half * 16))))
            });
            let scale: [f32; T] = from_fn(|t| *scales[t].add(b));
            let sum: [f32; T] = from_fn(|t| *sums[t].add(b));
            for four in 0..4 {
                let w = weights::<D, T>(form, block.add(four * 16));
                let at = block.add(form.quant_bytes() + four * 8);
                let first_scale = halves(at);
                let extra = match form {
                    Form::Q8 => first_scale, // not used
                    Form::Q4 | Form::Q8Min | Form::Q8Half => halves(at.add(GROUP * 2)),
                };
                let add = |y: &mut [[_; 4]; T], dots: D, weight_scale| {
                    let dots = dots.rows();
                    for t in 0..T {
                        let dot = vmulq_n_f32(vcvtq_f32_s32(dots[t]), scale[t]);
                        y[t][four] = vfmaq_f32(y[t][four], dot, weight_scale);
                    }
                };
                let mut dots = D::zero();
                dots.add(w[0], &x[0]);
                if form == Form::Q8Half {
                    add(&mut y, dots, first_scale);
                    dots = D::zero();
                }
                dots.add(w[1], &x[1]);
                match form {
                    Form::Q8 => add(&mut y, dots, first_scale),
                    Form::Q8Half => add(&mut y, dots, extra),
                    Form::Q4 | Form::Q8Min => {
                        add(&mut y, dots, first_scale);
                        for t in 0..T {
                            y[t][four] = vfmaq_n_f32(y[t][four], extra, sum[t]);
                        }
                    }
                }
            }
            block = block.add(form.block_bytes());
        }
        for (t, y) in y.iter().enumerate() {
            let at = job.out.start + (first + t) * job.out.stride;
            let out = job.out.values.slice(at, GROUP).as_mut_ptr();
            for four in 0..4 {
                vst1q_f32(out.add(4 * four), y[four]);
            }
        }
    }
}

/// A block's weights for four rows, from `at` on: columns 0..16, then 16..32, arranged.
///
/// # Safety
/// The block is readable; `D` as in [`group`].
#[inline(always)]
unsafe fn weights<D: Dots<T>, const T: usize>(form: Form, at: *const u8) -> [[uint8x16_t; 4]; 2] {
    // SAFETY: the caller's promise.
    unsafe {
        let load =
            |first: usize| D::arrange(from_fn(|step| vld1q_u8(at.add((first + step) * STEP))));
        match form {
            Form::Q4 => {
                let bytes = load(0);
                [
                    bytes.map(|x| vandq_u8(x, vdupq_n_u8(15))),
                    bytes.map(|x| vshrq_n_u8::<4>(x)),
                ]
            }
            Form::Q8 | Form::Q8Min | Form::Q8Half => [load(0), load(4)],
        }
    }
}

/// Asks for a block's bytes some blocks ahead.
#[inline(always)]
fn prefetch(block: *const u8, form: Form) {
    for line in (0..form.block_bytes()).step_by(LINE) {
        let at = block.wrapping_add(AHEAD + line);
        // SAFETY: a hint, which may name any address.
        unsafe {
            asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
        }
    }
}
