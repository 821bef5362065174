//! Files that are cut short, damaged or made to hurt: each must give an error that says what is wrong,
//! soon and without much memory.

mod support;

use std::io::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use speck::model::chat_template::ChatTemplate;
use speck::model::gguf::GgufFile;
use speck::model::hyperparameters::Hyperparameters;
use speck::model::tokenizer::Tokenizer;
use support::gguf_writer::{TinyModel, Value, Weights, Writer, tiny_model, tiny_model_writer};

/// Everything that is read from a file before its weights are.
fn load(bytes: Vec<u8>) -> anyhow::Result<()> {
    let file = GgufFile::from_bytes("test.gguf", bytes)?;
    Hyperparameters::from_gguf(&file)?;
    let tokenizer = Tokenizer::from_gguf(&file)?;
    ChatTemplate::from_gguf(&file, &tokenizer)?;
    for tensor in file.tensors() {
        assert_eq!(file.bytes(tensor).len(), tensor.n_bytes());
    }
    Ok(())
}

/// The error of a file, found in time.
fn error(name: &str, bytes: Vec<u8>) -> String {
    let start = Instant::now();
    let error = load(bytes).expect_err(name);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{name} took {:?}",
        start.elapsed()
    );
    let message = format!("{error:#}");
    assert!(!message.contains(char::is_control), "{name}: {message:?}");
    assert!(message.len() < 600, "{name}: {message}");
    message
}

fn tiny() -> Writer {
    tiny_model_writer(7, TinyModel::default())
}

fn changed(change: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut file = tiny();
    change(&mut file);
    file.bytes()
}

fn with(key: &str, value: Value) -> Vec<u8> {
    changed(|file| _ = file.set(key, value))
}

/// An array's type number and its element type, count and bytes.
fn array(element: u32, count: u64, bytes: &[u8]) -> Value {
    let mut raw = element.to_le_bytes().to_vec();
    raw.extend(count.to_le_bytes());
    raw.extend(bytes);
    Value::Raw(9, raw)
}

fn nested(depth: usize) -> Value {
    let mut raw = Vec::new();
    for _ in 0..depth {
        raw.extend(9u32.to_le_bytes());
        raw.extend(1u64.to_le_bytes());
    }
    raw.extend(4u32.to_le_bytes());
    raw.extend(0u64.to_le_bytes());
    Value::Raw(9, raw)
}

#[test]
fn the_unchanged_files_load() {
    for architecture in ["llama", "qwen2", "qwen3"] {
        for weights in [Weights::F32, Weights::Q8_0, Weights::Q4_0, Weights::Q4_1] {
            for (tied, head_rows) in [(false, None), (false, Some(100)), (true, None)] {
                let options = TinyModel {
                    architecture,
                    head_rows,
                    tied,
                    weights,
                    ..TinyModel::default()
                };
                load(tiny_model(1, options)).unwrap();
            }
        }
    }
}

/// Name, file and a part of its error.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let dims =
        |dims: &[u64]| changed(|file| file.tensor("output_norm.weight").dims = dims.to_vec());
    let kind = |kind: u32| changed(|file| file.tensor("output_norm.weight").kind = kind);
    let offset =
        |offset: u64| changed(|file| file.tensor("output_norm.weight").offset = Some(offset));
    let length = |length: u64| length.to_le_bytes().to_vec();
    vec![
        ("empty", Vec::new(), "the file is empty: download it again"),
        ("half a magic", b"GG".to_vec(), "cut short: download it again"),
        ("other magic", changed(|file| file.magic = *b"GGML"), "not a GGUF file"),
        ("web page", b"<!DOCTYPE html><html>".to_vec(), "a web page"),
        ("git lfs", b"version https://git-lfs.github.com/spec/v1\n".to_vec(), "Git LFS pointer"),
        ("zeros", vec![0; 4096], "not a GGUF file"),
        ("magic only", b"GGUF".to_vec(), "the version: the file ends at byte 4"),
        ("version 0", changed(|file| file.version = 0), "GGUF version 0"),
        ("version 1", changed(|file| file.version = 1), "GGUF version 1"),
        ("version 4", changed(|file| file.version = 4), "GGUF version 4"),
        ("big-endian", changed(|file| file.version = 3u32.swap_bytes()), "big-endian"),
        ("2^64 tensors", changed(|file| file.n_tensors = Some(u64::MAX)), "states 18446744073709551615 tensors"),
        ("2^64 keys", changed(|file| file.n_keys = Some(u64::MAX)), "states 18446744073709551615 metadata keys"),
        ("more tensors than bytes", changed(|file| file.n_tensors = Some(65_536)), "before its 65536 tensors do"),
        ("a tensor too many", changed(|file| file.n_tensors = Some(22)), "tensor 21 of 22"),
        ("a key too many", changed(|file| file.n_keys = Some(file.keys.len() as u64 + 1)), "the file is damaged"),
        ("a key too few", changed(|file| file.n_keys = Some(file.keys.len() as u64 - 1)), "tensor"),
        ("key of 2^60 bytes", [&changed(|_| {})[..24], &length(1 << 60), &[0; 4096]].concat(), "metadata key 0 of 19: a string of 1152921504606846976 bytes"),
        ("long key", with(&"k".repeat(2000), Value::Bool(true)), "a string of 2000 bytes"),
        ("empty key", with("", Value::Bool(true)), "its name is empty"),
        ("key twice", changed(|file| file.keys.push(("general.name".into(), Value::Bool(true)))), "\"general.name\" is there twice"),
        ("value type 13", with("x", Value::Raw(13, vec![0; 64])), "\"x\": value type 13 does not exist"),
        ("boolean 2", with("x", Value::Raw(7, vec![2])), "a boolean is 2"),
        ("string of 2^63 bytes", with("x", Value::Raw(8, length(1 << 63))), "\"x\": a string of 9223372036854775808 bytes"),
        ("string past the end", with("x", Value::Raw(8, length(60_000_000))), "\"x\": the file ends at byte"),
        ("array of 2^62 strings", with("x", array(8, 1 << 62, &[])), "an array of 4611686018427387904 elements"),
        ("array of 2^62 numbers", with("x", array(10, 1 << 62, &[])), "an array of 4611686018427387904 elements"),
        ("array of 10^9 bytes", with("x", array(0, 1_000_000_000, &[])), "an array of 1000000000 elements"),
        ("array of type 77", with("x", array(77, 1, &[0; 16])), "value type 77"),
        ("nested arrays", with("x", nested(1000)), "nested more than 4 deep"),
        ("alignment 0", with("general.alignment", Value::U32(0)), "general.alignment is 0"),
        ("alignment 3", with("general.alignment", Value::U32(3)), "general.alignment is 3"),
        ("alignment 4", with("general.alignment", Value::U32(4)), "general.alignment is 4"),
        ("alignment 2^31", with("general.alignment", Value::U32(1 << 31)), "general.alignment is 2147483648"),
        ("alignment -8", with("general.alignment", Value::I32(-8)), "general.alignment is 0"),
        ("alignment as text", with("general.alignment", Value::Str("32".into())), "general.alignment is a string"),
        ("no dimensions", dims(&[]), "\"output_norm.weight\": it has 0 dimensions"),
        ("five dimensions", dims(&[1; 5]), "it has 5 dimensions"),
        ("300 dimensions", dims(&[1; 300]), "it has 300 dimensions"),
        ("dimension 0", dims(&[0]), "a dimension is 0"),
        ("dimensions overflow", dims(&[1 << 40, 1 << 40]), "beyond any file"),
        ("bytes overflow", dims(&[1 << 62]), "beyond any file"),
        ("dimensions beyond the file", dims(&[1 << 30]), "should end at byte"),
        ("type 999", kind(999), "its type 999 (unknown)"),
        ("type Q2_K", kind(10), "its type 10 (Q2_K) is not one that speck reads: take a file in F32"),
        ("type MXFP4", kind(39), "(MXFP4)"),
        ("half a block", changed(|file| file.tensor("output.weight").kind = 12), "rows have 64 elements, not a multiple"),
        ("offset 2^64", offset(u64::MAX - 31), "its offset is beyond any file"),
        ("offset beyond the file", offset(1 << 40), "should end at byte"),
        ("offset off the grid", offset(33), "not at a multiple of 32"),
        ("overlap", offset(32), "lie on each other"),
        ("tensor twice", changed(|file| file.tensor("output_norm.weight").name = "output.weight".into()), "\"output.weight\" is there twice"),
        ("nameless tensor", changed(|file| file.tensor("output_norm.weight").name.clear()), "its name is empty"),
        ("escape in a name", changed(|file| { let tensor = file.tensor("output_norm.weight"); tensor.dims.clear(); tensor.name = "\u{1b}[2J".into(); }), "tensor \"\\u{1b}[2J\": it has 0"),
        ("part of a model", with("split.count", Value::U32(3)), "one of 3 parts"),
        ("no tensors", changed(|file| file.tensors.clear()), "no tensor token_embd.weight"),
        ("no architecture", changed(|file| _ = file.remove("general.architecture")), "does not say general.architecture"),
        ("architecture mamba", with("general.architecture", Value::Str("mamba".into())), "\"mamba\" is not one that speck runs (llama, qwen2, qwen3)"),
        ("architecture 7", with("general.architecture", Value::U32(7)), "general.architecture is of type integer, not string"),
        ("architecture of control characters", with("general.architecture", Value::Str("\u{1b}]0;x\u{7}".into())), "is not one that speck runs"),
        ("no layers", with("llama.block_count", Value::U32(0)), "llama.block_count is 0, not from 1 to 1024"),
        ("2^32 layers", with("llama.block_count", Value::U32(u32::MAX)), "llama.block_count is 4294967295"),
        ("layers missing", changed(|file| _ = file.remove("llama.block_count")), "does not say llama.block_count"),
        ("layers by layer", with("llama.attention.head_count_kv", Value::I32s(vec![2, 2])), "is of type array, not integer"),
        ("hidden 2^60", with("llama.embedding_length", Value::U64(1 << 60)), "llama.embedding_length is 1152921504606846976"),
        ("no heads", with("llama.attention.head_count", Value::U32(0)), "llama.attention.head_count is 0"),
        ("heads do not divide", with("llama.attention.head_count", Value::U32(6)), "llama.embedding_length is 64, not a multiple of 6"),
        ("heads of width 1", with("llama.attention.head_count", Value::U32(64)), "makes heads of 1"),
        ("KV heads do not divide", with("llama.attention.head_count_kv", Value::U32(3)), "head_count is 4, not a multiple of 3"),
        ("half the head rotated", with("llama.rope.dimension_count", Value::U32(8)), "rope.dimension_count is 8"),
        ("other values", with("llama.attention.value_length", Value::U32(8)), "attention.value_length is 8"),
        ("scaled positions", with("llama.rope.scaling.type", Value::Str("yarn".into())), "rope.scaling.type is \"yarn\""),
        ("linear positions", with("llama.rope.scale_linear", Value::F32(4.0)), "rope.scale_linear is 4"),
        ("rope base NaN", with("llama.rope.freq_base", Value::F32(f32::NAN)), "rope.freq_base is NaN"),
        ("rope base 0", with("llama.rope.freq_base", Value::F32(0.0)), "rope.freq_base is 0"),
        ("epsilon infinite", with("llama.attention.layer_norm_rms_epsilon", Value::F32(f32::INFINITY)), "epsilon is inf"),
        ("context 0", with("llama.context_length", Value::U32(0)), "llama.context_length is 0"),
        ("context 2^63", with("llama.context_length", Value::U64(1 << 63)), "llama.context_length is 9223372036854775808"),
        ("experts", with("llama.expert_count", Value::U32(8)), "mixtures of experts"),
        ("embedding of one dimension", changed(|file| file.tensor("token_embd.weight").dims = vec![64]), "has shape [64]"),
        ("more tokens than rows", changed(|file| file.tensor("token_embd.weight").dims = vec![64, 5]), "has 267 tokens, but token_embd.weight has 5 rows"),
        ("merge out of the vocabulary", with("tokenizer.ggml.merges", Value::Strs(vec!["a zz".into()])), "merge 0"),
        ("merges as numbers", with("tokenizer.ggml.merges", Value::I32s(vec![1])), "is not an array of strings"),
        ("token that is not UTF-8", with("tokenizer.ggml.tokens", array(8, 1, &[1, 0, 0, 0, 0, 0, 0, 0, 0xff])), "element 0 is not one"),
        ("template that is not UTF-8", with("tokenizer.chat_template", Value::Raw(8, [&length(1)[..], &[0xff]].concat())), "tokenizer.chat_template is not UTF-8"),
        ("template of 2 MiB", with("tokenizer.chat_template", Value::Str("x".repeat(2 << 20))), "chat template has 2097152 bytes"),
        ("template that does not end", with("tokenizer.chat_template", Value::Str("{% if".into())), "chat template is not one that speck can read"),
    ]
}

#[test]
fn hostile_files() {
    let cases = cases();
    assert!(cases.len() >= 40);
    let wrong: Vec<_> = cases
        .into_iter()
        .map(|(name, bytes, expect)| (name, error(name, bytes), expect))
        .filter(|(_, message, expect)| !message.contains(expect) || !message.contains("test.gguf"))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_little_memory();
}

/// The most memory that this process ever had is that of its test files, not what they ask for.
fn assert_little_memory() {
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kilobytes < 300_000, "{peak}");
    }
}

#[test]
fn every_prefix_is_an_error() {
    let options = TinyModel {
        layers: 1,
        hidden: 32,
        feed_forward: 32,
        heads: 1,
        kv_heads: 1,
        weights: Weights::Q4_0,
        ..TinyModel::default()
    };
    let whole = tiny_model(3, options);
    let header_ends = 12_000;
    // Every cut of the header, then some of the data.
    for len in (0..header_ends)
        .chain((header_ends..whole.len()).step_by(97))
        .chain([whole.len() - 1])
    {
        let error = GgufFile::from_bytes("test.gguf", whole[..len].to_vec()).expect_err("a prefix");
        let message = format!("{error:#}");
        assert!(message.contains("download it again"), "{len}: {message}");
    }
    load(whole).unwrap();
}

#[test]
fn files_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let check = |name: &str, expect: &str| {
        let message = format!(
            "{:#}",
            GgufFile::open(&folder.path().join(name)).unwrap_err()
        );
        assert!(
            message.contains(expect) && message.contains(name),
            "{message}"
        );
    };
    check("missing.gguf", "cannot open the model file");
    check("", "this is not a file");
    std::fs::File::create(folder.path().join("empty.gguf")).unwrap();
    check("empty.gguf", "the file is empty");
    let whole = tiny_model(3, TinyModel::default());
    std::fs::File::create(folder.path().join("cut.gguf"))
        .unwrap()
        .write_all(&whole[..whole.len() / 2])
        .unwrap();
    check("cut.gguf", "cut short; download it again");
    let path = folder.path().join("whole.gguf");
    std::fs::write(&path, &whole).unwrap();
    let file = GgufFile::open(&path).unwrap();
    assert_eq!(file.tensors().count(), 21);
    assert_eq!(file.tensor("token_embd.weight").unwrap().shape, [267, 64]);
    let data: u64 = file
        .tensors()
        .map(|tensor| file.bytes(tensor).len() as u64)
        .sum();
    assert_eq!(data, file.weight_bytes());
}

#[cfg(unix)]
#[test]
fn a_pipe_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    assert!(format!("{:#}", GgufFile::open(&path).unwrap_err()).contains("this is not a file"));
    assert!(
        format!("{:#}", GgufFile::open("/dev/zero".as_ref()).unwrap_err())
            .contains("this is not a file")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// One byte of the header is another: the file loads or says why not.
    #[test]
    fn changed_bytes_of_a_header(at in 0usize..9000, byte: u8) {
        let mut bytes = tiny().bytes();
        bytes[at] = byte;
        let start = Instant::now();
        if let Err(error) = load(bytes) {
            prop_assert!(format!("{error:#}").contains("test.gguf"), "{error:#}");
        }
        prop_assert!(start.elapsed() < Duration::from_secs(20));
    }

    /// Anything behind a true start.
    #[test]
    fn random_headers(tail in prop::collection::vec(any::<u8>(), 0..400), n_tensors in 0u64..3, n_keys in 0u64..3) {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend(n_tensors.to_le_bytes());
        bytes.extend(n_keys.to_le_bytes());
        bytes.extend(tail);
        if let Err(error) = GgufFile::from_bytes("test.gguf", bytes) {
            prop_assert!(format!("{error:#}").contains("test.gguf"), "{error:#}");
        }
    }
}
