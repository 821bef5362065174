//! Sixteen numbers at a time: the few vector operations that the compiler does not find by itself.
//!
//! One implementation per instruction set, each in a file; the one on arrays here is their specification.
//! **All give the same bits**; of `round` that is said for numbers within `i8` alone.

#![expect(
    clippy::inline_always,
    reason = "what works on registers must be compiled into its caller, for its instruction set"
)]
#![allow(
    clippy::wildcard_imports,
    reason = "intrinsics carry their module in their names; not `expect`: the lint is silent in tests"
)]

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;

/// Numbers in a vector, and lanes of a sum.
pub(super) const LANES: usize = 16;

/// Sixteen f32 in registers. The methods use the instruction set without asking for it: only
/// `for_each_isa!` names the types, in functions compiled for theirs.
pub(super) trait Lanes: Copy {
    /// `x` in every lane.
    fn splat(x: f32) -> Self;

    /// Sixteen numbers from memory.
    fn load(from: &[f32; LANES]) -> Self;

    /// Sixteen f16 from memory, exactly.
    fn widen(from: &[u16; LANES]) -> Self;

    /// Sixteen numbers to memory.
    fn store(self, to: &mut [f32; LANES]);

    /// `self * by`.
    fn mul(self, by: Self) -> Self;

    /// `self * by + plus`, rounded once.
    fn mul_add(self, by: Self, plus: Self) -> Self;

    /// The larger one in each lane.
    fn max(self, other: Self) -> Self;

    /// The largest magnitude of both, and the lane (of 32) where it first is; infinity or not a number
    /// where a lane is.
    fn largest(self, other: Self) -> (f32, usize);

    /// Bits `from..from + n` of sixteen words of 32, as integers without sign.
    fn unsigned(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self;

    /// As [`Self::unsigned`], as integers with sign.
    fn signed(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self;

    /// Each number to the nearest integer, ties to even; all within `i8`. Returns their sum.
    fn round(self, to: &mut [i8; LANES]) -> i32;
}

/// f16 bits to f32.
pub(super) fn widen(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32_const()
}

/// f32 to f16 bits, within f16's finite range.
pub(super) fn narrow(x: f32) -> u16 {
    half::f16::from_f32(x.clamp(-65504.0, 65504.0)).to_bits()
}

/// The specification.
#[derive(Clone, Copy)]
pub(super) struct Array([f32; LANES]);

impl Lanes for Array {
    fn splat(x: f32) -> Self {
        Self([x; LANES])
    }

    fn load(from: &[f32; LANES]) -> Self {
        Self(*from)
    }

    fn widen(from: &[u16; LANES]) -> Self {
        Self(from.map(widen))
    }

    fn store(self, to: &mut [f32; LANES]) {
        *to = self.0;
    }

    fn mul(self, by: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] * by.0[i]))
    }

    fn mul_add(self, by: Self, plus: Self) -> Self {
        Self(std::array::from_fn(|i| {
            self.0[i].mul_add(by.0[i], plus.0[i])
        }))
    }

    fn max(self, other: Self) -> Self {
        let larger = |i: usize| {
            if self.0[i] > other.0[i] {
                self.0[i]
            } else {
                other.0[i]
            }
        };
        Self(std::array::from_fn(larger))
    }

    fn largest(self, other: Self) -> (f32, usize) {
        let magnitudes = self.0.into_iter().chain(other.0).map(|x| x.abs().to_bits());
        let (mut most, mut at) = (0, 0);
        for (lane, magnitude) in magnitudes.enumerate() {
            if magnitude > most {
                (most, at) = (magnitude, lane);
            }
        }
        (f32::from_bits(most), at)
    }

    fn unsigned(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| words[4 * i + byte]));
        Self(std::array::from_fn(|i| {
            (word(i) << (32 - from - n) >> (32 - n)) as f32
        }))
    }

    fn signed(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        let word = |i: usize| i32::from_le_bytes([0, 1, 2, 3].map(|byte| words[4 * i + byte]));
        Self(std::array::from_fn(|i| {
            (word(i) << (32 - from - n) >> (32 - n)) as f32
        }))
    }

    fn round(self, to: &mut [i8; LANES]) -> i32 {
        *to = self.0.map(|x| x.round_ties_even() as i8);
        to.iter().map(|&quant| i32::from(quant)).sum()
    }
}
