//! Other models while the engine runs: what becomes of the old ones and of the conversation.

use super::control_tests::{CONTEXT, Engine};
use super::protocol::*;
use super::tests::{scripted, settings};
use super::*;

#[test]
fn the_old_models_stay_where_others_cannot_be_loaded() {
    let check = |name: &str, ready: &[&str], expect: &str| {
        let mut engine = Engine::start(1);
        let first = engine.ask("one").unwrap().0;
        let target = name.to_owned();
        let draft = "auto".to_owned();
        let (told, why) = engine.load(ModelRef { target, draft });
        assert_eq!(told, ready, "{name}");
        let why = match why {
            None => "loaded".to_owned(),
            Some(NotLoaded::Stopped) => "stopped".to_owned(),
            Some(NotLoaded::Failed(why)) => why,
        };
        assert!(why.contains(expect), "{name}: {why}");
        // The conversation is kept: taking a turn back leads to the same answer, of the same model.
        engine.ask("two").unwrap();
        engine.tell(Command::Rewind { turns: 0, all: 0 });
        let again = engine.ask("one").unwrap().0;
        assert_eq!(again == first, why != "loaded", "{name}");
    };
    check("broken", &[], "it is broken");
    check("panics", &[], "a bug in speck: it panics");
    check("waits", &[], "stopped");
    check("other", &["other"], "loaded");
    check("large", &["large"], "loaded");
    check("large and broken", &["m"], "it is broken");
}

#[test]
fn a_name_that_is_none_is_refused_by_the_loader() {
    let mut engine = Engine(start(scripted(CONTEXT), None, settings("plain")));
    let target = "no-such-model".to_owned();
    let draft = "auto".to_owned();
    let (_, why) = engine.load(ModelRef { target, draft });
    assert!(
        matches!(&why, Some(NotLoaded::Failed(why)) if why.contains("no model is called")),
        "{why:?}"
    );
    let (ready, why) = engine.load(ModelRef {
        target: "scripted".into(),
        draft: "none".into(),
    });
    assert_eq!((ready.len(), why), (1, None));
}

#[test]
fn quitting_stops_a_load_that_nobody_stopped() {
    let engine = Engine::start(1);
    engine.tell(Command::Load {
        models: ModelRef {
            target: "waits".into(),
            draft: "auto".into(),
        },
        cancel: Cancel::new(),
    });
    let Handle {
        commands,
        mut events,
        quit,
    } = engine.0;
    quit.cancel();
    drop(commands);
    while events.blocking_recv().is_some() {}
}
