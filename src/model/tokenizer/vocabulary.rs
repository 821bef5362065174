//! The vocabulary: for each token id, what kind of token it is and which bytes it stands for.
//!
//! In come the token list and types of a GGUF file, out go bytes by id. Ordinary tokens are written in
//! GPT-2's byte alphabet (a printable character for each byte) and decoded here once.

use std::sync::LazyLock;

use anyhow::Result;

use crate::model::Token;
use crate::model::gguf::{GgufFile, quote};

/// Token ids that a model can have at most.
const MAX_TOKENS: usize = 1 << 24;

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Text, made by merging.
    Normal,
    /// Steers the model; its text is a name, not something to show.
    Control,
    /// Text that is always this one token.
    UserDefined,
    /// Fills a gap; the model never chooses it.
    Unused,
}

/// All tokens of a model.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The bytes of all tokens, one after the other; for a control token, its name.
    bytes: Vec<u8>,
    /// For each token its kind and where its bytes end.
    tokens: Vec<(Kind, usize)>,
}

impl Vocabulary {
    /// Reads token types and decodes `texts`, the token list of the same file.
    pub(super) fn new(file: &GgufFile, texts: &[&str]) -> Result<Self> {
        let key = "tokenizer.ggml.token_type";
        let Some(types) = file.i32s(key)? else {
            return Err(file.error(&format!(
                "it does not say {key}, which tokens are control tokens"
            )));
        };
        if types.len() != texts.len() || texts.is_empty() || texts.len() > MAX_TOKENS {
            return Err(file.error(&format!(
                "it has {} tokens and {} token types: they must be as many, from 1 to {MAX_TOKENS}",
                texts.len(),
                types.len()
            )));
        }
        let mut vocabulary = Self {
            bytes: Vec::new(),
            tokens: Vec::with_capacity(texts.len()),
        };
        for (id, (text, kind)) in texts.iter().zip(types).enumerate() {
            let kind = match kind {
                1 => Kind::Normal,
                // 2 stands for what the vocabulary lacks; no text of it is wanted either.
                2 | 3 => Kind::Control,
                4 => Kind::UserDefined,
                5 => Kind::Unused,
                _ => {
                    return Err(
                        file.error(&format!("token {id} has type {kind}, which does not exist"))
                    );
                }
            };
            if kind != Kind::Normal || !decode(text, &mut vocabulary.bytes) {
                vocabulary.bytes.extend_from_slice(text.as_bytes());
            }
            vocabulary.tokens.push((kind, vocabulary.bytes.len()));
        }
        Ok(vocabulary)
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn kind(&self, token: Token) -> Option<Kind> {
        self.tokens.get(token as usize).map(|(kind, _)| *kind)
    }

    /// The bytes of a token, or the name of a control token.
    pub(super) fn raw(&self, token: Token) -> &[u8] {
        let index = token as usize;
        let Some((_, end)) = self.tokens.get(index) else {
            return b"";
        };
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.tokens[before].1);
        &self.bytes[start..*end]
    }

    /// The tokens of one kind whose text is not empty.
    pub(super) fn of_kind(&self, wanted: Kind) -> impl Iterator<Item = (Token, &[u8])> {
        self.tokens
            .iter()
            .zip(0..)
            .filter(move |((kind, _), _)| *kind == wanted)
            .filter_map(|(_, token)| {
                let raw = self.raw(token);
                (!raw.is_empty()).then_some((token, raw))
            })
    }

    /// The first id at which the two differ, with what stands there. Where one vocabulary is longer, its
    /// unused tokens do not count.
    pub(super) fn first_difference(&self, other: &Self) -> Option<(Token, String, String)> {
        let describe = |vocabulary: &Self, token| match vocabulary.kind(token) {
            None => "nothing".to_owned(),
            Some(kind) => format!(
                "{} ({kind:?})",
                quote(&String::from_utf8_lossy(vocabulary.raw(token)))
            ),
        };
        (0..self.len().max(other.len()) as Token)
            .find(|&token| match (self.kind(token), other.kind(token)) {
                (None | Some(Kind::Unused), None | Some(Kind::Unused)) => false,
                (ours, theirs) => ours != theirs || self.raw(token) != other.raw(token),
            })
            .map(|token| (token, describe(self, token), describe(other, token)))
    }
}

/// GPT-2's alphabet: the character that stands for each byte.
static ALPHABET: LazyLock<[char; 256]> = LazyLock::new(|| {
    let mut spare = (0x100..).filter_map(char::from_u32);
    std::array::from_fn(|byte| match byte as u8 {
        printable @ (b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff) => printable.into(),
        _ => spare.next().expect("there are more characters than bytes"),
    })
});

/// The byte that each character of the alphabet stands for; all of them are below U+0180.
static BYTES: LazyLock<[Option<u8>; 0x180]> = LazyLock::new(|| {
    let mut bytes = [None; 0x180];
    for (character, byte) in ALPHABET.iter().zip(0..=u8::MAX) {
        bytes[*character as usize] = Some(byte);
    }
    bytes
});

/// Writes `text` in the byte alphabet.
pub(super) fn encode(text: &str, out: &mut String) {
    let alphabet = &*ALPHABET;
    out.extend(text.bytes().map(|byte| alphabet[usize::from(byte)]));
}

/// Appends the bytes that `text` stands for. When it is not written in the byte alphabet, nothing is
/// appended and the answer is false.
fn decode(text: &str, out: &mut Vec<u8>) -> bool {
    let bytes = &*BYTES;
    let start = out.len();
    for character in text.chars() {
        let Some(byte) = bytes.get(character as usize).copied().flatten() else {
            out.truncate(start);
            return false;
        };
        out.push(byte);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alphabet_has_a_printable_character_for_each_byte() {
        let every_byte: Vec<u8> = (0..=u8::MAX).collect();
        let text: String = ALPHABET.iter().collect();
        assert!(
            text.chars().all(|c| !c.is_whitespace() && !c.is_control()),
            "{text:?}"
        );
        let mut decoded = Vec::new();
        assert!(decode(&text, &mut decoded));
        assert_eq!(decoded, every_byte);
    }

    #[test]
    fn known_characters() {
        let mut out = String::new();
        encode(" a\né\u{ad}", &mut out);
        assert_eq!(out, "ĠaĊÃ©ÂŃ");
    }

    #[test]
    fn text_outside_the_alphabet_is_left_alone() {
        let mut out = vec![7];
        assert!(!decode("a b", &mut out));
        assert_eq!(out, [7]);
    }
}
