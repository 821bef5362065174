//! Drafting strategies: guesses at what the target will write next.
//!
//! In come the committed tokens, out go drafted tokens. **A strategy never decides what is written**:
//! the target verifies every guess, so a wrong guess costs time and nothing else. Everything a
//! strategy knows follows from the committed tokens, so it can be swapped in at any round.
//!
//! To add one: a file here, and one entry in [`ALL`].

mod auto;
mod draft_model;
mod drafter;
mod lookup;
mod plain;
mod suffix_automaton;

use std::time::Duration;

use crate::cancel::Cancel;
use crate::engine::protocol::Explanation;
use crate::model::{PassError, Token};

pub use auto::{Auto, Calibration, Choices, Forecast, choices};
pub use draft_model::{DraftModel, DraftRule};
pub use drafter::Drafter;
pub use lookup::{Lookup, LookupRule};
pub use plain::Plain;

/// Something that guesses the next tokens.
pub trait Strategy: Send {
    /// Its name, as in [`ALL`].
    fn name(&self) -> &'static str;

    /// Called when an answer starts and when the strategy is swapped in: `committed` is what stands,
    /// and may share any prefix, or none, with what the strategy saw before.
    fn begin(&mut self, committed: &[Token]);

    /// Guesses at most `limit` tokens that follow `committed`, which is not empty and has only grown
    /// since `begin`. No guess is a good answer. An error turns this round into plain decoding.
    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError>;

    /// Takes what became of the round that `draft` began. Not called where the pass failed.
    fn accept(&mut self, _round: &Feedback) {}

    /// What the last draft was chosen by, where there was a choice.
    fn explanation(&self) -> Option<Explanation> {
        None
    }

    /// Takes what passes cost on this machine, once that was measured.
    fn calibrate(&mut self, _calibration: &Calibration) {}

    /// Forgets what it has learnt from rounds and what its draft model has read: the next answer, which
    /// `begin` starts, is as the first.
    fn forget(&mut self) {}
}

/// What became of a round.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Prompt and answer, with what the round emitted.
    pub committed: &'a [Token],
    /// Tokens that the round emitted, at least 1: the end of `committed`.
    pub n_emitted: usize,
    /// Drafted tokens in the target's pass, which had a row more.
    pub n_drafted: usize,
    /// Wall time of drafting.
    pub draft_time: Duration,
    /// Wall time of the target's pass.
    pub verify_time: Duration,
    /// The rest of the round until now.
    pub other_time: Duration,
    /// How long the target had rested before the round.
    pub idle: Duration,
}

impl Feedback<'_> {
    /// What the round emitted.
    pub fn emitted(&self) -> &[Token] {
        &self.committed[self.committed.len() - self.n_emitted..]
    }
}

/// What strategies are built from.
pub struct Parts {
    /// The draft model, or why there is none.
    pub draft: Result<Drafter, String>,
    /// Tokens that the draft model drafts in a round.
    pub draft_length: usize,
    /// Tokens that end an answer.
    pub ends: Vec<Token>,
    /// What passes cost on this machine, if that was measured.
    pub calibration: Option<Calibration>,
}

/// A strategy that can be chosen by name.
pub struct Entry {
    /// Its name in the config file, on the command line, in menus and in reports.
    pub name: &'static str,
    /// What it drafts from, in a few words.
    pub summary: &'static str,
    /// Whether the chat's key stops at it. The others are for comparisons and chosen by name.
    pub cycled: bool,
    /// Whether it always drafts [`Parts::draft_length`] tokens.
    pub fixed_length: bool,
    build: fn(&Parts) -> Result<Box<dyn Strategy>, String>,
}

impl Entry {
    /// Builds the strategy, or says why it cannot run.
    pub fn build(&self, parts: &Parts) -> Result<Box<dyn Strategy>, String> {
        (self.build)(parts)
    }
}

/// The name of the strategy that the others are compared with.
pub const BASELINE: &str = plain::NAME;

/// All strategies, in the order a key cycles through them: the one list.
pub const ALL: &[Entry] = &[
    Entry {
        name: plain::NAME,
        summary: "no drafting: the baseline",
        cycled: true,
        fixed_length: false,
        build: |_| Ok(Box::new(Plain)),
    },
    Entry {
        name: draft_model::NAME,
        summary: "a small model drafts",
        cycled: true,
        fixed_length: true,
        build: |parts| {
            let rule = DraftRule::Fixed(parts.draft_length);
            draft_model(draft_model::NAME, rule, parts)
        },
    },
    Entry {
        name: lookup::NAME,
        summary: "drafts from the conversation",
        cycled: true,
        fixed_length: false,
        build: |parts| Ok(lookup(lookup::NAME, LookupRule::Longest, parts)),
    },
    Entry {
        name: auto::NAME,
        summary: "whichever pays, by measured time",
        cycled: true,
        fixed_length: false,
        build: |parts| Ok(Box::new(Auto::new(parts))),
    },
    Entry {
        name: draft_model::TRANSFORMERS_NAME,
        summary: "a small model drafts, by the rule of transformers",
        cycled: false,
        fixed_length: false,
        build: |parts| {
            let rule = DraftRule::TRANSFORMERS;
            draft_model(draft_model::TRANSFORMERS_NAME, rule, parts)
        },
    },
    Entry {
        name: lookup::TRANSFORMERS_NAME,
        summary: "drafts from the conversation, by the rule of transformers",
        cycled: false,
        fixed_length: false,
        build: |parts| {
            let rule = LookupRule::TRANSFORMERS;
            Ok(lookup(lookup::TRANSFORMERS_NAME, rule, parts))
        },
    },
];

fn draft_model(
    name: &'static str,
    rule: DraftRule,
    parts: &Parts,
) -> Result<Box<dyn Strategy>, String> {
    let drafter = parts.draft.clone()?;
    Ok(Box::new(DraftModel::new(
        name,
        drafter,
        rule,
        parts.ends.clone(),
    )))
}

fn lookup(name: &'static str, rule: LookupRule, parts: &Parts) -> Box<dyn Strategy> {
    Box::new(Lookup::new(name, rule, parts.ends.clone()))
}

/// The names of all strategies.
pub fn names() -> impl ExactSizeIterator<Item = &'static str> {
    ALL.iter().map(|entry| entry.name)
}

/// The entry of a name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.name == name)
}

/// The name of a strategy that cannot run, and why.
pub type Missing = (&'static str, String);

/// Builds every strategy that can run, and says why each other one cannot.
pub fn build_all(parts: &Parts) -> (Vec<Box<dyn Strategy>>, Vec<Missing>) {
    let mut built = Vec::new();
    let mut missing = Vec::new();
    for entry in ALL {
        match entry.build(parts) {
            Ok(strategy) => built.push(strategy),
            Err(why) => missing.push((entry.name, why)),
        }
    }
    (built, missing)
}

/// Length of the longest common prefix.
pub fn common_prefix(a: &[Token], b: &[Token]) -> usize {
    // Whole blocks are compared at once: a long conversation is compared with itself every round.
    const BLOCK: usize = 64;
    let blocks = a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK));
    let start = BLOCK * blocks.take_while(|(x, y)| x == y).count();
    let rest = a[start..].iter().zip(&b[start..]);
    start + rest.take_while(|(x, y)| x == y).count()
}
