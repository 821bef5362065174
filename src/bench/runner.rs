//! Runs: each strategy answers each prompt, again and again, in an order that changes with every run.
//!
//! The order turns by one strategy a run, so that what drifts (heat, other programs) hits all alike, and
//! each speed is compared with plain decoding's of the same run. The prompt is read before the clock
//! starts; like the chat, the clock leaves out an answer's first round ([`crate::stats`]). **No answer is
//! helped by one before it**: strategies forget what they learnt, and draft models what they read.

use crate::cancel::Cancel;
use crate::decoding::Decoder;
use crate::model::{PassError, Token};
use crate::stats::{Stats, Totals};

/// Tokens of the answers that warm up.
const WARM_UP: usize = 8;

/// What is run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The prompts as tokens, each with room for an answer in the context; at least one.
    pub prompts: Vec<Vec<Token>>,
    /// Strategies of the decoder, all of which are run.
    pub n_strategies: usize,
    /// Answers with each strategy to each prompt.
    pub runs: usize,
    /// Tokens of an answer at most.
    pub tokens: usize,
}

impl Plan {
    /// Answers of all runs.
    pub fn n_answers(&self) -> usize {
        self.prompts.len() * self.n_strategies * self.runs
    }
}

/// An answer, as measured.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its tokens.
    pub text: Vec<Token>,
    /// All its rounds.
    pub all: Totals,
    /// The rounds that the decode clock has timed: all but the first.
    pub decode: Totals,
    /// Why the strategy could not draft in some round, if so.
    pub draft_error: Option<String>,
}

/// Answers by prompt, strategy and run.
pub type Samples = Vec<Vec<Vec<Sample>>>;

/// An answer that is about to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Answers that are there.
    pub done: usize,
    /// The run, from 0.
    pub run: usize,
    /// The prompt's index.
    pub prompt: usize,
    /// The strategy's index.
    pub strategy: usize,
}

/// Runs `plan` and puts the answers into `samples`, where those that are there stay if it ends early.
pub fn run(
    decoder: &mut Decoder,
    plan: &Plan,
    samples: &mut Samples,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Step),
) -> Result<(), PassError> {
    *samples = vec![vec![Vec::new(); plan.n_strategies]; plan.prompts.len()];
    for strategy in 0..plan.n_strategies {
        answer(
            decoder,
            &plan.prompts[0],
            strategy,
            WARM_UP.min(plan.tokens),
            cancel,
        )?;
    }
    let mut done = 0;
    for run in 0..plan.runs {
        for (prompt, tokens) in plan.prompts.iter().enumerate() {
            for turn in 0..plan.n_strategies {
                let strategy = (run + turn) % plan.n_strategies;
                progress(Step {
                    done,
                    run,
                    prompt,
                    strategy,
                });
                let sample = answer(decoder, tokens, strategy, plan.tokens, cancel)?;
                samples[prompt][strategy].push(sample);
                done += 1;
            }
        }
    }
    Ok(())
}

/// Answers `prompt` with at most `budget` tokens.
fn answer(
    decoder: &mut Decoder,
    prompt: &[Token],
    strategy: usize,
    budget: usize,
    cancel: &Cancel,
) -> Result<Sample, PassError> {
    decoder.select(strategy);
    decoder.forget();
    decoder.begin(prompt, cancel, &mut |_, _| {})?;
    let mut stats = Stats::default();
    let mut text = Vec::new();
    let mut draft_error = None;
    while text.len() < budget {
        let round = decoder.round(budget - text.len(), cancel)?;
        stats.push(&round.counts());
        text.extend(&round.emitted);
        draft_error = draft_error.or(round.draft_error);
        if round.ended {
            break;
        }
    }
    Ok(Sample {
        text,
        all: stats.answer().clone(),
        decode: stats.decode().clone(),
        draft_error,
    })
}
