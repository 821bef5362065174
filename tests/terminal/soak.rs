//! Long use of the real program: what ten thousand turns leave behind, how soon a key is seen and an answer
//! is stopped while the engine takes all cores. `scripts/soak.sh` runs it and keeps the figures.

use std::fs;
use std::time::{Duration, Instant};

use portable_pty::CommandBuilder;

use crate::pty::{Pty, chat};
use crate::{CTRL_C, CTRL_D, ENTER, ESC};

/// Turns before a new conversation is started, so that the context never fills.
const TURNS_OF_CONVERSATION: usize = 100;
/// Turns between two looks at what the program holds.
const TURNS_OF_LOOK: usize = 500;
/// Turns after which memory is first judged: buffers have their size by then.
const WARM: usize = 2000;
/// Growth of resident memory in the turns after that, at most.
const GROWTH_KB: u64 = 1024;
/// 95 of 100 keys, and 99 of 100 requests to stop, are seen within this on an idle machine.
const KEY_WITHIN: Duration = Duration::from_millis(20);
const STOP_WITHIN: Duration = Duration::from_millis(100);

/// A file that stays open for longer is not closed.
const REST: Duration = Duration::from_secs(5);

/// What a process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    resident_kb: u64,
    files: usize,
    threads: usize,
}

impl Held {
    /// As Linux tells it.
    fn by(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        let resident = line("VmRSS:").unwrap().trim().trim_end_matches(" kB");
        let count = |folder: &str| {
            fs::read_dir(format!("/proc/{pid}/{folder}"))
                .unwrap()
                .count()
        };
        Self {
            resident_kb: resident.parse().unwrap(),
            files: count("fd"),
            threads: count("task"),
        }
    }

    /// The same when no more files are open than `before`: one is, for a moment, while what was typed is kept.
    fn at_rest(pid: u32, before: Option<&Self>) -> Self {
        let started = Instant::now();
        loop {
            let held = Self::by(pid);
            let is_at_rest = before.is_none_or(|before| held.files <= before.files);
            if is_at_rest || started.elapsed() > REST {
                return held;
            }
            std::thread::yield_now();
        }
    }
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    sorted[(sorted.len() * percent / 100).min(sorted.len() - 1)]
}

/// Prints `turns resident_kb files threads`, a line every [`TURNS_OF_LOOK`] turns.
#[test]
#[ignore = "long: scripts/soak.sh"]
fn soak_ten_thousand_turns() {
    let n_turns = number("SPECK_SOAK_TURNS", 10_000);
    let mut pty = Pty::start(chat(&["--max-tokens", "2", "--strategy", "lookup"]), &[]);
    pty.wait_for("scripted");
    let pid = pty.pid();
    let mut looks = Vec::new();
    let started = Instant::now();
    for turn in 1..=n_turns {
        // The number is in the message alone, so it is seen when the message is.
        pty.keys(&format!("turn {turn}.{ENTER}"));
        let message = format!("turn {turn}.");
        pty.wait("the answer", |screen| {
            let contents = screen.contents();
            let after = contents.split(&message).nth(1);
            after.is_some_and(|after| after.contains("token limit"))
        });
        if turn % TURNS_OF_CONVERSATION == 0 {
            pty.keys(&format!("/new{ENTER}"));
            pty.wait_gone("token limit");
        }
        if turn % TURNS_OF_LOOK == 0 {
            let held = Held::at_rest(pid, looks.last());
            let Held {
                resident_kb,
                files,
                threads,
            } = held;
            println!("{turn} {resident_kb} {files} {threads}");
            looks.push(held);
        }
        pty.forget();
    }
    println!("{n_turns} turns took {:.0?}", started.elapsed());
    let warm = &looks[WARM / TURNS_OF_LOOK - 1..];
    let (first, last) = (warm[0], warm[warm.len() - 1]);
    for held in warm {
        assert_eq!((held.files, held.threads), (first.files, first.threads));
    }
    let growth = last.resident_kb.saturating_sub(first.resident_kb);
    assert!(growth < GROWTH_KB, "{growth} kB: {looks:?}");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}

/// On the default pair with a thread for each core.
#[test]
#[ignore = "long: scripts/soak.sh"]
fn soak_keys_are_seen_and_answers_stop_at_once() {
    let target = std::env::var("SPECK_TEST_TARGET").expect("scripts/soak.sh sets it");
    let n_stops = number("SPECK_SOAK_STOPS", 200);
    let cores = std::thread::available_parallelism().unwrap().to_string();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
    command.args(["chat", "--target", &target, "--threads", &cores]);
    let mut pty = Pty::start(command, &[]);
    pty.wait_for(&format!("cpu ×{cores}"));
    let (mut keys, mut stops) = (Vec::new(), Vec::new());
    for round in 0..n_stops {
        pty.keys(&format!(
            "Write a very long story about lighthouse {round}.{ENTER}"
        ));
        pty.wait_for("… writing");
        for key in ["q", "qz"] {
            let pressed = Instant::now();
            pty.keys(&key[key.len() - 1..]);
            pty.wait_for(&format!("> {key}"));
            keys.push(pressed.elapsed());
        }
        let pressed = Instant::now();
        pty.keys(ESC);
        pty.wait_for("■ stopped");
        stops.push(pressed.elapsed());
        pty.keys(CTRL_C);
        pty.wait_gone("> qz");
        pty.keys(&format!("/new{ENTER}"));
        pty.wait_gone("■ stopped");
        pty.forget();
    }
    keys.sort();
    stops.sort();
    for (what, times) in [("key to echo", &keys), ("Esc to stopped", &stops)] {
        let [p50, p95, p99, most] = [50, 95, 99, 100].map(|percent| percentile(times, percent));
        let n = times.len();
        println!("{what}: p50 {p50:.1?}, p95 {p95:.1?}, p99 {p99:.1?}, most {most:.1?} of {n}");
    }
    assert!(percentile(&keys, 95) < KEY_WITHIN, "{keys:?}");
    assert!(percentile(&stops, 99) < STOP_WITHIN, "{stops:?}");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
}
