//! AVX-512 with VNNI: 64 products an instruction (`vpdpbusd`), one register to a group: its 16 rows.
//!
//! The instruction multiplies bytes without sign with bytes with sign and adds up in 32 bits, exactly.
//! Weights are the bytes without sign: 4-bit quants are so already; 8-bit ones are raised by 128, and
//! 128 times the sum of the row's quants is taken off again. That way a step's activations are an
//! operand in memory, and no instruction but the product is spent on them.

#![expect(
    clippy::needless_range_loop,
    reason = "constant loops over registers: indices are what the compiler unrolls"
)]

#[allow(
    clippy::wildcard_imports,
    reason = "intrinsics carry their module in their names; not `expect`: the lint is silent in tests"
)]
use std::arch::x86_64::*;
use std::array::from_fn;

use super::{AHEAD, Job, TILE};
use crate::cpu::lanes::avx512::halves;
use crate::cpu::pack::{Form, GROUP, STEP};
use crate::cpu::unpack::BLOCK;

/// See [`super::group`].
///
/// # Safety
/// The machine has AVX-512 F, BW, VL and VNNI, FMA and F16C, and `job.check(first, n)` has passed.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")]
pub(super) unsafe fn group(job: &Job, first: usize, n: usize) {
    // SAFETY: passed on.
    unsafe {
        match n {
            1 => rows::<1>(job, first),
            2 => rows::<2>(job, first),
            3 => rows::<3>(job, first),
            _ => rows::<TILE>(job, first),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")]
unsafe fn rows<const T: usize>(job: &Job, first: usize) {
    // SAFETY: passed on.
    unsafe {
        match job.form {
            Form::Q4 => q4::<T>(job, first),
            Form::Q8 => q8::<T, 1, false>(job, first),
            Form::Q8Min => q8::<T, 1, true>(job, first),
            Form::Q8Half => q8::<T, 2, false>(job, first),
        }
    }
}

/// Asks for a block's bytes some blocks ahead: the machine's own prefetching ends with each page.
#[target_feature(enable = "avx512f")]
fn prefetch(block: *const u8, form: Form) {
    for line in (0..form.block_bytes()).step_by(64) {
        _mm_prefetch(block.wrapping_add(AHEAD + line).cast(), _MM_HINT_T0);
    }
}

/// The 64 bytes at `at`.
#[target_feature(enable = "avx512f")]
unsafe fn load(at: *const u8) -> __m512i {
    // SAFETY: the caller's bytes.
    unsafe { _mm512_loadu_si512(at.cast()) }
}

/// `dots` and the products of four columns: a step's weights without sign, and the quants at `at`.
#[target_feature(enable = "avx512f,avx512vnni")]
unsafe fn add_step(dots: __m512i, weights: __m512i, at: *const i8) -> __m512i {
    // SAFETY: four columns lie in the row.
    let x = _mm512_set1_epi32(unsafe { at.cast::<i32>().read_unaligned() });
    _mm512_dpbusd_epi32(dots, weights, x)
}

/// `fma(dots * scale, weight_scale, y)`.
#[target_feature(enable = "avx512f")]
fn add_dots(y: __m512, dots: __m512i, scale: f32, weight_scale: __m512) -> __m512 {
    let dots = _mm512_mul_ps(_mm512_cvtepi32_ps(dots), _mm512_set1_ps(scale));
    _mm512_fmadd_ps(dots, weight_scale, y)
}

#[target_feature(enable = "avx512f")]
unsafe fn store<const T: usize>(job: &Job, first: usize, y: [__m512; T]) {
    for t in 0..T {
        let at = job.out.start + (first + t) * job.out.stride;
        // SAFETY: no other call writes these columns, which lie in the output.
        unsafe { _mm512_storeu_ps(job.out.values.slice(at, GROUP).as_mut_ptr(), y[t]) };
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")]
unsafe fn q4<const T: usize>(job: &Job, first: usize) {
    let a = job.activations;
    let at = |t: usize, b: usize| (first + t) * a.n_blocks + b;
    let low = _mm512_set1_epi8(15);
    let mut y = [_mm512_setzero_ps(); T];
    // SAFETY: the job was checked: every block, row and scale read here lies in its slice.
    unsafe {
        let quants: [_; T] = from_fn(|t| a.quants.as_ptr().add(at(t, 0) * BLOCK));
        let scales: [_; T] = from_fn(|t| a.scales.as_ptr().add(at(t, 0)));
        let sums: [_; T] = from_fn(|t| a.sums.as_ptr().add(at(t, 0)));
        let mut block = job.weights.as_ptr();
        for b in 0..a.n_blocks {
            prefetch(block, Form::Q4);
            let mut dots = [_mm512_setzero_si512(); T];
            for step in 0..4 {
                let bytes = load(block.add(step * STEP));
                let first = _mm512_and_si512(bytes, low);
                let second = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), low);
                for t in 0..T {
                    let x = quants[t].add(b * BLOCK + step * 4);
                    dots[t] = add_step(dots[t], first, x);
                    dots[t] = add_step(dots[t], second, x.add(BLOCK / 2));
                }
            }
            let weight_scales = halves(block.add(4 * STEP));
            let minimums = halves(block.add(4 * STEP + 2 * GROUP));
            for t in 0..T {
                let with = add_dots(y[t], dots[t], *scales[t].add(b), weight_scales);
                y[t] = _mm512_fmadd_ps(_mm512_set1_ps(*sums[t].add(b)), minimums, with);
            }
            block = block.add(Form::Q4.block_bytes());
        }
        store(job, first, y);
    }
}

/// `PARTS` of a block have a scale each; `MIN`: and the block has a minimum.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni,fma,f16c")]
unsafe fn q8<const T: usize, const PARTS: usize, const MIN: bool>(job: &Job, first: usize) {
    let a = job.activations;
    let at = |t: usize, b: usize| (first + t) * a.n_blocks + b;
    let raise = _mm512_set1_epi8(-128);
    let mut y = [_mm512_setzero_ps(); T];
    // SAFETY: the job was checked: every block, row and scale read here lies in its slice.
    unsafe {
        let quants: [_; T] = from_fn(|t| a.quants.as_ptr().add(at(t, 0) * BLOCK));
        let quant_sums: [_; T] = from_fn(|t| a.quant_sums.as_ptr().add(at(t, 0)));
        let scales: [_; T] = from_fn(|t| a.scales.as_ptr().add(at(t, 0)));
        let sums: [_; T] = from_fn(|t| a.sums.as_ptr().add(at(t, 0)));
        let mut block = job.weights.as_ptr();
        for b in 0..a.n_blocks {
            prefetch(block, job.form);
            for part in 0..PARTS {
                let mut dots = [_mm512_setzero_si512(); T];
                for t in 0..T {
                    let [first, second] = *quant_sums[t].add(b);
                    let sum = if PARTS == 1 {
                        first + second
                    } else {
                        [first, second][part]
                    };
                    dots[t] = _mm512_set1_epi32(-128 * sum);
                }
                for step in part * 8 / PARTS..(part + 1) * 8 / PARTS {
                    let weights = _mm512_xor_si512(load(block.add(step * STEP)), raise);
                    for t in 0..T {
                        let x = quants[t].add(b * BLOCK + step * 4);
                        dots[t] = add_step(dots[t], weights, x);
                    }
                }
                let weight_scales = halves(block.add(8 * STEP + part * 2 * GROUP));
                for t in 0..T {
                    y[t] = add_dots(y[t], dots[t], *scales[t].add(b), weight_scales);
                }
            }
            if MIN {
                let minimums = halves(block.add(8 * STEP + 2 * GROUP));
                for t in 0..T {
                    y[t] = _mm512_fmadd_ps(_mm512_set1_ps(*sums[t].add(b)), minimums, y[t]);
                }
            }
            block = block.add(job.form.block_bytes());
        }
        store(job, first, y);
    }
}
