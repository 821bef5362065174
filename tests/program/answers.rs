//! One answer, JSON Lines, several turns from a pipe, and failures.

use std::process::Command;

use serde_json::Value;

use crate::{ANSWER, chat, check, check_error, speck};

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
    for strategy in ["plain", "draft", "lookup", "auto"] {
        let (out, _) = check(&mut chat(&["--strategy", strategy, "hello there"]), "", 0);
        assert_eq!(out, ANSWER, "{strategy}");
    }
}

#[test]
fn a_script_is_told_of_a_strategy_that_cannot_run() {
    let none = ["--draft", "none", "--strategy", "draft", "hello there"];
    let (out, err) = check(&mut chat(&none), "", 0);
    assert_eq!(out, ANSWER);
    let told =
        "speck: draft cannot run: there is no draft model (--draft none); plain runs instead\n";
    assert_eq!(err, told);
}

#[test]
fn what_goes_to_a_pipe_is_raw() {
    let (out, _) = check(&mut chat(&["a\x1b[2Jb"]), "", 0);
    assert!(out.contains("a\x1b[2Jb"), "{out:?}");
}

#[test]
fn a_seed_decides_a_sampled_answer() {
    let sampled = |strategy: &str, seed: &[&str]| {
        let mut args = vec!["--temperature", "3", "--max-tokens", "30", "--json"];
        args.extend(["--strategy", strategy, "hello there"]);
        args.extend(seed);
        let (out, _) = check(&mut chat(&args), "", 0);
        let lines = json_lines(&out);
        let text: String = lines
            .iter()
            .filter(|line| line["type"] == "delta")
            .map(|line| line["text"].as_str().unwrap())
            .collect();
        let done = lines.last().unwrap();
        assert_eq!(done["sampling"]["temperature"], 3.0);
        (text, done["sampling"]["seed"].as_u64().unwrap())
    };
    let (text, seed) = sampled("plain", &["--seed", "7"]);
    assert_eq!(seed, 7);
    assert_eq!(sampled("draft", &["--seed", "7"]).0, text);
    assert_ne!(sampled("plain", &["--seed", "8"]).0, text);
    // The seed that was drawn is shown, and gives the same again.
    let (drawn, seed) = sampled("lookup", &[]);
    let again = sampled("lookup", &["--seed", &seed.to_string()]);
    assert_eq!(again, (drawn, seed));
}

#[test]
fn a_stop_string_ends_an_answer_before_it() {
    let mut stopped = chat(&["--stop", "NO", "--stop", "there\n\nOnce", "hello there"]);
    let (out, _) = check(&mut stopped, "", 0);
    assert_eq!(out, "You wrote:\n\nhello \n");
    let (out, _) = check(
        &mut chat(&["--json", "--stop", "wro", "hello there"]),
        "",
        0,
    );
    let done = json_lines(&out).pop().unwrap();
    assert_eq!(done["reason"], "stop_string");
    assert_eq!(done["sampling"], Value::Null, "greedy");
    // What could have begun a stop string is told with the end.
    let mut held = chat(&["--json", "--stop", "hello there!", "hello there"]);
    let lines = json_lines(&check(&mut held, "", 0).0);
    let [.., delta, done] = &lines[..] else {
        panic!("{lines:?}")
    };
    assert_eq!(
        (&delta["text"], &done["reason"]),
        (&"hello there".into(), &"end_of_turn".into())
    );
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
        serde_json::json!([
            "plain",
            "draft",
            "lookup",
            "auto",
            "draft-transformers",
            "lookup-transformers"
        ])
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
    let (_, err) = check(&mut chat(&["--no-tui"]), "/nonsense\n/mode nope\n", 1);
    assert!(
        err.contains("/nonsense") && err.contains("no strategy `nope`"),
        "{err}"
    );
    check(&mut chat(&["--no-tui"]), "", 0);
}

/// What stands on standard output and standard error after these lines, which end with `code`.
#[track_caller]
fn lines(input: &[&str], code: i32) -> (String, String) {
    check(&mut chat(&["--no-tui"]), &input.join("\n"), code)
}

#[test]
fn commands_change_the_conversation_in_line_mode() {
    let (out, err) = lines(&["/drop", "/retry", "hello there", "/retry"], 1);
    assert_eq!(out, ANSWER.repeat(2));
    for part in [
        "/drop sends",
        "there is no message yet",
        "greedy: the same text",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let input = [
        "/set seed 7",
        "/set temperature 9",
        "/set max-tokens 3",
        "one",
        "/retry",
        "/set",
    ];
    let (out, err) = lines(&input, 0);
    assert!(out.len() > 6, "two short answers: {out:?}");
    for part in [
        "seed 7 from the next message on",
        "with seed 8 instead of 7",
        "max-tokens          3",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let (out, _) = lines(&["/set max-tokens 2", "ends with \\", "//slash"], 0);
    assert_eq!(out.lines().count(), 2, "{out:?}");
    let (_, err) = lines(
        &["/system Be kind.", "/system", "/system off", "/system"],
        0,
    );
    for part in ["System prompt: Be kind.", "No system prompt is set"] {
        assert!(err.contains(part), "{part}: {err}");
    }
}

#[test]
fn commands_tell_and_copy_in_line_mode() {
    let home = tempfile::tempdir().unwrap();
    let mut chat = chat(&["--no-tui"]);
    chat.env("XDG_DATA_HOME", home.path());
    let input = "/stats\n/copy\nhello there\n/stats\n/copy\n/save a name\n";
    let (out, err) = check(&mut chat, input, 1);
    assert_eq!(out, ANSWER);
    for part in [
        "No passes yet",
        "there is no answer to copy",
        "all answers: ",
        "copied.md",
        "Saved as ",
    ] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let copied = std::fs::read_to_string(home.path().join("speck/copied.md")).unwrap();
    assert_eq!(copied, ANSWER.trim_end());
}

#[test]
fn commands_about_the_screen_say_so_in_line_mode() {
    let screen = [
        "/edit",
        "/model x",
        "/reload",
        "/theme dark",
        "/find x",
        "/show tokens",
        "/markdown",
        "/panel",
    ];
    let (out, err) = lines(&screen, 1);
    assert_eq!(out, "");
    for command in screen {
        let name = command.split(' ').next().unwrap();
        let told = format!("{name} needs the full screen\n");
        assert!(err.contains(&told), "{told}: {err}");
    }
    let (_, err) = lines(&["/help"], 0);
    assert!(
        err.contains("/system [TEXT]  system prompt, or off\n"),
        "{err}"
    );
    assert!(!err.contains("/panel"), "{err}");
}

#[test]
fn json_passes_say_what_auto_chose() {
    let passes = |strategy| {
        let (out, _) = check(
            &mut chat(&["--json", "--strategy", strategy, "hello there"]),
            "",
            0,
        );
        let lines = json_lines(&out).into_iter();
        lines.filter(|line| line["type"] == "pass")
    };
    assert!(passes("draft").all(|pass| pass["auto"].is_null()));
    let mut timed = false;
    for pass in passes("auto") {
        let auto = pass["auto"].as_object().unwrap();
        let mut keys: Vec<_> = auto.keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["balance", "drafter", "expected", "k", "reason"]);
        assert_eq!(auto["k"], pass["drafted"]);
        assert_eq!(auto["drafter"] == "plain", pass["drafted"] == 0);
        assert!(auto["reason"].is_string(), "{auto:?}");
        timed = auto["balance"].is_number();
        assert_eq!(auto["expected"].is_number(), timed, "{auto:?}");
    }
    assert!(timed, "the first passes time plain decoding");
}
