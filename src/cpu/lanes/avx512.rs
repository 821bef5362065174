//! Sixteen numbers in one register of AVX-512.

use std::arch::x86_64::*;

use super::{LANES, Lanes};

/// Sixteen f32 in one register.
#[derive(Clone, Copy)]
pub(in crate::cpu) struct Lanes16(__m512);

// SAFETY (all of these): named only in functions compiled for AVX-512 F, BW, VL and VNNI (see the
// trait); the references are to whole arrays.
impl Lanes for Lanes16 {
    #[inline(always)]
    fn splat(x: f32) -> Self {
        unsafe { Self(_mm512_set1_ps(x)) }
    }

    #[inline(always)]
    fn load(from: &[f32; LANES]) -> Self {
        unsafe { Self(_mm512_loadu_ps(from.as_ptr())) }
    }

    #[inline(always)]
    fn widen(from: &[u16; LANES]) -> Self {
        unsafe { Self(halves(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn mul(self, by: Self) -> Self {
        unsafe { Self(_mm512_mul_ps(self.0, by.0)) }
    }

    #[inline(always)]
    fn mul_add(self, by: Self, plus: Self) -> Self {
        unsafe { Self(_mm512_fmadd_ps(self.0, by.0, plus.0)) }
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        unsafe { Self(_mm512_max_ps(self.0, other.0)) }
    }

    #[inline(always)]
    fn largest(self, other: Self) -> (f32, usize) {
        unsafe {
            let sign = _mm512_set1_epi32(i32::MAX);
            let a = _mm512_and_si512(_mm512_castps_si512(self.0), sign);
            let b = _mm512_and_si512(_mm512_castps_si512(other.0), sign);
            let most = _mm512_reduce_max_epi32(_mm512_max_epi32(a, b));
            let all = _mm512_set1_epi32(most);
            let in_a = u32::from(_mm512_cmpeq_epi32_mask(a, all));
            let in_b = u32::from(_mm512_cmpeq_epi32_mask(b, all));
            let lane = (in_a | in_b << LANES).trailing_zeros();
            (f32::from_bits(most.cast_unsigned()), lane as usize)
        }
    }

    #[inline(always)]
    fn unsigned(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let words = _mm512_sll_epi32(
                _mm512_loadu_si512(words.as_ptr().cast()),
                shift(32 - from - n),
            );
            Self(_mm512_cvtepi32_ps(_mm512_srl_epi32(words, shift(32 - n))))
        }
    }

    #[inline(always)]
    fn signed(words: &[u8; 4 * LANES], from: u32, n: u32) -> Self {
        unsafe {
            let words = _mm512_sll_epi32(
                _mm512_loadu_si512(words.as_ptr().cast()),
                shift(32 - from - n),
            );
            Self(_mm512_cvtepi32_ps(_mm512_sra_epi32(words, shift(32 - n))))
        }
    }

    #[inline(always)]
    fn round(self, to: &mut [i8; LANES]) -> i32 {
        unsafe {
            let bytes = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(self.0));
            _mm_storeu_si128(to.as_mut_ptr().cast(), bytes);
            // The bytes', for what is no number gives bytes too.
            _mm512_reduce_add_epi32(_mm512_cvtepi8_epi32(bytes))
        }
    }
}

/// A number of bits to shift words by.
#[inline]
#[target_feature(enable = "avx512f")]
fn shift(bits: u32) -> __m128i {
    _mm_cvtsi32_si128(bits.cast_signed())
}

/// Sixteen f16 at `at`, as f32.
///
/// # Safety
/// 32 bytes lie there.
#[inline]
#[target_feature(enable = "avx512f")]
pub(in crate::cpu) unsafe fn halves(at: *const u8) -> __m512 {
    // SAFETY: the caller's promise.
    _mm512_cvtph_ps(unsafe { _mm256_loadu_si256(at.cast()) })
}
