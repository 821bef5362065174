//! How much memory the default pair takes, in a process of its own: after an answer that filled the
//! context, and at most while it was loaded.

use std::path::PathBuf;

use speck::cancel::Cancel;
use speck::config::options::Options;
use speck::engine::protocol::{Command, Event, FinishReason, Handle};
use speck::engine::{Settings, start};
use speck::model::device::DeviceChoice;
use speck::model::load::load;
use speck::model::pair::{DraftChoice, LoadSettings};
use speck::model::registry::Reference;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};

const CONTEXT: usize = 1024;
/// Bytes of keys and values per token of SmolLM2-135M: 30 layers, 3 heads of 64, two of 2 bytes each.
const CACHE_OF_TOKEN: u64 = 30 * 3 * 64 * 2 * 2;
/// What everything else may take: tokenizer, draft's cache, working memory, the program itself.
const OTHER: u64 = 64 << 20;

fn settings() -> LoadSettings {
    let path =
        std::env::var_os("SPECK_TEST_TARGET").expect("SPECK_TEST_TARGET: see scripts/test.sh");
    LoadSettings {
        target: Reference::File(PathBuf::from(path)),
        draft: DraftChoice::Auto,
        context: CONTEXT,
        device: DeviceChoice::Cpu,
        n_threads: 0,
        offline: true,
    }
}

/// Bytes of memory that this process holds now.
fn resident() -> u64 {
    let mut system = sysinfo::System::new().unwrap();
    let own = sysinfo::get_current_pid().unwrap();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[own]),
        true,
        ProcessRefreshKind::nothing().with_memory(),
    );
    system.process(own).unwrap().memory()
}

/// The most that it ever held, where the system tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
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
#[ignore = "needs the default pair: scripts/test.sh"]
fn pair_memory_is_the_weights_once_the_cache_and_little_else() {
    let mb = |bytes: u64| bytes as f64 / 1e6;
    let engine = Settings {
        strategy: "draft",
        options: Options {
            draft_length: 4,
            max_tokens: CONTEXT,
            ..Options::default()
        },
        cache: None,
    };
    let mut engine = start(settings(), None, engine);
    until(&mut engine, |event| {
        matches!(event, Event::Ready(_)).then_some(())
    });
    let (loaded, peak) = (resident(), peak());
    // A word that is one token, as often as leaves room for an answer.
    let text = format!("Continue:{}", " house".repeat(CONTEXT - 120));
    let cancel = Cancel::new();
    engine
        .commands
        .send(Command::Send {
            text,
            cancel,
            pasted: Vec::new(),
        })
        .unwrap();
    let finished = until(&mut engine, |event| match event {
        Event::Finished(finished) => Some(finished),
        Event::Failed(failure) => panic!("{}", failure.message),
        _ => None,
    });
    let answered = resident();
    assert!(finished.prompt_tokens > CONTEXT - 120, "{finished:?}");
    assert!(finished.answer_tokens > 0 && finished.reason != FinishReason::Stopped);
    drop(engine);

    let pair = load(&settings(), &Cancel::new(), &mut |_| {}).unwrap().pair;
    let weights = pair.target.pass_bytes() + pair.draft.unwrap().pass_bytes();
    let bound = weights + CACHE_OF_TOKEN * CONTEXT as u64 + OTHER;
    println!(
        "weights {:.1} MB; held {:.1} MB when loaded (at most {:.1} MB until then), {:.1} MB after an \
         answer; bound {:.1} MB",
        mb(weights),
        mb(loaded),
        mb(peak.unwrap_or(0)),
        mb(answered),
        mb(bound)
    );
    assert!(answered <= bound, "held after an answer");
    assert!(peak.unwrap_or(0) <= bound, "held while loading");
}
