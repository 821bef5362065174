//! Any bytes as a model file: an error or a file whose parts can all be read, never a crash.
#![no_main]

use libfuzzer_sys::fuzz_target;
use speck::model::chat_template::ChatTemplate;
use speck::model::gguf::GgufFile;
use speck::model::hyperparameters::Hyperparameters;
use speck::model::tokenizer::Tokenizer;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = GgufFile::from_bytes("fuzz", bytes.to_vec()) else {
        return;
    };
    for tensor in file.tensors() {
        assert_eq!(file.bytes(tensor).len(), tensor.n_bytes());
    }
    let _ = Hyperparameters::from_gguf(&file);
    if let Ok(tokenizer) = Tokenizer::from_gguf(&file) {
        let _ = ChatTemplate::from_gguf(&file, &tokenizer);
    }
});
