//! When an engine times passes, and what it keeps of that.

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use super::protocol::{Command, Event, Handle};
use super::tests::{scripted, settings};
use super::*;
use crate::model::Token;
use crate::model::pair::Identity;
use crate::model::scripted::{ScriptedModel, Step};

const CONTEXT: usize = 256;
/// The passes that are timed at an empty context are over this token.
const NOTHING: Token = 0;

/// An engine with a target that tells the tokens of each row of a pass, and keeps calibrations in `cache`.
/// It is loaded once `loaded` is told.
fn engine(cache: &Path, rows: Sender<Vec<Token>>, loaded: mpsc::Receiver<()>) -> Handle {
    let load = move |_: &Wanted, cancel: &Cancel, progress: &mut dyn FnMut(Progress)| {
        let mut fake = load::load(&scripted(CONTEXT), cancel, progress)?;
        let end = fake.tokenizer.end_of_turn()[0];
        let rows = rows.clone();
        let script = move |tokens: &[Token]| {
            rows.send(tokens.to_vec()).ok();
            Step::Write(if tokens.len().is_multiple_of(3) {
                end
            } else {
                40
            })
        };
        let n_logits = fake.pair.target.n_logits();
        fake.pair.target = Box::new(ScriptedModel::new("target", n_logits, CONTEXT, script));
        fake.pair.draft = Err("none".into());
        fake.pair.identity = Some(Identity {
            target: "target".into(),
            draft: None,
        });
        loaded.recv().ok();
        Ok(fake)
    };
    let settings = Settings {
        cache: Some(cache.to_owned()),
        ..settings("auto")
    };
    start_with(load, settings)
}

/// Whether a pass over more than one row at an empty context is among `rows`.
fn calibrated(rows: &mpsc::Receiver<Vec<Token>>) -> bool {
    let calibrates = |row: &Vec<Token>| row.len() > 1 && row.iter().all(|&token| token == NOTHING);
    rows.try_iter().any(|row| calibrates(&row))
}

fn until(handle: &mut Handle, found: fn(&Event) -> bool) {
    while !found(&handle.events.blocking_recv().expect("the engine runs")) {}
}

/// Ends the engine and waits for that.
fn end(handle: Handle) {
    let Handle {
        commands,
        mut events,
        ..
    } = handle;
    drop(commands);
    while events.blocking_recv().is_some() {}
}

#[test]
fn passes_are_timed_when_idle_and_the_next_start_knows_them() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let (tell, rows) = mpsc::channel();
        let (go, loaded) = mpsc::channel();
        go.send(()).unwrap();
        (engine(folder.path(), tell, loaded), rows)
    };
    let (first, rows) = start();
    let started = Instant::now();
    while std::fs::read_dir(folder.path()).unwrap().next().is_none() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    end(first);
    assert!(calibrated(&rows));

    let (mut second, rows) = start();
    until(&mut second, |event| matches!(event, Event::Baseline(_)));
    second.commands.send(Command::Reset).unwrap();
    until(&mut second, |event| matches!(event, Event::Baseline(_)));
    end(second);
    assert!(!calibrated(&rows));
}

#[test]
fn a_message_that_waits_is_answered_first() {
    let folder = tempfile::tempdir().unwrap();
    let (tell, rows) = mpsc::channel();
    let (go, loaded) = mpsc::channel();
    let mut handle = engine(folder.path(), tell, loaded);
    let ask = Command::Send {
        text: "Hi".into(),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    };
    handle.commands.send(ask).unwrap();
    go.send(()).unwrap();
    until(&mut handle, |event| matches!(event, Event::Finished(_)));
    end(handle);
    assert!(!calibrated(&rows));
}
