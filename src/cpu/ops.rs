//! Everything between two matrix products, on plain slices: norm, rotary embedding, activation,
//! quantisation. One source, compiled for each instruction set.
//!
//! Sums run in [`LANES`] fixed lanes that are added up in one fixed order, and products are fused only
//! where `mul_add` says so: **the bits are the same on every instruction set.**

use super::isa::{Isa, for_each_isa};
use super::kernel::NONE;
use super::lanes::LANES;
use super::unpack::BLOCK;

/// How much larger than the next largest of its block a number must be to be left out of the block.
const OUTLIER: f32 = 2.0;

/// Where quantised blocks go.
pub(super) struct QuantizedBlocks<'a> {
    /// 32 for each block, -127..=127.
    pub quants: &'a mut [i8],
    /// The sums of the quants of a block's two halves.
    pub quant_sums: &'a mut [[i32; 2]],
    /// What a block's quants are multiplied with.
    pub scales: &'a mut [f32],
    /// The sum of the numbers that a block stands for.
    pub sums: &'a mut [f32],
    /// The column of the number that a block leaves out, or [`NONE`].
    pub outlier_columns: &'a mut [u8],
    /// That number.
    pub outlier_values: &'a mut [f32],
}

/// Adds up the lanes of a sum, halving.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled for its caller's instruction set"
)]
#[inline(always)]
pub(super) fn add_lanes(mut lanes: [f32; LANES]) -> f32 {
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for i in 0..n {
            lanes[i] += lanes[i + n];
        }
    }
    lanes[0]
}

/// `e^x` within 2 units in the last place for `x <= 88`; 0 below -87. Range reduction to
/// ±ln 2 / 2 and a polynomial of degree 6 (the Taylor coefficients).
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const MAGIC: f32 = 12_582_912.0; // 1.5 · 2^23: adding it rounds to an integer
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let clamped = x.clamp(-87.0, 88.0);
    let n = clamped.mul_add(std::f32::consts::LOG2_E, MAGIC) - MAGIC;
    let r = n.mul_add(-LN_2_HIGH, clamped);
    let r = n.mul_add(-LN_2_LOW, r);
    let mut p = 1.0 / 720.0f32;
    p = p.mul_add(r, 1.0 / 120.0);
    p = p.mul_add(r, 1.0 / 24.0);
    p = p.mul_add(r, 1.0 / 6.0);
    p = p.mul_add(r, 0.5);
    p = p.mul_add(r, 1.0);
    p = p.mul_add(r, 1.0);
    let power = f32::from_bits(((n as i32 + 127) << 23) as u32);
    if x < -87.0 { 0.0 } else { p * power }
}

for_each_isa! {
    /// `x += added`.
    fn add(x: &mut [f32], added: &[f32]) {
        for (x, added) in x.iter_mut().zip(added) {
            *x += added;
        }
    }

    /// Root-mean-square norm (Zhang and Sennrich 2019, arXiv 1910.07467): `out = x / rms(x) * weight`.
    /// The length is a multiple of [`LANES`].
    fn rms_norm(x: &[f32], weight: &[f32], epsilon: f32, out: &mut [f32]) {
        let mut squares = [0.0f32; LANES];
        for x in x.chunks_exact(LANES) {
            for (square, &x) in squares.iter_mut().zip(x) {
                *square = x.mul_add(x, *square);
            }
        }
        let mean = add_lanes(squares) / x.len() as f32;
        let scale = 1.0 / (mean + epsilon).sqrt();
        for ((out, &x), &weight) in out.iter_mut().zip(x).zip(weight) {
            *out = x * scale * weight;
        }
    }

    /// Quantises a row, or some blocks of it, to 8 bits with a scale per block of 32. A block's largest
    /// number is left out and kept as it is, where it is more than [`OUTLIER`] times as large as the next:
    /// it would take precision from all others (the observation of Dettmers et al. 2022, arXiv 2208.07339).
    fn quantize<L>(x: &[f32], out: QuantizedBlocks) {
        let QuantizedBlocks { quants, quant_sums, scales, sums, outlier_columns, outlier_values } = out;
        let (x, _) = x.as_chunks::<BLOCK>();
        let (quants, _) = quants.as_chunks_mut::<BLOCK>();
        for (i, (x, quants)) in x.iter().zip(quants).enumerate() {
            let (x, _) = x.as_chunks::<LANES>();
            let (mut a, mut b) = (L::load(&x[0]), L::load(&x[1]));
            let (mut most, lane) = a.largest(b);
            let mut rest = [x[0], x[1]];
            rest[lane / LANES][lane % LANES] = 0.0;
            let (rest_a, rest_b) = (L::load(&rest[0]), L::load(&rest[1]));
            let (next, _) = rest_a.largest(rest_b);
            let (mut column, mut outlier) = (NONE, 0.0);
            if most > OUTLIER * next && most.is_finite() {
                (column, outlier) = (lane as u8, x[lane / LANES][lane % LANES]);
                (a, b, most) = (rest_a, rest_b, next);
            }
            outlier_columns[i] = column;
            outlier_values[i] = outlier;
            let inverse = if most >= 127.0 * f32::MIN_POSITIVE { 127.0 / most } else { 0.0 };
            let factor = L::splat(inverse);
            let (quants, _) = quants.as_chunks_mut::<LANES>();
            let totals = [a.mul(factor).round(&mut quants[0]), b.mul(factor).round(&mut quants[1])];
            quant_sums[i] = totals;
            // A damaged model must not look like a quiet one.
            scales[i] = if most.is_finite() { most / 127.0 } else { f32::NAN };
            sums[i] = (totals[0] + totals[1]) as f32 * scales[i] + outlier;
        }
    }

    /// `gate = silu(gate) * up`, silu(x) = x / (1 + e^-x) (Shazeer 2020, arXiv 2002.05202).
    fn silu_product(gate: &mut [f32], up: &[f32]) {
        for (gate, &up) in gate.iter_mut().zip(up) {
            *gate = *gate / (1.0 + exp(-*gate)) * up;
        }
    }

    /// Rotates a head by its position's cosines and sines (Su et al. 2021, arXiv 2104.09864): pairs are
    /// neighbours.
    fn rotate_neighbours(head: &mut [f32], cos: &[f32], sin: &[f32]) {
        for ((pair, &cos), &sin) in head.chunks_exact_mut(2).zip(cos).zip(sin) {
            let (x, y) = (pair[0], pair[1]);
            pair[0] = x * cos - y * sin;
            pair[1] = x * sin + y * cos;
        }
    }

    /// As [`rotate_neighbours`], with pairs half a head apart.
    fn rotate_halves(head: &mut [f32], cos: &[f32], sin: &[f32]) {
        let (first, second) = head.split_at_mut(head.len() / 2);
        for (((x, y), &cos), &sin) in first.iter_mut().zip(second).zip(cos).zip(sin) {
            (*x, *y) = (*x * cos - *y * sin, *x * sin + *y * cos);
        }
    }
}
