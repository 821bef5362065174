//! `speck bench`, on the scripted model, and on the default pair.

use std::fs;

use serde_json::Value;
use speck::strategy;

use crate::{check, check_error, speck};

/// Checks what the JSON of a whole benchmark holds, whatever the models.
fn check_json(out: &str, n_rows: usize, n_tokens: u64) {
    let json: Value = serde_json::from_str(out).unwrap();
    let rows = json["runs"].as_array().unwrap();
    assert_eq!(rows.len(), n_rows, "{out}");
    for row in rows {
        assert_eq!(row["identical"], true, "{row}");
        let tokens = row["tokens"].as_u64().unwrap();
        assert!((1..=n_tokens).contains(&tokens), "{row}");
        let per_pass = row["tokens_per_pass"].as_f64().unwrap();
        assert!(per_pass >= 1.0, "{row}");
        if row["strategy"] == "plain" {
            assert_eq!(
                (&row["passes"], &row["speedup"]),
                (&row["tokens"], &1.0.into())
            );
            let [least, middle, most] =
                ["tok_s_min", "tok_s", "tok_s_max"].map(|key| row[key].as_f64().unwrap());
            assert!(0.0 < least && least <= middle && middle <= most, "{row}");
        }
    }
    assert!(json["cost"]["target"]["verify_ms"]["16"].as_f64().unwrap() > 0.0);
    assert!(json["cost"]["draft"]["step_ms"].as_f64().unwrap() > 0.0);
    assert!(json["machine"]["os"].is_string());
    assert_eq!(json["settings"]["tokens"], n_tokens);
}

#[test]
fn every_strategy_answers_and_the_charts_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("bench.svg");
    let mut command = speck(&[
        "bench",
        "--target",
        "scripted",
        "--prompts",
        "explain",
        "--json",
    ]);
    command
        .args(["--tokens", "24", "--runs", "1", "--svg"])
        .arg(&svg);
    let (out, err) = check(&mut command, "", 0);
    assert!(
        err.contains("fake model") && !err.contains("cannot run"),
        "{err}"
    );
    check_json(&out, strategy::ALL.len(), 24);
    let json: Value = serde_json::from_str(&out).unwrap();
    let draft = &json["runs"][1];
    // The scripted draft is wrong at every seventh position.
    assert_eq!(
        (&draft["strategy"], &draft["draft_length"]),
        (&"draft".into(), &3.into())
    );
    assert!(draft["speedup"].as_f64().unwrap() > 1.0, "{draft}");
    assert!(
        fs::read_to_string(svg)
            .unwrap()
            .contains("draft-transformers")
    );
}

#[test]
fn a_strategy_that_cannot_run_is_named_and_plain_is_added() {
    let mut command = speck(&["bench", "--target", "scripted", "--draft", "none", "--csv"]);
    command.args(["--strategies", "draft:2,lookup", "--prompts", "story"]);
    command.args(["--tokens", "4", "--runs", "1"]);
    let (out, err) = check(&mut command, "", 0);
    assert!(
        err.contains("draft:2 cannot run: there is no draft model"),
        "{err}"
    );
    let names: Vec<_> = out
        .lines()
        .map(|line| line.split(',').nth(1).unwrap())
        .collect();
    assert_eq!(names, ["strategy", "plain", "lookup"]);
}

#[test]
fn what_cannot_be_run_is_said_before_anything_is() {
    let check = |args: &[&str], code: i32, parts: &[&str]| {
        let mut command = speck(&["bench", "--target", "scripted"]);
        check_error(command.args(args), "", code, parts);
    };
    check(&["--strategies", "fast"], 2, &["fast", "there are: plain"]);
    check(&["--strategies", "draft:99"], 2, &["1 to 31"]);
    check(&["--prompts", "/no/such"], 2, &["--prompts", "/no/such"]);
    check(
        &["--svg", "/no/such/x.svg"],
        2,
        &["--svg", "/no/such/x.svg"],
    );
    check(&["--runs", "0"], 2, &["--runs"]);
    check(&["--csv", "--json"], 2, &["--csv"]);
    check(
        &["--tokens", "9999"],
        1,
        &["explain", "9999 more do not fit", "--tokens"],
    );
    check(
        &["--context", "200", "--tokens", "9", "--prompts", "explain"],
        1,
        &["200", "context of 512"],
    );
}

#[test]
#[ignore = "needs the default pair: scripts/test.sh"]
fn pair_every_strategy_writes_the_same_on_the_default_pair() {
    let target =
        std::env::var("SPECK_TEST_TARGET").expect("SPECK_TEST_TARGET: see scripts/test.sh");
    let mut command = speck(&["bench", "--target", &target, "--offline", "--json"]);
    command.args(["--tokens", "16", "--runs", "1"]);
    let (out, _) = check(&mut command, "", 0);
    check_json(&out, 4 * strategy::ALL.len(), 16);
}
