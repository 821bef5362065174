//! Causal attention of one query head of one row over the cache.
//!
//! Keys and values are f16, position after position. Every sum runs in one fixed order over positions
//! or lanes: the bits depend on the row and its prefix alone.

use super::kernel::Isa;
use super::ops::{LANES, add_lanes, exp, for_each_isa};

/// f16 bits to f32, by integer operations that every instruction set has in vectors. The cache holds no
/// infinities.
#[inline(always)]
pub(super) fn widen(bits: u16) -> f32 {
    const BIAS: f32 = f32::from_bits(0x7780_0000); // 2^112: f32's exponent bias less f16's
    let magnitude = f32::from_bits(u32::from(bits & 0x7FFF) << 13) * BIAS;
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}

/// f32 to f16 bits, within f16's finite range.
pub(super) fn narrow(x: f32) -> u16 {
    half::f16::from_f32(x.clamp(-65504.0, 65504.0)).to_bits()
}

for_each_isa! {
    /// `out = softmax(q · keysᵀ / √size) · values`: `q` and `out` hold one head, `keys` and `values`
    /// `(positions, size)`, `scores` room for a number per position. The size is a multiple of [`LANES`].
    fn attend(q: &[f32], keys: &[u16], values: &[u16], scores: &mut [f32], out: &mut [f32]) {
        let size = q.len();
        let scale = 1.0 / (size as f32).sqrt();
        let mut largest = f32::NEG_INFINITY;
        for (score, key) in scores.iter_mut().zip(keys.chunks_exact(size)) {
            let mut dot = [0.0f32; LANES];
            for (q, key) in q.chunks_exact(LANES).zip(key.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    dot[lane] = q[lane].mul_add(widen(key[lane]), dot[lane]);
                }
            }
            *score = add_lanes(dot) * scale;
            largest = if *score > largest { *score } else { largest };
        }
        let mut total = [0.0f32; LANES];
        for scores in scores.chunks_mut(LANES) {
            for (score, total) in scores.iter_mut().zip(&mut total) {
                *score = exp(*score - largest);
                *total += *score;
            }
        }
        let inverse = 1.0 / add_lanes(total);
        out.fill(0.0);
        for (&score, value) in scores.iter().zip(values.chunks_exact(size)) {
            for (out, &value) in out.iter_mut().zip(value) {
                *out = score.mul_add(widen(value), *out);
            }
        }
        for out in out {
            *out *= inverse;
        }
    }
}
