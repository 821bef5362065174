//! Copying: to the clipboard by the best way there is from here, and always into a private file.
//!
//! The ways, best first: `pbcopy` on a Mac that is not reached over SSH; inside tmux, tmux's buffer, which
//! tmux passes on; else the terminal's own clipboard by an escape sequence (OSC 52), which it may refuse
//! without a word. **What is said is what happened.** Programs run on a thread of their own and have a
//! time limit; the sequence is handed back, for the screen to write between two frames.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tempfile::NamedTempFile;

use super::data;
use crate::app::copy::Copy;

/// Bytes of a text that the escape sequence carries at most: 100,000 bytes in base64, which is as much as
/// terminals commonly take.
const MOST_BY_SEQUENCE: usize = 74_994;
/// A program that takes longer than this is ended.
const PROGRAM_ENDS: Duration = Duration::from_secs(3);
/// How often it is looked whether the program has ended.
const LOOK: Duration = Duration::from_millis(10);

/// A way to the clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Pbcopy,
    Tmux,
    Sequence,
}

/// What came of copying.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Copied {
    /// For the terminal, if that is the way.
    pub sequence: Option<String>,
    /// What happened, in words; an error when nothing did.
    pub told: Result<String, String>,
}

/// Copies a text on a thread of its own. Whether an escape sequence can be written is for the caller to say.
pub(super) fn copy(copy: Copy, sequences: bool, done: impl FnOnce(Copied) + Send + 'static) {
    let Copy { text, what } = copy;
    thread::spawn(move || {
        let file = data::folder().map(|folder| folder.join("copied.md"));
        let file = match &file {
            Some(path) => write(path, &text).map(|()| data::tell(path)),
            None => Err("there is no home folder for it".to_owned()),
        };
        let mut ways = ways();
        ways.retain(|way| sequences || *way != Way::Sequence);
        done(copy_by(&ways, &text, &what, file, run));
    });
}

/// The ways from here, best first. There is always the last one.
fn ways() -> Vec<Way> {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    ways_in(cfg!(target_os = "macos"), set)
}

fn ways_in(mac: bool, set: impl Fn(&str) -> bool) -> Vec<Way> {
    let remote = set("SSH_CONNECTION") || set("SSH_TTY");
    let pbcopy = (mac && !remote).then_some(Way::Pbcopy);
    let tmux = set("TMUX").then_some(Way::Tmux);
    pbcopy
        .into_iter()
        .chain(tmux)
        .chain([Way::Sequence])
        .collect()
}

/// Goes the ways until one works. `file` is where the text is too, or why it is not.
fn copy_by(
    ways: &[Way],
    text: &str,
    what: &str,
    file: Result<String, String>,
    run: impl Fn(&[&str], &str) -> Result<(), String>,
) -> Copied {
    let mut tried = String::new();
    let also = match &file {
        Ok(path) => format!("; it is also in {path}"),
        Err(why) => format!("; not in a file: {why}"),
    };
    for way in ways {
        let (command, done): (&[&str], _) = match way {
            Way::Pbcopy => (&["pbcopy"], "Copied {} to the clipboard (pbcopy)"),
            Way::Tmux => (
                &["tmux", "load-buffer", "-w", "-"],
                "Copied {} to tmux's buffer; tmux passes it on to the terminal's clipboard if its set-clipboard and the terminal allow",
            ),
            Way::Sequence if text.len() > MOST_BY_SEQUENCE => {
                let long = format!(
                    "{} kB is more than the {} kB that terminals take (OSC 52)",
                    text.len() / 1000,
                    MOST_BY_SEQUENCE / 1000
                );
                return Copied {
                    sequence: None,
                    told: match file {
                        Ok(path) => Ok(format!(
                            "{tried}Not in the clipboard: {long}; but {what} is in {path}."
                        )),
                        Err(why) => Err(format!("{tried}Not copied: {long}; no file: {why}.")),
                    },
                };
            }
            Way::Sequence => {
                return Copied {
                    sequence: Some(format!("\x1b]52;c;{}\x07", STANDARD.encode(text))),
                    told: Ok(format!(
                        "{tried}Sent {what} to the terminal's clipboard (OSC 52); it may refuse{also}."
                    )),
                };
            }
        };
        match run(command, text) {
            Ok(()) => {
                return Copied {
                    sequence: None,
                    told: Ok(format!("{tried}{}{also}.", done.replace("{}", what))),
                };
            }
            Err(why) => tried = format!("{tried}`{}` failed: {why}. ", command[0]),
        }
    }
    Copied {
        sequence: None,
        told: match file {
            Ok(path) => Ok(format!(
                "{tried}Copied {what} to {path}, not to the clipboard."
            )),
            Err(why) => Err(format!("{tried}Not copied: no file: {why}.")),
        },
    }
}

/// Puts the text into a file for its owner alone, in place of what was copied before.
fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // Several copies may be made at once, also by several instances.
    let written = data::create_folder(folder)
        .and_then(|()| NamedTempFile::new_in(folder))
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            Ok(file.persist(path)?)
        });
    written
        .map(drop)
        .map_err(|error| format!("{}: {error}", data::tell(path)))
}

/// Runs a program with the text as its input.
fn run(command: &[&str], text: &str) -> Result<(), String> {
    run_within(PROGRAM_ENDS, command, text)
}

fn run_within(limit: Duration, command: &[&str], text: &str) -> Result<(), String> {
    let mut child = Command::new(command[0])
        .args(&command[1..])
        // pbcopy takes its input for MacRoman otherwise.
        .env("LC_CTYPE", "UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        let text = text.to_owned();
        // Ends with the program: writing to one that has ended fails.
        thread::spawn(move || input.write_all(text.as_bytes()));
    }
    let deadline = Instant::now() + limit;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if Instant::now() < deadline => thread::sleep(LOOK),
            Ok(None) => {
                child.kill().ok();
                child.wait().ok();
                return Err(format!("it took longer than {} s", limit.as_secs_f32()));
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_best_way_from_here_comes_first() {
        use Way::{Pbcopy, Sequence, Tmux};
        let check = |mac, set: &[&str], expect: &[Way]| {
            assert_eq!(
                ways_in(mac, |name| set.contains(&name)),
                expect,
                "{mac} {set:?}"
            );
        };
        check(false, &[], &[Sequence]);
        check(false, &["TMUX"], &[Tmux, Sequence]);
        check(true, &[], &[Pbcopy, Sequence]);
        check(true, &["TMUX"], &[Pbcopy, Tmux, Sequence]);
        check(true, &["SSH_TTY"], &[Sequence]);
        check(true, &["SSH_CONNECTION", "TMUX"], &[Tmux, Sequence]);
    }

    #[track_caller]
    fn check(ways: &[Way], working: &[&str], n: usize, sequence: bool, expect: &[&str]) {
        let run = |command: &[&str], _: &str| {
            let works = working.contains(&command[0]);
            works
                .then_some(())
                .ok_or_else(|| "exit status: 1".to_owned())
        };
        let text = "a".repeat(n);
        let copied = copy_by(ways, &text, "the answer", Ok("FILE".into()), run);
        assert_eq!(copied.sequence.is_some(), sequence);
        let told = copied.told.unwrap();
        for part in expect {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn what_is_said_is_what_happened() {
        use Way::{Pbcopy, Sequence, Tmux};
        let file = "also in FILE.";
        check(
            &[Pbcopy, Sequence],
            &["pbcopy"],
            9,
            false,
            &["the answer to the clipboard (pbcopy);", file],
        );
        check(
            &[Tmux, Sequence],
            &["tmux"],
            9,
            false,
            &["to tmux's buffer; tmux passes", file],
        );
        check(
            &[Pbcopy, Tmux, Sequence],
            &[],
            9,
            true,
            &[
                "`pbcopy` failed: exit status: 1. `tmux` failed",
                "(OSC 52); it may refuse",
                file,
            ],
        );
        check(
            &[Sequence],
            &[],
            MOST_BY_SEQUENCE,
            true,
            &["Sent the answer"],
        );
        check(
            &[Sequence],
            &[],
            MOST_BY_SEQUENCE + 1,
            false,
            &["Not in the clipboard: 74 kB", "the answer is in FILE."],
        );
        let failed = copy_by(
            &[Sequence],
            &"a".repeat(80_000),
            "it",
            Err("full".into()),
            |_, _| Ok(()),
        );
        assert!(failed.told.unwrap_err().contains("no file: full"));
    }

    #[test]
    fn the_sequence_is_the_text_in_base64() {
        let copied = copy_by(
            &[Way::Sequence],
            "hé\x07",
            "it",
            Err("full".into()),
            |_, _| Ok(()),
        );
        assert_eq!(copied.sequence.unwrap(), "\x1b]52;c;aMOpBw==\x07");
        assert!(copied.told.unwrap().ends_with("; not in a file: full."));
    }

    #[test]
    fn programs_get_the_text_and_have_a_time_limit() {
        let text = "x".repeat(1 << 20);
        run(&["sh", "-c", "test $(wc -c) = 1048576"], &text).unwrap();
        assert!(
            run(&["sh", "-c", "exit 2"], &text)
                .unwrap_err()
                .contains('2')
        );
        assert!(run(&["no-such-program"], "").is_err());
        let why = run_within(Duration::from_millis(50), &["sleep", "60"], &text).unwrap_err();
        assert_eq!(why, "it took longer than 0.05 s");
    }

    #[test]
    fn the_file_is_private_and_holds_the_last_copy() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("speck/copied.md");
        for text in ["first, and long", "second"] {
            write(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::write(home.path().join("file"), "").unwrap();
        assert!(write(&home.path().join("file/copied.md"), "").is_err());
    }
}
