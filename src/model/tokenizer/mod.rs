//! Text ↔ tokens: byte-level BPE, built from a GGUF file's metadata.
//!
//! In come texts, out go token ids, and back. The merging is the tokenizers library's; splitting and
//! special tokens are handled here. **Text is encoded with special tokens or without; both go one way,
//! and only [`Specials::Parse`] can produce a control token.**

mod pre;
mod stream;
mod vocabulary;

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use anyhow::{Result, bail};
use tokenizers::Model as _;
use tokenizers::models::bpe::{BPE, Merges, Vocab};

use super::Token;
use super::gguf::{GgufFile, quote};
use pre::PreTokenizer;
pub use stream::TextStream;
use vocabulary::{Kind, Vocabulary};

/// Texts of special tokens together; real vocabularies have a few kilobytes.
const MAX_SPECIAL_BYTES: usize = 1 << 20;

/// Control tokens that end a turn whether or not the file says so: models write them all the same.
const END_OF_TURN: [&str; 9] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<end_of_turn>",
    "<EOT>",
    "</s>",
];

/// What text that spells a control token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Specials {
    /// The control token: for text that we or the model's template wrote.
    Parse,
    /// Text: for what a user, a model or a file says.
    AsText,
}

/// A model's tokenizer.
pub struct Tokenizer {
    vocabulary: Vocabulary,
    pre: PreTokenizer,
    bpe: BPE,
    control: Finder,
    user_defined: Finder,
    bos: Option<Token>,
    eos: Option<Token>,
    end_of_turn: Vec<Token>,
}

impl Tokenizer {
    /// Builds the tokenizer that the file describes. Errors name the metadata key.
    pub fn from_gguf(file: &GgufFile) -> Result<Self> {
        match file.str("tokenizer.ggml.model")? {
            Some("gpt2") => {}
            Some(other) => {
                let other = quote(other);
                return Err(file.error(&format!(
                    "its tokenizer is of type {other}; speck knows gpt2 (byte-level BPE)"
                )));
            }
            None => return Err(file.error("it has no tokenizer: take a file that holds one")),
        }
        let pre = PreTokenizer::from_gguf(file)?;
        let Some(texts) = file.strings("tokenizer.ggml.tokens")? else {
            return Err(file.error("it has no token list (tokenizer.ggml.tokens)"));
        };
        let vocabulary = Vocabulary::new(file, &texts)?;
        let bpe = bpe(file, &texts, &vocabulary, pre)?;
        let id = |key: &str| match file.u64(key)? {
            Some(id) if id >= texts.len() as u64 => Err(file.error(&format!(
                "{key} is {id}, but there are {} tokens",
                texts.len()
            ))),
            id => Ok(id.map(|id| id as Token)),
        };
        let bos = id("tokenizer.ggml.bos_token_id")?;
        let eos = id("tokenizer.ggml.eos_token_id")?;
        let known = vocabulary
            .of_kind(Kind::Control)
            .filter(|(_, name)| END_OF_TURN.iter().any(|end| end.as_bytes() == *name))
            .map(|(token, _)| token);
        let mut end_of_turn: Vec<_> = [
            eos,
            id("tokenizer.ggml.eot_token_id")?,
            id("tokenizer.ggml.eom_token_id")?,
        ]
        .into_iter()
        .flatten()
        .chain(known)
        .collect();
        end_of_turn.sort_unstable();
        end_of_turn.dedup();
        Ok(Self {
            control: Finder::new(
                file,
                vocabulary
                    .of_kind(Kind::Control)
                    .filter(|(_, name)| is_long(name)),
            )?,
            user_defined: Finder::new(file, vocabulary.of_kind(Kind::UserDefined))?,
            vocabulary,
            pre,
            bpe,
            bos,
            eos,
            end_of_turn,
        })
    }

    /// The tokens of `text`. Nothing is added to them.
    pub fn encode(&self, text: &str, specials: Specials) -> Result<Vec<Token>> {
        match specials {
            Specials::Parse => self.encode_marked(text, None),
            Specials::AsText => {
                let mut tokens = Vec::new();
                self.encode_text(text, &mut tokens)?;
                Ok(tokens)
            }
        }
    }

    /// As [`Specials::Parse`], with each `mark` taken out of the text between the control tokens before
    /// that is encoded.
    pub(super) fn encode_marked(&self, text: &str, mark: Option<char>) -> Result<Vec<Token>> {
        let mut tokens = Vec::new();
        self.control.split(text, |segment| match segment {
            Segment::Token(token) => {
                tokens.push(token);
                Ok(())
            }
            Segment::Text(text) => match mark {
                Some(mark) if text.contains(mark) => {
                    self.encode_text(&text.replace(mark, ""), &mut tokens)
                }
                Some(_) | None => self.encode_text(text, &mut tokens),
            },
        })?;
        Ok(tokens)
    }

    fn encode_text(&self, text: &str, tokens: &mut Vec<Token>) -> Result<()> {
        self.user_defined.split(text, |segment| match segment {
            Segment::Token(token) => {
                tokens.push(token);
                Ok(())
            }
            Segment::Text(text) => self.merge(text, tokens),
        })
    }

    /// Splits text into pieces and merges each. A byte that the vocabulary lacks is left out.
    fn merge(&self, text: &str, tokens: &mut Vec<Token>) -> Result<()> {
        let mut symbols = String::new();
        self.pre.split(text, |piece| {
            symbols.clear();
            vocabulary::encode(piece, &mut symbols);
            let merged = self
                .bpe
                .tokenize(&symbols)
                .map_err(anyhow::Error::from_boxed)?;
            tokens.extend(merged.iter().map(|token| token.id));
            Ok(())
        })
    }

    /// The places in `text` that spell a control token, longest first where several start.
    pub(super) fn find_control<'a>(
        &'a self,
        text: &'a str,
    ) -> impl Iterator<Item = Range<usize>> + 'a {
        self.control.find(text).map(|(range, _)| range)
    }

    /// The bytes that a token stands for: none for control tokens and unknown ids. They may be part of
    /// a character; see [`TextStream`].
    pub fn bytes(&self, token: Token) -> &[u8] {
        match self.vocabulary.kind(token) {
            Some(Kind::Normal | Kind::UserDefined) => self.vocabulary.raw(token),
            Some(Kind::Control | Kind::Unused) | None => b"",
        }
    }

    /// Number of token ids.
    pub fn vocab_len(&self) -> usize {
        self.vocabulary.len()
    }

    /// The tokens that end an answer, in the order of their ids.
    pub fn end_of_turn(&self) -> &[Token] {
        &self.end_of_turn
    }

    /// The text of the token that begins a text, if the file names one.
    pub fn bos(&self) -> Option<&str> {
        self.name(self.bos)
    }

    /// The text of the token that ends a text, if the file names one.
    pub fn eos(&self) -> Option<&str> {
        self.name(self.eos)
    }

    fn name(&self, token: Option<Token>) -> Option<&str> {
        token.and_then(|token| std::str::from_utf8(self.vocabulary.raw(token)).ok())
    }

    /// An error unless both tokenizers have the same tokens under the same ids, so that one model's
    /// draft means the same to the other. Unused ids at the end do not matter.
    pub fn check_same(&self, other: &Self) -> Result<()> {
        if let Some((token, ours, theirs)) = self.vocabulary.first_difference(&other.vocabulary) {
            bail!(
                "the two vocabularies differ from token {token} on: {ours} here, {theirs} there; take a draft made for \
                 this target"
            );
        }
        Ok(())
    }
}

/// Builds the merger. The library panics on merges whose result is no token, so they are checked first.
/// Control tokens stay out: no text can be merged into one.
fn bpe(file: &GgufFile, texts: &[&str], vocabulary: &Vocabulary, pre: PreTokenizer) -> Result<BPE> {
    let mut vocab = Vocab::with_capacity(texts.len());
    for (text, token) in texts.iter().zip(0..) {
        if vocabulary.kind(token) == Some(Kind::Normal)
            && !text.is_empty()
            && let Some(first) = vocab.insert((*text).to_owned(), token)
        {
            return Err(file.error(&format!(
                "tokens {first} and {token} are both {}",
                quote(text)
            )));
        }
    }
    let Some(lines) = file.strings("tokenizer.ggml.merges")? else {
        return Err(file.error("it has no merges (tokenizer.ggml.merges)"));
    };
    let mut merges = Merges::with_capacity(lines.len());
    let mut joined = String::new();
    for (rank, line) in lines.iter().enumerate() {
        let merge = line.split_once(' ').filter(|(left, right)| {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            [left, right, joined.as_str()]
                .iter()
                .all(|part| vocab.contains_key(*part))
        });
        let Some((left, right)) = merge else {
            let problem =
                "is not two tokens that make a third: the file is damaged; download it again";
            return Err(file.error(&format!("merge {rank}, {}, {problem}", quote(line))));
        };
        merges.push((left.to_owned(), right.to_owned()));
    }
    // Without its cache, which would never be freed: a prompt is encoded once.
    BPE::builder()
        .vocab_and_merges(vocab, merges)
        .ignore_merges(pre.ignore_merges())
        .cache_capacity(0)
        .build()
        .map_err(|error| file.error(&format!("its merges make no tokenizer: {error}")))
}

/// Whether a control token's name has two characters or more. One alone could not be told from text, and
/// no real vocabulary has such a name.
fn is_long(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(|name| name.chars().nth(1).is_some())
}

/// Finds the texts of tokens that are matched as a whole.
struct Finder {
    automaton: AhoCorasick,
    tokens: Vec<Token>,
}

/// A part of a text.
enum Segment<'t> {
    Token(Token),
    Text(&'t str),
}

impl Finder {
    fn new<'a>(file: &GgufFile, tokens: impl Iterator<Item = (Token, &'a [u8])>) -> Result<Self> {
        let (tokens, texts): (Vec<_>, Vec<_>) = tokens.unzip();
        let n_bytes = texts.iter().map(|text| text.len()).sum::<usize>();
        if n_bytes > MAX_SPECIAL_BYTES {
            return Err(file.error(&format!(
                "its special tokens have {n_bytes} bytes of text: the file is damaged"
            )));
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(texts)
            .map_err(|error| {
                file.error(&format!(
                    "its special tokens cannot be searched for: {error}"
                ))
            })?;
        Ok(Self { automaton, tokens })
    }

    fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (Range<usize>, Token)> + 'a {
        self.automaton
            .find_iter(text)
            .map(|found| (found.range(), self.tokens[found.pattern().as_usize()]))
    }

    /// Calls `segment` with the parts of `text`, in order.
    fn split<'t>(
        &self,
        text: &'t str,
        mut segment: impl FnMut(Segment<'t>) -> Result<()>,
    ) -> Result<()> {
        let mut at = 0;
        for (range, token) in self.find(text) {
            segment(Segment::Text(&text[at..range.start]))?;
            segment(Segment::Token(token))?;
            at = range.end;
        }
        segment(Segment::Text(&text[at..]))
    }
}

#[cfg(test)]
mod tests;
