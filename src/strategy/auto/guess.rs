//! A model that guesses tokens one after the other, as `auto` uses it: it tells how sure it is, and it
//! can be asked what it would have guessed where the answer is known already.

use crate::cancel::Cancel;
use crate::model::{Logits, PassError, Token};
use crate::strategy::Drafter;

/// Committed tokens at most that are read for what the model would have guessed there.
pub(super) const SCORED_ROWS: usize = 16;

/// Logits further below the guess's own than this weigh too little to be summed up.
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
        let mut on_pass = |picks: &[Token], logits: &Logits| {
            let rows = (logits.rows() - picks.len()..).zip(picks);
            let guesses: Vec<_> = rows
                .map(|(row, &token)| guess(logits.row(row), token))
                .collect();
            goes_on(&guesses)
        };
        self.draft_watched(committed, length, SCORED_ROWS, cancel, &mut on_pass)
            .map(|_| ())
    }
}

/// A token and its probability by a row of logits.
fn guess(row: &[f32], token: Token) -> Guess {
    let own = row[token as usize];
    let weights = row.iter().filter(|&&logit| logit > own - NEGLIGIBLE);
    let sum: f32 = weights.map(|&logit| (logit - own).exp()).sum();
    let confidence = if sum >= 1.0 { sum.recip() } else { 1.0 };
    Guess { token, confidence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scripted::ScriptedModel;
    use crate::sampling::{Sampler, Sampling};

    #[test]
    fn a_guess_has_its_probability() {
        let check = |row: &[f32], token: Token, expect: f32| {
            let got = guess(row, token);
            assert_eq!(got.token, token);
            assert!((got.confidence - expect).abs() < 1e-3, "{row:?}: {got:?}");
        };
        check(&[0.0, 1.0, 0.0], 1, 0.576);
        check(&[0.0, 1.0, 0.0], 2, 0.212);
        check(&[5.0, 5.0], 0, 0.5);
        check(&[-30.0, 20.0, f32::NAN], 1, 1.0);
        check(&[-30.0, 200.0], 0, 0.0);
        check(&[f32::INFINITY, 0.0], 0, 1.0);
    }

    #[test]
    fn guesses_are_what_the_target_would_pick_with_the_same_logits() {
        let logits = |tokens: &[Token]| -> Vec<f32> {
            (0..8)
                .map(|id| ((tokens.len() as u32 * 7 + id * 5) % 11) as f32 / 6.0)
                .collect()
        };
        for temperature in [0.0, 1.0] {
            let sampling = Sampling {
                temperature,
                seed: 3,
                ..Sampling::default()
            };
            let mut sampler = Sampler::new(sampling);
            let mut text: Vec<Token> = vec![1, 2];
            while text.len() < 30 {
                text.extend(sampler.pick(&logits(&text), &text));
            }
            let model = ScriptedModel::with_logits("same", 8, 100, logits);
            let mut drafter = Drafter::new(Box::new(model), sampling);
            let mut passes = Vec::new();
            drafter
                .guess(&text[..20], 5, &Cancel::new(), &mut |guesses| {
                    passes.push(guesses.iter().map(|guess| guess.token).collect::<Vec<_>>());
                    true
                })
                .unwrap();
            assert_eq!(passes[0], text[20 - SCORED_ROWS + 1..=20]);
            assert_eq!(passes[1..].concat(), text[21..25]);
        }
    }
}
