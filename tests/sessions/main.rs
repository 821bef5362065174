//! Saved chats by the real program: what survives kills, a full disk and a second instance, and what
//! `speck sessions` says. The scripted model needs no file; it repeats what it is told.

mod commands;
mod disk;
mod kills;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::NamedTempFile;

/// What the scripted model's answer ends with, before it repeats the message.
const END: &str = "Once more, so that there is something to copy:";

/// A home of one's own.
struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn speck(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_speck"));
        command.args(args).env_clear();
        command.env("HOME", self.path());
        command.env("XDG_DATA_HOME", self.path().join("data"));
        command.stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str], input: impl AsRef<[u8]>) -> Output {
        let mut command = self.speck(args);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_ref()).ok();
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must end with `code`; gives standard output and standard error.
    #[track_caller]
    fn check(&self, args: &[&str], input: impl AsRef<[u8]>, code: i32) -> (String, String) {
        let output = self.run(args, input);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "out: {out}\nerr: {err}");
        (out, err)
    }

    /// A chat in line mode of these messages; ends by itself.
    #[track_caller]
    fn chat(&self, args: &[&str], messages: &str) -> (String, String) {
        let args = [&["chat", "--target", "scripted", "--no-tui"], args].concat();
        self.check(&args, messages, 0)
    }

    /// All files of the saved chats, with what kills have left beside them.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path().join("data/speck/sessions")) else {
            return Vec::new();
        };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// The files of the chats that there are.
    fn chats(&self) -> Vec<PathBuf> {
        let mut files = self.files();
        files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        files
    }

    /// The only chat's id.
    fn id(&self) -> String {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].file_stem().unwrap().to_str().unwrap().to_owned()
    }
}

/// A chat in line mode that the test talks to, and hears the ends of its answers.
struct Talk {
    child: Child,
    /// Until it is ended.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    errors: NamedTempFile,
}

impl Talk {
    fn start(mut command: Command) -> Self {
        let errors = NamedTempFile::new().unwrap();
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = piped.stderr(errors.reopen().unwrap()).spawn().unwrap();
        Self {
            errors,
            input: child.stdin.take(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn say(&mut self, message: &str) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn end_input(&mut self) {
        self.input = None;
    }

    /// Waits until the whole answer to a message of one line is there; `false` when the program ended.
    fn hear(&mut self, message: &str) -> bool {
        self.line(END) && self.line(message)
    }

    /// Reads up to this line.
    fn line(&mut self, expect: &str) -> bool {
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            if line.strip_suffix('\n') == Some(expect) {
                return true;
            }
            line.clear();
        }
        false
    }

    /// What it has said on standard error.
    fn errors(&self) -> String {
        fs::read_to_string(&self.errors).unwrap()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed()).unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Ends the input, waits for the end; gives the exit code.
    fn end(self) -> Option<i32> {
        let Self {
            mut child,
            input,
            mut output,
            ..
        } = self;
        drop(input);
        let mut rest = Vec::new();
        output.read_to_end(&mut rest).unwrap();
        child.wait().unwrap().code()
    }
}
