//! The law of the text, by enumeration: every choice of every row is followed, with its probability, and
//! the sum over all ways to a text is compared with what the target alone gives it.
//!
//! Two rules that are wrong on purpose must be told from it.

use std::collections::BTreeMap;

use super::*;
use crate::sampling::definition::{nine_settings, probabilities, row_after};
use crate::sampling::{Sampler, Sampling};

const VOCAB: usize = 4;
const LENGTH: usize = 4;
const PROMPT: [Token; 2] = [1, 3];
const SEED: u64 = 21;

/// Probability by text.
type Law = BTreeMap<Vec<Token>, f64>;

/// A rule, as [`verify`] with all else decided: appends to `committed` what is emitted. `pick` chooses a
/// token in row `i`, given the text that its penalties see.
type Rule = dyn Fn(&mut Vec<Token>, &[Token], &mut dyn FnMut(usize, &[Token]) -> Token);

/// The target's row after `prefix`.
fn row(prefix: &[Token]) -> Vec<f32> {
    row_after(prefix, VOCAB, SEED)
}

/// A draft of `n` tokens that follows from the text alone.
fn draft(committed: &[Token], n: usize) -> Vec<Token> {
    let row = row_after(committed, n, SEED + 1);
    row.iter()
        .map(|x| (x * 8.0) as i32 as Token % VOCAB as Token)
        .collect()
}

/// What the target alone writes, by definition.
fn alone(sampling: &Sampling) -> Law {
    let mut law = Law::from([(PROMPT.to_vec(), 1.0)]);
    for _ in 0..LENGTH {
        let mut next = Law::new();
        for (text, weight) in law {
            let p = probabilities(&row(&text), sampling, &text[PROMPT.len()..]);
            for (token, p) in (0..).zip(p) {
                next.insert([&text[..], &[token]].concat(), weight * p);
            }
        }
        law = next;
    }
    law
}

/// What `rule` writes when `n` tokens are drafted in each round.
fn law_of(rule: &Rule, sampling: &Sampling, n: usize) -> Law {
    let mut law = Law::new();
    let mut open = vec![(PROMPT.to_vec(), 1.0)];
    while let Some((text, weight)) = open.pop() {
        if text.len() >= PROMPT.len() + LENGTH {
            let text = text[..PROMPT.len() + LENGTH].to_vec();
            *law.entry(text).or_default() += weight;
            continue;
        }
        let drafted = draft(&text, n);
        // Every combination of choices, as an odometer that grows when a row more is asked for.
        let mut choices: Vec<Token> = Vec::new();
        loop {
            let mut committed = text.clone();
            let mut probability = 1.0;
            let mut asked = 0;
            rule(&mut committed, &drafted, &mut |i, penalised| {
                if asked == choices.len() {
                    choices.push(0);
                }
                let choice = choices[asked];
                asked += 1;
                let row = row(&[&text[..], &drafted[..i]].concat());
                probability *= chance(&row, sampling, penalised, choice);
                choice
            });
            open.push((committed, weight * probability));
            while choices.pop_if(|last| *last as usize == VOCAB - 1).is_some() {}
            match choices.last_mut() {
                Some(last) => *last += 1,
                None => break,
            }
        }
        open.retain(|(_, weight)| *weight > 0.0);
    }
    law
}

/// The sampler's probability of `choice`.
fn chance(row: &[f32], sampling: &Sampling, prefix: &[Token], choice: Token) -> f64 {
    let mut sampler = Sampler::new(*sampling);
    sampler.begin(PROMPT.len());
    let candidates = sampler.candidates(row, prefix);
    let sum: f64 = candidates.iter().map(|c| c.score.exp()).sum();
    let chosen = candidates.iter().find(|c| c.token == choice);
    chosen.map_or(0.0, |c| c.score.exp() / sum)
}

/// [`verify`] itself.
fn right(
    committed: &mut Vec<Token>,
    drafted: &[Token],
    pick: &mut dyn FnMut(usize, &[Token]) -> Token,
) {
    // The rows' numbers, so that the pick knows which one it was given.
    let numbers = (0..=drafted.len()).map(|i| i as f32).collect();
    let verified = verify(
        committed,
        drafted,
        &Logits::new(numbers, 1),
        |row, prefix| Some(pick(row[0] as usize, prefix)),
        |_| false,
    );
    assert!(verified.is_some());
}

/// The largest difference between two laws.
fn distance(a: &Law, b: &Law) -> f64 {
    a.keys()
        .chain(b.keys())
        .map(|text| {
            let of = |law: &Law| law.get(text).copied().unwrap_or(0.0);
            (of(a) - of(b)).abs()
        })
        .fold(0.0, f64::max)
}

#[test]
fn the_law_of_the_text_is_the_targets() {
    let greedy = Sampling::default();
    for sampling in nine_settings().iter().chain([&greedy]) {
        let expect = alone(sampling);
        for n in 0..=4 {
            let off = distance(&law_of(&right, sampling, n), &expect);
            assert!(off < 1e-12, "{off} with {n} drafted: {sampling:?}");
        }
    }
}

#[test]
fn control_a_first_token_that_is_not_verified_is_caught() {
    let skips_first = |committed: &mut Vec<Token>,
                       drafted: &[Token],
                       pick: &mut dyn FnMut(usize, &[Token]) -> Token| {
        let mut rest = drafted;
        if let Some((first, others)) = drafted.split_first() {
            committed.push(*first);
            rest = others;
        }
        let skipped = drafted.len() - rest.len();
        right(committed, rest, &mut |i, prefix| pick(i + skipped, prefix));
    };
    for sampling in nine_settings() {
        let off = distance(&law_of(&skips_first, &sampling, 2), &alone(&sampling));
        assert!(off > 0.01, "{off}: {sampling:?}");
    }
}

#[test]
fn control_penalties_fed_by_rejected_tokens_are_caught() {
    let sees_whole_draft =
        |committed: &mut Vec<Token>,
         drafted: &[Token],
         pick: &mut dyn FnMut(usize, &[Token]) -> Token| {
            right(committed, drafted, &mut |i, prefix| {
                pick(i, &[prefix, &drafted[i..]].concat())
            });
        };
    for sampling in nine_settings() {
        let off = distance(&law_of(&sees_whole_draft, &sampling, 2), &alone(&sampling));
        let penalises = sampling != sampling.without_penalties();
        assert_eq!(off > 1e-3, penalises, "{off}: {sampling:?}");
    }
}
