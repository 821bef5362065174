//! The CPU engine through the whole decoder, on tiny random models: its rows' bits, and its agreement
//! with the candle decoder.

use candle_core::Device;

use super::*;
use crate::cpu::Isa;
use crate::model::candle_decoder::CandleDecoder;
use crate::model::gguf_writer::{TinyModel, Weights as Stored, tiny_model};

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
        let name = format!("{} {:?}", shape.architecture, shape.weights);
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
                        "{name}, {}, {n_threads} threads, {n} rows",
                        isa.name()
                    );
                }
            }
        }
    }
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

#[test]
fn logits_agree_with_the_candle_decoder() {
    let (cancel, text) = (Cancel::new(), text(40));
    for shape in shapes() {
        let name = format!("{} {:?}", shape.architecture, shape.weights);
        let file = file(shape);
        let hyper = Hyperparameters::from_gguf(&file).unwrap();
        let mut progress = |_| {};
        let tensors = Tensors::new(&file, &cancel, &mut progress);
        let mut reference =
            CandleDecoder::load("tiny", &hyper, tensors, CONTEXT, &Device::Cpu).unwrap();
        let expect = reference.forward(&text, &cancel).unwrap();
        let got = cpu(&file, Isa::choose().unwrap().unwrap_or(Isa::Scalar), 2)
            .forward(&text, &cancel)
            .unwrap();
        assert_eq!(
            (got.rows(), got.row(0).len()),
            (expect.rows(), expect.row(0).len())
        );
        for row in 0..text.len() {
            let pairs = || got.row(row).iter().zip(expect.row(row));
            let error: f32 = pairs().map(|(a, b)| (a - b).powi(2)).sum();
            let size: f32 = expect.row(row).iter().map(|b| b.powi(2)).sum();
            // Activations are rounded to 8 bits here, and elsewhere in candle.
            assert!(error <= 2e-3 * size, "{name}, row {row}: {error} of {size}");
        }
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
