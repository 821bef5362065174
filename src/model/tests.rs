//! What every model promises, asked of each kind: room, stopping and cutting.

use candle_core::Device;

use super::candle_decoder::CandleDecoder;
use super::cpu_decoder::CpuDecoder;
use super::gguf::GgufFile;
use super::gguf_writer::{TinyModel, tiny_model};
use super::hyperparameters::Hyperparameters;
use super::scripted::{ScriptedModel, Step};
use super::tensors::Tensors;
use super::*;
use crate::cpu::{Cores, Isa};

const CONTEXT: usize = 200;

fn models() -> Vec<Box<dyn Model>> {
    let shape = TinyModel {
        hidden: 128,
        ..TinyModel::default()
    };
    let file = GgufFile::from_bytes("tiny", tiny_model(1, shape)).unwrap();
    let hyper = Hyperparameters::from_gguf(&file).unwrap();
    let cancel = Cancel::new();
    let (mut done, mut again) = (|_| {}, |_| {});
    let cores = Cores::new(Isa::Scalar, 1).unwrap();
    let tensors = Tensors::new(&file, &cancel, &mut done);
    let cpu = CpuDecoder::load("cpu", &hyper, tensors, CONTEXT, &cores).unwrap();
    let tensors = Tensors::new(&file, &cancel, &mut again);
    let candle = CandleDecoder::load("candle", &hyper, tensors, CONTEXT, &Device::Cpu).unwrap();
    let scripted = ScriptedModel::new("scripted", 10, CONTEXT, |_| Step::Write(1));
    vec![Box::new(cpu), Box::new(candle), Box::new(scripted)]
}

#[test]
fn a_full_context_is_an_error_and_changes_nothing() {
    let cancel = Cancel::new();
    for mut model in models() {
        let name = model.name().to_owned();
        model
            .prefill(&[5; CONTEXT - 1], &cancel, &mut |_| {})
            .unwrap();
        for _ in 0..2 {
            let errors = [
                model.prefill(&[5, 6], &cancel, &mut |_| {}).unwrap_err(),
                model.forward(&[5, 6], &cancel).map(drop).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(
                    error.to_string(),
                    "the context of 200 tokens is full",
                    "{name}"
                );
            }
            assert_eq!(model.len(), CONTEXT - 1, "{name}");
        }
        model.forward(&[5], &cancel).unwrap();
        model.truncate(3);
        let all = vec![5; CONTEXT];
        assert!(model.prefill(&all, &cancel, &mut |_| {}).is_err(), "{name}");
        assert_eq!(model.len(), 3, "{name}: no chunk of what cannot fit");
    }
}

#[test]
fn a_stopped_prefill_keeps_whole_chunks() {
    for mut model in models() {
        let (name, cancel) = (model.name().to_owned(), Cancel::new());
        let mut told = Vec::new();
        let stopped = model.prefill(&[5; CONTEXT], &cancel, &mut |done| {
            told.push(done);
            if told.len() == 2 {
                cancel.cancel();
            }
        });
        assert!(matches!(stopped, Err(PassError::Cancelled(_))), "{name}");
        assert_eq!(told, [model.len() / 2, model.len()], "{name}");
        assert!((1..CONTEXT).contains(&model.len()), "{name}");
        let rest = CONTEXT - model.len();
        model
            .prefill(&vec![5; rest], &Cancel::new(), &mut |_| {})
            .unwrap();
        assert_eq!(model.len(), CONTEXT, "{name}");
    }
}

/// The program tells a stop from a failure by this, also through other errors.
#[test]
fn a_stop_is_still_a_stop_as_an_error_for_people() {
    let stop = PassError::from(crate::cancel::Cancelled).into_error();
    assert!(stop.is::<crate::cancel::Cancelled>());
    let failure = PassError::from(anyhow::anyhow!("no memory")).into_error();
    assert_eq!(failure.to_string(), "no memory");
}
