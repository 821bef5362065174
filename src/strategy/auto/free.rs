//! The drafters that cost nothing: prompt lookup and the recycling table.
//!
//! In come committed tokens, out come offers. **Every committed token is scored against what both would
//! have drafted there**, whoever drafted it, so that what they are worth is known without trying them.

use super::acceptance::Growing;
use super::choose::{DraftedBy, MAX_DRAFT, Offer};
use super::recycling::Recycling;
use crate::model::Token;
use crate::strategy::common_prefix;
use crate::strategy::lookup::continuation;
use crate::strategy::suffix_automaton::SuffixAutomaton;

/// Where a match lies.
const EARLIER: usize = 0;
const PROMPT: usize = 1;
const ANSWER: usize = 2;

/// Drafts from the conversation and from earlier choices of the target.
pub(super) struct Free {
    ends: Vec<Token>,
    /// The tokens in the automaton.
    seen: Vec<Token>,
    automaton: SuffixAutomaton,
    recycling: Recycling,
    /// Chances of a match by its length, for each place.
    matches: [Growing; 3],
    /// Chances of a recycled choice by how often in a row it was chosen.
    repeats: Growing,
    turn_start: usize,
    answer_start: usize,
}

/// A draft that costs nothing, and its offer.
pub(super) struct FreeDraft {
    pub tokens: Vec<Token>,
    pub offer: Offer,
}

impl Free {
    /// Drafts that do not go past one of the tokens in `ends`.
    pub fn new(ends: Vec<Token>) -> Self {
        Self {
            ends,
            seen: Vec::new(),
            automaton: SuffixAutomaton::new(),
            recycling: Recycling::default(),
            matches: std::array::from_fn(|_| Growing::matches()),
            repeats: Growing::repeats(),
            turn_start: 0,
            answer_start: 0,
        }
    }

    /// An answer follows `committed`, which may share any prefix with what was seen before.
    pub fn begin(&mut self, committed: &[Token]) {
        let kept = common_prefix(&self.seen, committed);
        if kept < self.seen.len() {
            self.seen.clear();
            self.automaton = SuffixAutomaton::new();
        }
        self.turn_start = kept;
        self.answer_start = committed.len();
    }

    /// Reads what is new in `committed` and scores the drafts that there would have been.
    pub fn read(&mut self, committed: &[Token]) {
        for position in self.seen.len()..committed.len() {
            let token = committed[position];
            if position >= self.answer_start && position > 0 {
                self.score(committed, position);
                self.recycling.learn(committed[position - 1], token);
            }
            self.automaton.push(token);
            self.seen.push(token);
        }
    }

    fn score(&mut self, committed: &[Token], position: usize) {
        let token = committed[position];
        if let Some(found) = self.automaton.longest_match() {
            let place = self.place(found.end);
            self.matches[place].record(found.length, committed[found.end] == token);
        }
        if let Some(last) = self.recycling.after(committed[position - 1]) {
            self.repeats
                .record(usize::from(last.times), last.token == token);
        }
    }

    fn place(&self, position: usize) -> usize {
        if position >= self.answer_start {
            ANSWER
        } else if position >= self.turn_start {
            PROMPT
        } else {
            EARLIER
        }
    }

    /// What both can draft after `committed`, which was read: at most `limit` tokens each.
    pub fn drafts(&self, committed: &[Token], limit: usize) -> Vec<FreeDraft> {
        let length = limit.min(MAX_DRAFT);
        let lookup = self.automaton.longest_match().map(|found| {
            let tokens = continuation(committed, found.end, length);
            let bins = &self.matches[self.place(found.end)];
            let chances = (0..tokens.len()).map(|i| bins.rate(found.length + i));
            self.draft(DraftedBy::Lookup, chances.collect(), tokens)
        });
        let chain = committed
            .last()
            .map(|&last| self.recycling.chain(last, length));
        let recycled = chain.filter(|chain| !chain.is_empty()).map(|chain| {
            let chances = chain
                .iter()
                .map(|next| self.repeats.rate(usize::from(next.times)));
            let tokens = chain.iter().map(|next| next.token).collect();
            self.draft(DraftedBy::Recycling, chances.collect(), tokens)
        });
        [lookup, recycled].into_iter().flatten().collect()
    }

    fn draft(
        &self,
        drafter: DraftedBy,
        mut chances: Vec<f64>,
        mut tokens: Vec<Token>,
    ) -> FreeDraft {
        if let Some(end) = tokens.iter().position(|token| self.ends.contains(token)) {
            tokens.truncate(end + 1);
            chances.truncate(end + 1);
        }
        let offer = Offer {
            drafter,
            chances,
            step: 0.0,
            catch_up: 0.0,
            horizon: 1.0,
        };
        FreeDraft { tokens, offer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(prompt: &[Token], answer: &[Token]) -> (Free, Vec<Token>) {
        let mut free = Free::new(vec![99]);
        free.begin(prompt);
        let committed = [prompt, answer].concat();
        free.read(&committed);
        (free, committed)
    }

    #[test]
    fn what_can_be_drafted_is_drafted_up_to_an_end() {
        let check =
            |prompt: &[Token], answer: &[Token], limit, expect: &[(DraftedBy, &[Token])]| {
                let (free, committed) = free(prompt, answer);
                let drafts = free.drafts(&committed, limit);
                let got: Vec<_> = drafts
                    .iter()
                    .map(|d| (d.offer.drafter, &d.tokens[..]))
                    .collect();
                assert_eq!(got, expect, "{prompt:?} {answer:?}");
                assert!(
                    drafts
                        .iter()
                        .all(|d| d.offer.chances.len() == d.tokens.len())
                );
            };
        let (lookup, recycling) = (DraftedBy::Lookup, DraftedBy::Recycling);
        check(&[1, 2, 3], &[], 4, &[]);
        check(&[1, 2, 3, 1], &[], 2, &[(lookup, &[2, 3])]);
        check(
            &[5],
            &[1, 2, 1],
            3,
            &[(lookup, &[2, 1, 2]), (recycling, &[2, 1, 2])],
        );
        check(&[1, 2, 99, 4, 1], &[], 9, &[(lookup, &[2, 99])]);
        check(&[1, 2, 1], &[], 0, &[(lookup, &[])]);
    }

    #[test]
    fn drafts_are_scored_whoever_drafted_and_only_in_answers() {
        let text: Vec<Token> = (0..60).collect();
        let chance = |prompt: &[Token], answer: &[Token]| {
            let (free, committed) = free(prompt, answer);
            free.drafts(&committed, 1)[0].offer.chances[0]
        };
        let twice = [&text[..], &text[..50]].concat();
        let unscored = chance(&twice, &[]);
        let copied = chance(&text, &text[..50]);
        assert!((unscored - 0.85).abs() < 1e-9, "{unscored}");
        assert!(copied > 0.95, "{copied}");
        // Many matches of one token, all followed by something new.
        let broken: Vec<Token> = (0..50).flat_map(|i| [i, 1000 + i]).chain([50]).collect();
        let misled = chance(&text, &broken);
        assert!(misled < 0.05, "{misled}");
    }

    #[test]
    fn the_recycling_table_outlives_the_conversation() {
        let (mut free, _) = free(&[7], &[1, 2, 3]);
        let other = [8, 9, 1];
        free.begin(&other);
        free.read(&other);
        let drafts = free.drafts(&other, 2);
        assert_eq!(drafts.len(), 1);
        assert_eq!(drafts[0].tokens, [2, 3]);
    }
}
