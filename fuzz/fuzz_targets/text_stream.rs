//! Any bytes in any pieces: the text is that of the whole.
#![no_main]

use libfuzzer_sys::fuzz_target;
use speck::model::tokenizer::TextStream;

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let mut stream = TextStream::new();
    let mut text: String = pieces.iter().map(|piece| stream.push(piece)).collect();
    text += &stream.finish();
    assert_eq!(text, String::from_utf8_lossy(&pieces.concat()));
});
