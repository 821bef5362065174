//! The recycling table: what the target chose last after each token (after Luo et al. 2024, "Token
//! Recycling", arXiv 2408.08696, with one successor instead of a tree).
//!
//! In come pairs of a token and the target's choice after it, out come chains of such choices. It outlives
//! conversations, which prompt lookup does not. It holds one entry a token of the vocabulary at most.

use std::collections::HashMap;

use crate::model::Token;

/// What came after a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Successor {
    /// The target's choice.
    pub token: Token,
    /// How often in a row it was chosen.
    pub times: u8,
}

/// The target's last choice after each token.
#[derive(Clone, Debug, Default)]
pub(super) struct Recycling(HashMap<Token, Successor>);

impl Recycling {
    /// What came last after `token`.
    pub fn after(&self, token: Token) -> Option<Successor> {
        self.0.get(&token).copied()
    }

    /// Takes that the target chose `choice` after `token`.
    pub fn learn(&mut self, token: Token, choice: Token) {
        let entry = self.0.entry(token).or_insert(Successor {
            token: choice,
            times: 0,
        });
        if entry.token == choice {
            entry.times = entry.times.saturating_add(1);
        } else {
            *entry = Successor {
                token: choice,
                times: 1,
            };
        }
    }

    /// What came after `token`, what came after that, and so on: at most `length`.
    pub fn chain(&self, token: Token, length: usize) -> Vec<Successor> {
        let first = self.after(token);
        std::iter::successors(first, |last| self.after(last.token))
            .take(length)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_choice_counts_and_repeats_are_counted() {
        let check = |pairs: &[(Token, Token)], expect: &[(Token, u8)]| {
            let mut table = Recycling::default();
            for &(token, choice) in pairs {
                table.learn(token, choice);
            }
            let chain: Vec<_> = table
                .chain(1, 4)
                .iter()
                .map(|s| (s.token, s.times))
                .collect();
            assert_eq!(chain, expect, "{pairs:?}");
        };
        check(&[], &[]);
        check(&[(1, 2), (2, 3)], &[(2, 1), (3, 1)]);
        check(&[(1, 2), (1, 2), (1, 3)], &[(3, 1)]);
        check(&[(1, 2), (1, 2), (2, 1)], &[(2, 2), (1, 1), (2, 2), (1, 1)]);
        check(&[(1, 1); 300], &[(1, 255); 4]);
    }
}
