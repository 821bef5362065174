//! Flags, the configuration file, and help.

use std::fs;

use crate::{ANSWER, chat, check, check_error, speck};

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
        &["17", "from 1 to 16"],
    );
    check_error(
        &mut chat(&["--temperature", "nan", "Hi"]),
        "",
        2,
        &["--temperature", "NaN is not a number from 0 to 10"],
    );
    check_error(
        &mut chat(&["--top-p", "-0.5", "Hi"]),
        "",
        2,
        &["--top-p", "-0.5 is not a number from 0 to 1"],
    );
    check_error(
        &mut chat(&["--repetition-penalty", "much", "Hi"]),
        "",
        2,
        &["--repetition-penalty", "it is not a number from 1 to 10"],
    );
    check_error(
        &mut chat(&["--stop", "", "Hi"]),
        "",
        2,
        &["--stop", "an empty text stops nothing"],
    );
    check_error(
        &mut chat(&["--context", "1", "Hi"]),
        "",
        2,
        &["--context", "at least 64"],
    );
    check_error(
        &mut chat(&["--threads", "257", "Hi"]),
        "",
        2,
        &["257", "0..=256"],
    );
    check_error(
        chat(&["Hi"]).env("SPECK_ISA", "nope"),
        "",
        2,
        &["SPECK_ISA=nope", "scalar"],
    );
    check_error(
        &mut speck(&["models", "verify", "nope"]),
        "",
        2,
        &["no model is called"],
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
    check_config(
        "[model]\ncontext = 1",
        &["config.toml, line 2", "model.context", "at least 64"],
    );
    check_config(
        "[sampling]\ntop_p = 2",
        &["config.toml, line 2", "2 is not a number from 0 to 1"],
    );
    check_config(
        "[sampling]\nstop = [\"\"]",
        &["config.toml, line 2", "sampling.stop", "stops nothing"],
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

/// A pipe that nobody writes to would be waited for, for ever.
#[test]
fn only_regular_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let pipe = pipe.to_str().unwrap();
    let part = &["no regular file"];
    check_error(chat(&["Hi"]).env("SPECK_CONFIG", pipe), "", 2, part);
    let mut messages = speck(&["template", "t.jinja", "--messages", pipe]);
    check_error(&mut messages, "", 1, part);
    let mut target = speck(&["chat", "--target", pipe, "Hi"]);
    check_error(&mut target, "", 1, &["not a file"]);
}

#[test]
fn a_missing_model_file_is_told_with_what_to_do() {
    let mut chat = speck(&["chat", "--target", "/no/such.gguf", "Hi"]);
    check_error(&mut chat, "", 1, &["/no/such.gguf", "speck models list"]);
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
