//! Sixteen numbers in four registers of NEON.

use std::arch::aarch64::*;
use std::arch::asm;
use std::array::from_fn;

use super::{LANES, Lanes};

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

/// Four f16 at `at`, as f32.
///
/// # Safety
/// 8 bytes lie there.
#[inline(always)]
pub(in crate::cpu) unsafe fn halves(at: *const u8) -> float32x4_t {
    // SAFETY: the caller's promise.
    unsafe { widen_low(vcombine_u16(vld1_u16(at.cast()), vdup_n_u16(0))) }
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
