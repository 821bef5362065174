//! The real program in a pseudo-terminal, with a terminal emulator that reads what it draws.
//!
//! **Tests wait for a condition, with a deadline**, and are woken by output; they never sleep for a
//! time that they hope is enough.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};
use vt100::{Parser, Screen};

use crate::oracle::{Modes, Surface, faults, modes_after};

/// Nothing here takes this long, unless it is broken.
const DEADLINE: Duration = Duration::from_secs(30);

/// The terminal's size at first.
const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

/// What the emulator has seen.
struct Seen {
    parser: Parser,
    bytes: Vec<u8>,
}

/// A program in a pseudo-terminal.
pub struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Option<Box<dyn MasterPty + Send>>,
    keyboard: Option<Box<dyn Write + Send>>,
    seen: Arc<(Mutex<Seen>, Condvar)>,
    reader: Option<JoinHandle<()>>,
    let_go: Arc<AtomicBool>,
    modes_before: String,
    home: tempfile::TempDir,
}

impl Pty {
    /// `speck chat --target scripted` and `args` on a terminal of 100x30.
    pub fn chat(args: &[&str]) -> Self {
        Self::start(chat(args), &[])
    }

    /// The same with environment variables.
    pub fn chat_with(args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::start(chat(args), variables)
    }

    /// Any program.
    pub fn start(mut command: CommandBuilder, variables: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.env("HOME", home.path());
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        let pair = native_pty_system().openpty(size(COLUMNS, ROWS)).unwrap();
        let modes_before = modes(&*pair.master);
        let child = pair.slave.spawn_command(command).unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let parser = Parser::new(whole(ROWS), whole(COLUMNS), 1000);
        let seen = Arc::new((
            Mutex::new(Seen {
                parser,
                bytes: Vec::new(),
            }),
            Condvar::new(),
        ));
        let let_go = Arc::new(AtomicBool::new(false));
        let mut output = pair.master.try_clone_reader().unwrap();
        let (into, stop) = (Arc::clone(&seen), Arc::clone(&let_go));
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut bytes) {
                let mut seen = into.0.lock().unwrap();
                seen.parser.process(&bytes[..n]);
                seen.bytes.extend_from_slice(&bytes[..n]);
                into.1.notify_all();
                if stop.load(Ordering::SeqCst) {
                    return;
                }
            }
        });
        Self {
            child,
            master: Some(pair.master),
            keyboard: Some(keyboard),
            seen,
            reader: Some(reader),
            let_go,
            modes_before,
            home,
        }
    }

    /// The user's home, with nothing in it that the program has not put there.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Types.
    pub fn keys(&mut self, text: &str) {
        let keyboard = self.keyboard.as_mut().unwrap();
        keyboard.write_all(text.as_bytes()).unwrap();
        keyboard.flush().unwrap();
    }

    /// Waits until the screen fulfils `condition`; gives the screen's text then.
    pub fn wait(&self, what: &str, condition: impl Fn(&Screen) -> bool) -> String {
        let (seen, changed) = &*self.seen;
        let seen = seen.lock().unwrap();
        let pending = |seen: &mut Seen| !condition(seen.parser.screen());
        let (seen, timeout) = changed.wait_timeout_while(seen, DEADLINE, pending).unwrap();
        let contents = seen.parser.screen().contents();
        drop(seen);
        assert!(
            !timeout.timed_out(),
            "{what} did not happen; the screen is:\n{contents}"
        );
        contents
    }

    /// Waits until `text` is on the screen.
    pub fn wait_for(&self, text: &str) -> String {
        self.wait(&format!("{text:?}"), |screen| {
            screen.contents().contains(text)
        })
    }

    /// Waits until `text` is no more on the screen.
    pub fn wait_gone(&self, text: &str) -> String {
        self.wait(&format!("no {text:?}"), |screen| {
            !screen.contents().contains(text)
        })
    }

    /// Everything that was written to the terminal.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.seen.0.lock().unwrap().bytes).into_owned()
    }

    /// The same, byte by byte.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.0.lock().unwrap().bytes.clone()
    }

    /// What was written must do nothing to the terminal but what speck does.
    #[track_caller]
    pub fn assert_harmless(&self, what: &str) {
        let bytes = self.bytes();
        let found = faults(&bytes, Surface::Screen(COLUMNS, ROWS));
        let written = bytes.escape_ascii();
        assert!(found.is_empty(), "{what}: {found:?}\n{written}");
    }

    /// Makes the terminal `columns` wide and `rows` high.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.seen
            .0
            .lock()
            .unwrap()
            .parser
            .screen_mut()
            .set_size(whole(rows), whole(columns));
        self.master
            .as_ref()
            .unwrap()
            .resize(size(columns, rows))
            .unwrap();
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Forgets what was written so far, but not the screen: for long sessions.
    pub fn forget(&self) {
        self.seen.0.lock().unwrap().bytes.clear();
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed());
        kill_process(pid.unwrap(), signal).unwrap();
    }

    /// Waits for the end of the program and of what it writes; gives its exit code.
    pub fn exit_code(&mut self) -> u32 {
        let status = self.exit_code_within(DEADLINE);
        if let Some(reader) = self.reader.take().filter(|_| status.is_some()) {
            reader.join().unwrap();
        }
        status.unwrap_or_else(|| {
            panic!(
                "it did not end; the screen is:\n{}",
                self.wait("", |_| true)
            )
        })
    }

    /// Waits for the end of the program, so long.
    pub fn exit_code_within(&mut self, within: Duration) -> Option<u32> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status.exit_code());
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// The terminal must be as it was: checked once the program has ended.
    pub fn assert_restored(&self) {
        self.wait("the normal screen", is_normal);
        assert_eq!(modes(&**self.master.as_ref().unwrap()), self.modes_before);
        assert_eq!(modes_after(&self.bytes()), Modes::default());
    }

    /// Stops reading until a frame does not get through, and sends a signal then; gives the exit code, if the program
    /// ends in time, and whether the line modes are as before.
    #[cfg(target_os = "linux")]
    pub fn signal_while_deaf(&mut self, signal: Signal) -> (Option<u32>, bool) {
        let seen = Arc::clone(&self.seen);
        // The reader waits for it with what it has read last.
        let deaf = seen.0.lock().unwrap();
        let waits_in = format!("/proc/{}/wchan", self.pid());
        let master = self.master.as_ref().unwrap();
        for turn in 0..500 {
            master.resize(size(COLUMNS - turn % 3, ROWS)).unwrap();
            thread::sleep(Duration::from_millis(10));
            if std::fs::read_to_string(&waits_in).is_ok_and(|it| it == "wait_woken") {
                break;
            }
        }
        self.signal(signal);
        let code = self.exit_code_within(DEADLINE);
        let restored = modes(&**self.master.as_ref().unwrap()) == self.modes_before;
        drop(deaf);
        (code, restored)
    }

    /// Takes the terminal away; gives the exit code, if the program ends, and prints how long that took.
    pub fn take_away(&mut self) -> Option<u32> {
        // The reader has its own handle on the terminal, and lets go when it has read something.
        self.let_go.store(true, Ordering::SeqCst);
        self.keys("x");
        self.reader.take().unwrap().join().unwrap();
        self.keyboard = None;
        self.master = None;
        let since = Instant::now();
        let code = self.exit_code_within(DEADLINE);
        // 2 s are promised; a busy test machine gets more.
        println!("ended {:?} after its terminal had gone", since.elapsed());
        code
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Whether the terminal shows what was there before the program, with its modes.
pub fn is_normal(screen: &Screen) -> bool {
    !screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor()
}

/// `speck chat --target scripted` and `args`.
pub fn chat(args: &[&str]) -> CommandBuilder {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
    command.args(["chat", "--target", "scripted"]);
    command.args(args);
    command
}

fn size(cols: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols,
        ..PtySize::default()
    }
}

fn whole(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has rows and columns")
}

/// The line discipline's modes, as text to compare.
fn modes(master: &dyn MasterPty) -> String {
    format!("{:?}", master.get_termios().unwrap())
}
