//! Saved chats and the terminal: what is printed when the program ends, and that no way to end it loses
//! what was said.

use std::fs;
use std::path::PathBuf;

use portable_pty::CommandBuilder;
use rustix::process::Signal;

use crate::pty::{Pty, chat};
use crate::{CTRL_D, ENTER, ready, words};

/// Where the saved chats of its user are.
fn folder(pty: &Pty) -> PathBuf {
    let data = if cfg!(target_os = "macos") {
        "Library/Application Support"
    } else {
        ".local/share"
    };
    pty.home().join(data).join("speck/sessions")
}

/// The log of the only chat, and its id.
fn log(pty: &Pty) -> (String, String) {
    let files: Vec<_> = fs::read_dir(folder(pty))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let id = files[0].file_stem().unwrap().to_str().unwrap().to_owned();
    (fs::read_to_string(&files[0]).unwrap(), id)
}

/// A chat in the middle of an answer that takes seconds and fits on the screen.
fn answering() -> Pty {
    let mut pty = ready(&["--strategy", "plain"]);
    pty.keys(&words(30));
    pty.wait_for("word29");
    pty.keys(ENTER);
    pty.wait_for("You wrote:");
    pty
}

/// Whether the answer of [`answering`] was saved as far as it had come.
#[track_caller]
fn assert_answer_is_saved(pty: &Pty) {
    let (log, _) = log(pty);
    assert!(log.contains("\"asked\"") && log.contains("word29"), "{log}");
    assert!(
        log.contains("You wrote:"),
        "what was written is saved: {log}"
    );
}

#[test]
fn the_end_says_where_the_chat_is_and_it_goes_on() {
    let mut pty = ready(&[]);
    pty.keys("hello there");
    pty.keys(ENTER);
    pty.wait_for("✓ done");
    pty.keys("/save greetings");
    pty.keys(ENTER);
    pty.wait_for("Saved as");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
    let (log, id) = log(&pty);
    assert!(
        log.contains("\"turn\"") && log.contains("greetings"),
        "{log}"
    );
    let screen = pty.wait_for("speck chat --resume");
    assert!(
        screen.contains(&format!("speck chat --resume {id}")),
        "{screen}"
    );

    let data = folder(&pty);
    let data = data.ancestors().nth(2).unwrap().to_str().unwrap();
    let mut again = Pty::chat_with(&["--resume", "last"], &[("XDG_DATA_HOME", data)]);
    let screen = again.wait("the conversation", |screen| {
        screen.contents().matches("hello there").count() >= 3
    });
    assert!(screen.contains("goes on"), "{screen}");
    again.keys(CTRL_D);
    assert_eq!(again.exit_code(), 0);
}

#[test]
fn an_end_that_could_not_be_saved_is_told_and_has_a_status_of_its_own() {
    let mut pty = Pty::chat_with(&[], &[("XDG_DATA_HOME", "/dev/null")]);
    pty.wait_for("scripted");
    pty.keys("hello there");
    pty.keys(ENTER);
    pty.wait_for("cannot be saved");
    pty.wait_for("✓ done");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 3);
    pty.assert_restored();
    pty.wait_for("the end of this chat is not saved");
}

#[test]
fn signals_save_the_answer_as_far_as_it_came() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut pty = answering();
        pty.signal(signal);
        assert_eq!(pty.exit_code(), code);
        assert_answer_is_saved(&pty);
    }
}

#[test]
fn a_terminal_that_goes_away_leaves_a_saved_chat() {
    let mut pty = answering();
    assert_eq!(pty.take_away(), Some(129));
    assert_answer_is_saved(&pty);
    let mut command: CommandBuilder = chat(&[]);
    command.set_controlling_tty(false);
    let mut pty = Pty::start(command, &[]);
    pty.wait_for("scripted");
    pty.keys("hello there");
    pty.keys(ENTER);
    pty.wait_for("You wrote:");
    assert_eq!(pty.take_away(), Some(129));
    let (log, _) = log(&pty);
    assert!(log.contains("You wrote:"), "{log}");
}

#[test]
fn a_chat_is_picked_from_the_list() {
    let mut pty = ready(&[]);
    pty.keys("first question");
    pty.keys(ENTER);
    pty.wait_for("✓ done");
    pty.keys("/new");
    pty.keys(ENTER);
    pty.wait_gone("first question");
    pty.keys("/resume");
    pty.keys(ENTER);
    pty.wait("the list", |screen| {
        let contents = screen.contents();
        contents.contains("saved chats") && contents.contains("first question")
    });
    pty.keys(ENTER);
    let screen = pty.wait("the conversation", |screen| {
        screen
            .contents()
            .contains("so that there is something to copy")
    });
    assert!(!screen.contains("saved chats"), "{screen}");
    pty.keys("second question");
    pty.keys(ENTER);
    pty.wait("the next answer", |screen| {
        screen.contents().matches("second question").count() >= 3
    });
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    let (log, _) = log(&pty);
    assert!(
        log.contains("\"resumed\"") && log.contains("second question"),
        "{log}"
    );
}
