//! Any text: as text it has no control token and its bytes come back; parsed, it does not crash.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use speck::model::gguf::GgufFile;
use speck::model::tokenizer::{Specials, Tokenizer};

#[path = "../../tests/support/gguf_writer.rs"]
mod gguf_writer;
use gguf_writer::{CONTROL, Value, Writer, tiny_tokenizer};

static TOKENIZERS: LazyLock<Vec<Tokenizer>> = LazyLock::new(|| {
    let tokenizer = |pre: &str| {
        let mut file = Writer::default();
        tiny_tokenizer(&mut file, pre);
        file.set("general.architecture", Value::Str("llama".into()));
        Tokenizer::from_gguf(&GgufFile::from_bytes("tiny", file.bytes()).unwrap()).unwrap()
    };
    ["smollm", "gpt-2", "llama-bpe"].map(tokenizer).into()
});

fuzz_target!(|text: &str| {
    for tokenizer in TOKENIZERS.iter() {
        let ids = tokenizer.encode(text, Specials::AsText).unwrap();
        assert!(ids.iter().all(|id| *id as usize >= CONTROL.len()));
        let bytes: Vec<u8> = ids
            .iter()
            .flat_map(|id| tokenizer.bytes(*id))
            .copied()
            .collect();
        assert_eq!(bytes, text.as_bytes());
        tokenizer.encode(text, Specials::Parse).unwrap();
    }
});
