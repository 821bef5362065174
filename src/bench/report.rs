//! What a benchmark found: answers → a row of medians for each prompt and strategy.
//!
//! The numbers are those of [`crate::stats`]. **A row's times are all from one answer**, that of median
//! speed (of an even number the slower one in the middle), so that they add up; the speed-up is the
//! median of the ratios to plain decoding in the same run, which what drifts from run to run cannot touch.

use serde::Serialize;

use super::{Contender, Sample};
use crate::measure::{Costs, median};

/// All that a benchmark found. As JSON it is what `speck bench --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where it ran.
    pub machine: Machine,
    /// What was asked for.
    pub settings: Settings,
    /// A row for each prompt and strategy.
    pub runs: Vec<Row>,
    /// What passes cost, as in `speck measure --json`.
    pub cost: Costs,
}

/// A machine.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The operating system.
    pub os: &'static str,
    /// The processor's architecture.
    pub arch: &'static str,
    /// The processor's name, where the system tells it.
    pub cpu: Option<String>,
    /// Threads that run at the same time.
    pub cores: Option<usize>,
    /// Bytes of memory.
    pub memory_bytes: Option<u64>,
    /// Where the models computed.
    pub device: &'static str,
    /// Threads, on a CPU.
    pub threads: Option<usize>,
    /// The CPU engine's instruction set, where it computed.
    pub isa: Option<&'static str>,
}

/// The settings of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// The version of speck.
    pub version: &'static str,
    /// The target's name.
    pub target: String,
    /// The draft's name.
    pub draft: Option<String>,
    /// Tokens that prompt and answer could hold together.
    pub context: usize,
    /// The system prompt, if not the template's own.
    pub system: Option<String>,
    /// Answers with each strategy to each prompt.
    pub runs: usize,
    /// Tokens of an answer at most.
    pub tokens: usize,
    /// How tokens were chosen.
    pub sampling: &'static str,
}

/// What a strategy did with a prompt. A rate without data is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The prompt's name.
    pub prompt: String,
    /// The strategy's name.
    pub strategy: &'static str,
    /// Tokens drafted in a round, where the strategy drafts a fixed number.
    pub draft_length: Option<usize>,
    /// Tokens of the answer.
    pub tokens: usize,
    /// Target passes.
    pub passes: usize,
    /// Tokens / passes.
    pub tokens_per_pass: Option<f64>,
    /// Accepted / verified drafted tokens.
    pub acceptance: Option<f64>,
    /// Milliseconds of the answer but its first round.
    pub decode_ms: f64,
    /// Tokens in a second of that time, the median over the runs.
    pub tok_s: Option<f64>,
    /// The slowest run's.
    pub tok_s_min: Option<f64>,
    /// The fastest run's.
    pub tok_s_max: Option<f64>,
    /// Milliseconds of drafting per pass.
    pub draft_ms: Option<f64>,
    /// Milliseconds of the target's pass.
    pub verify_ms: Option<f64>,
    /// Milliseconds of the rest per pass.
    pub other_ms: Option<f64>,
    /// Times faster than plain decoding: the median of the ratios within each run.
    pub speedup: Option<f64>,
    /// Whether the text of every run is plain decoding's, token for token.
    pub identical: Option<bool>,
}

impl Row {
    /// The strategy as on the command line.
    pub fn contender(&self) -> Contender {
        Contender {
            strategy: self.strategy,
            draft_length: self.draft_length,
        }
    }
}

/// The rows of `prompts` (by name) and `contenders`, as far as there are answers: `samples` are by
/// prompt, contender and run.
pub fn rows(
    prompts: &[String],
    contenders: &[Contender],
    samples: &[Vec<Vec<Sample>>],
) -> Vec<Row> {
    let plain = contenders.iter().position(Contender::is_plain);
    let mut rows = Vec::new();
    for (prompt, samples) in prompts.iter().zip(samples) {
        let plain = plain.map_or(&[][..], |plain| &samples[plain]);
        for (contender, own) in contenders.iter().zip(samples) {
            rows.extend(row(prompt, contender, own, plain));
        }
    }
    rows
}

fn row(prompt: &str, contender: &Contender, own: &[Sample], plain: &[Sample]) -> Option<Row> {
    let speed = |sample: &Sample| sample.decode.tokens_per_second();
    let speeds: Vec<f64> = own.iter().filter_map(speed).collect();
    let tok_s = middle(speeds.clone());
    let Sample { all, decode, .. } = own
        .iter()
        .find(|sample| tok_s.is_some() && speed(sample) == tok_s)
        .or(own.first())?;
    let ratios = own
        .iter()
        .zip(plain)
        .filter_map(|(own, plain)| Some(speed(own)? / speed(plain)?));
    Some(Row {
        prompt: prompt.to_owned(),
        strategy: contender.strategy,
        draft_length: contender.draft_length,
        tokens: all.emitted,
        passes: all.passes,
        tokens_per_pass: all.tokens_per_pass(),
        acceptance: all.acceptance(),
        decode_ms: decode.wall().as_secs_f64() * 1e3,
        tok_s,
        tok_s_min: speeds.iter().copied().reduce(f64::min),
        tok_s_max: speeds.iter().copied().reduce(f64::max),
        draft_ms: decode.draft_ms(),
        verify_ms: decode.verify_ms(),
        other_ms: decode.other_ms(),
        speedup: middle(ratios.collect()),
        identical: plain
            .first()
            .map(|plain| own.iter().all(|own| own.text == plain.text)),
    })
}

fn middle(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| median(values))
}
