//! The default target's own file: header, tokenizer and template as the reference programs see them.

use std::path::PathBuf;
use std::time::Instant;

use serde::Deserialize;
use speck::model::Token;
use speck::model::chat_template::{ChatTemplate, Message, Role};
use speck::model::gguf::GgufFile;
use speck::model::hyperparameters::{Architecture, Hyperparameters};
use speck::model::tokenizer::Tokenizer;

fn target() -> GgufFile {
    let path = std::env::var_os("SPECK_TEST_TARGET")
        .expect("SPECK_TEST_TARGET names the default target's file");
    GgufFile::open(&PathBuf::from(path)).unwrap()
}

#[derive(Deserialize)]
struct Prompt {
    prompt: String,
    prompt_ids: Vec<Token>,
}

#[test]
#[ignore = "needs the default pair: scripts/test.sh"]
fn pair_header_is_read_as_the_reference_reads_it() {
    let file = target();
    let expect = Hyperparameters {
        architecture: Architecture::Llama,
        n_layers: 30,
        hidden: 576,
        feed_forward: 1536,
        n_heads: 9,
        n_kv_heads: 3,
        head_dim: 64,
        rope_base: 100_000.0,
        rms_epsilon: 1e-5,
        trained_context: 8192,
        vocab: 49_152,
    };
    assert_eq!(Hyperparameters::from_gguf(&file).unwrap(), expect);
    assert_eq!(file.tensors().count(), 272);
    assert_eq!(file.weight_bytes(), 96_576_768);
}

#[test]
#[ignore = "needs the default pair: scripts/test.sh"]
fn pair_prompts_and_vocabularies_fit() {
    let start = Instant::now();
    let file = target();
    let opened = start.elapsed();
    let tokenizer = Tokenizer::from_gguf(&file).unwrap();
    println!(
        "opened in {opened:?}, tokenizer after {:?}",
        start.elapsed()
    );
    assert_eq!(tokenizer.end_of_turn(), [0, 2]);

    let template = ChatTemplate::from_gguf(&file, &tokenizer).unwrap();
    let prompts: Vec<Prompt> = serde_json::from_str(include_str!("cases/prompts.json")).unwrap();
    for Prompt { prompt, prompt_ids } in prompts {
        let messages = [Message {
            role: Role::User,
            content: prompt,
        }];
        assert_eq!(template.prompt(&messages, &tokenizer).unwrap(), prompt_ids);
    }

    let draft = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/smollm2-135m-draft.gguf");
    let draft = Tokenizer::from_gguf(&GgufFile::open(&draft).unwrap()).unwrap();
    tokenizer.check_same(&draft).unwrap();
}
