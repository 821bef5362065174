//! Sixteen numbers in two registers of AVX2, with FMA and F16C.

use std::arch::x86_64::*;

use super::{LANES, Lanes};

/// Sixteen f32 in two registers.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Lanes16(__m256, __m256);

// SAFETY (all of these): named only in functions compiled for AVX2, FMA and F16C (see the trait); the
// references are to whole arrays.
impl Lanes for Lanes16 {
    #[inline(always)]
    fn splat(x: f32) -> Self {
        unsafe { Self(_mm256_set1_ps(x), _mm256_set1_ps(x)) }
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        let at = from.as_ptr();
        unsafe { Self(_mm256_loadu_ps(at), _mm256_loadu_ps(at.add(8))) }
    }

    #[inline(always)]
    fn widen(from: &[u16; LANES]) -> Self {
        let at = from.as_ptr();
        unsafe { Self(halves(at.cast()), halves(at.add(8).cast())) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        let at = to.as_mut_ptr();
        unsafe {
            _mm256_storeu_ps(at, self.0);
            _mm256_storeu_ps(at.add(8), self.1);
        }
    }

    #[inline(always)]
    fn mul(self, by: Self) -> Self {
        unsafe { Self(_mm256_mul_ps(self.0, by.0), _mm256_mul_ps(self.1, by.1)) }
    }

    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        unsafe {
            Self(
                _mm256_fmadd_ps(self.0, by.0, plus.0),
                _mm256_fmadd_ps(self.1, by.1, plus.1),
            )
        }
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        unsafe {
            Self(
                _mm256_max_ps(self.0, other.0),
                _mm256_max_ps(self.1, other.1),
            )
        }
    }

    #[inline(always)]
    fn largest(self, other: Self) -> (f32, usize) {
        unsafe {
            let sign = _mm256_set1_epi32(i32::MAX);
            let a = _mm256_and_si256(_mm256_castps_si256(self.0), sign);
            let b = _mm256_and_si256(_mm256_castps_si256(self.1), sign);
            let c = _mm256_and_si256(_mm256_castps_si256(other.0), sign);
            let d = _mm256_and_si256(_mm256_castps_si256(other.1), sign);
            let most = _mm256_max_epi32(_mm256_max_epi32(a, b), _mm256_max_epi32(c, d));
            let most = _mm256_max_epi32(most, _mm256_permute2x128_si256(most, most, 1));
            let most = _mm256_max_epi32(most, _mm256_shuffle_epi32(most, 0b01_00_11_10));
            let most = _mm256_max_epi32(most, _mm256_shuffle_epi32(most, 0b10_11_00_01));
            // A byte of ones in the order of lanes for each that is the largest.
            let halves = _mm256_packs_epi16(
                _mm256_packs_epi32(_mm256_cmpeq_epi32(a, most), _mm256_cmpeq_epi32(b, most)),
                _mm256_packs_epi32(_mm256_cmpeq_epi32(c, most), _mm256_cmpeq_epi32(d, most)),
            );
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let lanes = _mm256_movemask_epi8(_mm256_permutevar8x32_epi32(halves, order));
            (
                _mm256_cvtss_f32(_mm256_castsi256_ps(most)),
                lanes.trailing_zeros() as usize,
            )
        }
    }

    #[inline(always)]
    fn unsigned(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let (up, down) = (shift(32 - from - n), shift(32 - n));
            let a = _mm256_sll_epi32(_mm256_loadu_si256(words.as_ptr().cast()), up);
            let b = _mm256_sll_epi32(_mm256_loadu_si256(words.as_ptr().add(32).cast()), up);
            Self(
                _mm256_cvtepi32_ps(_mm256_srl_epi32(a, down)),
                _mm256_cvtepi32_ps(_mm256_srl_epi32(b, down)),
            )
        }
    }

    #[inline(always)]
    fn signed(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let (up, down) = (shift(32 - from - n), shift(32 - n));
            let a = _mm256_sll_epi32(_mm256_loadu_si256(words.as_ptr().cast()), up);
            let b = _mm256_sll_epi32(_mm256_loadu_si256(words.as_ptr().add(32).cast()), up);
            Self(
                _mm256_cvtepi32_ps(_mm256_sra_epi32(a, down)),
                _mm256_cvtepi32_ps(_mm256_sra_epi32(b, down)),
            )
        }
    }

    #[inline(always)]
    fn round(self, to: &mut [i8; LANES]) -> i32 {
        unsafe {
            let pairs = _mm256_packs_epi32(_mm256_cvtps_epi32(self.0), _mm256_cvtps_epi32(self.1));
            let words = _mm256_permute4x64_epi64(pairs, 0b11_01_10_00);
            let bytes = _mm_packs_epi16(
                _mm256_castsi256_si128(words),
                _mm256_extracti128_si256(words, 1),
            );
            _mm_storeu_si128(to.as_mut_ptr().cast(), bytes);
            // Sums of eight unsigned bytes each, 128 too large a byte.
            let sums = _mm_sad_epu8(
                _mm_xor_si128(bytes, _mm_set1_epi8(-128)),
                _mm_setzero_si128(),
            );
            _mm_cvtsi128_si32(sums) + _mm_extract_epi32(sums, 2) - 16 * 128
        }
    }
}

/// A number of bits to shift words by.
#[inline]
#[target_feature(enable = "avx2")]
fn shift(bits: u32) -> __m128i {
    _mm_cvtsi32_si128(bits.cast_signed())
}

/// Eight f16 at `at`, as f32.
///
/// # Safety
/// 16 bytes lie there.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(in crate::cpu) unsafe fn halves(at: *const u8) -> __m256 {
    // SAFETY: the caller's promise.
    _mm256_cvtph_ps(unsafe { _mm_loadu_si128(at.cast()) })
}
