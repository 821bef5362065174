//! Gumbel noise that is a function of seed, position and token: the same whenever it is asked for.
//!
//! The noise of a position is the sequence of the generator `SplitMix64` (Steele, Lea and Flood 2014, "Fast
//! splittable pseudorandom number generators", OOPSLA) from a start that hashes seed and position; a token
//! has the number at its id. The largest of log-probability plus such noise is a draw from the
//! distribution (Gumbel 1954).

use std::sync::LazyLock;

use crate::model::Token;

/// The smallest noise is a little larger than this.
const LEAST: f64 = -2.8524;
/// The largest noise is a little smaller than this.
pub(super) const MOST: f64 = 17.3287;
/// Logits that differ by more than this never change places: exact, because noise is bounded.
pub(super) const REACH: f64 = MOST - LEAST;

/// Bits of a uniform number. More would let tokens of less than 2e-9 of the best one's probability win,
/// and cost a look at most of the vocabulary.
const BITS: u32 = 24;

/// The increment of `SplitMix64`: 2^64 divided by the golden ratio, odd.
const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// For each whole number from 0: noise made of fewer bits than this is smaller. It spares most tokens two
/// logarithms.
static LEAST_BITS: LazyLock<[u64; 18]> = LazyLock::new(|| {
    std::array::from_fn(|whole| {
        let below = (-(-(whole as f64)).exp()).exp();
        // One less than the quotient, whatever rounding did.
        (below * f64::from(1 << BITS)) as u64 - 1
    })
});

/// The noise of all tokens at one position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    start: u64,
}

impl Noise {
    pub fn new(seed: u64, position: usize) -> Self {
        Self {
            start: nth(nth(0, seed), position as u64),
        }
    }

    /// A number from the standard Gumbel distribution, cut to [`LEAST`] and [`MOST`].
    pub fn gumbel(self, token: Token) -> f64 {
        gumbel(self.bits(token))
    }

    /// The noise of `token`; `None` where it is smaller than `least`, mostly.
    pub fn gumbel_from(self, token: Token, least: f64) -> Option<f64> {
        if least > MOST {
            return None;
        }
        let bits = self.bits(token);
        let smaller = least >= 0.0 && bits < LEAST_BITS[least as usize];
        (!smaller).then(|| gumbel(bits))
    }

    fn bits(self, token: Token) -> u64 {
        nth(self.start, u64::from(token)) >> (u64::BITS - BITS)
    }
}

/// The number at `index` of the generator's sequence from `start`.
fn nth(start: u64, index: u64) -> u64 {
    let mut z = start.wrapping_add(GAMMA.wrapping_mul(index.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The Gumbel quantile in the middle of the `bits`th of 2^24 equal steps.
fn gumbel(bits: u64) -> f64 {
    let uniform = (bits as f64 + 0.5) / f64::from(1 << BITS);
    -(-uniform.ln()).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers from seed 1234567, as the generator's authors' reference code gives them.
    #[test]
    fn the_sequence_is_that_of_splitmix64() {
        let numbers: Vec<u64> = (0..3).map(|i| nth(1_234_567, i)).collect();
        let expect = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(numbers, expect);
    }

    #[test]
    fn the_bounds_are_those_of_the_noise() {
        let (least, most) = (gumbel(0), gumbel((1 << BITS) - 1));
        assert!(LEAST < least && least < LEAST + 1e-4, "{least}");
        assert!(MOST - 1e-4 < most && most < MOST, "{most}");
    }

    #[test]
    fn only_noise_that_is_too_small_is_left_out() {
        for (whole, &bits) in LEAST_BITS.iter().enumerate() {
            assert!(gumbel(bits - 1) < whole as f64, "{whole}");
            let above = (bits + 3).min((1 << BITS) - 1);
            assert!(gumbel(above) > whole as f64, "{whole}");
        }
        let noise = Noise::new(1, 2);
        let mut left_out = 0;
        for token in 0..20_000 {
            let expect = noise.gumbel(token);
            for least in [
                f64::NEG_INFINITY,
                -1.0,
                0.0,
                0.9,
                3.5,
                MOST,
                18.0,
                f64::INFINITY,
            ] {
                if let Some(found) = noise.gumbel_from(token, least) {
                    assert_eq!(found.to_bits(), expect.to_bits());
                } else {
                    assert!(expect < least, "{expect}, {least}");
                    left_out += 1;
                }
            }
        }
        assert!(left_out > 80_000, "{left_out}");
    }

    /// Neighbours in seed, position and token have unrelated noise: mean and correlation of 100,000 pairs
    /// lie within five standard errors.
    #[test]
    fn noise_has_the_moments_of_gumbels_and_no_memory() {
        const N: usize = 100_000;
        let euler = 0.577_215_664_9;
        let variance = std::f64::consts::PI.powi(2) / 6.0;
        let at = |seed: usize, position: usize, token: usize| {
            Noise::new(seed as u64, position).gumbel(token as Token) - euler
        };
        let check = |what: &str, pair: &dyn Fn(usize) -> (f64, f64)| {
            let pairs = (0..N).map(pair);
            let (sum, product) = pairs.fold((0.0, 0.0), |(sum, product), (a, b)| {
                (sum + a, product + a * b)
            });
            let error = 5.0 / (N as f64).sqrt();
            let (mean, correlation) = (sum / N as f64, product / N as f64 / variance);
            assert!(mean.abs() < error * variance.sqrt(), "{what}: mean {mean}");
            assert!(correlation.abs() < error, "{what}: {correlation}");
        };
        check("tokens", &|i| (at(7, 3, i), at(7, 3, i + 1)));
        check("positions", &|i| (at(7, i, 3), at(7, i + 1, 3)));
        check("seeds", &|i| (at(i, 7, 3), at(i + 1, 7, 3)));
        check("position and token", &|i| (at(7, i, 3), at(7, i + 1, 2)));
    }
}
