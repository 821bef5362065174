//! Pre-tokenization: text → pieces that no merge crosses.
//!
//! In comes plain text, out go its pieces, which together are the text. **Time is linear in the
//! text: no lookahead, so the regex engine never backtracks** (with one that does, a long enough run of
//! spaces meets its limit and is split wrongly, in silence). The rules are those of the families' own
//! `tokenizer.json` files.

use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use crate::model::gguf::{GgufFile, quote};

/// How a family of tokenizers splits text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreTokenizer {
    /// GPT-2.
    Gpt2,
    /// `SmolLM`: as GPT-2, after each digit was set apart.
    SmolLm,
    /// Llama 3: digits in threes; a piece that is a token is not merged.
    LlamaBpe,
    /// Qwen2 and Qwen2.5: digits one by one.
    Qwen2,
}

/// Both patterns leave out the alternative `\s+(?!\S)` of the originals: [`PreTokenizer::next_piece`]
/// does what it does.
static GPT2: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"));
static QWEN2: LazyLock<Regex> = LazyLock::new(|| modern(r"\p{N}"));
static LLAMA_BPE: LazyLock<Regex> = LazyLock::new(|| modern(r"\p{N}{1,3}"));

fn modern(digits: &str) -> Regex {
    pattern(&format!(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+"
    ))
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns are fixed and tested")
}

impl PreTokenizer {
    const ALL: [Self; 4] = [Self::SmolLm, Self::Qwen2, Self::LlamaBpe, Self::Gpt2];

    fn name(self) -> &'static str {
        match self {
            Self::Gpt2 => "gpt-2",
            Self::SmolLm => "smollm",
            Self::LlamaBpe => "llama-bpe",
            Self::Qwen2 => "qwen2",
        }
    }

    /// The one that the file names. An unknown one is an error: text would be split wrongly.
    pub(super) fn from_gguf(file: &GgufFile) -> Result<Self> {
        let key = "tokenizer.ggml.pre";
        let name = file.str(key)?.unwrap_or("");
        Self::ALL.into_iter().find(|pre| pre.name() == name).ok_or_else(|| {
            let known = Self::ALL.map(Self::name).join(", ");
            let what = match name {
                "" => format!("it does not say {key}, how text is split before merging"),
                name => format!("its pre-tokenizer ({key}) is {}", quote(name)),
            };
            file.error(&format!("{what}; speck knows {known}: take a file converted by a newer tool, or another model"))
        })
    }

    /// Whether a piece that is a token stays one, whatever the merges would make of it.
    pub(super) fn ignore_merges(self) -> bool {
        match self {
            Self::LlamaBpe => true,
            Self::Gpt2 | Self::SmolLm | Self::Qwen2 => false,
        }
    }

    /// Calls `piece` with the pieces of `text`, in order.
    pub(super) fn split<'t>(
        self,
        text: &'t str,
        mut piece: impl FnMut(&'t str) -> Result<()>,
    ) -> Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let (mut span, after) = rest.split_at(self.span(rest));
            while !span.is_empty() {
                let (next, others) = span.split_at(self.next_piece(span));
                piece(next)?;
                span = others;
            }
            rest = after;
        }
        Ok(())
    }

    /// The length of the first part of `text` that the pattern sees alone.
    fn span(self, text: &str) -> usize {
        match self {
            Self::Gpt2 | Self::LlamaBpe | Self::Qwen2 => text.len(),
            Self::SmolLm => match text.char_indices().find(|(_, c)| c.is_numeric()) {
                Some((0, digit)) => digit.len_utf8(),
                Some((at, _)) => at,
                None => text.len(),
            },
        }
    }

    /// The length of the first piece of `span`, which is not empty.
    ///
    /// Of several whitespace characters before a word the last goes with the word: that is what
    /// `\s+(?!\S)` is for. Where newlines end a piece of their own, they are not split this way.
    fn next_piece(self, span: &str) -> usize {
        let (regex, newlines_apart) = match self {
            Self::Gpt2 | Self::SmolLm => (&GPT2, false),
            Self::LlamaBpe => (&LLAMA_BPE, true),
            Self::Qwen2 => (&QWEN2, true),
        };
        let len = regex.find(span).map_or(span.len(), |found| found.end());
        let piece = &span[..len];
        let mut chars = piece.chars();
        match chars.next_back() {
            Some(last)
                if len < span.len()
                    && !chars.as_str().is_empty()
                    && piece.chars().all(char::is_whitespace)
                    && !(newlines_apart && matches!(last, '\r' | '\n')) =>
            {
                chars.as_str().len()
            }
            Some(_) | None => len,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use proptest::prelude::*;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;
    use tokenizers::pre_tokenizers::digits::Digits;
    use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
    use tokenizers::{
        OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as Reference,
        SplitDelimiterBehavior,
    };

    use super::*;

    fn pieces(pre: PreTokenizer, text: &str) -> Vec<&str> {
        let mut pieces = Vec::new();
        pre.split(text, |piece| {
            pieces.push(piece);
            Ok(())
        })
        .unwrap();
        pieces
    }

    /// The families' original patterns, as the tokenizers library has them.
    static GPT2_ORIGINAL: LazyLock<ByteLevel> = LazyLock::new(|| ByteLevel::new(false, true, true));
    static LLAMA_BPE_ORIGINAL: LazyLock<Split> = LazyLock::new(|| original(r"\p{N}{1,3}"));
    static QWEN2_ORIGINAL: LazyLock<Split> = LazyLock::new(|| original(r"\p{N}"));

    fn original(digits: &str) -> Split {
        let pattern = format!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        );
        Split::new(
            SplitPattern::Regex(pattern),
            SplitDelimiterBehavior::Isolated,
            false,
        )
        .unwrap()
    }

    fn reference(pre: PreTokenizer, text: &str) -> Vec<Range<usize>> {
        let mut text = PreTokenizedString::from(text);
        match pre {
            PreTokenizer::Gpt2 => GPT2_ORIGINAL.pre_tokenize(&mut text),
            PreTokenizer::SmolLm => Digits::new(true)
                .pre_tokenize(&mut text)
                .and_then(|()| GPT2_ORIGINAL.pre_tokenize(&mut text)),
            PreTokenizer::LlamaBpe => LLAMA_BPE_ORIGINAL.pre_tokenize(&mut text),
            PreTokenizer::Qwen2 => QWEN2_ORIGINAL.pre_tokenize(&mut text),
        }
        .unwrap();
        text.get_splits(OffsetReferential::Original, OffsetType::Byte)
            .into_iter()
            .map(|(_, (start, end), _)| start..end)
            .collect()
    }

    fn offsets(pieces: &[&str]) -> Vec<Range<usize>> {
        let mut at = 0;
        pieces
            .iter()
            .map(|piece| {
                let start = at;
                at += piece.len();
                start..at
            })
            .collect()
    }

    #[test]
    fn known_splits() {
        let check =
            |pre, text, expect: &[&str]| assert_eq!(pieces(pre, text), expect, "{pre:?} {text:?}");
        check(
            PreTokenizer::Gpt2,
            "a  b\n\nc 12",
            &["a", " ", " b", "\n", "\n", "c", " 12"],
        );
        check(
            PreTokenizer::SmolLm,
            "a  b 12",
            &["a", " ", " b", " ", "1", "2"],
        );
        check(
            PreTokenizer::LlamaBpe,
            "x 12345 it'S\n\n  y",
            &["x", " ", "123", "45", " it", "'S", "\n\n", " ", " y"],
        );
        check(
            PreTokenizer::Qwen2,
            "x 12 (ok).\n\nz",
            &["x", " ", "1", "2", " (", "ok", ").\n\n", "z"],
        );
    }

    #[test]
    fn a_long_run_of_spaces_is_split_like_a_short_one() {
        for pre in PreTokenizer::ALL {
            let text = format!("{}x", " ".repeat(3_000_000));
            assert_eq!(pieces(pre, &text).len(), 2, "{pre:?}");
        }
    }

    proptest! {
        #[test]
        fn splits_as_the_original_patterns_do(text in r"([a-zé日'sS]{0,3}[ \t\r\n\u{a0}]{0,4}[0-9½Ⅷ]{0,5}[.,(~😀\u{301}]{0,2}){0,12}") {
            for pre in PreTokenizer::ALL {
                let ours = pieces(pre, &text);
                prop_assert_eq!(ours.concat(), text.clone());
                prop_assert_eq!(offsets(&ours), reference(pre, &text), "{:?} {:?}", pre, text);
            }
        }

        #[test]
        fn any_text_is_split_as_the_original_patterns_do(text in any::<String>()) {
            for pre in PreTokenizer::ALL {
                prop_assert_eq!(offsets(&pieces(pre, &text)), reference(pre, &text), "{:?} {:?}", pre, text);
            }
        }
    }
}
