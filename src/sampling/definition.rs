//! What the options mean, for tests: probabilities by definition in f64, over the whole vocabulary.
//!
//! Written apart from the sampler: it sorts, sums and divides where the sampler avoids all three.

use super::Sampling;
use crate::model::Token;

/// The probability of each token of `row` after a text whose answer so far is `answer`.
pub fn probabilities(row: &[f32], sampling: &Sampling, answer: &[Token]) -> Vec<f64> {
    let penalised: Vec<f64> = (0..)
        .zip(row)
        .map(|(token, &logit)| f64::from(penalise(logit, sampling, answer.contains(&token))))
        .collect();
    let best = penalised.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if sampling.temperature == 0.0 {
        let first = penalised.iter().position(|&logit| logit >= best);
        return (0..row.len())
            .map(|i| f64::from(u8::from(Some(i) == first)))
            .collect();
    }
    let mut p: Vec<f64> = penalised
        .iter()
        .map(|logit| ((logit - best) / sampling.temperature).exp())
        .collect();
    normalise(&mut p);

    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]).then(a.cmp(&b)));
    if sampling.top_k > 0 {
        for &i in order.iter().skip(sampling.top_k) {
            p[i] = 0.0;
        }
        normalise(&mut p);
    }
    if sampling.top_p < 1.0 {
        let mut before = 0.0;
        for (rank, &i) in order.iter().enumerate() {
            let mass = p[i];
            if rank > 0 && before >= sampling.top_p {
                p[i] = 0.0;
            }
            before += mass;
        }
        normalise(&mut p);
    }
    let least = sampling.min_p * p[order[0]];
    for p in p.iter_mut().filter(|p| **p < least) {
        *p = 0.0;
    }
    normalise(&mut p);
    p
}

fn penalise(logit: f32, sampling: &Sampling, in_answer: bool) -> f32 {
    if !in_answer {
        return logit;
    }
    let logit = f64::from(logit);
    let divided = if logit < 0.0 {
        logit * sampling.repetition_penalty
    } else {
        logit / sampling.repetition_penalty
    };
    (divided - sampling.presence_penalty) as f32
}

fn normalise(p: &mut [f64]) {
    let sum: f64 = p.iter().sum();
    for p in p {
        *p /= sum;
    }
}

/// The nine settings that tests of distributions go through.
pub fn nine_settings() -> [Sampling; 9] {
    let at = |temperature| Sampling {
        temperature,
        seed: 11,
        ..Sampling::default()
    };
    [
        at(1.0),
        at(0.8),
        at(2.5),
        Sampling {
            top_k: 4,
            ..at(1.0)
        },
        Sampling {
            top_p: 0.9,
            ..at(0.8)
        },
        Sampling {
            min_p: 0.1,
            ..at(1.2)
        },
        Sampling {
            top_k: 6,
            top_p: 0.95,
            min_p: 0.02,
            ..at(1.5)
        },
        Sampling {
            repetition_penalty: 1.3,
            ..at(1.0)
        },
        Sampling {
            repetition_penalty: 1.1,
            presence_penalty: 0.7,
            top_p: 0.95,
            ..at(0.8)
        },
    ]
}

/// A reproducible row of `n` logits from -4 to 4 in steps of 1/8, which depends on all of `prefix`: some
/// are equal.
pub fn row_after(prefix: &[Token], n: usize, seed: u64) -> Vec<f32> {
    let mut hash = seed;
    let mut next = |with: u64| {
        hash = (hash ^ with).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        hash ^= hash >> 32;
        hash
    };
    for &token in prefix {
        next(u64::from(token) + 1);
    }
    (0..n as u64)
        .map(|i| (next(i) % 65) as f32 / 8.0 - 4.0)
        .collect()
}

/// Pearson's statistic of `counts` against `probabilities`, divided by the quantile that it exceeds once
/// in a thousand: more than 1 is no such distribution. Tokens that are expected fewer than five times are
/// taken together.
pub fn chi_square_ratio(counts: &[usize], probabilities: &[f64]) -> f64 {
    let n = counts.iter().sum::<usize>() as f64;
    let mut cells: Vec<(f64, f64)> = Vec::new();
    let mut rare = (0.0, 0.0);
    for (&count, p) in counts.iter().zip(probabilities) {
        if p * n < 5.0 {
            rare = (rare.0 + count as f64, rare.1 + p * n);
        } else {
            cells.push((count as f64, p * n));
        }
    }
    if rare.1 > 0.0 {
        cells.push(rare);
    } else if rare.0 > 0.0 {
        return f64::INFINITY;
    }
    let statistic: f64 = cells
        .iter()
        .map(|(seen, expected)| (seen - expected).powi(2) / expected)
        .sum();
    // Wilson and Hilferty 1931, with the normal quantile of 99.9 %.
    let freedom = (cells.len() - 1) as f64;
    let ninth = 2.0 / (9.0 * freedom);
    statistic / (freedom * (1.0 - ninth + 3.0902 * ninth.sqrt()).powi(3))
}
