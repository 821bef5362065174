//! Prompt lookup: drafts what followed the last time the text ended like this (Saxena 2023, "Prompt
//! Lookup Decoding"; the automaton as in SAM Decoding, Hu et al. 2024, arXiv 2411.10666).

use super::suffix_automaton::SuffixAutomaton;
use super::{Strategy, common_prefix};
use crate::cancel::Cancel;
use crate::model::{PassError, Token};

pub(super) const NAME: &str = "lookup";
/// The name of [`LookupRule::TRANSFORMERS`] as a strategy of its own.
pub(super) const TRANSFORMERS_NAME: &str = "lookup-transformers";

/// A shorter match than this says too little to draft from.
const MIN_MATCH: usize = 2;
/// Tokens drafted at most, whatever the match.
const MAX_DRAFT: usize = 16;

/// How prompt lookup finds its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LookupRule {
    /// The longest match in the conversation, its latest occurrence; the longer the match, the
    /// longer the draft.
    Longest,
    /// The rule of Hugging Face transformers (`PromptLookupCandidateGenerator`): the last
    /// `max_ngram` tokens, then fewer, at their first occurrence; always `length` tokens.
    Transformers {
        /// Longest n-gram looked for (the library's default: 2).
        max_ngram: usize,
        /// Tokens drafted (the library's default: 10).
        length: usize,
    },
}

impl LookupRule {
    /// The rule of transformers with its default settings.
    pub const TRANSFORMERS: Self = Self::Transformers {
        max_ngram: 2,
        length: 10,
    };
}

/// Drafts from the conversation itself.
pub struct Lookup {
    name: &'static str,
    rule: LookupRule,
    ends: Vec<Token>,
    /// The tokens in the automaton.
    seen: Vec<Token>,
    automaton: SuffixAutomaton,
}

impl Lookup {
    /// Looks matches up by `rule`; no draft goes past one of the tokens in `ends`.
    pub fn new(name: &'static str, rule: LookupRule, ends: Vec<Token>) -> Self {
        Self {
            name,
            rule,
            ends,
            seen: Vec::new(),
            automaton: SuffixAutomaton::new(),
        }
    }

    fn longest(&mut self, committed: &[Token]) -> Vec<Token> {
        for &token in &committed[self.automaton.len()..] {
            self.automaton.push(token);
            self.seen.push(token);
        }
        match self.automaton.longest_match() {
            Some(found) if found.length >= MIN_MATCH => {
                let mut drafted = continuation(committed, found.end, found.length.min(MAX_DRAFT));
                let end = drafted.iter().position(|token| self.ends.contains(token));
                drafted.truncate(end.map_or(drafted.len(), |end| end + 1));
                drafted
            }
            Some(_) | None => Vec::new(),
        }
    }
}

/// `length` tokens from position `start`; past the end, the draft is its own continuation (a text that
/// repeats with a short period).
pub(super) fn continuation(committed: &[Token], start: usize, length: usize) -> Vec<Token> {
    let mut drafted = Vec::with_capacity(length);
    for position in start..start + length {
        let token = committed.get(position).copied();
        drafted.push(token.unwrap_or_else(|| drafted[position - committed.len()]));
    }
    drafted
}

/// The transformers rule: the leftmost continuation of the longest n-gram that has one.
fn first_ngram(committed: &[Token], max_ngram: usize, length: usize) -> &[Token] {
    let end = committed.len();
    for n in (1..=max_ngram.min(end.saturating_sub(1))).rev() {
        let ngram = &committed[end - n..];
        let found = committed[..end - 1]
            .windows(n)
            .position(|window| window == ngram);
        if let Some(start) = found {
            let continuation = &committed[start + n..];
            return &continuation[..continuation.len().min(length)];
        }
    }
    &[]
}

impl Strategy for Lookup {
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin(&mut self, committed: &[Token]) {
        if common_prefix(&self.seen, committed) < self.seen.len() {
            self.seen.clear();
            self.automaton = SuffixAutomaton::new();
        }
    }

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        _cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let mut drafted = match self.rule {
            LookupRule::Longest => self.longest(committed),
            LookupRule::Transformers { max_ngram, length } => {
                let mut found = first_ngram(committed, max_ngram, length).to_vec();
                let end = found.iter().position(|token| self.ends.contains(token));
                found.truncate(end.unwrap_or(found.len()));
                found
            }
        };
        drafted.truncate(limit);
        Ok(drafted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(lookup: &mut Lookup, committed: &[Token], limit: usize) -> Vec<Token> {
        lookup.draft(committed, limit, &Cancel::new()).unwrap()
    }

    #[test]
    fn the_longer_the_match_the_longer_the_draft() {
        let check = |committed: &[Token], expect: &[Token]| {
            let mut lookup = Lookup::new(NAME, LookupRule::Longest, vec![]);
            lookup.begin(committed);
            assert_eq!(draft(&mut lookup, committed, 100), expect, "{committed:?}");
        };
        check(&[1], &[]);
        check(&[1, 2, 3, 4, 1], &[]);
        check(&[1, 2, 3, 4, 1, 2], &[3, 4]);
        check(&[1, 2, 3, 4, 5, 6, 1, 2, 3], &[4, 5, 6]);
        check(&[1, 2, 7, 1, 2, 8, 1, 2], &[8, 1]);
        check(&[5, 5, 5, 5], &[5, 5, 5]);
        check(&[1, 2, 1, 2, 1], &[2, 1, 2]);
    }

    #[test]
    fn a_conversation_that_changed_is_read_again() {
        let mut lookup = Lookup::new(NAME, LookupRule::Longest, vec![]);
        lookup.begin(&[1, 2, 3]);
        assert_eq!(draft(&mut lookup, &[1, 2, 3, 1, 2], 100), [3, 1]);
        lookup.begin(&[1, 2, 9, 9]);
        assert_eq!(draft(&mut lookup, &[1, 2, 9, 9, 1, 2], 100), [9, 9]);
        assert_eq!(draft(&mut lookup, &[1, 2, 9, 9, 1, 2], 1), [9]);
    }

    /// Cases computed by an independent program from the library's own code: tests/cases/README.md.
    #[test]
    fn the_transformers_rule_proposes_what_the_library_proposes() {
        #[derive(serde::Deserialize)]
        struct Case {
            committed: Vec<Token>,
            num_output_tokens: usize,
            max_matching_ngram_size: usize,
            eos: Option<Token>,
            candidates: Vec<Token>,
        }
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../tests/cases/lookup.json")).unwrap();
        assert!(cases.len() > 100);
        for case in cases {
            let rule = LookupRule::Transformers {
                max_ngram: case.max_matching_ngram_size,
                length: case.num_output_tokens,
            };
            let mut lookup = Lookup::new(TRANSFORMERS_NAME, rule, case.eos.into_iter().collect());
            assert_eq!(
                draft(&mut lookup, &case.committed, 100),
                case.candidates,
                "{rule:?}"
            );
        }
    }
}
