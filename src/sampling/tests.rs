//! The sampler against the definition of its options: which tokens, with which probabilities, how often.

use proptest::prelude::*;

use super::definition::{chi_square_ratio, nine_settings, probabilities, row_after};
use super::noise::Noise;
use super::*;
use crate::model::Token;

const DRAWS: usize = 100_000;
/// A prompt of 3 tokens and an answer of 5.
const PREFIX: [Token; 8] = [1, 2, 3, 4, 0, 4, 2, 9];
const PROMPT: usize = 3;

fn sampler(sampling: Sampling) -> Sampler {
    let mut sampler = Sampler::new(sampling);
    sampler.begin(PROMPT);
    sampler
}

/// The probabilities that the sampler's own candidates stand for.
fn sampled(row: &[f32], sampling: Sampling, prefix: &[Token]) -> Vec<f64> {
    let mut p = vec![0.0; row.len()];
    for candidate in sampler(sampling).candidates(row, prefix) {
        p[candidate.token as usize] = candidate.score.exp();
    }
    let sum: f64 = p.iter().sum();
    for p in &mut p {
        *p /= sum;
    }
    p
}

#[track_caller]
fn check_probabilities(row: &[f32], sampling: Sampling, prefix: &[Token], tolerance: f64) {
    let expect = probabilities(row, &sampling, &prefix[PROMPT..]);
    let found = sampled(row, sampling, prefix);
    for (token, (found, expect)) in found.iter().zip(&expect).enumerate() {
        let off = (found - expect).abs();
        assert!(
            off <= tolerance,
            "token {token}: {found}, not {expect}: {sampling:?}"
        );
    }
}

#[test]
fn candidates_have_the_probabilities_of_the_definition() {
    for sampling in nine_settings() {
        for seed in 0..200 {
            let row = row_after(&PREFIX, 12, seed);
            check_probabilities(&row, sampling, &PREFIX, 1e-12);
        }
    }
}

proptest! {
    #[test]
    fn any_setting_keeps_what_its_definition_keeps(
        row in prop::collection::vec(-6.0f32..6.0, 1..40),
        prefix in prop::collection::vec(0u32..40, PROMPT..20),
        temperature in 0.7f64..3.0,
        top_k in 0usize..50,
        top_p in 0.0f64..=1.0,
        min_p in 0.0f64..1.0,
        repetition_penalty in 1.0f64..2.0,
        presence_penalty in 0.0f64..2.0,
    ) {
        let sampling = Sampling { temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty, seed: 0 };
        check_probabilities(&row, sampling, &prefix, 1e-12);
    }

    /// What is counted follows from the answer alone, however it grew and was cut.
    #[test]
    fn penalties_depend_on_the_answer_alone(
        steps in prop::collection::vec((0usize..6, prop::collection::vec(0u32..12, 0..5)), 1..12),
    ) {
        let sampling = nine_settings()[8];
        let mut kept = sampler(sampling);
        let mut prefix = PREFIX.to_vec();
        for (cut, more) in steps {
            prefix.truncate((prefix.len() - cut.min(prefix.len())).max(PROMPT));
            // Cutting and growing is seen as two steps, as the loop does it.
            kept.candidates(&[0.0; 12], &prefix);
            prefix.extend(more);
            let row = row_after(&prefix, 12, 5);
            let mut fresh = sampler(sampling);
            prop_assert_eq!(kept.candidates(&row, &prefix), fresh.candidates(&row, &prefix));
        }
    }
}

/// On rows of real size, where a token counts only within reach of the best.
#[test]
fn no_token_is_lost_in_a_large_vocabulary() {
    for (seed, sampling) in (0..).zip(nine_settings()) {
        let wide = row_after(&PREFIX, 20_000, seed);
        let row: Vec<f32> = wide
            .iter()
            .zip(row_after(&PREFIX, 20_000, seed + 100))
            .map(|(a, b)| 3.0 * a + b)
            .collect();
        // Tokens out of reach have less than 20,000 × e^-20 together.
        check_probabilities(&row, sampling, &PREFIX, 5e-5);
    }
}

/// 50,000 tokens just out of reach have 6e-5 of the probability together, which can move the cut of top-p.
#[test]
fn tokens_out_of_reach_count_for_top_p() {
    let mut row = vec![-20.5; 50_000];
    row[7] = 0.0;
    row[8] = -9.75;
    let kept = |top_p| {
        let sampling = Sampling {
            temperature: 1.0,
            top_p,
            ..Sampling::default()
        };
        let found = sampler(sampling).candidates(&row, &PREFIX).len();
        let defined = probabilities(&row, &sampling, &[]);
        assert_eq!(
            found,
            defined.iter().filter(|p| **p > 0.0).count(),
            "{top_p}"
        );
        found
    };
    assert_eq!(kept(0.9998), 1);
    // Without the far ones the best token alone would have this share.
    assert_eq!(kept(0.9999), 2);
    assert!(kept(0.999_94) > 1000);
}

#[test]
fn odd_rows_are_handled() {
    let check = |row: &[f32], temperature, expect| {
        let sampling = Sampling {
            temperature,
            top_p: 0.9,
            min_p: 0.01,
            ..Sampling::default()
        };
        let picked = sampler(sampling).pick(row, &PREFIX);
        assert_eq!(picked, expect, "{row:?} at {temperature}");
    };
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for temperature in [0.0, 1e-300, 0.8, 10.0] {
        check(&[nan, -inf], temperature, None);
        check(&[], temperature, None);
        check(&[nan, -3.0, -inf], temperature, Some(1));
        check(&[0.0, inf, inf], temperature, Some(1));
        check(&[f32::MIN, f32::MAX], temperature, Some(1));
    }
    check(&[1.0, 3.0, 3.0, 2.0], 0.0, Some(1));
    assert!(
        sampler(nine_settings()[0])
            .candidates(&[nan], &[])
            .is_empty()
    );
}

/// How often each token is picked at positions 0, 1, 2, …
fn draws(n_tokens: usize, pick: impl FnMut(usize) -> Token) -> Vec<usize> {
    let mut counts = vec![0; n_tokens];
    (0..DRAWS)
        .map(pick)
        .for_each(|token| counts[token as usize] += 1);
    counts
}

#[test]
fn draws_have_the_distribution_in_nine_settings() {
    for sampling in nine_settings() {
        let row = row_after(&PREFIX, 12, 4);
        let answer = &PREFIX[PROMPT..];
        // The position is the length of the text, so that it varies in front of the same answer.
        let mut text = vec![7; DRAWS];
        text.extend(answer);
        let mut sampler = Sampler::new(sampling);
        let counts = draws(12, |i| {
            sampler.begin(i);
            sampler.pick(&row, &text[DRAWS - i..]).unwrap()
        });
        let expect = probabilities(&row, &sampling, answer);
        let ratio = chi_square_ratio(&counts, &expect);
        assert!(ratio < 1.0, "{ratio}: {sampling:?}");
        // The same counts are no draw from the distribution at another temperature.
        let warmer = Sampling {
            temperature: sampling.temperature * 1.05,
            ..sampling
        };
        let ratio = chi_square_ratio(&counts, &probabilities(&row, &warmer, answer));
        assert!(ratio > 1.0, "{ratio}: {sampling:?}");
    }
}

/// The largest of `log weight + noise`.
fn largest(weights: &[f64], noise: Noise) -> Token {
    (0..weights.len() as Token)
        .max_by(|&a, &b| {
            let drawn = |token: Token| weights[token as usize].ln() + noise.gumbel(token);
            drawn(a).total_cmp(&drawn(b))
        })
        .unwrap()
}

/// Rejection sampling (accept with p/q, else draw from what p has more than q) keeps the distribution only
/// if the second draw's noise is not the draft's: why drafts may share noise here, where a token is
/// accepted because it equals the target's own, and not there.
#[test]
fn control_shared_noise_under_the_p_over_q_rule_is_caught() {
    let p = [0.5, 0.3, 0.15, 0.05];
    let q = [0.2, 0.2, 0.3, 0.3];
    let counts = |second_seed: u64| {
        draws(4, |i| {
            let draft = largest(&q, Noise::new(1, i));
            let (p_d, q_d) = (p[draft as usize], q[draft as usize]);
            let uniform = (-(-Noise::new(3, i).gumbel(0)).exp()).exp();
            if uniform < p_d / q_d {
                return draft;
            }
            let rest: Vec<f64> = p.iter().zip(q).map(|(p, q)| (p - q).max(0.0)).collect();
            largest(&rest, Noise::new(second_seed, i))
        })
    };
    assert!(chi_square_ratio(&counts(2), &p) < 1.0);
    let shared = chi_square_ratio(&counts(1), &p);
    assert!(shared > 10.0, "{shared}");
}

/// A draft that shares the target's noise is accepted more often than their distributions alone agree.
#[test]
fn shared_noise_makes_two_models_agree() {
    let near = |i: usize| {
        let target = row_after(&[i as Token], 12, 8);
        let off = row_after(&[i as Token], 12, 9);
        let draft: Vec<f32> = target.iter().zip(off).map(|(a, b)| a + b / 8.0).collect();
        (target, draft)
    };
    let agreed = |draft_seed: u64| {
        let pick = |row: &[f32], seed: u64, i: usize| {
            let sampling = Sampling {
                seed,
                ..nine_settings()[2]
            };
            Sampler::new(sampling).pick(row, &vec![0; i])
        };
        let n = (0..2000).filter(|&i| {
            let (target, draft) = near(i);
            pick(&target, 1, i) == pick(&draft, draft_seed, i)
        });
        n.count()
    };
    assert!(agreed(1) > 1600, "{}", agreed(1));
    assert!(agreed(2) < 800, "{}", agreed(2));
}

/// Where logits are equal, any other choice than the first is told from the definition.
#[test]
fn control_last_of_ties_is_caught() {
    let mut tied = 0;
    for seed in 0..100 {
        let row = row_after(&PREFIX, 60, seed);
        let defined = probabilities(&row, &Sampling::default(), &[]);
        let right = |token: Token| defined[token as usize] > 0.5;
        assert!(right(
            sampler(Sampling::default()).pick(&row, &PREFIX).unwrap()
        ));
        let best = row.iter().copied().fold(f32::MIN, f32::max);
        let last = row.iter().rposition(|&logit| logit >= best).unwrap();
        tied += usize::from(!right(last as Token));
    }
    assert!(tied > 20, "only {tied} rows had ties");
}
