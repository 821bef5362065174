//! A model that guesses tokens one after the other, as `auto` uses it: it tells how sure it is, and it
//! can be asked what it would have guessed where the answer is known already.

use crate::cancel::Cancel;
use crate::model::{Logits, PassError, Token, argmax};
use crate::strategy::Drafter;

/// Committed tokens at most that are read for what the model would have guessed there.
pub(super) const SCORED_ROWS: usize = 16;

/// Logits further below the largest than this weigh too little to be summed up.
const NEGLIGIBLE: f32 = 8.0;

/// A guess at one token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Guess {
    pub token: Token,
    /// The model's probability of it, 0 to 1; a little high where it is small.
    pub confidence: f32,
}

/// A model that guesses.
pub(super) trait Guesser: Send {
    /// Tokens that it can read.
    fn capacity(&self) -> usize;

    /// Tokens at the end of `committed` that it has not read: at least the last.
    fn lag(&self, committed: &[Token]) -> usize;

    /// Forgets all that it has read.
    fn forget(&mut self);

    /// Guesses at most `length` tokens after `committed`, one pass each. After each pass `goes_on` is told
    /// its guesses, one for each row, and says whether to go on. The rows of the first pass are the last
    /// tokens of `committed`, of each later one the token guessed before.
    fn guess(
        &mut self,
        committed: &[Token],
        length: usize,
        cancel: &Cancel,
        goes_on: &mut dyn FnMut(&[Guess]) -> bool,
    ) -> Result<(), PassError>;
}

impl Guesser for Drafter {
    fn capacity(&self) -> usize {
        Drafter::capacity(self)
    }

    fn lag(&self, committed: &[Token]) -> usize {
        Drafter::lag(self, committed)
    }

    fn forget(&mut self) {
        Drafter::forget(self);
    }

    fn guess(
        &mut self,
        committed: &[Token],
        length: usize,
        cancel: &Cancel,
        goes_on: &mut dyn FnMut(&[Guess]) -> bool,
    ) -> Result<(), PassError> {
        let mut on_pass = |_, logits: &Logits| {
            let rows = (0..logits.rows()).map(|row| guess(logits.row(row)));
            let guesses: Vec<_> = rows.map_while(|guess| guess).collect();
            guesses.len() == logits.rows() && goes_on(&guesses)
        };
        self.draft_watched(committed, length, SCORED_ROWS, cancel, &mut on_pass)
            .map(|_| ())
    }
}

/// The likeliest token of a row of logits and its probability; `None` where the row holds no numbers.
fn guess(row: &[f32]) -> Option<Guess> {
    let token = argmax(row)?;
    let best = row[token as usize];
    let weights = row.iter().filter(|&&logit| logit > best - NEGLIGIBLE);
    let sum: f32 = weights.map(|&logit| (logit - best).exp()).sum();
    let confidence = if sum >= 1.0 { sum.recip() } else { 1.0 };
    Some(Guess { token, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guess_is_the_likeliest_token_with_its_probability() {
        let check = |row: &[f32], expect: Option<(Token, f32)>| {
            let got = guess(row).map(|guess| (guess.token, guess.confidence));
            match (got, expect) {
                (Some((token, got)), Some((expected, expect))) => {
                    assert_eq!(token, expected, "{row:?}");
                    assert!((got - expect).abs() < 1e-3, "{row:?}: {got}");
                }
                (got, expect) => assert_eq!(got, expect, "{row:?}"),
            }
        };
        check(&[0.0, 1.0, 0.0], Some((1, 0.576)));
        check(&[5.0, 5.0], Some((0, 0.5)));
        check(&[-30.0, 20.0, f32::NAN], Some((1, 1.0)));
        check(&[f32::INFINITY, 0.0], Some((0, 1.0)));
        check(&[f32::NAN], None);
    }
}
