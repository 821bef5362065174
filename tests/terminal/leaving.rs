//! Every way out gives the terminal back as it was: the line discipline's modes, the alternate screen,
//! the caret, bracketed paste, colours and the keyboard's protocol.

use std::io::Write;

use portable_pty::CommandBuilder;
use ratatui::Terminal;
use rustix::process::Signal;
use speck::app::{App, AppSettings};
use speck::terminal::frame::{FrameBackend, unbuffered_stdout};
use speck::terminal::guard::{Guard, install_panic_hook};
use speck::ui::{ColorDepth, Theme, draw};

use crate::pty::{Pty, chat};
use crate::{CTRL_C, CTRL_D, ENTER, streaming};

/// The screen with every mode that speck knows: kitty has the keyboard's protocol.
const KITTY: [(&str, &str); 1] = [("TERM", "xterm-kitty")];

/// Does `act` on a running chat, which must end with `code` and leave the terminal as it was.
fn check(what: &str, code: u32, act: impl FnOnce(&mut Pty)) {
    let mut pty = Pty::start(chat(&[]), &KITTY);
    pty.wait_for("scripted");
    act(&mut pty);
    assert_eq!(pty.exit_code(), code, "{what}");
    assert!(
        pty.written().contains("\x1b[>5u"),
        "{what}: the protocol was used"
    );
    pty.assert_restored();
    pty.assert_harmless(what);
}

fn ask(pty: &mut Pty, text: &str, answer: &str) {
    pty.keys(text);
    pty.wait_for(text);
    pty.keys(ENTER);
    pty.wait_for(answer);
}

/// Clears a failed message, which is there to be sent again.
fn clear(pty: &mut Pty) {
    pty.keys(CTRL_C);
    pty.wait_gone("> please");
}

#[test]
fn a_person_leaves() {
    check("Ctrl-D", 0, |pty| pty.keys(CTRL_D));
    check("Ctrl-C twice", 0, |pty| {
        pty.keys(CTRL_C);
        pty.keys(CTRL_C);
    });
    check("/quit in an answer", 0, |pty| {
        ask(pty, "one two three four five six seven eight", "You wrote:");
        ask(pty, "/quit", "");
    });
}

#[test]
fn something_failed_before() {
    check("an error", 0, |pty| {
        ask(pty, "please fail", "was told to fail");
        clear(pty);
        pty.keys(CTRL_D);
    });
    check("a panic of the engine", 0, |pty| {
        ask(pty, "please panic", "A bug in speck");
        clear(pty);
        pty.keys(CTRL_D);
    });
}

#[test]
fn it_cannot_start() {
    let start = |args: &[&str]| {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
        command.args(args);
        Pty::start(command, &KITTY)
    };
    let mut pty = start(&["chat", "--target", "/there/is/no.gguf"]);
    pty.wait_for("no.gguf");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 1);
    pty.assert_restored();
    pty.assert_harmless("an error at the start");
    // The error stays on the normal screen.
    pty.wait_for("no.gguf");

    let mut pty = start(&["chat", "--target", "scripted", "--theme", "none"]);
    assert_eq!(pty.exit_code(), 2);
    pty.assert_restored();
    assert!(!pty.written().contains("\x1b["), "no screen");
}

#[test]
fn signals_end_it_with_their_codes() {
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::QUIT, 131),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::USR1, 128 + Signal::USR1.as_raw().cast_unsigned()),
        (Signal::USR2, 128 + Signal::USR2.as_raw().cast_unsigned()),
        (Signal::ALARM, 142),
        (Signal::XCPU, 152),
    ] {
        let mut pty = streaming(&[]);
        pty.signal(signal);
        assert_eq!(pty.exit_code(), code);
        pty.assert_restored();
        pty.assert_harmless("a signal");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_that_does_not_read_keeps_no_signal_from_ending_it() {
    let mut pty = streaming(&[]);
    assert_eq!(pty.signal_while_deaf(Signal::TERM), (Some(143), true));
}

/// Also where the sequences of a frame were cut off.
#[test]
fn the_screen_panics() {
    for (how, told) in [("draw", true), ("half a frame", true), ("elsewhere", false)] {
        let mut command = CommandBuilder::new(std::env::current_exe().unwrap());
        command.args(["--exact", "leaving::process_that_panics"]);
        command.args(["--ignored", "--nocapture"]);
        let variables = [KITTY[0], ("SPECK_TEST_PANIC", how)];
        let mut pty = Pty::start(command, &variables);
        let code = pty.exit_code();
        pty.assert_restored();
        let written = pty.written();
        assert!(written.contains("\x1b[?1049h"), "{how}: {written}");
        let (_, after) = written.rsplit_once("\x1b[?1049l").unwrap();
        assert_eq!(
            after.contains("a bug in the screen"),
            told,
            "{how}: {written}"
        );
        assert_eq!(code, if told { 101 } else { 0 }, "{how}: {written}");
    }
}

/// Takes the terminal as the program does, draws, and panics as [`the_screen_panics`] asks.
#[test]
#[ignore = "other tests start it, as a process"]
fn process_that_panics() {
    let how = std::env::var("SPECK_TEST_PANIC").unwrap();
    install_panic_hook();
    let theme = Theme::load("dark", ColorDepth::Rgb).unwrap();
    let app = App::new(AppSettings::default(), std::time::Instant::now());
    let _guard = Guard::enter().unwrap();
    let mut terminal = Terminal::new(FrameBackend::new(unbuffered_stdout().unwrap())).unwrap();
    terminal.draw(|frame| draw(&app, &theme, frame)).unwrap();
    match how.as_str() {
        "draw" => {
            let broken = |frame: &mut ratatui::Frame| {
                draw(&app, &theme, frame);
                panic!("a bug in the screen");
            };
            terminal.draw(broken).unwrap();
        }
        "half a frame" => {
            let mut out = unbuffered_stdout().unwrap();
            out.write_all(b"\x1b[?2026h\x1b[?25l\x1b[1m\x1b[38;5;1mhalf")
                .unwrap();
            panic!("a bug in the screen");
        }
        _ => {
            let other = std::thread::spawn(|| panic!("a bug in the screen"));
            assert!(other.join().is_err());
        }
    }
}
