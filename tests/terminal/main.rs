//! The screen, driven as a person drives it: the real program in a pseudo-terminal, on the scripted
//! model, which needs no file. It repeats what it is told.

#[path = "../support/hostile.rs"]
mod corpus;
#[path = "../support/gguf_writer.rs"]
mod gguf_writer;
mod hostile;
mod leaving;
mod models;
#[path = "../support/oracle.rs"]
mod oracle;
mod outside;
mod pty;
mod saved;
mod soak;
mod threads;

use std::time::{Duration, Instant};

use portable_pty::CommandBuilder;
use rustix::process::Signal;

use pty::{Pty, chat, is_normal};

const ENTER: &str = "\r";
const ESC: &str = "\x1b";
const CTRL_C: &str = "\x03";
const CTRL_D: &str = "\x04";
const CTRL_T: &str = "\x14";
const CTRL_Z: &str = "\x1a";
const SHIFT_TAB: &str = "\x1b[Z";

/// Many words, `word0` and on: the answer, which repeats them, takes seconds.
fn words(n: usize) -> String {
    let words: Vec<_> = (0..n).map(|i| format!("word{i}")).collect();
    words.join(" ")
}

fn ready(args: &[&str]) -> Pty {
    let pty = Pty::chat(args);
    pty.wait_for("scripted");
    pty
}

/// A chat in the middle of a long answer.
fn streaming(args: &[&str]) -> Pty {
    long_answer(ready(args))
}

/// The same with environment variables.
fn streaming_with(variables: &[(&str, &str)]) -> Pty {
    let pty = Pty::chat_with(&[], variables);
    pty.wait_for("scripted");
    long_answer(pty)
}

fn long_answer(mut pty: Pty) -> Pty {
    // Pasted, as a person would.
    pty.keys(&format!("\x1b[200~{}\x1b[201~", words(400)));
    pty.wait_for("[pasted");
    pty.keys(ENTER);
    pty.wait_for("… writing");
    pty
}

#[test]
fn a_question_is_answered() {
    let mut pty = ready(&[]);
    pty.keys("hello there");
    pty.wait_for("hello there");
    pty.keys(ENTER);
    let screen = pty.wait_for("so that there is something to copy");
    assert!(screen.contains("You wrote:"), "{screen}");
    pty.wait("the whole answer", |screen| {
        screen.contents().matches("hello there").count() >= 3
    });
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
    let last = pty.wait_for("tok/s");
    assert!(
        last.contains("per pass"),
        "a line of statistics stays: {last}"
    );
}

#[test]
fn the_strategy_is_swapped_in_the_middle_of_an_answer() {
    let mut pty = streaming(&["--strategy", "plain"]);
    pty.wait_for("plain");
    pty.keys(SHIFT_TAB);
    pty.wait("a pass confirms draft", |screen| {
        let contents = screen.contents();
        contents.contains("draft") && !contents.contains("→ draft") && contents.contains("accepted")
    });
    pty.keys(ESC);
    pty.wait_for("stopped");
}

#[test]
fn ctrl_c_stops_then_quits_on_the_second_press() {
    let mut pty = streaming(&[]);
    pty.keys(CTRL_C);
    pty.wait_for("stopped");
    pty.keys(CTRL_C);
    pty.wait_for("again");
    // Where the machine is busy the second press may come too late to count as one.
    let mut presses = 0..20;
    let code = presses.find_map(|_| {
        pty.keys(CTRL_C);
        pty.exit_code_within(Duration::from_secs(1))
    });
    assert_eq!(code, Some(0));
    pty.assert_restored();
}

#[test]
fn quit_by_command() {
    let mut pty = ready(&[]);
    pty.keys("/quit");
    pty.wait_for("/quit");
    pty.keys(ENTER);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}

#[test]
fn resizing_to_anything_and_back() {
    let mut pty = streaming(&[]);
    pty.resize(40, 12);
    pty.wait("a small screen", |screen| {
        screen.contents().contains("word") && !screen.contents().contains("latest")
    });
    // Keys in between: a resize at the same moment must not be lost.
    for (columns, rows) in [(1, 1), (2, 1), (1, 40), (300, 2), (100, 30)] {
        pty.resize(columns, rows);
        pty.keys(" ");
    }
    pty.wait("the whole screen", |screen| {
        let contents = screen.contents();
        ["word", "this answer", "latest", "accepted"]
            .iter()
            .all(|part| contents.contains(part))
    });
    pty.keys(ESC);
    pty.wait_for("stopped");
    pty.keys(CTRL_C);
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}

/// A key that comes shortly after SIGWINCH, at any of these microseconds, is read without another key.
#[test]
fn a_key_that_comes_with_a_resize_is_read_at_once() {
    let mut pty = ready(&[]);
    for round in 0..10 {
        let mut typed = format!("> {round}");
        pty.keys(&round.to_string());
        for key in 'a'..='z' {
            let columns = 100 - u16::from(typed.len() % 2 == 0);
            pty.resize(columns, 30);
            let resized = Instant::now();
            let pause = Duration::from_micros(30 * round + typed.len() as u64);
            while resized.elapsed() < pause {
                std::hint::spin_loop();
            }
            pty.keys(&key.to_string());
            typed.push(key);
            pty.wait_for(&typed);
        }
        pty.keys(CTRL_C);
    }
}

#[test]
fn help_and_panel_come_and_go() {
    let mut pty = ready(&[]);
    pty.wait_for("per pass");
    pty.keys("?");
    pty.wait_for("complete a command");
    pty.keys(ESC);
    pty.wait_gone("complete a command");
    pty.keys(CTRL_T);
    pty.wait_gone("per pass");
    pty.keys(CTRL_T);
    pty.wait_for("per pass");
}

/// Over SSH a sequence may be cut after its ESC; that must not stop the answer.
#[test]
fn a_cut_arrow_key_is_no_esc() {
    let mut pty = Pty::chat_with(&[], &[("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22")]);
    pty.wait_for("scripted");
    // Where the machine is busy the second part may come too late.
    let came = (0..10).any(|_| {
        pty.keys("first");
        pty.keys(ESC);
        pty.keys("[D");
        pty.keys("X");
        let came = pty.wait_for("X").contains("firsXt");
        if !came {
            pty.keys(CTRL_C);
            pty.wait_gone("first");
        }
        came
    });
    assert!(came);
}

/// A reply to a question that an earlier program asked.
#[test]
fn stray_replies_type_nothing_and_take_no_key_away() {
    let mut pty = ready(&[]);
    pty.keys("\x1b[?2026;2$y\x1b[?1;2c\x1b]11;rgb:0/0/0\x07\x1bP>|XTerm(390)\x1b\\one");
    let screen = pty.wait_for("> one");
    assert!(
        !screen.contains("2026") && !screen.contains("rgb"),
        "{screen}"
    );
    // Cut off: the rest will never come.
    for cut in ["\x1b[?1;2", "\x1b[<0;1", "\x1b]11;rgb:", "\x1bP>|X"] {
        pty.keys("two");
        pty.wait_for("two");
        pty.keys(cut);
        pty.keys(CTRL_C);
        pty.wait_gone("two");
    }
    pty.keys("\x1b[200~three");
    pty.wait_for("three");
    pty.keys(CTRL_C);
    pty.wait_gone("three");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
}

#[test]
fn suspending_gives_the_terminal_to_the_shell_and_takes_it_again() {
    let mut shell = CommandBuilder::new("/bin/sh");
    shell.arg("-i");
    let mut pty = Pty::start(shell, &[("PS1", "shell> ")]);
    pty.wait_for("shell>");
    pty.keys(&format!(
        "{} chat --target scripted\r",
        env!("CARGO_BIN_EXE_speck")
    ));
    pty.wait("the screen", |screen| {
        screen.alternate_screen() && screen.contents().contains("scripted")
    });
    pty.keys("kept text");
    pty.wait_for("kept text");
    pty.keys(CTRL_Z);
    pty.wait("the shell", |screen| {
        is_normal(screen) && screen.contents().contains("Stopped")
    });
    pty.keys("echo in$((1+1))between\r");
    pty.wait_for("in2between");
    pty.keys("fg\r");
    let screen = pty.wait("the screen again", |screen| {
        screen.alternate_screen()
            && screen.bracketed_paste()
            && screen.contents().contains("kept text")
    });
    assert!(screen.contains("scripted"), "{screen}");
    pty.keys(CTRL_C);
    pty.wait_gone("kept text");
    pty.keys(CTRL_D);
    // Its prompt: what is typed while the program ends is the program's.
    pty.wait("the shell", |screen| {
        is_normal(screen) && screen.contents().trim_end().ends_with("shell>")
    });
    pty.keys("echo code $?\r");
    pty.wait_for("code 0");
}

/// Without a shell that could continue it, stopping would be for ever.
#[test]
fn without_job_control_ctrl_z_does_nothing() {
    let mut pty = ready(&[]);
    pty.keys(CTRL_Z);
    pty.signal(Signal::TSTP);
    pty.keys("still here");
    pty.wait_for("still here");
}

#[test]
fn a_panic_of_the_engine_is_a_message() {
    let mut pty = ready(&[]);
    pty.keys("please panic");
    pty.wait_for("please panic");
    pty.keys(ENTER);
    let screen = pty.wait_for("A bug in speck");
    assert!(!screen.contains("panicked at"), "{screen}");
    pty.keys("go on");
    pty.wait_for("go on");
    pty.keys(ENTER);
    pty.wait("the next answer", |screen| {
        screen.contents().matches("go on").count() >= 3
    });
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
    assert!(!pty.written().contains("panicked at"));
}

#[test]
fn a_terminal_that_goes_away_ends_it() {
    let mut pty = ready(&[]);
    assert_eq!(pty.take_away(), Some(129));
}

/// Not every terminal that goes away sends SIGHUP.
#[test]
fn a_terminal_that_goes_away_without_a_signal_ends_it_too() {
    let mut command = chat(&[]);
    command.set_controlling_tty(false);
    let mut pty = Pty::start(command, &[]);
    pty.wait_for("scripted");
    assert_eq!(pty.take_away(), Some(129));
}

#[test]
fn frames_are_synchronised_and_the_mouse_is_left_alone() {
    let mut pty = streaming(&[]);
    pty.keys(ESC);
    pty.wait_for("stopped");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
    let written = pty.written();
    assert!(written.contains("\x1b[?2026h"));
    assert!(!written.contains("\x1b[?1000h") && !written.contains("\x1b[?1003h"));
    assert!(
        !written.contains("\x1b[>5u"),
        "xterm does not know the kitty keyboard"
    );
    let shown = written.matches("\x1b[?25h").count();
    assert!(shown < 10, "the caret was shown {shown} times");
}

#[test]
fn no_color_is_honoured() {
    let mut pty = Pty::chat_with(
        &["--theme", "dark"],
        &[("NO_COLOR", "1"), ("COLORTERM", "truecolor")],
    );
    pty.wait_for("scripted");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    let written = pty.written();
    let sequences = written.split("\x1b[").skip(1);
    let attributes = sequences.filter_map(|sequence| {
        let end = sequence.find(|c: char| c.is_ascii_alphabetic())?;
        sequence[end..].starts_with('m').then(|| &sequence[..end])
    });
    let mut n_attributes = 0;
    for number in attributes.flat_map(|numbers| numbers.split(';')) {
        let coloured = matches!(number.parse(), Ok(30..=38 | 40..=48 | 90..=107));
        assert!(!coloured, "{number} in {written:?}");
        n_attributes += 1;
    }
    assert!(n_attributes > 5, "{written:?}");
}

#[test]
fn the_line_mode_stops_an_answer_and_swaps_the_strategy() {
    let mut pty = Pty::chat(&["--no-tui"]);
    pty.wait_for("> ");
    pty.keys("/mode lookup\r");
    pty.wait_for("lookup drafts from the next pass on");
    pty.keys("/mode\r");
    pty.wait_for("* lookup");
    pty.keys("/mode auto\r");
    pty.wait_for("auto drafts from the next pass on");
    pty.keys(&format!("{}\r", words(300)));
    pty.wait_for("You wrote:");
    pty.keys(CTRL_C);
    pty.wait_for("tok/s");
    pty.wait_for("auto: ");
    pty.keys("/quit\r");
    assert_eq!(pty.exit_code(), 0);
    assert!(!pty.written().contains("\x1b[?1049h"), "no screen");
}

#[test]
fn a_dumb_terminal_gets_the_line_mode() {
    let mut pty = Pty::chat_with(&[], &[("TERM", "dumb")]);
    pty.wait_for("> ");
    pty.keys(CTRL_C);
    assert_eq!(pty.exit_code(), 130);
}

#[test]
fn an_answer_to_a_terminal_is_clean() {
    let mut pty = Pty::chat(&["a\x1b]0;title\x07b"]);
    assert_eq!(pty.exit_code(), 0);
    let screen = pty.wait_for("tok/s");
    assert!(screen.contains("a␛]0;title␇b"), "{screen}");
}

#[test]
fn an_interrupted_benchmark_prints_what_is_done() {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_speck"));
    command.args(["bench", "--target", "scripted", "--prompts", "story"]);
    command.args([
        "--strategies",
        "plain,lookup",
        "--tokens",
        "4",
        "--runs",
        "900",
    ]);
    let mut pty = Pty::start(command, &[]);
    pty.wait("the second run or a later one", |screen| {
        let contents = screen.contents();
        contents.contains("of 900: story") && !contents.contains("run 1 of")
    });
    pty.keys(CTRL_C);
    let screen = pty.wait_for("interrupted");
    assert_eq!(pty.exit_code(), 130);
    for part in [
        "story",
        " plain ",
        " lookup ",
        "every text is plain's",
        "alone, the target",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
}
