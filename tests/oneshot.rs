//! The program without a screen: one answer, JSON Lines, several turns from a pipe, exit codes and
//! errors. The scripted model needs no file; it repeats what it is told.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const ANSWER: &str =
    "You wrote:\n\nhello there\n\nOnce more, so that there is something to copy:\n\nhello there\n";

fn speck(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_speck"));
    command
        .args(args)
        .env_clear()
        .env("HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null());
    command
}

fn chat(args: &[&str]) -> Command {
    let mut command = speck(&["chat", "--target", "scripted"]);
    command.args(args);
    command
}

fn run(command: &mut Command, input: &str) -> Output {
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A program that does not read its input may have ended already.
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Runs a command that must end with `code`; gives standard output and standard error.
#[track_caller]
fn check(command: &mut Command, input: &str, code: i32) -> (String, String) {
    let output = run(command, input);
    let (out, err) = (
        text(&output.stdout).to_owned(),
        text(&output.stderr).to_owned(),
    );
    assert_eq!(output.status.code(), Some(code), "out: {out}\nerr: {err}");
    (out, err)
}

/// Runs a command that must end with `code` and say each of `parts` on standard error.
#[track_caller]
fn check_error(command: &mut Command, input: &str, code: i32, parts: &[&str]) {
    let (out, err) = check(command, input, code);
    assert_eq!(out, "", "nothing on standard output");
    for part in parts {
        assert!(err.contains(part), "no {part:?} in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
}

#[test]
fn an_answer_is_all_there_is_on_standard_output() {
    assert_eq!(
        check(&mut chat(&["hello there"]), "", 0),
        (ANSWER.into(), String::new())
    );
    assert_eq!(
        check(&mut chat(&[]), "hello there\n", 0),
        (ANSWER.into(), String::new())
    );
}

#[test]
fn a_question_and_a_text_are_joined_by_a_blank_line() {
    let (out, _) = check(&mut chat(&["Summarise:"]), "some text\n", 0);
    assert!(
        out.starts_with("You wrote:\n\nSummarise:\n\nsome text\n\n"),
        "{out}"
    );
}

#[test]
fn every_strategy_writes_the_same() {
    for strategy in ["plain", "draft", "lookup"] {
        let (out, _) = check(&mut chat(&["--strategy", strategy, "hello there"]), "", 0);
        assert_eq!(out, ANSWER, "{strategy}");
    }
}

#[test]
fn what_goes_to_a_pipe_is_raw() {
    let (out, _) = check(&mut chat(&["a\x1b[2Jb"]), "", 0);
    assert!(out.contains("a\x1b[2Jb"), "{out:?}");
}

#[test]
fn the_token_limit_ends_an_answer() {
    let (out, _) = check(&mut chat(&["--max-tokens", "3", "hello there"]), "", 0);
    assert!(
        ANSWER.starts_with(out.trim_end()) && out.len() < 20,
        "{out:?}"
    );
}

fn json_lines(out: &str) -> Vec<Value> {
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn json_lines_add_up() {
    let (out, err) = check(
        &mut chat(&["--json", "--strategy", "draft", "hello there"]),
        "",
        0,
    );
    assert_eq!(err, "");
    let lines = json_lines(&out);
    let of_type = |kind: &str| {
        lines
            .iter()
            .filter(|line| line["type"] == kind)
            .collect::<Vec<_>>()
    };
    let text: String = of_type("delta")
        .iter()
        .map(|line| line["text"].as_str().unwrap())
        .collect();
    assert_eq!(text, ANSWER.trim_end());
    let [ready] = of_type("ready")[..] else {
        panic!("one ready")
    };
    assert_eq!(
        ready["strategies"],
        serde_json::json!(["plain", "draft", "lookup"])
    );
    let [done] = of_type("done")[..] else {
        panic!("one done")
    };
    assert_eq!(lines.last(), Some(done));
    assert_eq!(done["reason"], "end_of_turn");
    let passes = of_type("pass");
    let sum = |key: &str| {
        passes
            .iter()
            .map(|pass| pass[key].as_f64().unwrap())
            .sum::<f64>()
    };
    let close =
        |a: f64, key: &str| assert!((a - done[key].as_f64().unwrap()).abs() < 1e-6, "{key}");
    close(passes.len() as f64, "passes");
    close(sum("emitted"), "tokens");
    close(sum("emitted") / passes.len() as f64, "tokens_per_pass");
    close(sum("accepted") / sum("verified"), "acceptance");
    close(sum("draft_ms"), "draft_ms");
    close(sum("verify_ms"), "verify_ms");
    assert!(
        sum("accepted") > 0.0,
        "the scripted draft is right most of the time"
    );
    assert!(done["tok_s"].as_f64().unwrap() > 0.0);
}

#[test]
fn failures_are_told_and_have_code_1() {
    check_error(
        &mut chat(&["please fail"]),
        "",
        1,
        &["speck: ", "told to fail"],
    );
    check_error(
        &mut chat(&["please panic"]),
        "",
        1,
        &["speck: ", "a bug in speck"],
    );
    let long = "word ".repeat(3000);
    check_error(
        &mut chat(&["--context", "256"]),
        &long,
        1,
        &["the context holds 256"],
    );
    check_error(
        &mut speck(&["chat", "--target", "./no/such.gguf", "Hi"]),
        "",
        1,
        &["no/such.gguf"],
    );
    let (out, _) = check(&mut chat(&["--json", "please fail"]), "", 1);
    let last = json_lines(&out).pop().unwrap();
    assert_eq!(last["type"], "error");
    assert!(last["message"].as_str().unwrap().contains("told to fail"));
}

#[test]
fn without_a_question_there_is_no_answer() {
    for input in ["", "\n \n"] {
        check_error(&mut chat(&[]), input, 2, &["no question"]);
        check_error(&mut chat(&["--json"]), input, 2, &["no question"]);
    }
    let closed = format!(
        "exec {} chat --target scripted <&-",
        env!("CARGO_BIN_EXE_speck")
    );
    let output = Command::new("sh")
        .args(["-c", &closed])
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn wrong_flags_are_refused_with_what_is_right() {
    check_error(
        &mut chat(&["--theme", "nope", "Hi"]),
        "",
        2,
        &["--theme", "`nope`", "terminal"],
    );
    check_error(
        &mut chat(&["--strategy", "magic", "Hi"]),
        "",
        2,
        &["magic", "plain, draft, lookup"],
    );
    check_error(
        &mut chat(&["--draft-length", "17", "Hi"]),
        "",
        2,
        &["17", "1..=16"],
    );
    check_error(
        &mut speck(&["chat", "--target", "", "Hi"]),
        "",
        2,
        &["--target"],
    );
    check_error(
        &mut speck(&["chat", "--no-such-flag"]),
        "",
        2,
        &["--no-such-flag"],
    );
    check_error(
        &mut speck(&["no-such-command"]),
        "",
        2,
        &["no-such-command"],
    );
}

/// A folder with the configuration `config`, for `XDG_CONFIG_HOME`.
fn configured(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("speck")).unwrap();
    fs::write(folder.path().join("speck/config.toml"), config).unwrap();
    folder
}

#[test]
fn the_configuration_is_used_and_its_errors_have_a_place() {
    let check_config = |config: &str, parts: &[&str]| {
        let folder = configured(config);
        let environment = ("XDG_CONFIG_HOME", folder.path());
        check_error(
            chat(&["Hi"]).env(environment.0, environment.1),
            "",
            2,
            parts,
        );
        let mut check_it = speck(&["config", "check"]);
        check_error(check_it.env(environment.0, environment.1), "", 2, parts);
    };
    check_config(
        "[decoding]\nstratgy = \"plain\"",
        &["config.toml, line 2", "`stratgy`", "`strategy`"],
    );
    check_config(
        "[decoding]\nstrategy = \"magic\"",
        &[
            "config.toml, line 2",
            "decoding.strategy",
            "magic",
            "plain, draft, lookup",
        ],
    );
    check_config(
        "[screen]\n\ntheme = \"nope\"",
        &["config.toml, line 3", "screen.theme", "`nope`", "terminal"],
    );
    check_config(
        "[model]\ndraft = \"no such thing\"",
        &["config.toml, line 2", "model.draft"],
    );
    check_config("[decoding", &["config.toml, line 1"]);

    let folder = configured("[model]\ntarget = \"scripted\"\n[decoding]\nmax_tokens = 3");
    let (out, _) = check(
        speck(&["chat", "hello there"]).env("XDG_CONFIG_HOME", folder.path()),
        "",
        0,
    );
    assert!(out.len() < 20, "{out}");
    let mut flag = speck(&["chat", "--max-tokens", "1000", "hello there"]);
    let (out, _) = check(flag.env("XDG_CONFIG_HOME", folder.path()), "", 0);
    assert_eq!(out, ANSWER);
}

#[test]
fn a_configuration_that_is_named_must_be_there() {
    check_error(
        chat(&["Hi"]).env("SPECK_CONFIG", "/no/such.toml"),
        "",
        2,
        &["/no/such.toml"],
    );
    check_error(
        chat(&["Hi"]).env("SPECK_CONFIG", "/"),
        "",
        2,
        &["cannot read"],
    );
}

#[test]
fn config_commands_agree_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| check(speck(args).env("XDG_CONFIG_HOME", folder.path()), "", 0).0;
    let path = run(&["config", "path"]);
    let path = std::path::Path::new(path.trim_end());
    assert_eq!(path, folder.path().join("speck/config.toml"));
    assert!(run(&["config", "check"]).contains("no configuration file"));
    let shown = run(&["config", "show"]);
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(path, run(&["config", "default"])).unwrap();
    assert!(run(&["config", "check"]).contains("is right"));
    assert_eq!(
        run(&["config", "show"]),
        shown,
        "the documented default is the default"
    );
}

#[test]
fn help_and_version_are_there() {
    let (help, _) = check(&mut speck(&[]), "", 0);
    for command in [
        "chat",
        "models",
        "config",
        "tokenize",
        "template",
        "Exit codes",
    ] {
        assert!(help.contains(command), "{help}");
    }
    let (version, _) = check(&mut speck(&["--version"]), "", 0);
    assert_eq!(version, format!("speck {}\n", env!("CARGO_PKG_VERSION")));
    let (chat_help, _) = check(&mut speck(&["chat", "--help"]), "", 0);
    assert!(chat_help.contains("Examples:") && chat_help.contains("decoding.strategy"));
}

#[test]
fn a_pipe_holds_several_turns_in_line_mode() {
    let (out, err) = check(
        &mut chat(&["--no-tui"]),
        "one\n/mode lookup\n\ntwo\n/quit\nthree\n",
        0,
    );
    assert!(
        out.contains("one") && out.contains("two") && !out.contains("three"),
        "{out}"
    );
    assert!(err.contains("lookup drafts"), "{err}");
    let (_, err) = check(&mut chat(&["--no-tui"]), "please fail\nnext", 1);
    assert!(err.contains("told to fail"), "{err}");
    let (_, err) = check(&mut chat(&["--no-tui"]), "/nonsense\n/mode nope\n", 0);
    assert!(
        err.contains("/nonsense") && err.contains("no strategy nope"),
        "{err}"
    );
    check(&mut chat(&["--no-tui"]), "", 0);
}

/// A long answer, with its first bytes read.
fn started(args: &[&str]) -> Child {
    let words: String = (0..800).map(|i| format!("word{i} ")).collect();
    let mut command = chat(args);
    command
        .arg(words)
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
fn a_reader_that_has_gone_is_no_failure() {
    let mut child = started(&[]);
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

/// The draft model in the repository has a whole tokenizer.
const DRAFT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/assets/smollm2-135m-draft.gguf"
);

#[test]
fn tokenize_prints_ids() {
    let check_ids = |args: &[&str], input, expect| {
        let mut command = speck(&["tokenize", "--target", DRAFT]);
        assert_eq!(check(command.args(args), input, 0).0, expect, "{input:?}");
    };
    check_ids(&[], "Hello, world!", "[19556,28,905,17]\n");
    check_ids(&[], "", "[]\n");
    check_ids(&[], "<|im_end|>", "[2]\n");
    let (out, _) = check(
        &mut speck(&["tokenize", "--target", DRAFT, "--no-special"]),
        "<|im_end|>",
        0,
    );
    let ids: Vec<u32> = serde_json::from_str(&out).unwrap();
    assert!(ids.len() > 1 && !ids.contains(&2), "{ids:?}");
    check_error(
        &mut speck(&["tokenize", "--target", "scripted"]),
        "a",
        1,
        &["no file"],
    );
}

#[test]
fn template_prints_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let write = |name: &str, text: &str| {
        fs::write(path(name), text).unwrap();
        path(name)
    };
    let messages = write("hi.json", r#"[{"role":"user","content":"Hi"}]"#);
    let template = write(
        "t.jinja",
        "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}",
    );
    let mut own = speck(&[
        "template",
        &template,
        "--messages",
        &messages,
        "--bos",
        "<s>",
        "--eos",
        "</s>",
    ]);
    assert_eq!(check(&mut own, "", 0).0, "<s>user: Hi</s>");
    let wrong = write("wrong.json", r#"[{"role":"wizard","content":"Hi"}]"#);
    check_error(
        &mut speck(&["template", &template, "--messages", &wrong]),
        "",
        1,
        &["wrong.json", "wizard"],
    );
    check_error(
        &mut speck(&["template", &template, "--messages", "/no/such"]),
        "",
        1,
        &["/no/such"],
    );
    let endless = write(
        "endless.jinja",
        "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}",
    );
    check_error(
        &mut speck(&["template", &endless, "--messages", &messages]),
        "",
        1,
        &[],
    );
}
