//! What the engine and its front ends say to each other: plain data, one closed enum each way.
//!
//! The screen, the line renderer and the JSON output are all built from [`Event`]s alone.

mod commands;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;

use crate::cancel::Cancel;
use crate::config::options::Options;
use crate::config::sampling::Seed;
pub use crate::model::progress::{Fetch, Loading};
pub use commands::{Commands, Inbox, Next, channel};

/// The name of the engine's thread. A panic on it becomes an event, so hooks need not report it.
pub const THREAD_NAME: &str = "engine";

/// A front end's end of the line to a running engine. Dropping `commands` ends it once it has read
/// them; `quit` stops a load or a download.
pub struct Handle {
    /// To the engine.
    pub commands: Commands,
    /// From the engine. Closed when it has ended.
    pub events: UnboundedReceiver<Event>,
    /// Stops loading.
    pub quit: Cancel,
}

/// What a front end asks of the engine.
///
/// While an answer is being written, commands are read between two rounds. Dropping the sender ends
/// the engine.
#[derive(Clone, Debug)]
pub enum Command {
    /// Answers `text` as the next turn of the conversation; `cancel` stops it, then or later.
    Send {
        /// What the user wrote.
        text: String,
        /// Stops this answer: between layers, prefill chunks or rounds.
        cancel: Cancel,
        /// The bytes of `text` that are long pastes, of which little is shown: for whoever keeps the whole
        /// conversation.
        pasted: Vec<Range<usize>>,
    },
    /// Drafts with another strategy from the next round on. The name is one of [`Ready::strategies`].
    SetStrategy(&'static str),
    /// Forgets the conversation (the system prompt stays).
    Reset,
    /// Forgets all but the first `turns` turns of the conversation.
    Rewind {
        /// Turns that stay: messages with their answers.
        turns: usize,
        /// The same, with those that were forgotten to make room: for whoever keeps the whole conversation.
        all: usize,
    },
    /// Replaces the system prompt from the next message on; `None` leaves it to the model's template.
    SetSystem(Option<String>),
    /// Replaces all turns of the conversation (the system prompt stays).
    Restore {
        /// The turns, oldest first.
        turns: Vec<Turn>,
    },
    /// Forgets the oldest turns, as few as leave a quarter of the context free for the answer to `text`; none
    /// where `text` alone is too long.
    MakeRoom {
        /// The message to come.
        text: String,
    },
    /// Goes on with other models; the conversation stays. What is told is `Fetch`, `Loading`, then `Ready` or
    /// `NotLoaded`.
    Load {
        /// Which.
        models: ModelRef,
        /// Stops it: the old models go on.
        cancel: Cancel,
    },
    /// Answers by these options from the next message on; a seed that is to be drawn is drawn now.
    Set(Options),
}

/// What a target and its draft are called, as on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRef {
    /// A preset, a path, or a file on the hub.
    pub target: String,
    /// The same, or `auto` or `none`.
    pub draft: String,
}

/// A model that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    /// What it is called, as on the command line.
    pub reference: String,
    /// Its name, for people.
    pub title: String,
    /// What it is or where it is from, in a few words.
    pub about: String,
    /// Bytes of its file, where known.
    pub size: Option<u64>,
    /// Whether its file is on this machine.
    pub here: bool,
    /// Why it cannot be loaded here, if so.
    pub unfit: Option<String>,
}

/// A message of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who wrote it.
    pub role: Role,
    /// What it says, as written.
    pub text: String,
}

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// What the engine tells its front ends, in order.
#[derive(Clone, Debug)]
pub enum Event {
    /// A model file is being fetched.
    Fetch(Fetch),
    /// A model is being read into memory.
    Loading(Loading),
    /// Models are loaded; `Send` is welcome (it was accepted before, too, and waited).
    Ready(Ready),
    /// Plain decoding was timed on this model, device and context.
    Baseline(Baseline),
    /// The strategy that drafts from the next round on.
    Strategy(&'static str),
    /// This strategy was asked for and cannot run here; the one before goes on.
    StrategyRefused(&'static str),
    /// The options of the answers to come.
    Options(Options),
    /// The oldest turns are no longer part of the conversation.
    Dropped {
        /// How many; 0 where that was not needed, or no help.
        turns: usize,
    },
    /// The models asked for are not loaded; those from before go on.
    NotLoaded(NotLoaded),
    /// The prompt is being read: `done` of `total` tokens that were not in the cache.
    Prefill {
        /// Tokens fed so far.
        done: usize,
        /// Tokens to feed.
        total: usize,
    },
    /// One round: draft, verify, accept.
    Round(Round),
    /// The answer ended.
    Finished(Finished),
    /// Something failed; `Failure::fatal` says whether the engine goes on.
    Failed(Failure),
}

/// Why models were not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotLoaded {
    /// The user stopped it.
    Stopped,
    /// What happened and what to do, for people.
    Failed(String),
}

/// What is loaded.
#[derive(Clone, Debug)]
pub struct Ready {
    /// What the models are called, to load them again.
    pub models: ModelRef,
    /// Name of the target model, for people.
    pub target: String,
    /// Name of the draft model, if there is one.
    pub draft: Option<String>,
    /// Device and threads, for people: `cpu ×2`, `metal`.
    pub device: String,
    /// Tokens that prompt and answer may hold together.
    pub context_limit: usize,
    /// The strategies that can run here, in the order a key cycles through those it stops at.
    pub strategies: Vec<StrategyInfo>,
    /// The strategy that drafts now.
    pub strategy: &'static str,
    /// What holds for the next answer. Its seed is a number.
    pub options: Box<Options>,
    /// What the user should know (a strategy that cannot run and why), each one line.
    pub notes: Vec<String>,
    /// Why another strategy drafts than the one that was asked for; one of the notes, which a script's log should
    /// hold, too.
    pub replaced: Option<String>,
}

impl Ready {
    /// How answers are sampled; `None` when they are greedy.
    pub fn sampling(&self) -> Option<SamplingInfo> {
        SamplingInfo::of(&self.options)
    }
}

/// How answers are sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingInfo {
    /// The temperature, more than 0.
    pub temperature: f64,
    /// The seed: the same prompt, options and seed give the same answer.
    pub seed: u64,
}

impl SamplingInfo {
    /// How answers by `options` are sampled; `None` when they are greedy.
    pub fn of(options: &Options) -> Option<Self> {
        let temperature = options.sampling.temperature;
        match options.sampling.seed {
            Seed::Fixed(seed) if temperature > 0.0 => Some(Self {
                temperature,
                seed: seed.into(),
            }),
            Seed::Fixed(_) | Seed::Random => None,
        }
    }
}

/// A strategy that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrategyInfo {
    /// Its name, as in the config file and on the command line.
    pub name: &'static str,
    /// What it drafts from, in a few words.
    pub summary: &'static str,
    /// Whether a key stops at it; the others are chosen by name.
    pub cycled: bool,
}

/// The cost of plain decoding, measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// Wall time of one token without drafting: one pass over one row, with sampling.
    pub per_token: Duration,
    /// Tokens in the cache when it was measured.
    pub context: usize,
}

/// One round, as measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Who drafted.
    pub strategy: &'static str,
    /// Tokens drafted.
    pub n_drafted: usize,
    /// Drafted tokens that the target judged: those after an end of the answer were not.
    pub n_verified: usize,
    /// Drafted tokens that the target chose too.
    pub n_accepted: usize,
    /// Tokens added to the answer (the end-of-turn token included).
    pub n_emitted: usize,
    /// Wall time of drafting.
    pub draft_time: Duration,
    /// Wall time of the target's pass.
    pub verify_time: Duration,
    /// The rest of the round: sampling, bookkeeping.
    pub other_time: Duration,
    /// The text these tokens completed. Raw: clean it before a terminal sees it.
    pub pieces: Vec<Piece>,
    /// Tokens of prompt and answer so far.
    pub context_used: usize,
    /// Why this round fell back to plain decoding, if it did.
    pub note: Option<String>,
    /// What `auto` chose and why, where it drafts.
    pub explanation: Option<Arc<Explanation>>,
}

impl Round {
    /// Wall time of the round.
    pub fn wall(&self) -> Duration {
        self.draft_time + self.verify_time + self.other_time
    }

    /// The text of all pieces.
    pub fn text(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| piece.text.as_str())
            .collect()
    }
}

/// What `auto` chose for a round, and by what.
///
/// Costs, rates and balances are in plain passes: passes of the target over one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The choice and why, in one line: `lookup 6: 1.8x expected`.
    pub reason: String,
    /// Who drafted (`plain` where nobody did).
    pub drafter: &'static str,
    /// Tokens that were drafted and go to the target.
    pub length: usize,
    /// How many times faster than plain decoding the round is expected to be, 1 where nothing was drafted.
    pub expected: f64,
    /// What each drafter had to offer, whether affordable or not.
    pub alternatives: Vec<Alternative>,
    /// Plain passes that this answer has won so far; below 0, lost.
    pub balance: f64,
    /// Plain passes that may be lost in the next round.
    pub affordable: f64,
    /// The cost of passes over 1, 2, 3, … rows; `None` where it is still a guess.
    pub curve: Vec<Option<f64>>,
    /// The cost of a step of the draft model, if there is one.
    pub step: Option<f64>,
    /// Milliseconds of a plain pass, once one was timed.
    pub plain_ms: Option<f64>,
}

/// What a drafter has to offer in a round.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// Its name.
    pub drafter: &'static str,
    /// The draft length that is best for it.
    pub length: usize,
    /// How many times faster than plain decoding that is expected to be.
    pub expected: f64,
    /// The chance that its first token is accepted.
    pub acceptance: f64,
}

/// Text that one token completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text: never half a character.
    pub text: String,
    /// Who drafted the token, if it had been drafted and accepted: a name as in [`Alternative::drafter`].
    pub drafter: Option<&'static str>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Why it ended.
    pub reason: FinishReason,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Prompt tokens that were still in the cache from earlier turns.
    pub reused_tokens: usize,
    /// Wall time of reading the rest of the prompt.
    pub prefill_time: Duration,
    /// Tokens of the answer.
    pub answer_tokens: usize,
    /// The end of the answer's text, held back until then because a stop string could have begun in it, or
    /// because its last character is not whole. Raw, and mostly empty.
    pub rest: String,
    /// How it was sampled; `None` when it is greedy.
    pub sampling: Option<SamplingInfo>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn.
    EndOfTurn,
    /// A stop string was written.
    StopString,
    /// The token budget is used up.
    MaxTokens,
    /// The context is full.
    ContextFull,
    /// The user stopped it.
    Stopped,
}

/// What failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What happened and what to do, for people.
    pub message: String,
    /// Whether the engine has ended. Otherwise only this answer has, and the message that asked
    /// for it is not part of the conversation.
    pub fatal: bool,
}
