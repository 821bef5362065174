//! A suffix automaton that grows token by token (Blumer et al. 1985, doi 10.1016/0304-3975(85)90157-4)
//! and knows, for the text so far, its longest suffix that also ends earlier, and where it last did.

use std::collections::BTreeMap;

use crate::model::Token;

/// An earlier occurrence of the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Tokens that agree.
    pub length: usize,
    /// Position just after the occurrence: where its continuation starts.
    pub end: usize,
}

/// A class of substrings that end at the same positions.
#[derive(Clone, Default)]
struct State {
    /// Length of the longest substring of the class.
    length: usize,
    /// The class of the longest suffix that ends at more positions. The root's is itself.
    link: usize,
    /// The class reached by one more token.
    next: BTreeMap<Token, usize>,
    /// The latest position just after a substring of the class.
    last_end: usize,
}

/// The automaton of a text.
///
/// Adding a token costs O(longest suffix that ends earlier), which is a handful in ordinary text.
#[derive(Clone)]
pub(super) struct SuffixAutomaton {
    states: Vec<State>,
    whole: usize,
    length: usize,
    matched: Option<Match>,
}

const ROOT: usize = 0;

impl SuffixAutomaton {
    pub fn new() -> Self {
        Self {
            states: vec![State::default()],
            whole: ROOT,
            length: 0,
            matched: None,
        }
    }

    /// Tokens of the text.
    pub fn len(&self) -> usize {
        self.length
    }

    /// The longest suffix of the text that also ends earlier, at its latest such place.
    pub fn longest_match(&self) -> Option<Match> {
        self.matched
    }

    /// Appends a token to the text.
    pub fn push(&mut self, token: Token) {
        self.length += 1;
        let added = self.states.len();
        self.states.push(State {
            length: self.length,
            ..State::default()
        });

        let mut state = self.whole;
        while !self.states[state].next.contains_key(&token) {
            self.states[state].next.insert(token, added);
            if state == ROOT {
                break;
            }
            state = self.states[state].link;
        }
        let target = self.states[state].next[&token];
        self.states[added].link = if target == added {
            ROOT
        } else {
            self.class(state, target, token)
        };
        self.whole = added;
        self.note_end(added);
    }

    /// The class of the longest substring of `state` and then `token`: `target`, or its split part.
    fn class(&mut self, mut state: usize, target: usize, token: Token) -> usize {
        let length = self.states[state].length + 1;
        if self.states[target].length == length {
            return target;
        }
        let split = self.states.len();
        self.states.push(State {
            length,
            ..self.states[target].clone()
        });
        self.states[target].link = split;
        while self.states[state].next.get(&token) == Some(&target) {
            self.states[state].next.insert(token, split);
            if state == ROOT {
                break;
            }
            state = self.states[state].link;
        }
        split
    }

    /// Reads the match off the suffix link of the whole text, then marks every suffix as ending here.
    fn note_end(&mut self, whole: usize) {
        let longest = self.states[whole].link;
        let State {
            length, last_end, ..
        } = self.states[longest];
        self.matched = (length > 0).then_some(Match {
            length,
            end: last_end,
        });
        let mut state = whole;
        while state != ROOT {
            self.states[state].last_end = self.length;
            state = self.states[state].link;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, word for word.
    fn by_definition(text: &[Token]) -> Option<Match> {
        (1..text.len()).rev().find_map(|length| {
            let suffix = &text[text.len() - length..];
            let end = (length..text.len())
                .rev()
                .find(|&end| &text[end - length..end] == suffix)?;
            Some(Match { length, end })
        })
    }

    proptest! {
        #[test]
        fn the_longest_latest_match_is_found(text in prop::collection::vec(0u32..4, 0..80)) {
            let mut automaton = SuffixAutomaton::new();
            for end in 0..text.len() {
                automaton.push(text[end]);
                prop_assert_eq!(automaton.longest_match(), by_definition(&text[..=end]));
            }
            prop_assert!(automaton.states.len() <= 2 * text.len().max(1));
        }
    }

    #[test]
    fn one_token_repeated_matches_all_but_the_last() {
        let mut automaton = SuffixAutomaton::new();
        (0..1000).for_each(|_| automaton.push(7));
        assert_eq!(
            automaton.longest_match(),
            Some(Match {
                length: 999,
                end: 999
            })
        );
    }
}
