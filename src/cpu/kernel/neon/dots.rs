//! Integer products of four weight rows with a few rows of activations, by either of two instructions.
//!
//! `sdot` multiplies a step of four weight rows by a quadruple of one row: 16 products. `smmla`
//! multiplies two weight rows by two rows, 8 columns: 32 products, and some rearranging of both sides.

#![expect(
    clippy::inline_always,
    reason = "what works on registers must be compiled into its caller, for its instruction set"
)]
#![expect(
    clippy::needless_range_loop,
    reason = "constant loops over registers: indices are what the compiler unrolls"
)]

#[allow(
    clippy::wildcard_imports,
    reason = "intrinsics carry their module in their names; not `expect`: the lint is silent in tests"
)]
use std::arch::aarch64::*;
use std::arch::asm;
use std::array::from_fn;

use crate::cpu::kernel::TILE;

/// Products of four weight rows with `T` rows of activations, 16 columns (four steps) at a time.
///
/// # Safety
/// The methods are only called in functions compiled for the instruction set.
pub(super) trait Dots<const T: usize>: Copy {
    /// 16 columns of the rows of activations.
    type Quants;

    /// Arranges the quants of a half block, given by row.
    unsafe fn quants(rows: [int8x16_t; T]) -> Self::Quants;

    /// Arranges weights, given by step. Bytes stay whole, so it may precede the parting of nibbles.
    unsafe fn arrange(steps: [uint8x16_t; 4]) -> [uint8x16_t; 4];

    /// All sums zero.
    unsafe fn zero() -> Self;

    /// Adds the products of arranged weights and quants.
    unsafe fn add(&mut self, weights: [uint8x16_t; 4], quants: &Self::Quants);

    /// The sums, by row of activations.
    unsafe fn rows(self) -> [int32x4_t; T];
}

/// A register of four sums for each row of activations.
#[derive(Clone, Copy)]
pub(super) struct Dotprod<const T: usize>([int32x4_t; T]);

// SAFETY (all of these): the caller has been compiled for the instruction set.
impl<const T: usize> Dots<T> for Dotprod<T> {
    type Quants = [int8x16_t; T];

    #[inline(always)]
    unsafe fn quants(rows: [int8x16_t; T]) -> Self::Quants {
        rows
    }

    #[inline(always)]
    unsafe fn arrange(steps: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        steps
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self([vdupq_n_s32(0); T]) }
    }

    #[inline(always)]
    unsafe fn add(&mut self, weights: [uint8x16_t; 4], quants: &Self::Quants) {
        for t in 0..T {
            let sums = &mut self.0[t];
            unsafe {
                *sums = sdot::<0>(*sums, weights[0], quants[t]);
                *sums = sdot::<1>(*sums, weights[1], quants[t]);
                *sums = sdot::<2>(*sums, weights[2], quants[t]);
                *sums = sdot::<3>(*sums, weights[3], quants[t]);
            }
        }
    }

    #[inline(always)]
    unsafe fn rows(self) -> [int32x4_t; T] {
        self.0
    }
}

/// For each pair of rows of activations, the sums of the first two weight rows and those of the last
/// two, as 2 x 2 matrices. An odd last row is its own partner.
#[derive(Clone, Copy)]
pub(super) struct I8mm<const T: usize>([[int32x4_t; 2]; TILE / 2]);

// SAFETY (all of these): the caller has been compiled for the instruction set.
impl<const T: usize> Dots<T> for I8mm<T> {
    /// For each pair of rows, the two halves of 8 columns.
    type Quants = [[int8x16_t; 2]; TILE / 2];

    #[inline(always)]
    unsafe fn quants(rows: [int8x16_t; T]) -> Self::Quants {
        from_fn(|pair| unsafe {
            let a = vreinterpretq_s64_s8(rows[(2 * pair).min(T - 1)]);
            let b = vreinterpretq_s64_s8(rows[(2 * pair + 1).min(T - 1)]);
            [vzip1q_s64(a, b), vzip2q_s64(a, b)].map(|x| vreinterpretq_s8_s64(x))
        })
    }

    /// Two neighbouring steps become 8 columns of weight rows 0 and 1, and of rows 2 and 3.
    #[inline(always)]
    unsafe fn arrange(steps: [uint8x16_t; 4]) -> [uint8x16_t; 4] {
        unsafe {
            let [a, b, c, d] = steps.map(|x| vreinterpretq_u32_u8(x));
            [
                vzip1q_u32(a, b),
                vzip2q_u32(a, b),
                vzip1q_u32(c, d),
                vzip2q_u32(c, d),
            ]
            .map(|x| vreinterpretq_u8_u32(x))
        }
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self([[vdupq_n_s32(0); 2]; TILE / 2]) }
    }

    #[inline(always)]
    unsafe fn add(&mut self, weights: [uint8x16_t; 4], quants: &Self::Quants) {
        for pair in 0..T.div_ceil(2) {
            for rows in 0..2 {
                let sums = &mut self.0[pair][rows];
                unsafe {
                    *sums = smmla(*sums, quants[pair][0], weights[rows]);
                    *sums = smmla(*sums, quants[pair][1], weights[2 + rows]);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn rows(self) -> [int32x4_t; T] {
        from_fn(|t| unsafe {
            let [a, b] = self.0[t / 2].map(|x| vreinterpretq_s64_s32(x));
            let row = if t % 2 == 0 {
                vzip1q_s64(a, b)
            } else {
                vzip2q_s64(a, b)
            };
            vreinterpretq_s32_s64(row)
        })
    }
}

/// `sums` and the products of four rows of weights, a quadruple each, with quadruple `STEP` of `x`.
#[inline]
#[target_feature(enable = "neon,dotprod")]
fn sdot<const STEP: usize>(mut sums: int32x4_t, weights: uint8x16_t, x: int8x16_t) -> int32x4_t {
    // SAFETY: registers only.
    unsafe {
        asm!(
            "sdot {:v}.4s, {:v}.16b, {:v}.4b[{}]", inout(vreg) sums, in(vreg) weights, in(vreg) x, const STEP,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}

/// `sums` and the 2 x 2 products of two rows `x` with two rows of weights, 8 columns each.
#[inline]
#[target_feature(enable = "neon,i8mm")]
fn smmla(mut sums: int32x4_t, x: int8x16_t, weights: uint8x16_t) -> int32x4_t {
    // SAFETY: registers only.
    unsafe {
        asm!(
            "smmla {:v}.4s, {:v}.16b, {:v}.16b", inout(vreg) sums, in(vreg) x, in(vreg) weights,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sums
}
