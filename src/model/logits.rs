//! Logits: what a pass gives, and the greedy choice from a row of them.

use super::Token;

/// Logits that are looked at together.
const CHUNK: usize = 64;

/// Logits of the rows of one pass, row-major `(rows, n_logits)`.
#[derive(Clone, Debug)]
pub struct Logits {
    data: Vec<f32>,
    n_logits: usize,
}

impl Logits {
    /// Takes row-major logits; `data.len()` is a multiple of `n_logits`.
    pub fn new(data: Vec<f32>, n_logits: usize) -> Self {
        assert!(
            n_logits > 0 && data.len().is_multiple_of(n_logits),
            "whole rows of logits"
        );
        Self { data, n_logits }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.data.len() / self.n_logits
    }

    /// The logits of row `index`, one for each id from 0.
    pub fn row(&self, index: usize) -> &[f32] {
        &self.data[index * self.n_logits..][..self.n_logits]
    }
}

/// The first of the largest logits: greedy decoding. `None` when no logit is a number above minus
/// infinity, which only a broken model gives.
pub fn argmax(row: &[f32]) -> Option<Token> {
    let mut best = f32::NEG_INFINITY;
    let mut first = None;
    for (start, chunk) in (0..).step_by(CHUNK).zip(row.chunks(CHUNK)) {
        // Most chunks hold nothing larger, which counting tells without a branch for each.
        let larger: u32 = chunk.iter().map(|&logit| u32::from(logit > best)).sum();
        if larger > 0 {
            for (token, &logit) in (start..).zip(chunk) {
                if logit > best {
                    best = logit;
                    first = Some(token);
                }
            }
        }
    }
    first
}

/// The probability of the likeliest token, `token`, by the softmax of a row, 0 to 1. Logits more than 20
/// under its own count as nothing: 50,000 of them would add 1e-4 to the sum.
pub fn probability(row: &[f32], token: Token) -> f64 {
    let most = row[token as usize];
    let sum: f32 = row
        .iter()
        .map(|logit| logit - most)
        .filter(|&under| under > -20.0)
        .map(f32::exp)
        .sum();
    f64::from(sum).recip()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_maxima_wins_and_nan_never_does() {
        let check = |row: &[f32], expect| assert_eq!(argmax(row), expect, "{row:?}");
        check(&[1.0, 3.0, 3.0, 2.0], Some(1));
        check(&[f32::NAN, -5.0, f32::NAN], Some(1));
        check(&[f32::NAN], None);
        check(&[f32::NEG_INFINITY], None);
        check(&[], None);
        check(&[0.0, f32::INFINITY], Some(1));
        let mut long = vec![0.0; 3 * CHUNK + 5];
        for (i, logit) in [(3 * CHUNK + 4, 1.0), (2 * CHUNK, 2.0), (CHUNK - 1, 2.0)] {
            long[i] = logit;
            check(&long, Some(i as Token));
        }
    }

    #[test]
    fn the_probability_of_the_likeliest_token_is_its_softmax() {
        let check = |row: &[f32], token, expect: f64| {
            let got = probability(row, token);
            assert!((got - expect).abs() < 1e-6, "{row:?}: {got}");
        };
        check(&[0.0, 3.0f32.ln()], 1, 0.75);
        check(&[7.0, 7.0, 7.0, 7.0], 0, 0.25);
        check(&[-500.0, 500.0, f32::NEG_INFINITY], 1, 1.0);
    }
}
