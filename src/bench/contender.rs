//! What a benchmark compares: a strategy, with a draft length where it takes one.

use std::fmt::{self, Display, Formatter};

use crate::strategy;

/// The longest draft that can be asked for: a pass over one row more is the largest that is measured.
const MAX_LENGTH: usize = 31;

/// A strategy that is compared with the others. It is written as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    /// One of [`strategy::names`].
    pub strategy: &'static str,
    /// Tokens drafted in a round, where the strategy drafts a fixed number.
    pub draft_length: Option<usize>,
}

impl Contender {
    /// Reads `NAME`, or `NAME:LENGTH` of a strategy with a fixed draft length. The error says what is
    /// valid.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, length) = match text.split_once(':') {
            Some((name, length)) => (name, Some(length)),
            None => (text, None),
        };
        let entry = strategy::find(name).ok_or_else(|| {
            let known: Vec<_> = strategy::names().collect();
            format!(
                "there is no strategy `{name}`; there are: {}",
                known.join(", ")
            )
        })?;
        let draft_length = match length {
            Some(_) if !entry.fixed_length => {
                return Err(format!("{name} takes no draft length"));
            }
            Some(text) => Some(
                text.parse()
                    .ok()
                    .filter(|length| (1..=MAX_LENGTH).contains(length))
                    .ok_or_else(|| {
                        format!("`{text}` is no draft length: a number from 1 to {MAX_LENGTH}")
                    })?,
            ),
            None => None,
        };
        Ok(Self {
            strategy: entry.name,
            draft_length,
        })
    }

    /// Those asked for, or else every strategy: each once, plain decoding among them, drafting
    /// `draft_length` tokens where they take a length and none was given.
    pub fn complete(asked: &[Self], draft_length: usize) -> Vec<Self> {
        let named = |strategy| Self {
            strategy,
            draft_length: None,
        };
        let plain = named(strategy::BASELINE);
        let every: Vec<Self> = strategy::names().map(named).collect();
        let mut complete: Vec<Self> = Vec::new();
        for contender in if asked.is_empty() { &every } else { asked } {
            let fixed = strategy::find(contender.strategy).is_some_and(|entry| entry.fixed_length);
            let contender = Self {
                draft_length: contender.draft_length.or(fixed.then_some(draft_length)),
                ..*contender
            };
            if !complete.contains(&contender) {
                complete.push(contender);
            }
        }
        if !complete.contains(&plain) {
            complete.insert(0, plain);
        }
        complete
    }

    /// Whether it is plain decoding, which the others are compared with.
    pub fn is_plain(&self) -> bool {
        self.strategy == strategy::BASELINE
    }
}

impl Display for Contender {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        match self.draft_length {
            Some(length) => write!(f, "{}:{length}", self.strategy),
            None => f.write_str(self.strategy),
        }
    }
}
