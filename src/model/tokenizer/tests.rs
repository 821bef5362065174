//! The tokenizer against reference ids, hostile vocabularies and itself.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::model::gguf_writer::{CONTROL, Value, Writer, tiny_tokenizer};

fn read<T: for<'a> Deserialize<'a>>(path: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(path);
    serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap()
}

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<Token>,
    ids_without_special_tokens: Vec<Token>,
}

fn cases(family: &str) -> Vec<Case> {
    read::<BTreeMap<String, Vec<Case>>>("tokenizer.json")
        .remove(family)
        .unwrap()
}

fn check_case(tokenizer: &Tokenizer, case: &Case) {
    assert_eq!(
        tokenizer.encode(&case.text, Specials::Parse).unwrap(),
        case.ids,
        "{:?}",
        case.text
    );
    let as_text = tokenizer.encode(&case.text, Specials::AsText).unwrap();
    assert_eq!(as_text, case.ids_without_special_tokens, "{:?}", case.text);
}

fn smollm() -> Tokenizer {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/smollm2-135m-draft.gguf");
    Tokenizer::from_gguf(&GgufFile::open(&path).unwrap()).unwrap()
}

/// A tiny vocabulary, changed by `change`.
fn tiny(change: impl FnOnce(&mut Writer)) -> Result<Tokenizer> {
    let mut file = Writer::default();
    tiny_tokenizer(&mut file, "gpt-2");
    change(&mut file);
    Tokenizer::from_gguf(&GgufFile::from_bytes("test", file.bytes())?)
}

/// The tokens and types of the tiny vocabulary with some more.
fn with_tokens(file: &mut Writer, more: &[(&str, i32)]) {
    for (key, value) in &mut file.keys {
        match (key.as_str(), value) {
            ("tokenizer.ggml.tokens", Value::Strs(tokens)) => {
                tokens.extend(more.iter().map(|(text, _)| (*text).to_owned()));
            }
            ("tokenizer.ggml.token_type", Value::I32s(types)) => {
                types.extend(more.iter().map(|(_, kind)| kind));
            }
            _ => {}
        }
    }
}

#[test]
fn smollm_gives_the_reference_ids() {
    let tokenizer = smollm();
    let cases = cases("smollm");
    assert_eq!(cases.len(), 39);
    for case in &cases {
        check_case(&tokenizer, case);
    }
}

#[derive(Deserialize)]
struct SmallVocabulary {
    /// The places in tokenizer.json of the texts that it covers.
    cases: Vec<usize>,
    control: BTreeMap<String, usize>,
    tokens: BTreeMap<String, usize>,
    merges: Vec<String>,
}

impl SmallVocabulary {
    fn tokenizer(self, pre: &str) -> Tokenizer {
        let n_tokens = 1 + self
            .tokens
            .values()
            .chain(self.control.values())
            .max()
            .unwrap();
        let (mut texts, mut types) = (vec![String::new(); n_tokens], vec![5; n_tokens]);
        for (kind, tokens) in [(1, self.tokens), (3, self.control)] {
            for (text, id) in tokens {
                texts[id] = text;
                types[id] = kind;
            }
        }
        tiny(|file| {
            file.set("tokenizer.ggml.pre", Value::Str(pre.into()))
                .set("tokenizer.ggml.tokens", Value::Strs(texts))
                .set("tokenizer.ggml.token_type", Value::I32s(types))
                .set("tokenizer.ggml.merges", Value::Strs(self.merges));
        })
        .unwrap()
    }
}

#[test]
fn the_other_families_give_the_reference_ids() {
    for (family, n_cases) in [("gpt-2", 39), ("qwen2", 39), ("llama-bpe", 24)] {
        let vocabulary: SmallVocabulary = read(&format!("vocabularies/{family}.json"));
        let (covered, tokenizer) = (vocabulary.cases.clone(), vocabulary.tokenizer(family));
        let cases = cases(family);
        assert_eq!(covered.len(), n_cases, "{family}");
        for index in covered {
            check_case(&tokenizer, &cases[index]);
        }
    }
}

#[test]
fn bytes_of_tokens_are_the_text() {
    let tokenizer = smollm();
    for case in cases("smollm") {
        let ids = tokenizer.encode(&case.text, Specials::AsText).unwrap();
        let bytes: Vec<u8> = ids
            .iter()
            .flat_map(|id| tokenizer.bytes(*id))
            .copied()
            .collect();
        // SmolLM2's vocabulary lacks some bytes, and with them the characters that need them.
        let text = String::from_utf8_lossy(&bytes);
        let lacking = case
            .text
            .chars()
            .any(|c| matches!(c, '\u{600}'..='\u{6ff}' | '\u{5d0}'..='\u{5ea}'));
        assert!(
            lacking || text == case.text,
            "{text:?} is not {:?}",
            case.text
        );
    }
}

#[test]
fn control_tokens_have_no_bytes() {
    let tokenizer = tiny(|file| {
        with_tokens(
            file,
            &[("<tool>", 4), ("[PAD]", 5), ("ĠÃ©", 1), ("no alphabet", 1)],
        );
    })
    .unwrap();
    let n = tokenizer.vocab_len() as Token;
    let bytes: Vec<_> = [0, 1, 2, 3, n - 4, n - 3, n - 2, n - 1, n]
        .map(|id| tokenizer.bytes(id))
        .into();
    let expect: [&[u8]; 9] = [
        b"",
        b"",
        b"",
        b"\0",
        b"<tool>",
        b"",
        " é".as_bytes(),
        b"no alphabet",
        b"",
    ];
    assert_eq!(bytes, expect);
}

#[test]
fn user_defined_tokens_are_matched_both_ways() {
    let tokenizer = tiny(|file| with_tokens(file, &[("<tool>", 4), ("<tool>s", 4)])).unwrap();
    let tool = tokenizer.vocab_len() as Token - 2;
    for specials in [Specials::Parse, Specials::AsText] {
        let ids = tokenizer.encode("<tool>a<tool>s", specials).unwrap();
        assert_eq!(ids, [tool, 3 + u32::from(b'a'), tool + 1]);
    }
}

#[test]
fn no_text_merges_into_a_control_token() {
    let expect = "is not two tokens that make a third";
    let result = tiny(|file| {
        with_tokens(file, &[("ab", 3)]);
        file.set("tokenizer.ggml.merges", Value::Strs(vec!["a b".into()]));
    });
    assert!(result.err().unwrap().to_string().contains(expect));
    // Where a whole piece may be one token without merging, too.
    let tokenizer = tiny(|file| {
        with_tokens(file, &[("ab", 3)]);
        file.set("tokenizer.ggml.pre", Value::Str("llama-bpe".into()));
    })
    .unwrap();
    assert_eq!(tokenizer.encode("ab", Specials::AsText).unwrap().len(), 2);
    assert_eq!(tokenizer.encode("ab", Specials::Parse).unwrap().len(), 1);
}

#[test]
fn ends_of_turn() {
    let check = |change: fn(&mut Writer), expect: &[Token]| {
        assert_eq!(tiny(change).unwrap().end_of_turn(), expect);
    };
    check(|_| {}, &[0, 2]);
    check(
        |file| with_tokens(file, &[("<|eot_id|>", 3), ("<|end|>", 1)]),
        &[0, 2, 267],
    );
    check(
        |file| _ = file.set("tokenizer.ggml.eot_token_id", Value::U32(9)),
        &[0, 2, 9],
    );
    check(
        |file| _ = file.remove("tokenizer.ggml.eos_token_id"),
        &[0, 2],
    );
}

#[test]
fn names_of_begin_and_end() {
    let tokenizer = tiny(|_| {}).unwrap();
    assert_eq!(
        (tokenizer.bos(), tokenizer.eos()),
        (Some(CONTROL[1]), Some(CONTROL[2]))
    );
    let tokenizer = tiny(|file| _ = file.remove("tokenizer.ggml.bos_token_id")).unwrap();
    assert_eq!(tokenizer.bos(), None);
}

#[test]
fn vocabularies_are_compared_token_by_token() {
    let base = || tiny(|_| {}).unwrap();
    let check = |change: fn(&mut Writer), expect: &str| {
        let other = tiny(change).unwrap();
        let result = base()
            .check_same(&other)
            .and_then(|()| other.check_same(&base()));
        let message = result
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            message.contains(expect) && message.is_empty() == expect.is_empty(),
            "{message:?}"
        );
    };
    check(|_| {}, "");
    check(
        |file| with_tokens(file, &[("[PAD1]", 5), ("[PAD2]", 5)]),
        "",
    );
    check(
        |file| with_tokens(file, &[("more", 1)]),
        "from token 267 on: nothing here, \"more\" (Normal) there",
    );
    check(
        |file| {
            let types = file.keys.iter_mut().find_map(|(_, value)| match value {
                Value::I32s(types) => Some(types),
                _ => None,
            });
            types.unwrap()[1] = 4;
        },
        "from token 1 on: \"<|im_start|>\" (Control) here, \"<|im_start|>\" (UserDefined) there",
    );
    smollm().check_same(&smollm()).unwrap();
}

#[test]
fn bad_metadata_is_named() {
    let set = |key: &'static str, value: Value| tiny(move |file| _ = file.set(key, value));
    let merges = |merge: &str| set("tokenizer.ggml.merges", Value::Strs(vec![merge.into()]));
    for (result, expect) in [
        (
            set("tokenizer.ggml.model", Value::Str("llama".into())),
            "type \"llama\"; speck knows gpt2",
        ),
        (
            tiny(|file| _ = file.remove("tokenizer.ggml.model")),
            "has no tokenizer",
        ),
        (
            set("tokenizer.ggml.pre", Value::Str("default".into())),
            "(tokenizer.ggml.pre) is \"default\"; speck knows smollm,",
        ),
        (
            set("tokenizer.ggml.pre", Value::Str("deepseek\u{1b}[2J".into())),
            r#"is "deepseek\u{1b}[2J""#,
        ),
        (
            tiny(|file| _ = file.remove("tokenizer.ggml.pre")),
            "does not say tokenizer.ggml.pre",
        ),
        (
            tiny(|file| _ = file.remove("tokenizer.ggml.tokens")),
            "no token list",
        ),
        (
            tiny(|file| _ = file.remove("tokenizer.ggml.token_type")),
            "does not say tokenizer.ggml.token_type",
        ),
        (
            tiny(|file| _ = file.remove("tokenizer.ggml.merges")),
            "no merges",
        ),
        (
            set("tokenizer.ggml.token_type", Value::I32s(vec![1; 3])),
            "267 tokens and 3 token types",
        ),
        (
            set("tokenizer.ggml.token_type", Value::I32s(vec![9; 267])),
            "token 0 has type 9",
        ),
        (
            set("tokenizer.ggml.tokens", Value::Strs(vec!["a".into(); 267])),
            "tokens 3 and 4 are both \"a\"",
        ),
        (
            set("tokenizer.ggml.tokens", Value::I32s(vec![1; 267])),
            "tokenizer.ggml.tokens is not an array of strings",
        ),
        (
            set("tokenizer.ggml.eos_token_id", Value::U32(267)),
            "eos_token_id is 267, but there are 267 tokens",
        ),
        (
            set("tokenizer.ggml.bos_token_id", Value::I32(-1)),
            "bos_token_id is -1, which is less than 0",
        ),
        (merges("a b"), "merge 0, \"a b\", is not two tokens"),
        (merges("ab"), "merge 0, \"ab\", is not two tokens"),
        (merges("a "), "is not two tokens"),
        (merges(" a"), "is not two tokens"),
        (merges("user s"), "is not two tokens"),
        (merges("<|im_ start|>"), "is not two tokens"),
    ] {
        let message = format!("{:#}", result.err().unwrap());
        assert!(
            message.contains(expect) && message.contains("test"),
            "{message:?} says {expect:?}"
        );
    }
}

#[test]
fn text_of_one_piece_and_a_million_characters_is_encoded() {
    let tokenizer = tiny(|_| {}).unwrap();
    assert_eq!(
        tokenizer
            .encode(&"x".repeat(1_000_000), Specials::AsText)
            .unwrap()
            .len(),
        1_000_000
    );
    assert_eq!(
        tokenizer
            .encode(&"user".repeat(100_000), Specials::AsText)
            .unwrap()
            .len(),
        100_000
    );
}

/// Text that is full of what control tokens are made of.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "<\\|im_start\\|>",
        "<\\|im_end\\|>",
        "<\\|",
        "im_end",
        "\\|>",
        " ?user",
        "[a-z ]{0,3}",
        "\\PC"
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn text_never_becomes_a_control_token(text in hostile()) {
        let tokenizer = tiny(|_| {}).unwrap();
        let ids = tokenizer.encode(&text, Specials::AsText).unwrap();
        prop_assert!(ids.iter().all(|id| *id >= 3), "{ids:?}");
        let bytes: Vec<u8> = ids.iter().flat_map(|id| tokenizer.bytes(*id)).copied().collect();
        prop_assert_eq!(String::from_utf8(bytes).unwrap(), text);
    }
}
