//! Events as JSON Lines: what `speck chat --json` writes, one object a line, its kind in `type`.
//!
//! Times are in milliseconds; a rate that was not measured is `null`.

use std::time::Duration;

use serde::Serialize;

use crate::engine::protocol::{Event, Explanation, FinishReason, SamplingInfo};
use crate::stats::Stats;

/// One line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Line<'a> {
    /// A file is being fetched.
    Fetch {
        what: &'a str,
        how: &'a str,
        done: u64,
        total: Option<u64>,
    },
    /// A model is being read.
    Loading {
        what: &'a str,
        done: u64,
        total: u64,
    },
    /// Models are loaded.
    Ready {
        target: &'a str,
        draft: Option<&'a str>,
        device: &'a str,
        context_limit: usize,
        strategies: Vec<&'static str>,
        strategy: &'static str,
        sampling: Option<Sampling>,
        notes: &'a [String],
    },
    /// The cost of plain decoding was measured.
    Baseline { per_token_ms: f64, context: usize },
    /// Another strategy drafts from here on.
    Strategy { strategy: &'static str },
    /// The prompt is being read.
    Prefill { done: usize, total: usize },
    /// Text of the answer, raw.
    Delta { text: String },
    /// One pass of the target.
    Pass {
        strategy: &'static str,
        drafted: usize,
        verified: usize,
        accepted: usize,
        emitted: usize,
        draft_ms: f64,
        verify_ms: f64,
        other_ms: f64,
        context_used: usize,
        note: Option<&'a str>,
        auto: Option<Auto<'a>>,
    },
    /// The answer ended.
    Done {
        reason: &'static str,
        tokens: usize,
        prompt_tokens: usize,
        reused_tokens: usize,
        prefill_ms: f64,
        passes: usize,
        tok_s: Option<f64>,
        tokens_per_pass: Option<f64>,
        acceptance: Option<f64>,
        draft_ms: f64,
        verify_ms: f64,
        other_ms: f64,
        speed_up: Option<f64>,
        sampling: Option<Sampling>,
    },
    /// It failed.
    Error { message: &'a str },
}

/// How answers are sampled; `null` where they are greedy.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sampling {
    temperature: f64,
    seed: u64,
}

impl From<SamplingInfo> for Sampling {
    fn from(info: SamplingInfo) -> Self {
        let SamplingInfo { temperature, seed } = info;
        Self { temperature, seed }
    }
}

/// What `auto` chose; `null` where another strategy drafts. In plain passes, once one was timed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Auto<'a> {
    drafter: &'static str,
    k: usize,
    expected: Option<f64>,
    reason: &'a str,
    balance: Option<f64>,
}

impl<'a> From<&'a Explanation> for Auto<'a> {
    fn from(chosen: &'a Explanation) -> Self {
        let timed = |value| chosen.plain_ms.map(|_| value);
        Self {
            drafter: chosen.drafter,
            k: chosen.length,
            expected: timed(chosen.expected),
            reason: &chosen.reason,
            balance: timed(chosen.balance),
        }
    }
}

impl<'a> Line<'a> {
    /// The lines that tell of `event`; `stats` has taken it in already.
    pub fn of(event: &'a Event, stats: &Stats) -> Vec<Self> {
        match event {
            Event::Fetch(fetch) => vec![Self::Fetch {
                what: &fetch.what,
                how: &fetch.how,
                done: fetch.done,
                total: fetch.total,
            }],
            Event::Loading(loading) => {
                vec![Self::Loading {
                    what: &loading.what,
                    done: loading.done,
                    total: loading.total,
                }]
            }
            Event::Ready(ready) => vec![Self::Ready {
                target: &ready.target,
                draft: ready.draft.as_deref(),
                device: &ready.device,
                context_limit: ready.context_limit,
                strategies: ready
                    .strategies
                    .iter()
                    .map(|strategy| strategy.name)
                    .collect(),
                strategy: ready.strategy,
                sampling: ready.sampling().map(Into::into),
                notes: &ready.notes,
            }],
            Event::Baseline(baseline) => {
                vec![Self::Baseline {
                    per_token_ms: ms(baseline.per_token),
                    context: baseline.context,
                }]
            }
            Event::Strategy(strategy) => vec![Self::Strategy { strategy }],
            // Answers to commands that a single question does not come with.
            Event::StrategyRefused(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_) => Vec::new(),
            Event::Prefill { done, total } => vec![Self::Prefill {
                done: *done,
                total: *total,
            }],
            Event::Round(round) => {
                let text = round.text();
                let delta = (!text.is_empty()).then_some(Self::Delta { text });
                let pass = Self::Pass {
                    strategy: round.strategy,
                    drafted: round.n_drafted,
                    verified: round.n_verified,
                    accepted: round.n_accepted,
                    emitted: round.n_emitted,
                    draft_ms: ms(round.draft_time),
                    verify_ms: ms(round.verify_time),
                    other_ms: ms(round.other_time),
                    context_used: round.context_used,
                    note: round.note.as_deref(),
                    auto: round.explanation.as_deref().map(Into::into),
                };
                delta.into_iter().chain([pass]).collect()
            }
            Event::Finished(finished) => {
                let answer = stats.answer();
                let text = finished.rest.clone();
                let delta = (!text.is_empty()).then_some(Self::Delta { text });
                let done = Self::Done {
                    reason: reason(finished.reason),
                    tokens: finished.answer_tokens,
                    prompt_tokens: finished.prompt_tokens,
                    reused_tokens: finished.reused_tokens,
                    prefill_ms: ms(finished.prefill_time),
                    passes: answer.passes,
                    tok_s: stats.decode().tokens_per_second(),
                    tokens_per_pass: answer.tokens_per_pass(),
                    acceptance: answer.acceptance(),
                    draft_ms: ms(answer.draft_time),
                    verify_ms: ms(answer.verify_time),
                    other_ms: ms(answer.other_time),
                    speed_up: stats.decode().speed_up(),
                    sampling: finished.sampling.map(Into::into),
                };
                delta.into_iter().chain([done]).collect()
            }
            Event::Failed(failure) => vec![Self::Error {
                message: &failure.message,
            }],
        }
    }
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn reason(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::EndOfTurn => "end_of_turn",
        FinishReason::StopString => "stop_string",
        FinishReason::MaxTokens => "max_tokens",
        FinishReason::ContextFull => "context_full",
        FinishReason::Stopped => "stopped",
    }
}
