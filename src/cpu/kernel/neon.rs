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
use crate::cpu::lanes::Lanes;
use crate::cpu::ops::LANES;
use crate::cpu::pack::{BLOCK, Form, GROUP, STEP};

/// Bytes of a line of the cache.
const LINE: usize = if cfg!(target_vendor = "apple") {
    128
} else {
    64
};

/// Sixteen f32 in four registers.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Lanes16([float32x4_t; 4]);

// SAFETY (all of these): every aarch64 has NEON; the references are to whole arrays.
impl Lanes for Lanes16 {
    #[inline(always)]
    fn splat(x: f32) -> Self {
        unsafe { Self([vdupq_n_f32(x); 4]) }
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let at = from.as_ptr();
        unsafe { Self(from_fn(|i| vld1q_f32(at.add(4 * i)))) }
    }

    #[inline(always)]
    fn widen(from: &[u16; LANES]) -> Self {
        let at = from.as_ptr();
        unsafe {
            let (a, b) = (vld1q_u16(at), vld1q_u16(at.add(8)));
            Self([widen_low(a), widen_high(a), widen_low(b), widen_high(b)])
        }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        let at = to.as_mut_ptr();
        for i in 0..4 {
            unsafe { vst1q_f32(at.add(4 * i), self.0[i]) };
        }
    }

    #[inline(always)]
    fn mul(self, by: Self) -> Self {
        unsafe { Self(from_fn(|i| vmulq_f32(self.0[i], by.0[i]))) }
    }

    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        unsafe { Self(from_fn(|i| vfmaq_f32(plus.0[i], self.0[i], by.0[i]))) }
    }

    // Not `vmaxq_f32`, which differs where a lane is not a number or where zeros differ in sign.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        let larger = |a, b| unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) };
        Self(from_fn(|i| larger(self.0[i], other.0[i])))
    }

    #[inline(always)]
    fn largest(self, other: Self) -> (f32, usize) {
        unsafe {
            let magnitude = |x| vreinterpretq_u32_f32(vabsq_f32(x));
            let all: [_; 8] =
                from_fn(|i| magnitude(if i < 4 { self.0[i] } else { other.0[i - 4] }));
            let pairs: [_; 4] = from_fn(|i| vmaxq_u32(all[i], all[i + 4]));
            let most = vmaxq_u32(vmaxq_u32(pairs[0], pairs[1]), vmaxq_u32(pairs[2], pairs[3]));
            let most = vmaxvq_u32(most);
            // The first lane of those that are equal: all others count as the largest number.
            let lane = vld1q_u32([0, 1, 2, 3].as_ptr());
            let mut first = vdupq_n_u32(32);
            for i in 0..8 {
                let lane = vaddq_u32(lane, vdupq_n_u32(4 * i as u32));
                let is_most = vceqq_u32(all[i], vdupq_n_u32(most));
                first = vminq_u32(first, vornq_u32(lane, is_most));
            }
            (f32::from_bits(most), vminvq_u32(first) as usize)
        }
    }

    #[inline(always)]
    fn unsigned(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let (up, down) = shifts(from, n);
            Self(from_fn(|i| {
                let words = vld1q_u8(words.as_ptr().add(16 * i));
                let words = vshlq_u32(vreinterpretq_u32_u8(words), up);
                vcvtq_f32_u32(vshlq_u32(words, down))
            }))
        }
    }

    #[inline(always)]
    fn signed(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let (up, down) = shifts(from, n);
            Self(from_fn(|i| {
                let words = vld1q_u8(words.as_ptr().add(16 * i));
                let words = vshlq_s32(vreinterpretq_s32_u8(words), up);
                vcvtq_f32_s32(vshlq_s32(words, down))
            }))
        }
    }

    #[inline(always)]
    fn round(self, to: &mut [i8; LANES]) -> i32 {
        unsafe {
            let words = |i: usize| vqmovn_s32(vcvtnq_s32_f32(self.0[i]));
            let bytes = |i: usize| vqmovn_s16(vcombine_s16(words(i), words(i + 1)));
            let bytes = vcombine_s8(bytes(0), bytes(2));
            vst1q_s8(to.as_mut_ptr(), bytes);
            i32::from(vaddlvq_s8(bytes))
        }
    }
}

/// Shifts that leave bits `from..from + n` of a word alone: up, and then down.
#[inline(always)]
fn shifts(from: u32, n: u32) -> (int32x4_t, int32x4_t) {
    // SAFETY: every aarch64 has NEON.
    unsafe {
        (
            vdupq_n_s32(32 - from.cast_signed() - n.cast_signed()),
            vdupq_n_s32(n.cast_signed() - 32),
        )
    }
}

/// See [`super::Isa::group`].
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

/// See [`super::Isa::group`]. A single row has no partner: `sdot` does it with less rearranging.
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

/// Four f16 at `at`, as f32.
///
/// # Safety
/// 8 bytes lie there.
#[inline(always)]
unsafe fn halves(at: *const u8) -> float32x4_t {
    // SAFETY: the caller's promise.
    unsafe { widen_low(vcombine_u16(vld1_u16(at.cast()), vdup_n_u16(0))) }
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

/// The low four f16 of `x`.
#[inline(always)]
fn widen_low(x: uint16x8_t) -> float32x4_t {
    let y;
    // SAFETY: registers only.
    unsafe {
        asm!("fcvtl {:v}.4s, {:v}.4h", out(vreg) y, in(vreg) x, options(pure, nomem, nostack, preserves_flags));
    }
    y
}

/// The high four f16 of `x`.
#[inline(always)]
fn widen_high(x: uint16x8_t) -> float32x4_t {
    let y;
    // SAFETY: registers only.
    unsafe {
        asm!("fcvtl2 {:v}.4s, {:v}.8h", out(vreg) y, in(vreg) x, options(pure, nomem, nostack, preserves_flags));
    }
    y
}
