//! What the screen does outside itself: the editor, the history file, pastes, the clipboard.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::pty::{Pty, is_normal};
use crate::{CTRL_C, CTRL_D, ENTER, streaming_with};

const CTRL_G: &str = "\x07";
const CTRL_P: &str = "\x10";
const CTRL_R: &str = "\x12";

/// A chat whose editor is this shell script; `$0` is the file.
fn with_editor(script: &str) -> Pty {
    let editor = format!("/bin/sh -c '{script}'");
    let pty = Pty::chat_with(&[], &[("EDITOR", &editor)]);
    pty.wait_for("scripted");
    pty
}

#[test]
fn the_editor_has_the_keys_and_its_text_comes_back() {
    let mut pty = with_editor("cat \"$0\"; read line; echo \"$line\" >> \"$0\"");
    pty.keys("first line");
    pty.wait_for("first line");
    pty.keys(CTRL_G);
    pty.wait("the editor", |screen| {
        is_normal(screen) && screen.contents().contains("first line")
    });
    pty.keys("from the editor\r");
    pty.wait("the screen again", |screen| {
        screen.alternate_screen()
            && screen.bracketed_paste()
            && screen.contents().contains("> first line")
            && screen.contents().contains("\n  from the editor")
    });
    pty.keys(" more");
    pty.wait_for("from the editor more");
    pty.keys(CTRL_C);
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    pty.assert_restored();
}

#[test]
fn an_editor_that_fails_leaves_the_text() {
    let mut pty = with_editor("echo lost > \"$0\"; exit 3");
    pty.keys("kept text");
    pty.keys(CTRL_G);
    let screen = pty.wait_for("exit status: 3");
    assert!(
        screen.contains("> kept text") && !screen.contains("lost"),
        "{screen}"
    );

    let mut pty = Pty::chat_with(&[], &[("VISUAL", "no-such-editor -w")]);
    pty.wait_for("scripted");
    pty.keys("kept text");
    pty.keys(CTRL_G);
    let screen = pty.wait_for("Cannot start the editor `no-such-editor`");
    assert!(screen.contains("> kept text"), "{screen}");
}

/// Ctrl-C in an editor is the editor's, and the answer is written meanwhile.
#[test]
fn the_answer_goes_on_behind_the_editor() {
    let editor = "/bin/sh -c 'trap : INT; echo ready; read a; echo done > \"$0\"'";
    let mut pty = streaming_with(&[("EDITOR", editor)]);
    pty.keys(CTRL_G);
    pty.wait_for("ready");
    pty.keys(CTRL_C);
    pty.wait_for("^C");
    pty.keys("\r");
    pty.wait("the text", |screen| {
        screen.alternate_screen() && screen.contents().contains("> done")
    });
    pty.wait_for("token limit reached");
}

/// Also of one that goes on, for longer than a chat that does not end has time to.
#[test]
fn an_editor_has_ctrl_c_for_itself() {
    let mut pty = with_editor(
        "trap : INT; echo ready; i=0; while [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; echo late > \"$0\"",
    );
    pty.keys(CTRL_G);
    pty.wait_for("ready");
    pty.keys(CTRL_C);
    pty.wait_for("^C");
    pty.keys(CTRL_C);
    pty.wait_for("^C^C");
    pty.wait_for("> late");
    pty.keys(" but there");
    pty.wait_for("> late but there");
}

#[test]
fn ctrl_c_that_ends_the_editor_ends_nothing_else() {
    let mut pty = with_editor("echo ready; read line");
    pty.keys("kept text");
    pty.keys(CTRL_G);
    pty.wait_for("ready");
    pty.keys(CTRL_C);
    let screen = pty.wait_for("signal: 2");
    assert!(screen.contains("> kept text"), "{screen}");
    pty.keys(" and more");
    pty.wait_for("> kept text and more");
}

#[test]
fn what_was_typed_is_there_in_the_next_run() {
    let data = tempfile::tempdir().unwrap();
    let here = [("XDG_DATA_HOME", data.path().to_str().unwrap())];
    let mut pty = Pty::chat_with(&[], &here);
    pty.wait_for("scripted");
    pty.keys("a question to find again");
    pty.keys(ENTER);
    pty.wait_for("✓ done");
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    let file = data.path().join("speck/history.jsonl");
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );

    let mut pty = Pty::chat_with(&[], &here);
    pty.wait_for("scripted");
    pty.keys(CTRL_R);
    pty.keys("FIND");
    pty.wait_for("▸ a question to find again");
    pty.keys(ENTER);
    pty.wait_for("> a question to find again");
}

#[test]
fn a_history_that_is_not_wanted_is_not_kept() {
    check_no_history("[screen]\nhistory = false\n", &[]);
    check_no_history("", &["--no-save"]);
}

fn check_no_history(settings: &str, args: &[&str]) {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    fs::write(&config, settings).unwrap();
    let here = [
        ("XDG_DATA_HOME", home.path().to_str().unwrap()),
        ("SPECK_CONFIG", config.to_str().unwrap()),
    ];
    let mut pty = Pty::chat_with(args, &here);
    pty.wait_for("scripted");
    pty.keys("secret");
    pty.keys(CTRL_C);
    pty.keys(CTRL_P);
    pty.wait_for("> secret");
    pty.keys(CTRL_C);
    pty.keys(CTRL_D);
    assert_eq!(pty.exit_code(), 0);
    assert!(!home.path().join("speck").exists());
}

#[test]
fn a_history_file_that_cannot_be_used_is_told() {
    let data = tempfile::tempdir().unwrap();
    fs::create_dir_all(data.path().join("speck/history.jsonl")).unwrap();
    let here = [("XDG_DATA_HOME", data.path().to_str().unwrap())];
    let mut pty = Pty::chat_with(&[], &here);
    pty.wait_for("cannot read what was typed before");
    pty.keys("works");
    pty.keys(ENTER);
    pty.wait_for("✓ done");
}

#[test]
fn an_answer_is_copied_to_the_terminals_clipboard_and_a_file() {
    let data = tempfile::tempdir().unwrap();
    let mut pty = Pty::chat_with(&[], &[("XDG_DATA_HOME", data.path().to_str().unwrap())]);
    pty.wait_for("scripted");
    pty.keys("hello\r");
    pty.wait_for("✓ done");
    pty.keys("/copy\r");
    pty.wait_for("it may refuse");
    let written = pty.written();
    let sequence = written.split("\x1b]52;c;").nth(1).unwrap();
    let encoded = sequence.split('\x07').next().unwrap();
    let copied = fs::read_to_string(data.path().join("speck/copied.md")).unwrap();
    assert!(copied.contains("hello"));
    // Three bytes are four characters.
    assert_eq!(encoded.len(), copied.len().div_ceil(3) * 4);
    let before = written.split("\x1b]52;c;").next().unwrap();
    let count = |sequence| before.matches(sequence).count();
    assert_eq!(
        count("\x1b[?2026h"),
        count("\x1b[?2026l"),
        "not inside a frame"
    );
}

/// A program that never ends must hold up neither the screen nor the end.
#[test]
fn a_clipboard_program_that_hangs_holds_nothing_up() {
    let home = tempfile::tempdir().unwrap();
    let tmux = home.path().join("tmux");
    fs::write(&tmux, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&tmux, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        home.path().display(),
        std::env::var("PATH").unwrap()
    );
    let mut pty = Pty::chat_with(&[], &[("TMUX", "/nowhere,1,0"), ("PATH", &path)]);
    pty.wait_for("scripted");
    pty.keys("hello\r");
    pty.wait_for("✓ done");
    pty.keys("/copy\r");
    pty.keys("typed meanwhile");
    let screen = pty.wait_for("> typed meanwhile");
    assert!(!screen.contains("`tmux` failed"), "{screen}");
    pty.wait_for("`tmux` failed: it took longer than 3 s");
    pty.wait_for("it may refuse");
}

/// The editor has the terminal: the sequence for the clipboard comes when it has ended.
#[test]
fn what_is_copied_waits_for_the_editor() {
    let home = tempfile::tempdir().unwrap();
    let here = home.path().display();
    let tmux = home.path().join("tmux");
    // It fails, so that OSC 52 is next, but not before the editor runs.
    let script = format!(
        "#!/bin/sh\nuntil test -e {here}/edits; do sleep 0.01; done\n: > {here}/failed\nexit 1\n"
    );
    fs::write(&tmux, script).unwrap();
    fs::set_permissions(&tmux, fs::Permissions::from_mode(0o755)).unwrap();
    let editor = format!(
        "/bin/sh -c ': > {here}/edits; until test -e {here}/failed; do sleep 0.01; done; echo ready; read line'"
    );
    let path = format!("{here}:{}", std::env::var("PATH").unwrap());
    let variables = [
        ("TMUX", "/nowhere,1,0"),
        ("PATH", &*path),
        ("EDITOR", &*editor),
    ];
    let mut pty = Pty::chat_with(&[], &variables);
    pty.wait_for("scripted");
    pty.keys("hello\r");
    pty.wait_for("✓ done");
    pty.keys("/copy\r");
    pty.keys(CTRL_G);
    pty.wait_for("ready");
    pty.keys("\r");
    pty.wait_for("it may refuse");
    let written = pty.written();
    let (before, _) = written.split_once("\x1b]52;c;").unwrap();
    assert_eq!(before.matches("\x1b[?1049h").count(), 2, "the screen again");
    assert_eq!(before.matches("\x1b[?1049l").count(), 1);
}

#[test]
fn a_theme_of_the_user_is_read_when_it_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config.toml");
    fs::write(&config, "").unwrap();
    let mut pty = Pty::chat_with(&[], &[("SPECK_CONFIG", config.to_str().unwrap())]);
    pty.wait_for("scripted");
    let light = include_str!("../../themes/light.toml");
    fs::create_dir(home.path().join("themes")).unwrap();
    let mine = home.path().join("themes/mine.toml");
    fs::write(&mine, light.replace("code ", "kode ")).unwrap();
    // The list knows it although the program started without it.
    pty.keys("/theme mi");
    pty.wait("the list", |screen| screen.contents().contains("▸ mine"));
    pty.keys("ne\r");
    pty.wait_for("line 12: unknown key");
    fs::write(&mine, light).unwrap();
    // The command has stayed in the input.
    pty.keys("\r");
    pty.wait("the theme's background", |screen| {
        let cell = screen.cell(0, 0).unwrap();
        cell.bgcolor() != vt100::Color::Default
    });
}

#[test]
fn a_paste_of_ten_megabytes_is_refused_and_the_keys_go_on() {
    let mut pty = Pty::chat_with(&[], &[]);
    pty.wait_for("scripted");
    pty.keys(&format!(
        "\x1b[200~{}\x1b[201~",
        "0123456789".repeat(1_000_000)
    ));
    // All of it, or the rest where it paused on a busy machine.
    pty.wait_for("not pasted: ");
    pty.keys("still here");
    pty.wait_for("> still here");
}
