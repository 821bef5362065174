//! The CPU engine through the whole decoder, on tiny random models: its rows' bits, and its agreement
//! with the candle decoder.

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

/// Rows of one pass behind a prefix, against the scalar engine's single rows on one thread.
#[test]
fn rows_have_the_same_bits_however_many_share_the_pass() {
    let (cancel, prompt, rest) = (Cancel::new(), text(21), text(32));
    for shape in shapes() {
        let file = file(shape);
        let mut scalar = cpu(&file, Isa::Scalar, 1);
        scalar.prefill(&prompt, &cancel, &mut |_| {}).unwrap();
        let single: Vec<_> = rest
            .iter()
            .flat_map(|&token| bits(&scalar.forward(&[token], &cancel).unwrap()))
            .collect();
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            for n_threads in 1..=3 {
                let mut model = cpu(&file, isa, n_threads);
                model.prefill(&prompt, &cancel, &mut |_| {}).unwrap();
                for n in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32] {
                    model.truncate(prompt.len());
                    let got = bits(&model.forward(&rest[..n], &cancel).unwrap());
                    assert!(
                        got == single[..n],
                        "{shape:?}, {}, {n_threads} threads, {n} rows",
                        isa.name()
                    );
                }
            }
        }
    }
}

/// Every format that files store weights in, any number of rows up to 32, 1 to 4 threads.
#[test]
fn every_format_gives_a_row_the_same_bits() {
    let (cancel, prompt, rest) = (Cancel::new(), text(21), text(32));
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
        let (hyper, file) = one_layer(dtype);
        let model = |isa, n_threads| {
            let (cancel, mut progress) = (Cancel::new(), |_| {});
            let tensors = Tensors::new(&file, &cancel, &mut progress);
            let cores = Cores::new(isa, n_threads).unwrap();
            CpuDecoder::load("tiny", &hyper, tensors, CONTEXT, &cores).unwrap()
        };
        let mut scalar = model(Isa::Scalar, 1);
        scalar.prefill(&prompt, &cancel, &mut |_| {}).unwrap();
        let single: Vec<_> = rest
            .iter()
            .flat_map(|&token| bits(&scalar.forward(&[token], &cancel).unwrap()))
            .collect();
        let isas = Isa::ALL
            .iter()
            .filter(|isa| isa.is_here() && **isa != Isa::Scalar);
        for (&isa, n_threads) in isas.flat_map(|isa| (1..=4).map(move |n| (isa, n))) {
            let mut model = model(isa, n_threads);
            model.prefill(&prompt, &cancel, &mut |_| {}).unwrap();
            for n in 1..=rest.len() {
                model.truncate(prompt.len());
                let got = bits(&model.forward(&rest[..n], &cancel).unwrap());
                assert!(
                    got == single[..n],
                    "{dtype:?}, {}, {n_threads} threads, {n} rows",
                    isa.name()
                );
            }
        }
    }
}

/// A model of one layer with weights of one type, biases, and grouped heads.
fn one_layer(dtype: GgmlDType) -> (Hyperparameters, GgufFile) {
    let (width, kv) = (256, 128);
    let hyper = Hyperparameters {
        architecture: Architecture::Qwen2,
        n_layers: 1,
        hidden: width,
        feed_forward: width,
        n_heads: 4,
        n_kv_heads: 2,
        head_dim: 64,
        rope_base: 1e4,
        rms_epsilon: 1e-6,
        trained_context: CONTEXT,
        vocab: 64,
    };
    let matrix = |name: &str, rows| (name.to_owned(), vec![rows, width], dtype);
    let vector = |name: &str, len| (name.to_owned(), vec![len], GgmlDType::F32);
    let tensors = vec![
        matrix("token_embd.weight", 64),
        vector("output_norm.weight", width),
        vector("blk.0.attn_norm.weight", width),
        matrix("blk.0.attn_q.weight", width),
        matrix("blk.0.attn_k.weight", kv),
        matrix("blk.0.attn_v.weight", kv),
        vector("blk.0.attn_q.bias", width),
        vector("blk.0.attn_k.bias", kv),
        vector("blk.0.attn_v.bias", kv),
        matrix("blk.0.attn_output.weight", width),
        vector("blk.0.ffn_norm.weight", width),
        matrix("blk.0.ffn_gate.weight", width),
        matrix("blk.0.ffn_up.weight", width),
        matrix("blk.0.ffn_down.weight", width),
    ];
    (hyper, GgufFile::random("tiny", tensors).unwrap())
}

/// A prefill is the same passes without logits: what is in the cache does not depend on its chunks.
#[test]
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
    let file = file(TinyModel {
        hidden: 128,
        ..TinyModel::default()
    });
    let mut model = cpu(&file, Isa::choose().unwrap().unwrap_or(Isa::Scalar), 2);
    model
        .prefill(&text(10), &Cancel::new(), &mut |_| {})
        .unwrap();
    let stopped = Cancel::new();
    stopped.cancel();
    assert!(matches!(
        model.forward(&[4, 5], &stopped),
        Err(PassError::Cancelled(_))
    ));
    assert!(matches!(
        model.forward(&text(200), &Cancel::new()),
        Err(PassError::Failed(_))
    ));
    assert_eq!(model.len(), 10);
}
