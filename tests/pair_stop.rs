//! How soon a stop is obeyed, on the real pair: from the request to the engine's last word.
//!
//! It reports; run by scripts/identity.sh with the other long tests.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use speck::cancel::Cancel;
use speck::config::options::Options;
use speck::engine::protocol::{Command, Event, FinishReason, Handle};
use speck::engine::{Settings, start};
use speck::model::device::DeviceChoice;
use speck::model::pair::{DraftChoice, LoadSettings};
use speck::model::registry::Reference;

const STOPS: usize = 200;

fn engine() -> Handle {
    let path =
        std::env::var_os("SPECK_TEST_TARGET").expect("SPECK_TEST_TARGET: see scripts/test.sh");
    let load = LoadSettings {
        target: Reference::File(PathBuf::from(path)),
        draft: DraftChoice::Auto,
        context: 2048,
        device: DeviceChoice::Cpu,
        n_threads: 0,
        offline: true,
    };
    let settings = Settings {
        strategy: "draft",
        options: Options {
            draft_length: 8,
            max_tokens: 512,
            ..Options::default()
        },
        cache: None,
    };
    start(load, None, settings)
}

/// The first event that `found` takes.
fn until<T>(engine: &mut Handle, mut found: impl FnMut(Event) -> Option<T>) -> T {
    loop {
        let event = engine.events.blocking_recv().expect("the engine runs");
        if let Some(found) = found(event) {
            return found;
        }
    }
}

#[test]
#[ignore = "long: scripts/identity.sh"]
fn full_stops_are_timed() {
    let mut engine = engine();
    until(&mut engine, |event| {
        matches!(event, Event::Ready(_)).then_some(())
    });
    let long = "Tell me more about the harbour, the lighthouse and the library. ".repeat(60);
    let mut waits = Vec::new();
    for i in 0..STOPS {
        // Half of the stops fall into the reading of a prompt of 800 tokens, half into an answer.
        engine.commands.send(Command::Reset).unwrap();
        let text = if i % 2 == 0 {
            long.clone()
        } else {
            format!("Tell a long story, number {i}.")
        };
        let cancel = Cancel::new();
        let send = Command::Send {
            text,
            cancel: cancel.clone(),
            pasted: Vec::new(),
        };
        engine.commands.send(send).unwrap();
        until(&mut engine, |event| {
            matches!(event, Event::Prefill { .. } | Event::Round(_)).then_some(())
        });
        std::thread::sleep(Duration::from_millis((i * 7 % 90) as u64));
        let asked = Instant::now();
        cancel.cancel();
        let reason = until(&mut engine, |event| match event {
            Event::Finished(finished) => Some(finished.reason),
            _ => None,
        });
        if reason == FinishReason::Stopped {
            waits.push(asked.elapsed());
        }
    }
    waits.sort();
    assert!(
        waits.len() > STOPS / 2,
        "only {} stops fell into work",
        waits.len()
    );
    let at = |share: usize| waits[(waits.len() - 1) * share / 100];
    println!(
        "{} stops: median {:.1?}, 99th percentile {:.1?}, longest {:.1?}",
        waits.len(),
        at(50),
        at(99),
        at(100)
    );
}
