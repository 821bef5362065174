//! Files with tensors that the CPU engine, or speck, does not compute with.

use super::*;
use crate::model::gguf_writer::{Tensor, TinyModel, tiny_model_writer};

/// Loads a model of six layers with one more tensor, a vector called `extra`.
fn load_with(extra: &str, n_threads: usize) -> Result<Loaded> {
    let shape = TinyModel {
        layers: 6,
        hidden: 128,
        ..TinyModel::default()
    };
    let mut file = tiny_model_writer(1, shape);
    file.tensors.push(Tensor {
        name: extra.to_owned(),
        dims: vec![128],
        kind: 0,
        offset: None,
        data: vec![0; 4 * 128],
    });
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tiny.gguf");
    std::fs::write(&path, file.bytes())?;
    let settings = LoadSettings {
        target: Reference::File(path),
        draft: DraftChoice::None,
        context: 0,
        device: DeviceChoice::Cpu,
        n_threads,
        offline: true,
    };
    load(&settings, &Cancel::new(), &mut |_| {})
}

#[test]
fn what_the_engine_cannot_do_goes_to_candle() {
    let check = |extra: &str, expect: &[&str]| {
        let notes = load_with(extra, 0).unwrap().pair.notes;
        assert_eq!(notes, expect, "{extra}");
    };
    check("blk.0.attn_q.bias", &[]);
    check("blk.3.attn_rot_embd.weight", &[]);
    if crate::cpu::Isa::choose().unwrap().is_some() {
        let note = "computing with candle, which is slower: tiny: \"blk.5.attn_output.bias\" is not supported";
        check("blk.5.attn_output.bias", &[note]);
    }
}

#[test]
fn the_engine_has_the_threads_asked_for() {
    let bias = "blk.0.attn_q.bias";
    let default = load_with(bias, 0).unwrap().pair;
    let asked = load_with(bias, 3).unwrap().pair;
    let most = std::thread::available_parallelism().unwrap().get();
    assert!(
        default
            .device
            .n_threads
            .is_some_and(|n| (1..=most).contains(&n))
    );
    match crate::cpu::Isa::choose().unwrap() {
        Some(_) => assert_eq!(asked.device.n_threads, Some(3)),
        None => assert_eq!(asked.device, default.device),
    }
    // Candle's number is its own, and that is said.
    let by_candle = load_with("blk.5.attn_output.bias", 3).unwrap().pair;
    assert!(
        by_candle
            .notes
            .last()
            .is_some_and(|note| note.contains("candle computes here"))
    );
    assert_eq!(
        by_candle.device.n_threads,
        Some(candle_core::utils::get_num_threads())
    );
}

#[test]
fn a_tensor_that_nobody_reads_is_an_error() {
    for extra in [
        "blk.5.attn_q_norm.weight",
        "blk.2.attn_norm.bias",
        "blk.6.attn_norm.weight",
        "output.bias",
        "token_embd_norm.weight",
        "\u{1b}[2J",
    ] {
        let Err(error) = load_with(extra, 0) else {
            panic!("{extra:?} was dropped");
        };
        let message = format!("{error:#}");
        let expect = format!("does not compute with its tensor {extra:?}");
        assert!(message.contains(&expect), "{message}");
        assert!(message.contains("tiny.gguf"), "{message}");
    }
}
