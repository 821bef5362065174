//! What picking the token of a row costs, by vocabulary and options: `cargo bench --bench sampling`.
//!
//! The rows are made up: most tokens have logits around 0 with a spread of 2.5, and a few dozen rise above
//! them to 20, as in a language model's rows. A pass over a row takes milliseconds.

use divan::{Bencher, black_box};
use speck::model::Token;
use speck::sampling::{Sampler, Sampling};

/// Rows that take turns, so that branches are not learned by heart.
const ROWS: usize = 8;
const PROMPT: usize = 100;
const ANSWER: usize = 400;

fn main() {
    divan::main();
}

/// Vocabularies of the default pair and of Qwen2.5.
const VOCABULARIES: [usize; 2] = [49_152, 151_936];

/// Numbers from 0 to 1.
fn uniform(seed: &mut u64) -> f32 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 40) as f32 / (1u64 << 24) as f32
}

fn row(n: usize, mut seed: u64) -> Vec<f32> {
    let mut row: Vec<f32> = (0..n)
        .map(|_| {
            let sum: f32 = (0..12).map(|_| uniform(&mut seed)).sum();
            2.5 * (sum - 6.0)
        })
        .collect();
    for i in 0..40 {
        let token = (uniform(&mut seed) * (n - 1) as f32) as usize;
        row[token] = 20.0 - 0.3 * i as f32;
    }
    row
}

fn pick(bencher: Bencher, n: usize, sampling: Sampling) {
    let rows: Vec<_> = (0..ROWS as u64).map(|seed| row(n, seed)).collect();
    let prefix: Vec<Token> = (0..PROMPT + ANSWER)
        .map(|i| (i * 37 % 1000) as Token)
        .collect();
    let mut sampler = Sampler::new(sampling);
    sampler.begin(PROMPT);
    let mut i = 0;
    bencher.bench_local(|| {
        i += 1;
        black_box(sampler.pick(black_box(&rows[i % ROWS]), &prefix))
    });
}

const WARM: Sampling = Sampling {
    temperature: 0.8,
    top_k: 0,
    top_p: 1.0,
    min_p: 0.0,
    repetition_penalty: 1.0,
    presence_penalty: 0.0,
    seed: 1,
};

#[divan::bench(args = VOCABULARIES)]
fn greedy(bencher: Bencher, n: usize) {
    pick(bencher, n, Sampling::default());
}

#[divan::bench(args = VOCABULARIES)]
fn temperature(bencher: Bencher, n: usize) {
    pick(bencher, n, WARM);
}

#[divan::bench(args = VOCABULARIES)]
fn hot(bencher: Bencher, n: usize) {
    let temperature = 2.0;
    pick(
        bencher,
        n,
        Sampling {
            temperature,
            ..WARM
        },
    );
}

#[divan::bench(args = VOCABULARIES)]
fn top_k(bencher: Bencher, n: usize) {
    pick(bencher, n, Sampling { top_k: 40, ..WARM });
}

#[divan::bench(args = VOCABULARIES)]
fn top_p(bencher: Bencher, n: usize) {
    pick(
        bencher,
        n,
        Sampling {
            top_p: 0.95,
            ..WARM
        },
    );
}

#[divan::bench(args = VOCABULARIES)]
fn hot_top_p(bencher: Bencher, n: usize) {
    let (temperature, top_p) = (2.0, 0.95);
    let hot = Sampling {
        temperature,
        top_p,
        ..WARM
    };
    pick(bencher, n, hot);
}

#[divan::bench(args = VOCABULARIES)]
fn penalties(bencher: Bencher, n: usize) {
    let penalised = Sampling {
        repetition_penalty: 1.1,
        presence_penalty: 0.2,
        ..WARM
    };
    pick(bencher, n, penalised);
}
