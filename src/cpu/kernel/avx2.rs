//! AVX2: 32 products an instruction (`vpmaddubsw`), two registers of 8 rows to a group.
//!
//! 4-bit quants are at most 15, so a block's eight pair sums of at most 15 × 127 × 2 each stay under
//! 2^15 and are added up as 16-bit integers; 8-bit quants are widened after each instruction.

#![expect(
    clippy::needless_range_loop,
    reason = "constant loops over registers: indices are what the compiler unrolls"
)]

#[allow(
    clippy::wildcard_imports,
    reason = "intrinsics carry their module in their names; not `expect`: the lint is silent in tests"
)]
use std::arch::x86_64::*;

use super::{AHEAD, Job, TILE};
use crate::cpu::lanes::avx2::halves;
use crate::cpu::pack::{Form, GROUP};
use crate::cpu::unpack::BLOCK;

/// See [`super::group`].
///
/// # Safety
/// The machine has AVX2, FMA and F16C, and `job.check(first, n)` has passed.
#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn group(job: &Job, first: usize, n: usize) {
    // SAFETY: passed on.
    unsafe {
        match (job.form, n) {
            (Form::Q4, 1) => q4::<1>(job, first),
            (Form::Q4, 2) => q4::<2>(job, first),
            (Form::Q4, 3) => q4::<3>(job, first),
            (Form::Q4, _) => q4::<TILE>(job, first),
            (Form::Q8, 1) => q8::<1, 0>(job, first),
            (Form::Q8, 2) => q8::<2, 0>(job, first),
            (Form::Q8, 3) => q8::<3, 0>(job, first),
            (Form::Q8, _) => q8::<TILE, 0>(job, first),
            (Form::Q8Min, 1) => q8::<1, 1>(job, first),
            (Form::Q8Min, 2) => q8::<2, 1>(job, first),
            (Form::Q8Min, 3) => q8::<3, 1>(job, first),
            (Form::Q8Min, _) => q8::<TILE, 1>(job, first),
            (Form::Q8Half, 1) => q8::<1, 2>(job, first),
            (Form::Q8Half, 2) => q8::<2, 2>(job, first),
            (Form::Q8Half, 3) => q8::<3, 2>(job, first),
            (Form::Q8Half, _) => q8::<TILE, 2>(job, first),
        }
    }
}

/// Where the `T` rows of a call begin.
struct Rows<const T: usize> {
    quants: [*const i8; T],
    scales: [*const f32; T],
    sums: [*const f32; T],
}

impl<const T: usize> Rows<T> {
    /// # Safety
    /// `job.check(first, T)` has passed.
    unsafe fn new(job: &Job, first: usize) -> Self {
        let a = job.activations;
        let at = |t: usize| (first + t) * a.n_blocks;
        // SAFETY: the rows lie in the slices.
        unsafe {
            Self {
                quants: std::array::from_fn(|t| a.quants.as_ptr().add(at(t) * BLOCK)),
                scales: std::array::from_fn(|t| a.scales.as_ptr().add(at(t))),
                sums: std::array::from_fn(|t| a.sums.as_ptr().add(at(t))),
            }
        }
    }

    /// Four quants of row `t`, from column `column` on, in every lane.
    ///
    /// # Safety
    /// The column lies in the row.
    #[target_feature(enable = "avx2")]
    unsafe fn broadcast(&self, t: usize, column: usize) -> __m256i {
        // SAFETY: the row is at least `column + 4` long.
        _mm256_set1_epi32(unsafe { self.quants[t].add(column).cast::<i32>().read_unaligned() })
    }
}

/// Asks for a block's bytes some blocks ahead: the machine's own prefetching ends with each page.
#[target_feature(enable = "avx2")]
fn prefetch<const BYTES: usize>(block: *const u8) {
    for line in (0..BYTES).step_by(64) {
        _mm_prefetch(block.wrapping_add(AHEAD + line).cast(), _MM_HINT_T0);
    }
}

#[target_feature(enable = "avx2")]
unsafe fn store<const T: usize>(job: &Job, first: usize, y: &[[__m256; 2]; T]) {
    for (t, y) in y.iter().enumerate() {
        let at = job.out.start + (first + t) * job.out.stride;
        // SAFETY: no other call writes these columns, which lie in the output.
        unsafe {
            let out = job.out.values.slice(at, GROUP).as_mut_ptr();
            _mm256_storeu_ps(out, y[0]);
            _mm256_storeu_ps(out.add(8), y[1]);
        }
    }
}

#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn q4<const T: usize>(job: &Job, first: usize) {
    let ones = _mm256_set1_epi16(1);
    let low = _mm256_set1_epi8(15);
    let mut y = [[_mm256_setzero_ps(); 2]; T];
    // SAFETY: the job was checked: every block, row and scale read here lies in its slice.
    unsafe {
        let rows = Rows::<T>::new(job, first);
        let mut block = job.weights.as_ptr();
        for b in 0..job.activations.n_blocks {
            prefetch::<{ Form::Q4.block_bytes() }>(block);
            let mut sums = [[_mm256_setzero_si256(); 2]; T];
            for step in 0..4 {
                let bytes0 = _mm256_loadu_si256(block.add(step * 64).cast());
                let bytes1 = _mm256_loadu_si256(block.add(step * 64 + 32).cast());
                let low0 = _mm256_and_si256(bytes0, low);
                let low1 = _mm256_and_si256(bytes1, low);
                let high0 = _mm256_and_si256(_mm256_srli_epi16(bytes0, 4), low);
                let high1 = _mm256_and_si256(_mm256_srli_epi16(bytes1, 4), low);
                for t in 0..T {
                    let x = rows.broadcast(t, b * BLOCK + step * 4);
                    let z = rows.broadcast(t, b * BLOCK + step * 4 + 16);
                    sums[t][0] = _mm256_add_epi16(sums[t][0], _mm256_maddubs_epi16(low0, x));
                    sums[t][1] = _mm256_add_epi16(sums[t][1], _mm256_maddubs_epi16(low1, x));
                    sums[t][0] = _mm256_add_epi16(sums[t][0], _mm256_maddubs_epi16(high0, z));
                    sums[t][1] = _mm256_add_epi16(sums[t][1], _mm256_maddubs_epi16(high1, z));
                }
            }
            let scales = [halves(block.add(256)), halves(block.add(272))];
            let minimums = [halves(block.add(288)), halves(block.add(304))];
            for t in 0..T {
                let scale = _mm256_set1_ps(*rows.scales[t].add(b));
                let sum = _mm256_set1_ps(*rows.sums[t].add(b));
                for half in 0..2 {
                    let dot = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums[t][half], ones));
                    let with = _mm256_fmadd_ps(_mm256_mul_ps(dot, scale), scales[half], y[t][half]);
                    y[t][half] = _mm256_fmadd_ps(sum, minimums[half], with);
                }
            }
            block = block.add(Form::Q4.block_bytes());
        }
        store(job, first, &y);
    }
}

/// `KIND` 0: `Q8`, 1: `Q8Min`, 2: `Q8Half`.
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn q8<const T: usize, const KIND: usize>(job: &Job, first: usize) {
    let ones = _mm256_set1_epi16(1);
    let mut y = [[_mm256_setzero_ps(); 2]; T];
    // SAFETY: the job was checked: every block, row and scale read here lies in its slice.
    unsafe {
        let rows = Rows::<T>::new(job, first);
        let mut block = job.weights.as_ptr();
        for b in 0..job.activations.n_blocks {
            prefetch::<{ Form::Q8.block_bytes() }>(block);
            let mut dots = [[_mm256_setzero_si256(); 2]; T];
            let scales = [halves(block.add(512)), halves(block.add(528))];
            for step in 0..8 {
                for half in 0..2 {
                    let weights = _mm256_loadu_si256(block.add(step * 64 + half * 32).cast());
                    let absolute = _mm256_abs_epi8(weights);
                    for t in 0..T {
                        let x = rows.broadcast(t, b * BLOCK + step * 4);
                        let pairs = _mm256_maddubs_epi16(absolute, _mm256_sign_epi8(x, weights));
                        dots[t][half] =
                            _mm256_add_epi32(dots[t][half], _mm256_madd_epi16(pairs, ones));
                    }
                }
                if KIND == 2 && step == 3 {
                    for t in 0..T {
                        let scale = _mm256_set1_ps(*rows.scales[t].add(b));
                        for half in 0..2 {
                            let dot = _mm256_mul_ps(_mm256_cvtepi32_ps(dots[t][half]), scale);
                            y[t][half] = _mm256_fmadd_ps(dot, scales[half], y[t][half]);
                        }
                    }
                    dots = [[_mm256_setzero_si256(); 2]; T];
                }
            }
            for t in 0..T {
                let scale = _mm256_set1_ps(*rows.scales[t].add(b));
                let sum = _mm256_set1_ps(*rows.sums[t].add(b));
                for half in 0..2 {
                    let dot = _mm256_mul_ps(_mm256_cvtepi32_ps(dots[t][half]), scale);
                    y[t][half] = match KIND {
                        0 => _mm256_fmadd_ps(dot, scales[half], y[t][half]),
                        1 => {
                            let with = _mm256_fmadd_ps(dot, scales[half], y[t][half]);
                            _mm256_fmadd_ps(sum, halves(block.add(544 + half * 16)), with)
                        }
                        _ => _mm256_fmadd_ps(dot, halves(block.add(544 + half * 16)), y[t][half]),
                    };
                }
            }
            block = block.add(job.form.block_bytes());
        }
        store(job, first, &y);
    }
}
