//! Hostile text from the model itself: a scripted target writes each text of the corpus byte by byte, one
//! token in a pass, so that a character or a sequence is cut wherever it can be; the engine's events go to
//! the screen.

use std::sync::{Arc, Mutex};

use speck::cancel::Cancel;
use speck::config::options::Options;
use speck::engine::protocol::{Command, Event};
use speck::engine::{Settings, start_with};
use speck::model::Token;
use speck::model::device::DeviceChoice;
use speck::model::load::load;
use speck::model::pair::{DraftChoice, LoadSettings};
use speck::model::registry::Reference;
use speck::model::scripted::{ScriptedModel, Step};
use speck::model::tokenizer::{Specials, Tokenizer};
use speck::ui::{ColorDepth, Theme};

use crate::corpus::corpus;
use crate::oracle::{Surface, faults};
use crate::recorder::Recorder;
use crate::user::User;

const SIZE: (u16, u16) = (40, 12);
/// Longer texts only repeat themselves.
const LONGEST: usize = 250;
const TURN: &str = "<|im_start|>assistant\n";

/// The token of each byte that has one.
fn byte_tokens(tokenizer: &Tokenizer) -> Vec<Option<Token>> {
    let mut tokens = vec![None; 256];
    for token in 0..tokenizer.vocab_len() as Token {
        if let [byte] = tokenizer.bytes(token) {
            tokens[usize::from(*byte)].get_or_insert(token);
        }
    }
    tokens
}

#[test]
fn what_a_model_writes_byte_by_byte_is_harmless() {
    let reply = Arc::new(Mutex::new(Vec::<Token>::new()));
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let (script, bytes) = (Arc::clone(&reply), Arc::clone(&tokens));
    let settings = LoadSettings {
        target: Reference::Scripted,
        draft: DraftChoice::None,
        context: 0,
        device: DeviceChoice::Cpu,
        n_threads: 0,
        offline: true,
    };
    let mut engine = start_with(
        move |_, cancel, progress| {
            let mut loaded = load(&settings, cancel, progress)?;
            let tokenizer = &loaded.tokenizer;
            *bytes.lock().unwrap() = byte_tokens(tokenizer);
            let end = tokenizer.end_of_turn()[0];
            let turn = tokenizer.encode(TURN, Specials::Parse)?;
            let n_logits = tokenizer.vocab_len();
            let script = Arc::clone(&script);
            let target = ScriptedModel::new("scripted", n_logits, 1 << 14, move |so_far| {
                let starts = so_far.windows(turn.len()).rposition(|part| part == turn);
                let written = starts.map_or(0, |at| so_far.len() - at - turn.len());
                Step::Write(script.lock().unwrap().get(written).copied().unwrap_or(end))
            });
            loaded.pair.target = Box::new(target);
            Ok(loaded)
        },
        Settings {
            strategy: "plain",
            options: Options {
                max_tokens: 4000,
                ..Options::default()
            },
            cache: None,
        },
    );
    while !matches!(engine.events.blocking_recv(), Some(Event::Ready(_))) {}
    let tokens = tokens.lock().unwrap().clone();
    let missing: Vec<usize> = (0..256).filter(|byte| tokens[*byte].is_none()).collect();
    let needed = (0x80..=0x9f).chain([0x07, 0x08, 0x0d, 0x1b]);
    for byte in needed {
        assert!(!missing.contains(&byte), "no token for {missing:02x?}");
    }

    let theme = Theme::load("terminal", ColorDepth::None).unwrap();
    for hostile in corpus() {
        if hostile.bytes.len() > LONGEST {
            continue;
        }
        let (written, token_ids): (Vec<u8>, Vec<Token>) = hostile
            .bytes
            .iter()
            .filter_map(|byte| Some((*byte, tokens[usize::from(*byte)]?)))
            .unzip();
        *reply.lock().unwrap() = token_ids;
        for command in [
            Command::Reset,
            Command::Send {
                text: "q".to_owned(),
                cancel: Cancel::new(),
                pasted: Vec::new(),
            },
        ] {
            engine.commands.send(command).unwrap();
        }
        let mut user = User::ready(SIZE);
        user.keys("q<Enter>");
        let mut recorder = Recorder::new(SIZE, &theme);
        let mut drawn = Vec::new();
        let mut text = String::new();
        let mut ended = false;
        while !ended {
            let event = engine.events.blocking_recv().expect("the engine runs");
            match &event {
                Event::Round(round) => text += &round.text(),
                Event::Finished(finished) => {
                    text += &finished.rest;
                    ended = true;
                }
                Event::Failed(failure) => panic!("{}: {}", hostile.name, failure.message),
                Event::Fetch(_)
                | Event::Loading(_)
                | Event::Ready(_)
                | Event::Baseline(_)
                | Event::Strategy(_)
                | Event::StrategyRefused(_)
                | Event::Options(_)
                | Event::Dropped { .. }
                | Event::NotLoaded(_)
                | Event::Prefill { .. } => {}
            }
            user.hear(event);
            drawn.extend(recorder.draw(&user).concat());
        }
        assert_eq!(text, String::from_utf8_lossy(&written), "{}", hostile.name);
        let found = faults(&drawn, Surface::Screen(SIZE.0, SIZE.1));
        assert!(found.is_empty(), "{}: {found:?}", hostile.name);
    }
}
