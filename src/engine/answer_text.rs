//! The tokens of an answer → its text, token by token, up to a stop string.

use std::sync::Arc;

use super::protocol::Piece;
use super::stop_strings::StopStrings;
use crate::model::Token;
use crate::model::tokenizer::{TextStream, Tokenizer};

/// The text of one answer.
pub(super) struct AnswerText {
    tokenizer: Arc<Tokenizer>,
    stream: TextStream,
    stops: StopStrings,
    /// What the tokens since the last [`Self::take_round`] let through.
    round: Vec<String>,
}

impl AnswerText {
    /// An answer before its first token, which one of `stops` ends.
    pub fn new(tokenizer: Arc<Tokenizer>, stops: &[String]) -> Self {
        Self {
            tokenizer,
            stream: TextStream::new(),
            stops: StopStrings::new(stops),
            round: Vec::new(),
        }
    }

    /// Takes the next token; true when a stop string is complete with it.
    pub fn push(&mut self, token: Token) -> bool {
        let text = self.stream.push(self.tokenizer.bytes(token));
        self.round.push(self.stops.push(&text));
        self.stops.found()
    }

    /// Whether a stop string has ended the text.
    pub fn stopped(&self) -> bool {
        self.stops.found()
    }

    /// The text that the tokens of a round let through, whose first `n_accepted` were drafted by `drafter`.
    pub fn take_round(&mut self, n_accepted: usize, drafter: &'static str) -> Vec<Piece> {
        let pieces = self.round.drain(..).enumerate().map(|(i, text)| Piece {
            text,
            drafter: (i < n_accepted).then_some(drafter),
        });
        pieces.filter(|piece| !piece.text.is_empty()).collect()
    }

    /// Ends the answer: the text that was still held for a stop string that did not come. Half a character
    /// is shown as U+FFFD where the model `meant` it to be the end, else left out: its rest was cut off.
    pub fn finish(mut self, meant: bool) -> String {
        let mut text = String::new();
        if meant {
            text += &self.stops.push(&self.stream.finish());
        }
        text + &self.stops.finish()
    }
}
