//! Commands as they are typed, and the table.

use std::collections::HashSet;

use super::*;

#[track_caller]
fn command(text: &str, expect: &Slash) {
    match parse(text) {
        Parsed::Command(slash, _) => assert_eq!(&slash, expect, "{text}"),
        other => panic!("{text}: {other:?}"),
    }
}

#[track_caller]
fn wrong(text: &str, expect: &[&str]) {
    let Parsed::Wrong(message) = parse(text) else {
        panic!("{text} is read")
    };
    for part in expect {
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn commands_are_read() {
    command("/mode draft", &Slash::Mode("draft".to_owned()));
    command("/mode   draft ", &Slash::Mode("draft".to_owned()));
    command("/mode", &Slash::Mode(String::new()));
    command("/show tokens ", &Slash::Show("tokens".to_owned()));
    for quit in ["/quit", "/q", "/Q", "/exit"] {
        command(quit, &Slash::Quit);
    }
    command("/sy Be brief.", &Slash::System("Be brief.".to_owned()));
    command("/model", &Slash::Model(None));
}

#[test]
fn messages_are_left_alone() {
    let check =
        |text: &str, expect: &str| assert_eq!(parse(text), Parsed::Message(expect.to_owned()));
    check("hello /quit", "hello /quit");
    check(" /quit", " /quit");
    check("/new\nline", "/new\nline");
    check("//new", "/new");
    check("//etc/hosts: what is it?", "/etc/hosts: what is it?");
    check("// one\n// two", "// one\n// two");
}

#[test]
fn what_is_wrong_is_told_with_what_to_do() {
    wrong(
        "/nwe",
        &["no command `/nwe`", "did you mean /new?", "// sends"],
    );
    wrong(
        "/mod draft",
        &["no command `/mod`: did you mean /mode or /model?"],
    );
    wrong("/MO", &["did you mean /mode or /model?"]);
    wrong("/modle", &["did you mean /model [REF]?"]);
    wrong("/etc/hosts", &["no command `/etc/hosts`: /help lists"]);
    wrong("/qt", &["no command `/qt`: did you mean /quit?"]);
    wrong("/mo", &["no command `/mo`: did you mean /mode or /model?"]);
    wrong("/", &["/ begins a command"]);
    wrong("/show", &["/show needs more: /show tokens"]);
    wrong("/new now", &["nothing can follow /new"]);
    let long = format!("/{}", "x".repeat(1_000));
    wrong(&long, &["xxx…`: /help lists"]);
}

#[test]
fn the_table_is_sound() {
    let mut names = HashSet::new();
    for command in COMMANDS {
        let name = command.name;
        assert!(names.insert(name), "{name} twice");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{name}");
        assert!(
            command.help.chars().count() <= 22,
            "{name}: {}",
            command.help
        );
    }
}

#[test]
fn every_command_is_in_the_documentation() {
    let docs = include_str!("../../../docs/terminal.md");
    for command in COMMANDS {
        let usage = command.usage().replace('|', "\\|");
        let row = docs
            .lines()
            .find(|line| line.starts_with(&format!("| `{usage}` |")));
        let row = row.unwrap_or_else(|| panic!("{usage}"));
        let (_, in_lines) = row.trim_end_matches(" |").rsplit_once("| ").unwrap();
        assert_eq!(in_lines != "no", command.in_lines, "{row}");
    }
}
