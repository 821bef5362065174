//! The program without a screen. The scripted model needs no file; it repeats what it is told.

mod answers;
mod bench;
mod configuration;
mod interrupts;
mod tools;

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What the scripted model answers to `hello there`.
const ANSWER: &str =
    "You wrote:\n\nhello there\n\nOnce more, so that there is something to copy:\n\nhello there\n";

fn speck(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speck"));
    command
        .args(args)
        .env_clear()
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null());
    command
}

fn chat(args: &[&str]) -> Command {
    let mut command = speck(&["chat", "--target", "scripted"]);
    command.args(args);
    command
}

fn run(command: &mut Command, input: &str) -> Output {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A program that does not read its input may have ended already.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs a command that must end with `code`; gives standard output and standard error.
#[track_caller]
fn check(command: &mut Command, input: &str, code: i32) -> (String, String) {
    let output = run(command, input);
    let (out, err) = (
        text(&output.stdout).to_owned(),
        text(&output.stderr).to_owned(),
    );
    assert_eq!(output.status.code(), Some(code), "out: {out}\nerr: {err}");
    (out, err)
}

/// Runs a command that must end with `code` and say each of `parts` on standard error.
#[track_caller]
fn check_error(command: &mut Command, input: &str, code: i32, parts: &[&str]) {
    let (out, err) = check(command, input, code);
    assert_eq!(out, "", "nothing on standard output");
    for part in parts {
        assert!(err.contains(part), "no {part:?} in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}
