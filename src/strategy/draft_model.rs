//! A small model drafts (Leviathan et al. 2023, arXiv 2211.17192; Chen et al. 2023, arXiv 2302.01318).
//!
//! Each token is chosen as the target's is, with the same noise, so that the two agree as often as their
//! distributions let them; without penalties, which would have to be kept for tokens that may be rejected.
//! That is valid because a token is accepted when the target picks it too (see `decoding::verify`); under
//! the rule that compares probabilities, shared noise would change the text's distribution.

use super::{Drafter, Strategy};
use crate::cancel::Cancel;
use crate::model::{PassError, Token, probability};

pub(super) const NAME: &str = "draft";
/// The name of [`DraftRule::TRANSFORMERS`] as a strategy of its own.
pub(super) const TRANSFORMERS_NAME: &str = "draft-transformers";

/// How many tokens a draft model drafts in a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DraftRule {
    /// Always as many.
    Fixed(usize),
    /// The rule of Hugging Face transformers (`AssistedCandidateGenerator` with a constant schedule): up
    /// to `length` tokens, none after one that ends an answer or whose probability is under `floor`.
    Transformers {
        /// Tokens drafted at most (the library's default: 20).
        length: usize,
        /// The probability under which a token, itself kept, is the last (the library's default: 0.4).
        floor: f64,
    },
}

impl DraftRule {
    /// The rule of transformers with its default settings.
    pub const TRANSFORMERS: Self = Self::Transformers {
        length: 20,
        floor: 0.4,
    };
}

/// Drafts with a draft model.
pub struct DraftModel {
    name: &'static str,
    drafter: Drafter,
    rule: DraftRule,
    ends: Vec<Token>,
}

impl DraftModel {
    /// Drafts with `drafter` by `rule`; the tokens in `ends` end an answer.
    pub fn new(name: &'static str, drafter: Drafter, rule: DraftRule, ends: Vec<Token>) -> Self {
        Self {
            name,
            drafter,
            rule,
            ends,
        }
    }
}

impl Strategy for DraftModel {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(&mut self, _committed: &[Token]) {}

    fn forget(&mut self) {
        self.drafter.forget();
    }

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let Self {
            drafter,
            rule,
            ends,
            ..
        } = self;
        match *rule {
            DraftRule::Fixed(length) => {
                drafter.draft(committed, length.min(limit), cancel, &mut |_, _| true)
            }
            DraftRule::Transformers { length, floor } => {
                let mut goes_on =
                    |token, row: &[f32]| !ends.contains(&token) && probability(row, token) >= floor;
                drafter.draft(committed, length.min(limit), cancel, &mut goes_on)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Logits, Model};
    use crate::sampling::Sampling;

    const END: Token = 9;

    /// Counts up; writes each token with the probability that is listed for it, of ten.
    struct Counting {
        probabilities: [f64; 10],
        len: usize,
    }

    impl Model for Counting {
        fn name(&self) -> &'static str {
            "counting"
        }

        fn n_logits(&self) -> usize {
            10
        }

        fn capacity(&self) -> usize {
            100
        }

        fn len(&self) -> usize {
            self.len
        }

        fn pass_bytes(&self) -> u64 {
            0
        }

        fn truncate(&mut self, len: usize) {
            self.len = self.len.min(len);
        }

        fn prefill(
            &mut self,
            tokens: &[Token],
            _: &Cancel,
            _: &mut dyn FnMut(usize),
        ) -> Result<(), PassError> {
            self.len += tokens.len();
            Ok(())
        }

        fn forward(&mut self, tokens: &[Token], _: &Cancel) -> Result<Logits, PassError> {
            self.len += tokens.len();
            let rows = tokens.iter().flat_map(|&token| {
                let next = (token + 1) % 10;
                let likely = self.probabilities[next as usize];
                (0..10).map(move |other| {
                    let share = if other == next {
                        likely
                    } else {
                        (1.0 - likely) / 9.0
                    };
                    share.ln() as f32
                })
            });
            Ok(Logits::new(rows.collect(), 10))
        }
    }

    #[test]
    fn the_transformers_rule_stops_after_the_first_doubtful_token_which_it_keeps() {
        let check = |committed: &[Token], doubtful: &[usize], limit: usize, expect: &[Token]| {
            let mut probabilities = [0.41; 10];
            for &token in doubtful {
                probabilities[token] = 0.39;
            }
            let model = Counting {
                probabilities,
                len: 0,
            };
            let model = Drafter::new(Box::new(model), Sampling::default());
            let rule = DraftRule::TRANSFORMERS;
            let mut strategy = DraftModel::new(TRANSFORMERS_NAME, model, rule, vec![END]);
            let drafted = strategy.draft(committed, limit, &Cancel::new()).unwrap();
            assert_eq!(drafted, expect, "{committed:?} {doubtful:?} {limit}");
        };
        check(&[1], &[4], 100, &[2, 3, 4]);
        check(&[1], &[2, 4], 100, &[2]);
        check(&[1], &[4], 2, &[2, 3]);
        check(&[1], &[4], 0, &[]);
        check(&[6], &[], 100, &[7, 8, END]);
    }

    #[test]
    fn the_transformers_rule_drafts_twenty_tokens_at_most() {
        let model = Counting {
            probabilities: [0.9; 10],
            len: 0,
        };
        let model = Drafter::new(Box::new(model), Sampling::default());
        let mut strategy = DraftModel::new("", model, DraftRule::TRANSFORMERS, vec![]);
        let drafted = strategy.draft(&[0], 100, &Cancel::new()).unwrap();
        assert_eq!(drafted.len(), 20);
    }
}
