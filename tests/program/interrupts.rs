//! An answer that is interrupted, and a reader that goes away.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::{chat, text};

/// A long answer, with its first bytes read.
fn started(args: &[&str]) -> Child {
    let words: Vec<_> = (0..800).map(|i| format!("word{i}")).collect();
    let mut command = chat(args);
    command
        .arg(words.join(" "))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut [0; 4])
        .unwrap();
    child
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_raw(child.id().cast_signed()).unwrap(), signal).unwrap();
}

#[test]
fn an_interrupt_keeps_what_is_there() {
    let child = started(&[]);
    send(&child, Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let rest = text(&output.stdout);
    assert!(
        rest.ends_with('\n') && !rest.contains("word799"),
        "{rest:?}"
    );
}

#[test]
fn an_interrupt_ends_json_lines_properly() {
    let child = started(&["--json"]);
    // Before the models are there an interrupt leaves at once; the first lines may be earlier.
    let mut child = child;
    let mut out = child.stdout.take().unwrap();
    let mut read = String::from("....");
    let mut bytes = [0; 256];
    while !read.contains("\"delta\"") {
        let n = out.read(&mut bytes).unwrap();
        assert!(n > 0, "{read}");
        read += text(&bytes[..n]);
    }
    send(&child, Signal::INT);
    out.read_to_string(&mut read).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last: Value = serde_json::from_str(read.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["reason"]),
        (&"done".into(), &"stopped".into())
    );
}

#[test]
fn sigterm_ends_it() {
    let mut child = started(&[]);
    send(&child, Signal::TERM);
    let status = child.wait().unwrap();
    assert!(
        status.signal() == Some(15) || status.code() == Some(143),
        "{status}"
    );
}

#[test]
fn a_reader_that_has_gone_ends_it_without_a_word() {
    for args in [&[][..], &["--json"]] {
        let mut child = started(args);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), text(&output.stderr)),
            (Some(141), "")
        );
    }
}

/// Only Linux has the file that is always full.
#[test]
#[cfg(target_os = "linux")]
fn an_answer_that_cannot_be_written_is_an_error() {
    let lines: &[&str] = &["--no-tui"];
    for args in [&["hello"][..], &["--json", "hello"], lines] {
        let full = std::fs::File::create("/dev/full").unwrap();
        let mut child = chat(args)
            .stdin(Stdio::piped())
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n").ok();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let told = "speck: cannot write to standard output: No space left on device";
        assert!(text(&output.stderr).contains(told), "{output:?}");
    }
}
