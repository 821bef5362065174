//! The CPU engine through the whole decoder, on tiny random models: its rows' bits, and its agreement
//! with the candle decoder.
//!
//! Miri (`scripts/check-miri.sh`) runs the tests of [`smallest`] alone: it takes minutes to write one of the
//! other models.

use candle_core::Device;
use candle_core::quantized::GgmlDType;

use super::*;
use crate::cpu::Isa;
use crate::model::candle_decoder::CandleDecoder;
use crate::model::gguf_writer::{TinyModel, Weights as Stored, tiny_model, tiny_model_writer};
use crate::model::hyperparameters::Architecture;

const CONTEXT: usize = 128;

fn shapes() -> Vec<TinyModel> {
    let base = || TinyModel {
        hidden: 128,
        feed_forward: 128,
        context: CONTEXT,
        ..TinyModel::default()
    };
    let mut shapes: Vec<_> = [Stored::F32, Stored::Q4_0, Stored::Q4_1, Stored::Q8_0]
        .into_iter()
        .map(|weights| TinyModel { weights, ..base() })
        .collect();
    shapes.push(TinyModel {
        architecture: "qwen2",
        ..base()
    });
    shapes.push(TinyModel {
        tied: true,
        ..base()
    });
    shapes.push(TinyModel {
        head_rows: Some(40),
        ..base()
    });
    // Heads together narrower and wider than the residual stream.
    shapes.push(TinyModel {
        heads: 3,
        kv_heads: 1,
        head_dim: Some(32),
        rope_factor: Some(4.0),
        weights: Stored::Q8_0,
        ..base()
    });
    shapes.extend([false, true].map(|tied| TinyModel {
        architecture: "qwen3",
        head_dim: Some(64),
        tied,
        ..base()
    }));
    shapes
}

fn file(shape: TinyModel) -> GgufFile {
    GgufFile::from_bytes("tiny", tiny_model(3, shape)).unwrap()
}

fn cpu(file: &GgufFile, isa: Isa, n_threads: usize) -> CpuDecoder {
    let (cancel, mut progress) = (Cancel::new(), |_| {});
    let hyper = Hyperparameters::from_gguf(file).unwrap();
    let tensors = Tensors::new(file, &cancel, &mut progress);
    let cores = Cores::new(isa, n_threads).unwrap();
    CpuDecoder::load("tiny", &hyper, tensors, CONTEXT, &cores).unwrap()
}

fn text(n: usize) -> Vec<Token> {
    (0..n)
        .map(|i| (3 + (i * i * 7 + i) % 50) as Token)
        .collect()
}

fn bits(logits: &Logits) -> Vec<Vec<u32>> {
    (0..logits.rows())
        .map(|row| {
            logits
                .row(row)
                .iter()
                .map(|logit| logit.to_bits())
                .collect()
        })
        .collect()
}

/// Numbers of rows in passes behind `prompt`, against the scalar engine's single rows on one thread.
struct RowCounts<'a> {
    load: &'a dyn Fn(Isa, usize) -> CpuDecoder,
    prompt: Vec<Token>,
    rest: Vec<Token>,
    rows: Vec<usize>,
}

impl RowCounts<'_> {
    fn check(&self, what: &str, runs: impl IntoIterator<Item = (Isa, usize)>) {
        let cancel = Cancel::new();
        let mut scalar = (self.load)(Isa::Scalar, 1);
        scalar.prefill(&self.prompt, &cancel, &mut |_| {}).unwrap();
        let single: Vec<_> = (self.rest.iter())
            .flat_map(|&token| bits(&scalar.forward(&[token], &cancel).unwrap()))
            .collect();
        for (isa, n_threads) in runs {
            let mut model = (self.load)(isa, n_threads);
            model.prefill(&self.prompt, &cancel, &mut |_| {}).unwrap();
            for &n in &self.rows {
                model.truncate(self.prompt.len());
                let got = bits(&model.forward(&self.rest[..n], &cancel).unwrap());
                assert!(
                    got == single[..n],
                    "{what}, {}, {n_threads} threads, {n} rows",
                    isa.name()
                );
            }
        }
    }
}

/// The instruction sets that are here, with each number of threads.
fn runs(n_threads: std::ops::RangeInclusive<usize>) -> impl Iterator<Item = (Isa, usize)> {
    let isas = Isa::ALL.iter().filter(|isa| isa.is_here());
    isas.flat_map(move |&isa| n_threads.clone().map(move |n| (isa, n)))
}

#[test]
#[cfg_attr(miri, ignore = "large models")]
fn rows_have_the_same_bits_however_many_share_the_pass() {
    for shape in shapes() {
        let file = file(shape);
        let counts = RowCounts {
            load: &|isa, n_threads| cpu(&file, isa, n_threads),
            prompt: text(21),
            rest: text(32),
            rows: vec![1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32],
        };
        counts.check(&format!("{shape:?}"), runs(1..=3));
    }
}

/// Every format that files store weights in, any number of rows up to 32, 1 to 4 threads.
#[test]
#[cfg_attr(miri, ignore = "large models")]
fn every_format_gives_a_row_the_same_bits() {
    let dtypes = [
        GgmlDType::Q4_0,
        GgmlDType::Q4_1,
        GgmlDType::Q5_0,
        GgmlDType::Q5_1,
        GgmlDType::Q8_0,
        GgmlDType::Q4K,
        GgmlDType::Q5K,
        GgmlDType::Q6K,
    ];
    for dtype in dtypes {
        let hyper = Hyperparameters {
            hidden: 256,
            feed_forward: 256,
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 64,
            vocab: 64,
            ..smallest()
        };
        let counts = RowCounts {
            load: &random(hyper, dtype),
            prompt: text(21),
            rest: text(32),
            rows: (1..=32).collect(),
        };
        let runs = runs(1..=4).filter(|&(isa, _)| isa != Isa::Scalar);
        counts.check(&format!("{dtype:?}"), runs);
    }
}

/// Whole passes for Miri: a prompt, rows in two tiles, and the last of them again in its place.
#[test]
fn two_threads_give_a_truncated_row_the_same_bits_again() {
    let (cancel, rows) = (Cancel::new(), [3, 4, 5, 6, 7]);
    let mut model = random(smallest(), GgmlDType::Q4_1)(Isa::Scalar, 2);
    model.prefill(&[1, 2], &cancel, &mut |_| {}).unwrap();
    let together = bits(&model.forward(&rows, &cancel).unwrap());
    model.truncate(6);
    let alone = bits(&model.forward(&rows[4..], &cancel).unwrap());
    assert_eq!(model.len(), 7);
    assert!(alone[..] == together[4..]);
}

/// The smallest decoder whose heads and feed-forward blocks two threads share.
fn smallest() -> Hyperparameters {
    Hyperparameters {
        architecture: Architecture::Qwen2,
        n_layers: 1,
        hidden: BLOCK,
        feed_forward: 2 * BLOCK,
        n_heads: 2,
        n_kv_heads: 1,
        head_dim: BLOCK,
        rope_base: 1e4,
        rms_epsilon: 1e-6,
        trained_context: CONTEXT,
        vocab: 16,
    }
}

/// Loads a model of that shape with biases, and weights of one type.
fn random(hyper: Hyperparameters, dtype: GgmlDType) -> impl Fn(Isa, usize) -> CpuDecoder {
    let (hidden, inner) = (hyper.hidden, hyper.feed_forward);
    let (q, kv) = (
        hyper.n_heads * hyper.head_dim,
        hyper.n_kv_heads * hyper.head_dim,
    );
    let matrix = |name: String, rows, columns| (name, vec![rows, columns], dtype);
    let vector = |name: String, len| (name, vec![len], GgmlDType::F32);
    let mut tensors = vec![
        matrix("token_embd.weight".to_owned(), hyper.vocab, hidden),
        vector("output_norm.weight".to_owned(), hidden),
    ];
    for i in 0..hyper.n_layers {
        let name = |part: &str| format!("blk.{i}.{part}");
        tensors.extend([
            vector(name("attn_norm.weight"), hidden),
            matrix(name("attn_q.weight"), q, hidden),
            matrix(name("attn_k.weight"), kv, hidden),
            matrix(name("attn_v.weight"), kv, hidden),
            vector(name("attn_q.bias"), q),
            vector(name("attn_k.bias"), kv),
            vector(name("attn_v.bias"), kv),
            matrix(name("attn_output.weight"), hidden, q),
            vector(name("ffn_norm.weight"), hidden),
            matrix(name("ffn_gate.weight"), inner, hidden),
            matrix(name("ffn_up.weight"), inner, hidden),
            matrix(name("ffn_down.weight"), hidden, inner),
        ]);
    }
    let file = GgufFile::random("tiny", tensors).unwrap();
    move |isa, n_threads| {
        let (cancel, mut progress) = (Cancel::new(), |_| {});
        let tensors = Tensors::new(&file, &cancel, &mut progress);
        let cores = Cores::new(isa, n_threads).unwrap();
        CpuDecoder::load("tiny", &hyper, tensors, CONTEXT, &cores).unwrap()
    }
}

/// A prefill is the same passes without logits: what is in the cache does not depend on its chunks.
#[test]
#[cfg_attr(miri, ignore = "large models")]
fn the_cache_does_not_depend_on_how_it_was_filled() {
    let (cancel, text) = (Cancel::new(), text(90));
    let file = file(TinyModel {
        hidden: 128,
        ..TinyModel::default()
    });
    let isa = Isa::choose().unwrap().unwrap_or(Isa::Scalar);
    let expect = {
        let mut model = cpu(&file, isa, 2);
        model.prefill(&text, &cancel, &mut |_| {}).unwrap();
        bits(&model.forward(&[5], &cancel).unwrap())
    };
    for step in [1, 3, 40] {
        let mut model = cpu(&file, isa, 1);
        for chunk in text.chunks(step) {
            model.forward(chunk, &cancel).unwrap();
        }
        model.truncate(60);
        model.prefill(&text[60..], &cancel, &mut |_| {}).unwrap();
        assert!(
            bits(&model.forward(&[5], &cancel).unwrap()) == expect,
            "in steps of {step}"
        );
    }
}

/// What the CPU engine and the candle decoder make of a text.
fn logits(file: &GgufFile, text: &[Token]) -> [Logits; 2] {
    let (cancel, mut progress) = (Cancel::new(), |_| {});
    let hyper = Hyperparameters::from_gguf(file).unwrap();
    let tensors = Tensors::new(file, &cancel, &mut progress);
    let mut candle = CandleDecoder::load("tiny", &hyper, tensors, CONTEXT, &Device::Cpu).unwrap();
    let mut cpu = cpu(file, Isa::choose().unwrap().unwrap_or(Isa::Scalar), 2);
    [
        cpu.forward(text, &cancel).unwrap(),
        candle.forward(text, &cancel).unwrap(),
    ]
}

/// The squared distance of two rows, as a part of the second's squared length.
fn distance(got: &[f32], expect: &[f32]) -> f32 {
    let error: f32 = got.iter().zip(expect).map(|(a, b)| (a - b).powi(2)).sum();
    error / expect.iter().map(|b| b.powi(2)).sum::<f32>()
}

#[test]
#[cfg_attr(miri, ignore = "large models")]
fn logits_agree_with_the_candle_decoder() {
    let text = text(40);
    for shape in shapes() {
        let [got, expect] = logits(&file(shape), &text);
        assert_eq!(
            (got.rows(), got.row(0).len()),
            (expect.rows(), expect.row(0).len())
        );
        for row in 0..text.len() {
            let distance = distance(got.row(row), expect.row(row));
            // Activations are rounded to 8 bits here, and elsewhere in candle.
            assert!(distance <= 2e-3, "{shape:?}, row {row}: {distance}");
        }
    }
}

/// A norm takes the size of queries and keys away, whatever decoder computes it.
#[test]
#[cfg_attr(miri, ignore = "large models")]
fn only_qwen3_norms_queries_and_keys() {
    let text = text(20);
    for (architecture, expect_same) in [("llama", false), ("qwen2", false), ("qwen3", true)] {
        let shape = TinyModel {
            architecture,
            hidden: 128,
            feed_forward: 128,
            context: CONTEXT,
            head_dim: Some(64),
            ..TinyModel::default()
        };
        for matrix in ["attn_q.weight", "attn_k.weight"] {
            let mut larger = tiny_model_writer(3, shape);
            for weight in larger
                .tensor(&format!("blk.1.{matrix}"))
                .data
                .chunks_exact_mut(4)
            {
                let value = f32::from_le_bytes(weight.try_into().unwrap());
                weight.copy_from_slice(&(8.0 * value).to_le_bytes());
            }
            let larger = GgufFile::from_bytes("tiny", larger.bytes()).unwrap();
            let pairs = logits(&file(shape), &text)
                .into_iter()
                .zip(logits(&larger, &text));
            for (expect, got) in pairs {
                let distance = distance(got.row(19), expect.row(19));
                assert_eq!(
                    distance < 1e-5,
                    expect_same,
                    "{architecture}, {matrix}: {distance}"
                );
            }
        }
    }
}

/// Llama 3 stretches positions by factors in the file.
#[test]
#[cfg_attr(miri, ignore = "large models")]
fn rope_factors_divide_the_frequencies() {
    let shape = |rope_factor| TinyModel {
        hidden: 128,
        context: CONTEXT,
        rope_factor,
        ..TinyModel::default()
    };
    let hyper = Hyperparameters::from_gguf(&file(shape(None))).unwrap();
    let size = hyper.head_dim / 2;
    let (cos, sin) = rotations(&hyper, None, 9);
    let (slow_cos, slow_sin) = rotations(&hyper, Some(&vec![4.0; size]), 9);
    assert_eq!(slow_cos[8 * size..], cos[2 * size..3 * size]);
    assert_eq!(slow_sin[8 * size..], sin[2 * size..3 * size]);

    let text = text(20);
    let of = |factor| logits(&file(shape(factor)), &text);
    for ((none, one), four) in of(None).into_iter().zip(of(Some(1.0))).zip(of(Some(4.0))) {
        assert!(bits(&none) == bits(&one));
        assert!(distance(four.row(19), none.row(19)) > 1e-4);
    }
}

#[test]
fn a_stopped_pass_leaves_the_cache_as_it_was() {
    let isa = Isa::choose().unwrap().unwrap_or(Isa::Scalar);
    let mut model = random(smallest(), GgmlDType::Q8_0)(isa, 2);
    model.prefill(&[1, 2], &Cancel::new(), &mut |_| {}).unwrap();
    let stopped = Cancel::new();
    stopped.cancel();
    assert!(matches!(
        model.forward(&[4, 5], &stopped),
        Err(PassError::Cancelled(_))
    ));
    assert!(matches!(
        model.forward(&[3; 200], &Cancel::new()),
        Err(PassError::Failed(_))
    ));
    assert_eq!(model.len(), 2);
}
