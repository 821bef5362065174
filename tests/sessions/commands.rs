//! `speck sessions`, `--resume`, `--save` and `--no-save`, and two instances on one chat.

use std::fs;
use std::thread;

use serde_json::Value;

use crate::{END, Home, Talk};

/// A home with one chat of two turns.
fn home_with_a_chat() -> Home {
    let home = Home::new();
    home.chat(&[], "hello there\nand again\n");
    home
}

#[test]
fn what_is_said_is_listed_and_shown() {
    let home = Home::new();
    let (out, _) = home.check(&["sessions"], "", 0);
    assert!(
        out.contains("no saved chats yet") && out.contains("speck chat"),
        "{out}"
    );
    assert_eq!(home.check(&["sessions", "--json"], "", 0).0, "[]\n");
    home.chat(&[], "hello there\nand again\n");
    let (out, _) = home.check(&["sessions"], "", 0);
    for part in [&home.id(), "2 turns", "scripted", "hello there"] {
        assert!(out.contains(part), "no {part}: {out}");
    }
    let (out, _) = home.check(&["sessions", "--json"], "", 0);
    let list: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(home.check(&["sessions", "list", "--json"], "", 0).0, out);
    let table = home.check(&["sessions"], "", 0).0;
    assert_eq!(home.check(&["sessions", "list"], "", 0).0, table);
    assert_eq!(list[0]["id"], home.id());
    assert_eq!(list[0]["first_words"], "hello there");
    let (out, _) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.starts_with("# hello there\n\n20"), "{out}");
    let answer = format!("\n## scripted\n\nYou wrote:\n\nhello there\n\n{END}\n\nhello there\n");
    assert!(out.contains(&answer), "{out}");
}

#[test]
fn a_chat_goes_on_where_it_was_left() {
    let home = home_with_a_chat();
    let id = home.id();
    home.chat(&["--resume", &id[..13]], "third\n");
    let question = ["chat", "--target", "scripted", "--resume", "last", "fourth"];
    let (out, _) = home.check(&question, "", 0);
    assert!(out.starts_with("You wrote:\n\nfourth"), "{out}");
    let (out, _) = home.check(&["sessions", "show", &id], "", 0);
    assert_eq!(out.matches("## You").count(), 4, "{out}");
    // The model is told all of it: the prompt of the last turn holds the turns before.
    let log = fs::read_to_string(&home.files()[0]).unwrap();
    let prompts = log.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        line["record"]["turn"]["stats"]["prompt_tokens"].as_u64()
    });
    let prompts: Vec<u64> = prompts.collect();
    assert!(prompts.is_sorted_by(|a, b| a + 10 < *b), "{prompts:?}");
}

#[test]
fn the_system_prompt_goes_on_too_unless_another_is_given() {
    let home = Home::new();
    home.chat(&["--system", "Be brief."], "one\n");
    home.chat(&["--resume", "last"], "two\n");
    home.chat(&["--resume", "last", "--system", "Be long."], "three\n");
    let log = fs::read_to_string(&home.files()[0]).unwrap();
    let systems: Vec<Value> = log
        .lines()
        .filter_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let record = &line["record"];
            let run = record.get("header").or(record.get("resumed"))?;
            Some(run["system"].clone())
        })
        .collect();
    assert_eq!(systems, ["Be brief.", "Be brief.", "Be long."]);
}

#[test]
fn only_what_is_wanted_is_saved() {
    let home = Home::new();
    home.check(&["chat", "--target", "scripted", "a question"], "", 0);
    home.chat(&["--no-save"], "not kept\n");
    home.chat(&[], "");
    home.chat(&[], "/new\n/help\n");
    assert!(home.files().is_empty());
    home.check(
        &["chat", "--target", "scripted", "--save", "a question"],
        "",
        0,
    );
    assert_eq!(home.files().len(), 1);
    let config = home.path().join("config.toml");
    fs::write(&config, "[session]\nsave = false").unwrap();
    let args = ["chat", "--target", "scripted", "--no-tui"];
    let mut command = home.speck(&args);
    let mut talk = Talk::start({
        command.env("SPECK_CONFIG", &config);
        command
    });
    talk.say("not kept");
    assert!(talk.hear("not kept"));
    assert_eq!(talk.end(), Some(0));
    assert_eq!(home.files().len(), 1);
}

#[test]
fn a_chat_is_exported_and_deleted() {
    let home = home_with_a_chat();
    let file = home.path().join("out.md");
    let file = file.to_str().unwrap();
    let (out, _) = home.check(&["sessions", "export", "last", file], "", 0);
    assert!(out.contains(file), "{out}");
    let (_, err) = home.check(&["sessions", "export", "last", file], "", 1);
    assert!(err.contains("is there already"), "{err}");
    home.check(&["sessions", "export", "last", "~/home.md"], "", 0);
    assert!(home.path().join("home.md").exists());
    let (_, err) = home.check(&["sessions", "delete", "last"], "y\n", 2);
    assert!(err.contains("--yes"), "{err}");
    assert_eq!(home.files().len(), 1);
    home.check(&["sessions", "delete", "last", "--yes"], "", 0);
    assert!(home.files().is_empty());
    let (_, err) = home.check(&["sessions", "show", "last"], "", 1);
    assert!(err.contains("no saved chats yet"), "{err}");
}

#[test]
fn two_instances_on_one_chat_are_told_apart() {
    let home = Home::new();
    let args = ["chat", "--target", "scripted", "--no-tui"];
    let mut talk = Talk::start(home.speck(&args));
    talk.say("first");
    assert!(talk.hear("first"));
    let resume = [
        "chat", "--target", "scripted", "--no-tui", "--resume", "last",
    ];
    for args in [&resume[..], &["sessions", "delete", "last", "--yes"]] {
        let (_, err) = home.check(args, "second\n", 1);
        assert!(err.contains("open in another speck"), "{err}");
    }
    let (out, _) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.contains("first"), "everybody may read: {out}");
    let unsaved = [&resume[..], &["--no-save"]].concat();
    let (out, _) = home.check(&unsaved, "second\n", 0);
    assert!(out.contains("second"), "and ask on without saving: {out}");
    talk.say("third");
    assert!(talk.hear("third"));
    assert_eq!(talk.end(), Some(0));
    home.chat(&["--resume", "last"], "second\n");
}

#[test]
fn a_damaged_chat_is_told_and_kept_aside() {
    let home = home_with_a_chat();
    let path = &home.files()[0];
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() - 100;
    bytes[at] ^= 1;
    fs::write(path, &bytes).unwrap();
    let (out, _) = home.check(&["sessions"], "", 0);
    assert!(out.contains("damaged from line 5 on"), "{out}");
    let (out, err) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(
        out.contains("hello there") && err.contains("not all of"),
        "{err}"
    );
    let (_, err) = home.chat(&["--resume", "last", "--no-save"], "more\n");
    assert!(
        err.contains("Not all of it is here: it is damaged"),
        "{err}"
    );
    let files = home.files();
    assert_eq!(files.len(), 1, "nothing is put right without saving");
    assert_eq!(fs::read(&files[0]).unwrap(), bytes);
    home.chat(&["--resume", "last"], "more\n");
    let files = home.files();
    assert_eq!(files.len(), 2);
    assert_eq!(
        fs::read(&files[0]).unwrap(),
        bytes,
        "the damaged file, as it was"
    );
    let (out, err) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(out.contains("\nmore\n") && err.is_empty(), "{err}");
}

#[test]
fn a_chat_without_its_header_is_shown_and_goes_on() {
    let home = home_with_a_chat();
    let path = &home.files()[0];
    let mut bytes = fs::read(path).unwrap();
    bytes[50] ^= 1;
    fs::write(path, &bytes).unwrap();
    let (out, _) = home.check(&["sessions"], "", 0);
    assert!(
        out.contains("2 turns") && out.contains("first line is damaged"),
        "{out}"
    );
    let (out, err) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(
        out.contains("hello there") && out.contains("and again"),
        "{out}"
    );
    assert!(err.contains("its system prompt too"), "{err}");
    home.chat(&["--resume", "last"], "more\n");
    assert_eq!(fs::read(&home.files()[0]).unwrap(), bytes, "kept as it was");
    let (out, err) = home.check(&["sessions", "show", "last"], "", 0);
    assert!(
        out.contains("hello there") && out.contains("\nmore\n"),
        "{out}"
    );
    assert_eq!(err, "");
}

#[test]
fn slash_commands_work_line_by_line() {
    let home = home_with_a_chat();
    let id = home.id();
    let name = home.path().join("lines.md");
    let lines = format!(
        "/resume {id}\n/save a name\nthird\n/export {}\n",
        name.display()
    );
    home.chat(&[], &lines);
    let text = fs::read_to_string(name).unwrap();
    assert!(
        text.starts_with("# a name\n") && text.contains("\nthird\n"),
        "{text}"
    );
    assert_eq!(home.id(), id, "no other chat was begun");
}

/// What is piped in is a script: where one of its commands fails, the status says so, at the end of all.
#[test]
fn a_command_from_a_pipe_that_fails_gives_a_status() {
    let home = Home::new();
    let args = [
        "chat",
        "--target",
        "scripted",
        "--no-tui",
        "--draft",
        "none",
        "--strategy",
        "lookup",
    ];
    let check = |(lines, code, told): (&str, i32, &str)| {
        let (out, err) = home.check(&args, format!("{lines}\nhello\n"), code);
        assert!(err.contains(told), "{lines}: {err}");
        let quits = lines.ends_with('q') || lines.ends_with("it");
        assert_eq!(out.contains("hello"), !quits, "{lines}: {out}");
    };
    let cases = [
        ("/resume nothing", 1, "no saved chat"),
        ("/nwe", 1, "did you mean /new?"),
        ("/new now", 1, "/new"),
        ("/theme", 1, "/theme needs the full screen"),
        ("/mode nothing", 1, "no strategy `nothing`"),
        ("/set seed x", 1, "seed"),
        ("/retry", 1, "no message yet"),
        ("/export", 1, "nothing was said yet"),
        ("/nwe\n/quit", 1, "no command"),
        ("/set seed 7", 0, ""),
        ("/mode", 0, "plain"),
        ("/q", 0, ""),
        ("/exit", 0, ""),
        ("/sy Be brief.", 0, "from the next message on"),
        ("/mo lookup", 1, "did you mean /mode or /model?"),
    ];
    // Most of the time of each is that of the scripted model.
    thread::scope(|scope| {
        for case in cases {
            scope.spawn(move || check(case));
        }
    });
}
