//! How near the CPU engine is to the same weights in float32: the top choice at each position of a text,
//! and the text's perplexity. The reference is the candle decoder on dequantised weights.

mod support;

use std::path::PathBuf;

use candle_core::Device;
use candle_core::quantized::ggml_file::qtensor_from_ggml;
use speck::cancel::Cancel;
use speck::cpu::{Cores, Isa};
use speck::model::candle_decoder::CandleDecoder;
use speck::model::cpu_decoder::CpuDecoder;
use speck::model::gguf::GgufFile;
use speck::model::hyperparameters::Hyperparameters;
use speck::model::tensors::Tensors;
use speck::model::tokenizer::{Specials, Tokenizer};
use speck::model::{Logits, Model, Token, argmax};
use support::gguf_writer::{Tensor, Writer};

/// Prose, tables and code of the project's own.
const TEXT: [&str; 4] = [
    include_str!("../docs/ARCHITECTURE.md"),
    include_str!("../README.md"),
    include_str!("../docs/models.md"),
    include_str!("../src/decoding/decoder.rs"),
];

/// Tokens that are compared, in windows that each begin with an empty cache.
const POSITIONS: usize = 4000;
const WINDOW: usize = 500;

/// The same weights, as float32.
fn float32(file: &GgufFile) -> GgufFile {
    let mut writer = Writer::default();
    for info in file.tensors() {
        let tensor = qtensor_from_ggml(
            info.dtype,
            file.bytes(info),
            info.shape.clone(),
            &Device::Cpu,
        )
        .unwrap();
        let values: Vec<f32> = (tensor
            .dequantize(&Device::Cpu)
            .unwrap()
            .flatten_all()
            .unwrap())
        .to_vec1()
        .unwrap();
        writer.tensors.push(Tensor {
            name: info.name.clone(),
            dims: info.shape.iter().rev().map(|&dim| dim as u64).collect(),
            kind: 0,
            offset: None,
            data: values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect(),
        });
    }
    GgufFile::from_bytes("float32", writer.bytes()).unwrap()
}

/// Top choices, and the negative log-likelihoods of the tokens that follow.
#[derive(Default)]
struct Scores {
    tops: Vec<Token>,
    losses: Vec<f64>,
}

impl Scores {
    fn add(&mut self, logits: &Logits, text: &[Token]) {
        for row in 0..logits.rows() {
            let logits = logits.row(row);
            self.tops.push(argmax(logits).expect("logits are numbers"));
            if let Some(&next) = text.get(row + 1) {
                let most = logits.iter().copied().fold(f32::MIN, f32::max);
                let sum: f64 = logits.iter().map(|&x| f64::from(x - most).exp()).sum();
                self.losses
                    .push(sum.ln() - f64::from(logits[next as usize] - most));
            }
        }
    }

    fn perplexity(&self) -> f64 {
        (self.losses.iter().sum::<f64>() / self.losses.len() as f64).exp()
    }
}

fn scores(model: &mut dyn Model, text: &[Token]) -> Scores {
    let mut scores = Scores::default();
    for window in text.chunks(WINDOW) {
        model.truncate(0);
        for start in (0..window.len()).step_by(50) {
            let rows = &window[start..window.len().min(start + 50)];
            let logits = model.forward(rows, &Cancel::new()).unwrap();
            scores.add(&logits, &window[start..window.len().min(start + 51)]);
        }
    }
    scores
}

#[test]
#[ignore = "long: scripts/identity.sh"]
fn full_top_choices_and_perplexity_are_those_of_float32() {
    let path =
        std::env::var_os("SPECK_TEST_TARGET").expect("SPECK_TEST_TARGET: see scripts/test.sh");
    let file = GgufFile::open(&PathBuf::from(path)).unwrap();
    let hyper = Hyperparameters::from_gguf(&file).unwrap();
    let mut text = Tokenizer::from_gguf(&file)
        .unwrap()
        .encode(&TEXT.concat(), Specials::AsText)
        .unwrap();
    assert!(text.len() >= POSITIONS, "only {} tokens", text.len());
    text.truncate(POSITIONS);

    let (cancel, mut quiet) = (Cancel::new(), |_| {});
    let isa = Isa::choose().unwrap().expect("the CPU engine runs here");
    let cores = Cores::new(isa, 2).unwrap();
    let tensors = Tensors::new(&file, &cancel, &mut quiet);
    let mut engine = CpuDecoder::load("engine", &hyper, tensors, WINDOW, &cores).unwrap();
    let got = scores(&mut engine, &text);

    let file = float32(&file);
    let tensors = Tensors::new(&file, &cancel, &mut quiet);
    let mut reference =
        CandleDecoder::load("float32", &hyper, tensors, WINDOW, &Device::Cpu).unwrap();
    let expect = scores(&mut reference, &text);

    let agreed = got
        .tops
        .iter()
        .zip(&expect.tops)
        .filter(|(a, b)| a == b)
        .count();
    let (perplexity, of_float32) = (got.perplexity(), expect.perplexity());
    println!(
        "top choice: {agreed} of {POSITIONS} ({:.2} %); perplexity {perplexity:.4}, float32 {of_float32:.4} ({:+.2} %)",
        100.0 * agreed as f64 / POSITIONS as f64,
        100.0 * (perplexity / of_float32 - 1.0)
    );
    // A guard: 98.2 % was measured. 99 % is the aim, which activations of 8 bits do not reach.
    assert!(agreed * 1000 >= POSITIONS * 975, "{agreed} of {POSITIONS}");
    assert!((perplexity / of_float32 - 1.0).abs() < 0.005);
}
