//! Kills at random moments: what was acknowledged is there, and the file can be read and gone on with.

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use speck::session::Folder;
use speck::session::log::Flaw;
use speck::session::record::Reason;

use crate::{Home, Talk};

/// The messages of all chats of a home, read as the program reads them.
fn messages(home: &Home) -> Vec<String> {
    let folder = Folder::at(home.path().join("data/speck/sessions"));
    let ids = folder.ids().unwrap();
    let read = |id| {
        let (told, flaws) = folder.read(id).unwrap();
        let whole = |flaw: &Flaw| matches!(flaw, Flaw::Torn | Flaw::Unended);
        assert!(flaws.iter().all(whole), "{flaws:?}");
        told.turns
    };
    let turns = ids.iter().flat_map(read);
    // Whole: the scripted model repeats the message.
    let whole = turns.inspect(|turn| {
        let ended = turn.reason == Reason::EndOfTurn;
        assert!(!ended || turn.answer.ends_with(&turn.user), "{turn:?}");
    });
    whole.map(|turn| turn.user).collect()
}

/// Chats for `n_answers`, goes on, and is killed after another `delay`; gives the messages whose answers
/// had ended.
fn chat_until_killed(
    home: &Home,
    resume: bool,
    run: usize,
    n_answers: usize,
    delay: Duration,
) -> Vec<String> {
    let mut args = vec!["chat", "--target", "scripted", "--no-tui"];
    args.extend(["--draft", "none", "--strategy", "lookup"]);
    if resume {
        args.extend(["--resume", "last"]);
    }
    let mut talk = Talk::start(home.speck(&args));
    let mut killer = None;
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if number == n_answers {
            let pid = talk.pid();
            killer = Some(thread::spawn(move || {
                // The moment is what the test draws: nothing is waited for.
                thread::sleep(delay);
                kill_process(pid, Signal::KILL).ok();
            }));
        }
        let message = format!("run {run} message {number}");
        let sent = writeln!(talk.input.as_mut().unwrap(), "{message}");
        if sent.is_err() || !talk.hear(&message) {
            break;
        }
        // Where the disk is slow, it was told that this is not sure to be there.
        if !talk.errors().contains("the disk does not answer") {
            acknowledged.push(message);
        }
    }
    talk.output.read_to_end(&mut Vec::new()).unwrap();
    let joined = killer.map(thread::JoinHandle::join);
    let ended = talk.child.wait().unwrap();
    assert_eq!(ended.signal(), Some(9), "{ended}: {}", talk.errors());
    joined.expect("it ends by being killed").unwrap();
    acknowledged
}

/// Kills `n` chats of one home at random moments, every other one of them resumed; gives how many answers
/// had ended.
fn kill_some(n: usize) -> usize {
    let random = RandomState::new();
    let home = Home::new();
    let mut acknowledged = Vec::new();
    for run in 0..n {
        let resume = run % 2 == 1 && !home.chats().is_empty();
        let drawn = random.hash_one(run);
        let delay = Duration::from_millis(drawn % 800);
        let n_answers = (drawn >> 32) as usize % 3;
        acknowledged.extend(chat_until_killed(&home, resume, run, n_answers, delay));
        let saved = messages(&home);
        for message in &acknowledged {
            let times = saved.iter().filter(|saved| *saved == message).count();
            assert_eq!(times, 1, "{message:?} after run {run}: {saved:?}");
        }
    }
    let (_, err) = home.check(&["sessions"], "", 0);
    assert_eq!(err, "");
    acknowledged.len()
}

/// Kills `n` chats, several at a time.
fn check_kills(n: usize) {
    const HOMES: usize = 5;
    let threads: Vec<_> = (0..HOMES)
        .map(|_| thread::spawn(move || (0..n / HOMES / 5).map(|_| kill_some(5)).sum::<usize>()))
        .collect();
    let threads = threads.into_iter();
    let total: usize = threads.map(|thread| thread.join().unwrap()).sum();
    assert!(total > n / 4, "only {total} answers in {n} chats");
    println!("{n} kills: none of {total} acknowledged turns lost");
}

#[test]
fn kills_lose_no_acknowledged_turn() {
    check_kills(25);
}

#[test]
#[ignore = "long: scripts/kill-sessions.sh"]
fn full_kills_lose_no_acknowledged_turn() {
    let n = env::var("SPECK_TEST_KILLS").map_or(1000, |n| n.parse().unwrap());
    check_kills(n);
}

/// A chat that is killed in the middle of an answer keeps what was written of it.
#[test]
fn a_kill_in_the_middle_of_an_answer_keeps_what_was_recorded() {
    let home = Home::new();
    let message: Vec<String> = (0..400).map(|i| format!("word{i}")).collect();
    let message = message.join(" ");
    let args = [
        "chat",
        "--target",
        "scripted",
        "--no-tui",
        "--strategy",
        "plain",
    ];
    let mut talk = Talk::start(home.speck(&args));
    talk.say(&message);
    // Only what has been written for two seconds is sure to be there.
    let recorded = || {
        home.chats().first().is_some_and(|file| {
            std::fs::read_to_string(file)
                .unwrap()
                .contains("\"partial\"")
        })
    };
    while !recorded() {
        talk.output.read_exact(&mut [0]).unwrap();
    }
    talk.signal(Signal::KILL);
    talk.end();
    let (out, _) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.contains("\n\nYou wrote:\n\nword0 word1 "), "{out}");
    assert!(out.ends_with("*(interrupted)*\n"), "{out}");
}

/// What a signal in the middle of an answer comes to.
fn check_request_to_end(args: &[&str], input: &str, signal: Signal, code: i32) {
    let home = Home::new();
    let scripted = ["chat", "--target", "scripted", "--strategy", "plain"];
    let mut talk = Talk::start(home.speck(&[&scripted, args].concat()));
    if !input.is_empty() {
        talk.say(input);
    }
    talk.end_input();
    assert!(talk.line("You wrote:") && talk.line(""));
    talk.output.read_exact(&mut [0; 12]).unwrap();
    talk.signal(signal);
    assert_eq!(talk.end(), Some(code), "{args:?} {signal:?}");
    let (out, _) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.contains("You wrote:\n\nword1 word2"), "{out}");
    assert!(out.ends_with("*(interrupted)*\n"), "{out}");
}

#[test]
fn a_request_to_end_saves_what_there_is() {
    let words: Vec<String> = (1..200).map(|i| format!("word{i}")).collect();
    let words = words.join(" ");
    let words = words.as_str();
    let mut signals = vec![(Signal::TERM, 143)];
    signals.extend(hears_hang_ups().then_some((Signal::HUP, 129)));
    for (signal, code) in signals {
        check_request_to_end(&["--no-tui"], words, signal, code);
        check_request_to_end(&["--save", words], "", signal, code);
    }
}

/// Whether a program that is started from here hears SIGHUP: not where these tests run under `nohup`. Only Linux
/// tells; elsewhere a program without a terminal takes it that it does not.
fn hears_hang_ups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (Signal::HUP.as_raw() - 1) & 1 == 0)
}

/// As with `nohup`.
#[test]
fn a_hang_up_that_is_ignored_stays_so() {
    let home = Home::new();
    let script = "trap '' HUP; exec \"$0\" chat --target scripted --strategy plain --no-tui";
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_speck")]);
    command.env_clear().env("HOME", home.path());
    let mut talk = Talk::start(command);
    talk.say("word1 word2 word3");
    assert!(talk.line("You wrote:"));
    talk.signal(Signal::HUP);
    assert!(talk.hear("word1 word2 word3"));
    assert_eq!(talk.end(), Some(0));
}
