//! Other models while the screen is up: the picker, loading, what fails, an engine that has ended.

use insta::assert_snapshot;
use speck::app::Msg;
use speck::engine::protocol::{Event, FinishReason, ModelEntry, NotLoaded, Ready};

use crate::user::{User, failure, loading, ready};

const SIZE: (u16, u16) = (100, 30);

fn entry(reference: &str, title: &str, about: &str, size: u64) -> ModelEntry {
    ModelEntry {
        reference: reference.to_owned(),
        title: title.to_owned(),
        about: about.to_owned(),
        size: Some(size),
        here: true,
        unfit: None,
    }
}

fn models() -> Vec<ModelEntry> {
    let large = "weights and context need 44.2 GiB and this machine has 16.0";
    vec![
        entry(
            "smollm2-135m",
            "SmolLM2-135M",
            "small and quick to start; its draft ships inside speck",
            98_362_432,
        ),
        ModelEntry {
            here: false,
            ..entry("qwen2.5-1.5b", "Qwen2.5-1.5B", "general", 1_117_320_736)
        },
        ModelEntry {
            unfit: Some(large.to_owned()),
            ..entry(
                "bartowski/Qwen2.5-72B-Instruct-GGUF:Qwen2.5-72B-Instruct-Q4_K_M.gguf@main",
                "Qwen2.5-72B-Instruct-Q4_K_M",
                "bartowski/Qwen2.5-72B-Instruct-GGUF",
                47_415_715_104,
            )
        },
        entry(
            "/models/日本語\x1b[31m.gguf",
            "日本語\x1b[31m",
            "/models",
            12_345,
        ),
    ]
}

/// The picker is open and filled.
pub fn picking(size: (u16, u16)) -> User {
    picked(size, "")
}

/// The same; keys follow.
fn picked(size: (u16, u16), keys: &str) -> User {
    let mut user = User::ready(size);
    user.keys("/model<Enter>");
    assert_eq!(user.effects, ["list models"]);
    user.effects.clear();
    user.update(Msg::Models(models()));
    user.keys(keys);
    user
}

/// Another model is ready.
fn other() -> Event {
    let Event::Ready(ready) = ready() else {
        panic!("it is ready")
    };
    let mut models = ready.models.clone();
    "qwen2.5-1.5b".clone_into(&mut models.target);
    Event::Ready(Ready {
        models,
        target: "Qwen2.5-1.5B".to_owned(),
        strategy: "plain",
        ..ready
    })
}

#[test]
fn the_picker_at_all_sizes() {
    for size in [(160, 50), (120, 40), (80, 24), (60, 16), (40, 12), (20, 5)] {
        let user = picked(size, "<Down><Down>");
        assert_snapshot!(format!("picker_{}x{}", size.0, size.1), user.picture());
    }
    let user = picked((80, 24), "");
    assert_snapshot!("picker_current_80x24", user.picture());
}

#[test]
fn every_size_can_draw_the_picker() {
    for width in (1..=120).step_by(7) {
        for height in 1..=30 {
            picked((width, height), "<Down>").picture();
        }
    }
}

#[test]
fn a_model_is_chosen_with_arrows_and_typing() {
    let check = |keys: &str, effects: &[&str], open: bool| {
        let user = picked(SIZE, keys);
        assert_eq!(user.effects, effects, "{keys}");
        assert_eq!(user.app.picker().is_some(), open, "{keys}");
    };
    check("<Down><Enter>", &["load qwen2.5-1.5b auto"], false);
    check("1.5b<Enter>", &["load qwen2.5-1.5b auto"], false);
    check("QWEN gen<Enter>", &["load qwen2.5-1.5b auto"], false);
    check("<Down><Up><Up><Enter>", &["load smollm2-135m auto"], false);
    check("<Down><Down><Enter>", &[], true);
    check("nothing like it<Enter>", &[], true);
    check("xx<C-h><C-h>135<Enter>", &["load smollm2-135m auto"], false);
    check("<Esc>", &[], false);
    check("<C-c>", &[], false);
    let user = picked(SIZE, "<Down><Down><Enter>");
    assert!(
        user.picture()
            .contains("! weights and context need 44.2 GiB")
    );
    let mut user = picked(SIZE, "");
    user.update(Msg::Paste("1.5\x1b\nB".into()));
    assert_eq!(user.app.picker().unwrap().filter(), "1.5␛");
    let user = picked(SIZE, "<Down><Down><Down>");
    assert!(user.picture().contains("/models/日本語␛[31m.gguf"));
    let user = picked(SIZE, "<Esc>ab");
    assert_eq!(user.app.input().text(), "ab");
    // Nothing is listed yet.
    let mut user = User::ready(SIZE);
    user.keys("/model<Enter><Enter>");
    assert!(user.picture().contains("… looking"));
}

#[test]
fn another_model_takes_the_conversation_over() {
    let mut user = User::ready(SIZE);
    user.keys("a<Enter>");
    user.stream("fine", "plain", &[0]);
    user.keys("/model qwen2.5-1.5b<Enter>");
    assert_eq!(user.effects, ["send a"], "not while an answer is written");
    user.finish(FinishReason::EndOfTurn);
    user.keys("<Enter>");
    assert_eq!(user.effects, ["send a", "load qwen2.5-1.5b auto"]);
    user.hear(loading(50_000_000));
    assert!(user.picture().contains("… loading"));
    // A message waits for it.
    user.keys("b<Enter>");
    user.hear(other());
    assert!(user.picture().contains("The conversation is kept"));
    assert!(user.picture().contains("plain not measured yet"));
    user.stream("gut", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    assert_snapshot!(user.picture());
    user.effects.clear();
    user.keys("/retry<Enter>");
    assert_eq!(user.effects, ["rewind to 1", "send b"]);
}

#[test]
fn loading_can_be_stopped_and_can_fail() {
    let mut user = User::ready(SIZE);
    user.keys("/model x.gguf<Enter>/model y.gguf<Enter>");
    assert_eq!(user.effects, ["load x.gguf auto"]);
    assert!(
        user.picture()
            .contains("models are being loaded: Esc stops")
    );
    user.keys("<C-c>");
    assert_eq!(
        user.app.input().text(),
        "/model y.gguf",
        "Ctrl-C stops first"
    );
    assert!(user.cancels[0].is_cancelled());
    user.hear(Event::NotLoaded(NotLoaded::Stopped));
    assert!(user.picture().contains("the models from before go on"));
    assert!(user.picture().contains("SmolLM2-135M"));
    user.effects.clear();
    user.keys("<Enter>");
    user.hear(Event::NotLoaded(NotLoaded::Failed(
        "there is no \x1b file".into(),
    )));
    assert!(user.picture().contains("There is no ␛ file."));
    assert!(user.picture().contains("The models from before go on."));
    user.keys("hello<Enter>");
    assert_eq!(user.effects, ["load y.gguf auto", "send hello"]);
}

#[test]
fn an_engine_that_has_ended_is_started_again_with_what_it_knew() {
    let mut user = User::ready(SIZE);
    user.keys("/set seed 7<Enter>a<Enter>");
    user.stream("fine", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    user.keys("b<Enter>");
    user.hear(failure("a bug in speck: oh no. Please report it", true));
    user.effects.clear();
    user.keys("/retry<Enter><C-c>c<Enter>");
    assert!(user.effects.is_empty(), "{:?}", user.effects);
    assert!(user.picture().contains("/reload starts it again"));
    user.keys("<C-c>");
    assert_snapshot!(user.picture());
    user.keys("/reload<Enter>");
    let expect = [
        "restart smollm2-135m auto",
        "restore a | fine",
        "set seed 7",
        "strategy plain",
    ];
    assert_eq!(user.effects, expect);
    user.hear(ready());
    user.effects.clear();
    user.keys("/retry<Enter>");
    assert_eq!(user.effects, ["send b"]);

    // One that never was ready starts as it was started; another model can be taken, too.
    for (keys, expect) in [
        ("/reload<Enter>", "restart "),
        ("/model qwen<Enter>", "restart qwen auto"),
    ] {
        let mut user = User::new(SIZE);
        user.hear(failure("the hub cannot be reached", true));
        user.keys(keys);
        assert_eq!(user.effects, [expect]);
    }
    let mut user = User::new(SIZE);
    user.hear(failure("the hub cannot be reached", true));
    user.keys("q");
    assert_eq!(user.effects, ["quit"]);
}

#[test]
fn a_reload_takes_the_same_models() {
    let mut user = User::ready(SIZE);
    user.keys("/reload<Enter>");
    assert_eq!(user.effects, ["load smollm2-135m auto"]);
    let mut user = User::new(SIZE);
    user.keys("/reload<Enter>");
    assert!(user.effects.is_empty());
    assert!(user.picture().contains("models are being loaded"));
}
