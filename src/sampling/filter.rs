//! A row of logits → the tokens that may be picked: temperature, top-k, top-p, min-p, in this order.
//!
//! **The vocabulary is never sorted.** One pass finds the best logit and one more the few tokens within
//! [`REACH`] of it, the only ones that can win. The rest weighs little in top-p's sum: where it could move
//! the cut, and only there, all tokens are taken in.

use std::cmp::Ordering;

use super::Sampling;
use super::noise::REACH;
use crate::model::{Token, argmax};

/// Tokens that are looked at together.
const CHUNK: usize = 64;

/// A token that may be picked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub token: Token,
    /// Its logit divided by the temperature, less that of the best token: at most 0. Its probability is
    /// proportional to e to this power.
    pub score: f64,
}

impl Candidate {
    /// Likelier tokens come first, then smaller ids.
    fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.token.cmp(&other.token))
    }
}

/// Puts the tokens of `row` that may be picked into `kept`, in no order, and returns the likeliest one,
/// the first of equals; `None` when no logit is a number above minus infinity.
pub(super) fn keep(
    row: &[f32],
    sampling: &Sampling,
    kept: &mut Vec<Candidate>,
) -> Option<Candidate> {
    let token = argmax(row)?;
    let best = Candidate { token, score: 0.0 };
    kept.clear();
    if sampling.is_greedy() || row[token as usize] == f32::INFINITY {
        kept.push(best);
        return Some(best);
    }
    for reach in [REACH, f64::INFINITY] {
        gather(row, f64::from(row[token as usize]), reach, sampling, kept);
        if cut_to_nucleus(kept, row.len(), reach, sampling) {
            break;
        }
    }
    if sampling.min_p > 0.0 {
        let least = sampling.min_p.ln();
        kept.retain(|candidate| candidate.score >= least);
    }
    Some(best)
}

/// Takes in the tokens at most `reach` under `best`, and of them the `top_k` likeliest.
fn gather(row: &[f32], best: f64, reach: f64, sampling: &Sampling, kept: &mut Vec<Candidate>) {
    let temperature = sampling.temperature;
    // A little lower for being rounded, which takes in what cannot win.
    let least = ((best - reach * temperature) as f32).next_down();
    kept.clear();
    let mut first = 0;
    for chunk in row.chunks(CHUNK) {
        // Without a branch for each token, which would often be mispredicted where many are near.
        let mut near = [0; CHUNK];
        let mut n = 0;
        for (i, &logit) in chunk.iter().enumerate() {
            near[n] = i;
            n += usize::from(logit >= least);
        }
        kept.extend(near[..n].iter().map(|&i| Candidate {
            token: first + i as Token,
            score: (f64::from(chunk[i]) - best) / temperature,
        }));
        first += CHUNK as Token;
    }
    if (1..kept.len()).contains(&sampling.top_k) {
        kept.select_nth_unstable_by(sampling.top_k - 1, Candidate::order);
        kept.truncate(sampling.top_k);
    }
}

/// Keeps the fewest of the likeliest tokens that have the probability `top_p` together, among those that
/// top-k leaves. False where the tokens out of `reach` could move the cut.
fn cut_to_nucleus(
    kept: &mut Vec<Candidate>,
    n_tokens: usize,
    reach: f64,
    sampling: &Sampling,
) -> bool {
    if sampling.top_p >= 1.0 {
        return true;
    }
    let n_left = match sampling.top_k {
        0 => n_tokens,
        top_k => top_k.min(n_tokens),
    };
    let near = weight(kept);
    let far = (n_left - kept.len()) as f64 * (-reach).exp();
    let (n, mass) = nucleus(kept, sampling.top_p * near);
    kept.truncate(n);
    mass >= sampling.top_p * (near + far)
}

/// Puts the fewest of the likeliest tokens that weigh `target` together, or all, in front; returns how
/// many, and their weight. It selects, never sorts: work in proportion to the number of candidates.
fn nucleus(kept: &mut [Candidate], target: f64) -> (usize, f64) {
    let (mut from, mut to, mut before) = (0, kept.len(), 0.0);
    while to - from > 1 {
        // The nucleus is mostly small.
        let part = (to - from).div_ceil(4);
        kept[from..to].select_nth_unstable_by(part - 1, Candidate::order);
        let mass = before + weight(&kept[from..from + part]);
        if mass >= target {
            to = from + part;
        } else {
            from += part;
            before = mass;
        }
    }
    (to, before + weight(&kept[from..to]))
}

/// The sum of probabilities, where the best token has 1.
fn weight(candidates: &[Candidate]) -> f64 {
    candidates
        .iter()
        .map(|candidate| candidate.score.exp())
        .sum()
}
