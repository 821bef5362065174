//! The records of a saved chat, and the lines they are written as.
//!
//! ```text
//! {"crc":"5d3ff45d","seq":0,"record":{"header":{"version":1,"time":"2026-11-30T13:32:07Z",…}}}
//! {"crc":"0c7e1a55","seq":1,"record":{"asked":{"time":"2026-11-30T13:32:07Z","text":"Hi"}}}
//! {"crc":"9a01b6f2","seq":2,"record":{"turn":{"user":"Hi","answer":"Hello!","reason":"end_of_turn",…}}}
//! ```
//! `crc` is the CRC-32 of all bytes of the line after its comma; `seq` counts from 0 without a gap.
//! A record of a kind that is not known here is passed over: a later speck may have written it.

use std::collections::HashMap;
use std::ops::Range;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::engine::protocol::FinishReason;

/// The format's version, which the header tells.
pub const VERSION: u32 = 1;
/// The longest line that is written or read, in bytes.
pub const MAX_LINE: usize = 64 << 20;

/// What stands before the checksum, and after it.
const CRC: (&str, &str) = ("{\"crc\":\"", "\",");
/// Where the bytes begin that the checksum is of.
const CHECKED: usize = CRC.0.len() + 8 + CRC.1.len();

/// The kinds of records, as they are written: any other is passed over.
const KINDS: [&str; 10] = [
    "header", "resumed", "asked", "partial", "turn", "failed", "rewound", "dropped", "system",
    "name",
];

/// One record.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// What the file is: its first record, and only that.
    Header(Header),
    /// Another run of the program goes on with the chat.
    Resumed(Settings),
    /// The user sent a message.
    Asked {
        /// When.
        time: Timestamp,
        /// What.
        text: String,
        /// The bytes of it that are long pastes, of which the screen shows little.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pasted: Vec<Range<usize>>,
    },
    /// More of the answer that is being written.
    Partial {
        /// What was added since the record before.
        text: String,
        /// The model that writes it, by the name it is shown with; told with an answer's first part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// A turn ended: all of it again, so that one record is enough.
    Turn(Box<Turn>),
    /// The engine could not answer: the message is no part of the conversation.
    Failed {
        /// Why.
        message: String,
    },
    /// All but the first turns were taken back.
    Rewound {
        /// Turns that stay.
        turns: usize,
    },
    /// The oldest turns are no longer read by the model: there was no room for them.
    Dropped {
        /// How many, beside those that were dropped before.
        turns: usize,
    },
    /// Another system prompt holds from the next message on.
    System {
        /// It; none leaves it to the model's template.
        text: Option<String>,
    },
    /// The user named the chat.
    Name {
        /// Its name.
        name: String,
    },
}

/// What a file is.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Header {
    /// [`VERSION`].
    pub version: u32,
    /// How it began.
    #[serde(flatten)]
    pub settings: Settings,
}

/// How a run of the program was set up.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Settings {
    /// When.
    pub time: Timestamp,
    /// The target model, as it was asked for.
    pub model: String,
    /// The draft model, as it was asked for.
    pub draft: String,
    /// The system prompt, if there is one.
    pub system: Option<String>,
    /// How tokens are chosen: `[sampling]` of the configuration.
    pub sampling: serde_json::Value,
}

/// A message and its answer.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Turn {
    /// When it ended.
    pub time: Timestamp,
    /// What the user wrote, raw.
    pub user: String,
    /// The bytes of it that are long pastes, of which the screen shows little.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pasted: Vec<Range<usize>>,
    /// What the model wrote, raw.
    pub answer: String,
    /// Why the answer ended.
    pub reason: Reason,
    /// The model that wrote it, by the name it is shown with.
    pub model: String,
    /// The seed, where the answer was sampled.
    pub seed: Option<u64>,
    /// What it was worth.
    pub stats: Stats,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The model ended its turn.
    EndOfTurn,
    /// A stop string was written.
    StopString,
    /// The token budget was used up.
    MaxTokens,
    /// The context was full.
    ContextFull,
    /// The user stopped it.
    Stopped,
    /// The program ended before the answer did.
    Interrupted,
}

impl From<FinishReason> for Reason {
    fn from(reason: FinishReason) -> Self {
        match reason {
            FinishReason::EndOfTurn => Self::EndOfTurn,
            FinishReason::StopString => Self::StopString,
            FinishReason::MaxTokens => Self::MaxTokens,
            FinishReason::ContextFull => Self::ContextFull,
            FinishReason::Stopped => Self::Stopped,
        }
    }
}

impl From<Reason> for FinishReason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::EndOfTurn => Self::EndOfTurn,
            Reason::StopString => Self::StopString,
            Reason::MaxTokens => Self::MaxTokens,
            Reason::ContextFull => Self::ContextFull,
            Reason::Stopped | Reason::Interrupted => Self::Stopped,
        }
    }
}

/// What an answer was worth; rates as [`crate::stats`] defines them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Stats {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the answer.
    pub answer_tokens: usize,
    /// The strategies that drafted, in order of appearance.
    pub strategies: Vec<String>,
    /// Passes of the target.
    pub passes: usize,
    /// Tokens drafted.
    pub drafted: usize,
    /// Drafted tokens that were accepted.
    pub accepted: usize,
    /// Wall time of reading the prompt, in microseconds.
    pub prefill_us: u64,
    /// Wall time of all rounds, in microseconds.
    pub decode_us: u64,
    /// Emitted tokens per pass.
    pub tokens_per_pass: Option<f64>,
    /// Tokens per second by the decode clock.
    pub tokens_per_second: Option<f64>,
    /// Times faster than plain decoding.
    pub speed_up: Option<f64>,
}

#[derive(Serialize)]
struct Written<'a> {
    seq: u64,
    record: &'a Record,
}

#[derive(Deserialize)]
struct Read {
    seq: u64,
    record: Record,
}

/// The line of a record, with its end; `None` when it would be longer than [`MAX_LINE`].
pub fn encode(seq: u64, record: &Record) -> Option<Vec<u8>> {
    let body = serde_json::to_string(&Written { seq, record })
        .expect("records are plain data with text as keys");
    let checked = format!("{}\n", &body[1..]);
    let crc = crc32fast::hash(checked.trim_end().as_bytes());
    let line = format!("{}{crc:08x}{}{checked}", CRC.0, CRC.1).into_bytes();
    (line.len() <= MAX_LINE).then_some(line)
}

/// The record of a line without its end, which must be number `seq`; `None` for one of a kind that is not
/// known here. An error says what is wrong with the line.
pub fn decode(line: &[u8], seq: u64) -> Result<Option<Record>, String> {
    if !is_whole(line) {
        return Err("its checksum is wrong".to_owned());
    }
    let (found, record) = match serde_json::from_slice(line) {
        Ok(Read { seq, record }) => (seq, Some(record)),
        Err(error) => match unknown(line) {
            Some(seq) => (seq, None),
            // Where in the line is of no use to a person, and what it quotes may be anything.
            None => {
                return Err(format!(
                    "it is no record of a chat ({:?} error)",
                    error.classify()
                ));
            }
        },
    };
    if found != seq {
        return Err(format!("it is number {found}, not {seq}"));
    }
    Ok(record)
}

/// The number of a line whose record is of none of [`KINDS`].
fn unknown(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    #[expect(
        clippy::zero_sized_map_values,
        reason = "serde reads the keys of an object so"
    )]
    struct Line<'a> {
        seq: u64,
        #[serde(borrow)]
        record: HashMap<&'a str, IgnoredAny>,
    }
    let Line { seq, record } = serde_json::from_slice(line).ok()?;
    let mut kinds = record.keys();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return None;
    };
    (!KINDS.contains(kind)).then_some(seq)
}

/// The version that a header tells, whatever else stands there.
pub fn version(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Line {
        record: Only,
    }
    #[derive(Deserialize)]
    struct Only {
        header: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    if !is_whole(line) {
        return None;
    }
    let line: Line = serde_json::from_slice(line).ok()?;
    Some(line.record.header.version)
}

/// The number of a line without its end, whatever record it holds; `None` where it is not whole.
pub fn number(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Line {
        seq: u64,
    }
    if !is_whole(line) {
        return None;
    }
    let Line { seq } = serde_json::from_slice(line).ok()?;
    Some(seq)
}

/// Whether a line begins with the checksum of the rest, spelled exactly as it is written.
fn is_whole(line: &[u8]) -> bool {
    line.split_at_checked(CHECKED)
        .is_some_and(|(head, checked)| {
            let crc = crc32fast::hash(checked);
            head == format!("{}{crc:08x}{}", CRC.0, CRC.1).as_bytes()
        })
}
