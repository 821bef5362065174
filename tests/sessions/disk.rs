//! A disk that is full: the chat goes on, nothing acknowledged is lost, and saving resumes.

use std::process::Command;

use crate::{Home, Talk};

/// A message that takes some room.
fn message(number: usize) -> String {
    format!("message {number} {}", "x".repeat(600))
}

/// A file-size limit stands for a full disk: writing stops in the middle of a record in the same way.
/// `ulimit -f` counts blocks of 512 or 1024 bytes.
#[test]
fn on_a_full_disk_the_chat_goes_on_and_what_was_saved_stays() {
    let home = Home::new();
    let speck = env!("CARGO_BIN_EXE_speck");
    let script = format!(
        "trap '' XFSZ; ulimit -f 8; exec {speck} chat --target scripted --draft none --no-tui 2>{}",
        home.path().join("stderr").display()
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear();
    command.env("HOME", home.path());
    command.env("XDG_DATA_HOME", home.path().join("data"));
    let mut talk = Talk::start(command);
    for number in 0..8 {
        talk.say(&message(number));
        assert!(talk.hear(&message(number)), "the chat goes on");
    }
    assert_eq!(talk.end(), Some(3), "the end of it is not saved");
    let said = std::fs::read_to_string(home.path().join("stderr")).unwrap();
    assert_eq!(
        said.matches("cannot be saved").count(),
        1,
        "told once: {said}"
    );
    assert!(said.contains("the end of this chat is not saved"), "{said}");
    let file = std::fs::read(&home.files()[0]).unwrap();
    assert!(file.ends_with(b"\n"), "no half record is left");
    let (out, err) = home.check(&["sessions", "show", "last"], "", 0);
    assert_eq!(err, "", "it is whole");
    assert!(out.contains(&message(0)) && !out.contains(&message(7)));
    // With room again, it goes on.
    home.chat(&["--resume", "last"], "after\n");
    let (out, _) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.contains(&message(0)) && out.contains("\nafter\n"));
}

/// A script hears of it, and of nothing else that was right.
#[test]
fn a_chat_that_could_not_be_saved_ends_with_a_status_of_its_own() {
    let home = Home::new();
    let data = home.path().join("data/speck");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(data.join("sessions"), "no folder").unwrap();
    let scripted = ["chat", "--target", "scripted"];
    let check = |args: &[&str], input: &[u8], code: i32| {
        let (_, err) = home.check(&[&scripted, args].concat(), input, code);
        let told = err.contains("the end of this chat is not saved");
        assert_eq!(told, code != 0, "{args:?}: {err}");
    };
    check(&["--save", "a question"], b"", 3);
    check(&["--save", "--json", "a question"], b"", 3);
    check(&["--no-tui"], b"hello\n", 3);
    check(&["--no-tui"], b"", 0);
    check(&["--no-tui", "--no-save"], b"hello\n", 0);
    // An error of another kind has its own status.
    check(&["--no-tui"], b"hello\nno text: \xff\n", 1);
}

#[cfg(target_os = "linux")]
#[test]
fn saving_resumes_when_there_is_room_again() {
    use rustix::process::{Resource, Rlimit, prlimit};

    let home = Home::new();
    let args = [
        "chat", "--target", "scripted", "--draft", "none", "--no-tui",
    ];
    let script = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_speck")])
        .args(args)
        .env_clear();
    command
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path().join("data"));
    let mut talk = Talk::start(command);
    let pid = talk.pid();
    let limit = |current| {
        let new = Rlimit {
            current,
            maximum: None,
        };
        prlimit(Some(pid), Resource::Fsize, new).unwrap();
    };
    let mut say = |number| {
        talk.say(&message(number));
        assert!(talk.hear(&message(number)));
    };
    say(0);
    let length = loop {
        // On a slow disk it may come later.
        let files = home.chats();
        let text = files
            .first()
            .map(|file| std::fs::read_to_string(file).unwrap());
        if let Some(text) = text.filter(|text| text.contains("\"turn\"")) {
            break text.len() as u64;
        }
        std::thread::yield_now();
    };
    limit(Some(length + 100));
    (1..4).for_each(&mut say);
    let shown = || home.check(&["sessions", "show", "last"], "", 0).0;
    assert!(shown().contains(&message(0)) && !shown().contains(&message(1)));
    limit(None);
    say(4);
    for number in 0..5 {
        assert!(shown().contains(&message(number)), "message {number}");
    }
    assert_eq!(talk.end(), Some(0));
}
