//! Reading, merging and checking the configuration.

use super::*;

fn load(text: &str) -> Result<Loaded, String> {
    let file = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(file.path(), text).unwrap();
    let shown = file.path().display().to_string();
    Loaded::from_file(file.path()).map_err(|error| error.to_string().replace(&shown, "FILE"))
}

#[test]
fn the_example_is_the_default() {
    assert_eq!(
        toml::from_str::<Config>(EXAMPLE).unwrap(),
        Config::default()
    );
    assert_eq!(load("").unwrap().config, Config::default());
}

#[test]
fn the_example_has_every_key() {
    let keys = |table: toml::Table| -> Vec<String> {
        let of = |(section, value): (String, toml::Value)| {
            let keys: Vec<_> = value.as_table().unwrap().keys().cloned().collect();
            keys.into_iter().map(move |key| format!("{section}.{key}"))
        };
        table.into_iter().flat_map(of).collect()
    };
    let all = keys(toml::Table::try_from(Config::default()).unwrap());
    assert_eq!(keys(toml::from_str(EXAMPLE).unwrap()), all);
    assert_eq!(all.len(), 21);
}

#[test]
fn a_file_overrides_only_what_it_names() {
    let config = load("[decoding]\ndraft_length = 16\n[model]\ndevice = \"cpu\"")
        .unwrap()
        .config;
    assert_eq!(
        config.decoding,
        Decoding {
            draft_length: 16,
            ..Decoding::default()
        }
    );
    assert_eq!(
        config.model,
        Model {
            device: Device::Cpu,
            ..Model::default()
        }
    );
}

fn check(text: &str, expect: &[&str]) {
    let error = load(text).unwrap_err();
    for part in expect {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn errors_name_file_line_key_and_what_is_valid() {
    check(
        "[decoding]\n\ndraft_lenght = 3",
        &["FILE, line 3: unknown key `draft_lenght`", "`draft_length`"],
    );
    check(
        "[screens]",
        &["FILE, line 1: unknown key `screens`", "`screen`"],
    );
    check(
        "[model]\ndevice = \"gpu\"",
        &["FILE, line 2", "`gpu`", "`metal`", "2 | device = \"gpu\""],
    );
    check(
        "[decoding]\ndraft_length = 17",
        &["FILE, line 2: 17 is not a number from 1 to 16"],
    );
    check(
        "[model]\nthreads = -1",
        &["line 2: -1 is not a number from 0 to 256"],
    );
    check("[decoding]\nmax_tokens = 0", &["line 2: 0 is not"]);
    check(
        "[model]\ncontext = 9223372036854775807",
        &["line 2", "context"],
    );
    check("[screen]\npanel = \"yes\"", &["line 2", "boolean"]);
    check("[model]\ntarget = ", &["FILE, line 2"]);
    check("a = 1\na = 2", &["line"]);
    check(
        "[model]\ntarget = \"a\"\ntarget = \"b\"",
        &["line 3", "duplicate"],
    );
}

#[test]
fn other_modules_errors_are_located_too() {
    let loaded = load("[screen]\n# a comment\ntheme = \"nope\"").unwrap();
    let error = loaded
        .blame("screen", "theme", "there is no such theme")
        .to_string();
    assert!(
        error.contains(", line 3: screen.theme: there is no such theme\n  3 | theme = \"nope\""),
        "{error}"
    );
    let error = loaded.blame("decoding", "strategy", "unknown").to_string();
    assert_eq!(error, "decoding.strategy: unknown");
}

#[test]
fn of_a_long_line_the_part_around_the_error_is_shown() {
    let text = format!("[screen]\ntheme = \"{}\"", "x".repeat(5000));
    let error = load(&text)
        .unwrap()
        .blame("screen", "theme", "no")
        .to_string();
    assert!(
        error.contains("theme = \"xxx") && error.ends_with("x…"),
        "{error}"
    );
    assert!(error.len() < 300, "{error}");
}

#[test]
fn a_file_that_is_no_text_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"[model]\n\xff").unwrap();
    let error = Loaded::from_file(file.path()).unwrap_err().to_string();
    assert!(error.ends_with("line 2 is not UTF-8 text"), "{error}");
    assert!(Loaded::from_file(Path::new("/")).is_err());
    std::fs::write(file.path(), vec![b'#'; MAX_FILE as usize + 1]).unwrap();
    assert!(Loaded::from_file(file.path()).is_err());
}
