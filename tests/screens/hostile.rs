//! Hostile text on the screen: whatever a model, a file name, a server or a paste says, the bytes that
//! are written do only what speck itself does.
//!
//! **Nothing is caused by the text**: its cleaned form, which holds no control character, writes the same
//! bytes. The oracle that judges them shares no code with what cleans.

use std::thread;

use ratatui::buffer::Buffer;
use speck::app::Msg;
use speck::clean::clean;
use speck::engine::protocol::{Event, FinishReason, Finished};
use speck::ui::{ColorDepth, Theme};

use crate::corpus::{Hostile, corpus};
use crate::oracle::{Surface, faults};
use crate::recorder::{Recorder, uncleaned_cells};
use crate::user::{User, failure, loading, ready};

const SIZE: (u16, u16) = (40, 12);
const SURFACE: Surface = Surface::Screen(SIZE.0, SIZE.1);
/// Up to so many characters, a text is split at every one; a longer one at every `STEP`th.
const EXHAUSTIVE: usize = 200;
const STEP: usize = 97;
/// More words than a text has: all of them come in one round.
const MANY: usize = 10_000;

fn theme() -> Theme {
    Theme::load("terminal", ColorDepth::None).unwrap()
}

/// What is drawn by `steps` on an app that is ready, a frame after each; and the last screen.
fn drawn(steps: &[&dyn Fn(&mut User)]) -> (Vec<u8>, Buffer) {
    let mut user = User::ready(SIZE);
    let mut recorder = Recorder::new(SIZE, &theme());
    let mut bytes = Vec::new();
    for step in steps {
        step(&mut user);
        bytes.extend(recorder.draw(&user).concat());
    }
    (bytes, user.buffer(&theme()).0)
}

/// An answer that comes in these pieces, one in a round.
fn answer(pieces: [&str; 2]) -> (Vec<u8>, Buffer) {
    drawn(&[
        &|user| user.keys("q<Enter>"),
        &|user| user.stream(pieces[0], "draft", &[MANY]),
        &|user| user.stream(pieces[1], "draft", &[MANY]),
        &|user| user.finish(FinishReason::EndOfTurn),
    ])
}

/// Runs `check` on the whole corpus, on the machine's cores.
fn each(check: impl Fn(&Hostile) + Sync) {
    let corpus = corpus();
    assert!(corpus.len() >= 300, "only {} texts", corpus.len());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for part in corpus.chunks(corpus.len().div_ceil(cores)) {
            let check = &check;
            scope.spawn(move || part.iter().for_each(check));
        }
    });
}

#[track_caller]
fn assert_harmless(bytes: &[u8], what: &str) {
    let found = faults(bytes, SURFACE);
    assert!(
        found.is_empty(),
        "{what}: {found:?}\n{}",
        bytes.escape_ascii()
    );
}

#[test]
fn an_answer_is_harmless_split_anywhere() {
    each(|hostile| {
        let text = hostile.text();
        let (bytes, whole) = answer([&text, ""]);
        assert_harmless(&bytes, &hostile.name);
        let (twin, _) = answer([&clean(&text), ""]);
        assert_eq!(bytes, twin, "{} is not as its cleaned form", hostile.name);
        let long = text.chars().count() > EXHAUSTIVE;
        let splits = text.char_indices().map(|(at, _)| at).skip(1);
        for at in splits.step_by(if long { STEP } else { 1 }) {
            let (head, tail) = text.split_at(at);
            let (bytes, screen) = answer([head, tail]);
            assert_harmless(&bytes, &format!("{} split at {at}", hostile.name));
            assert_eq!(screen, whole, "{} split at {at}", hostile.name);
        }
    });
}

/// What the engine says beside the answer: names, files, errors.
#[test]
fn what_the_engine_names_is_harmless() {
    let says: [fn(&str) -> Event; 6] = [
        |text| {
            let Event::Ready(mut ready) = ready() else {
                panic!("it is ready")
            };
            text.clone_into(&mut ready.target);
            ready.draft = Some(text.to_owned());
            text.clone_into(&mut ready.device);
            ready.notes = vec![text.to_owned()];
            Event::Ready(ready)
        },
        |text| match loading(1) {
            Event::Loading(mut loading) => {
                text.clone_into(&mut loading.what);
                Event::Loading(loading)
            }
            other => other,
        },
        |text| match crate::user::fetch(1, Some(2)) {
            Event::Fetch(mut fetch) => {
                text.clone_into(&mut fetch.what);
                text.clone_into(&mut fetch.how);
                Event::Fetch(fetch)
            }
            other => other,
        },
        |text| failure(text, false),
        |text| failure(text, true),
        |text| {
            Event::Finished(Finished {
                reason: FinishReason::StopString,
                prompt_tokens: 1,
                reused_tokens: 0,
                prefill_time: std::time::Duration::ZERO,
                answer_tokens: 1,
                rest: text.to_owned(),
                sampling: None,
            })
        },
    ];
    each(|hostile| {
        let text = hostile.text();
        for (i, say) in says.iter().enumerate() {
            let show = |text: &str| {
                drawn(&[
                    &|user| user.hear(say(text)),
                    &|user| user.keys("q<Enter>"),
                    &|user| user.hear(say(text)),
                ])
            };
            let (bytes, _) = show(&text);
            assert_harmless(&bytes, &format!("{} in event {i}", hostile.name));
            assert_eq!(
                bytes,
                show(&clean(&text)).0,
                "{} in event {i}",
                hostile.name
            );
        }
        let note = |text: &str| {
            drawn(&[&|user| {
                user.keys("q<Enter>");
                user.note = Some(text.to_owned());
                user.stream("a b", "lookup", &[0]);
                user.wait(1000);
            }])
        };
        assert_harmless(&note(&text).0, &format!("{} as a note", hostile.name));
    });
}

/// What is pasted and typed, in the input, in a command, as a message and out of the history.
#[test]
fn what_is_typed_is_harmless() {
    each(|hostile| {
        let text = hostile.text();
        let steps: [&dyn Fn(&mut User); 9] = [
            &|user| user.update(Msg::Paste(text.clone())),
            &|user| user.keys("<Left><Left><Up>x<C-a>"),
            &|user| user.keys("<Esc><C-e><Enter>"),
            &|user| user.finish(FinishReason::EndOfTurn),
            &|user| user.keys("<C-p>"),
            &|user| user.keys("<C-c>/mode "),
            &|user| user.update(Msg::Paste(text.clone())),
            &|user| user.keys("<Enter>"),
            &|user| user.keys(&text.replace('<', "")),
        ];
        assert_harmless(&drawn(&steps).0, &hostile.name);
    });
}

/// The negative control: were the text not cleaned, the oracle would say so.
#[test]
fn uncleaned_text_is_found_out() {
    for hostile in corpus() {
        let raw = faults(&hostile.bytes, Surface::Lines);
        assert_eq!(
            !raw.is_empty(),
            hostile.forbidden,
            "{}: {raw:?}",
            hostile.name
        );
        let text = hostile.text();
        if clean(&text) != text {
            let found = faults(&uncleaned_cells(&text), SURFACE);
            assert!(!found.is_empty(), "{}", hostile.name);
        }
    }
}
