//! The formats of a report, on a made-up one.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::contender;
use crate::bench::{Machine, Report, Row, Settings, chart, table};
use crate::measure::{Costs, DraftCosts, TargetCosts};

fn report() -> Report {
    let row = |prompt: &str, name: &str, tok_s: f64, identical| {
        let contender = contender(name);
        Row {
            prompt: prompt.to_owned(),
            strategy: contender.strategy,
            draft_length: contender.draft_length,
            tokens: 128,
            passes: 64,
            tokens_per_pass: Some(2.0),
            acceptance: (!contender.is_plain()).then_some(0.625),
            decode_ms: 1000.5,
            tok_s: Some(tok_s),
            tok_s_min: Some(tok_s - 1.5),
            tok_s_max: Some(tok_s + 2.5),
            draft_ms: Some(1.25),
            verify_ms: Some(8.5),
            other_ms: None,
            speedup: Some(tok_s / 100.0),
            identical,
        }
    };
    let same = Some(true);
    Report {
        machine: Machine {
            os: "linux",
            arch: "x86_64",
            cpu: None,
            cores: Some(2),
            memory_bytes: Some(1 << 30),
            device: "cpu",
            threads: Some(2),
            isa: Some("avx2"),
        },
        settings: Settings {
            version: "0.0.0",
            target: "large\u{1b}".to_owned(),
            draft: Some("small".to_owned()),
            context: 1024,
            system: None,
            runs: 3,
            tokens: 128,
            sampling: "greedy",
        },
        runs: vec![
            row("a<b|c,\"d", "plain", 100.0, same),
            row("a<b|c,\"d", "draft:3", 130.0, same),
            row("a<b|c,\"d", "lookup-transformers", 68.0, same),
            row("story", "plain", 100.0, same),
            row("story", "draft:3", 95.0, Some(false)),
            row("story", "lookup-transformers", 70.0, None),
        ],
        cost: Costs {
            device: "cpu",
            threads: Some(2),
            isa: Some("avx2"),
            target: TargetCosts {
                name: "large".to_owned(),
                bytes: 80_000_000,
                verify_ms: BTreeMap::from([(1, 10.0), (2, 11.0), (3, 12.0), (16, 25.0)]),
                prefill_tok_s: 500.0,
            },
            draft: Ok(DraftCosts {
                name: "small".to_owned(),
                step_ms: 2.5,
                pass_ms: BTreeMap::from([(1, 2.5)]),
            }),
            bandwidth_gb_s: None,
            break_even: BTreeMap::from([(1, Some(0.35))]),
            memory: None,
        },
    }
}

/// Checks that `text` has each of `lines` as a whole line, in this order.
#[track_caller]
fn check_lines(text: &str, lines: &[&str]) {
    let mut rest = text.lines();
    for line in lines {
        assert!(
            rest.any(|other| other == *line),
            "no {line:?} in its place in\n{text}"
        );
    }
}

#[test]
fn the_table_for_people() {
    let text = table::text(&report());
    check_lines(
        &text,
        &[
            "large\u{241b} with small on cpu, 2 threads, avx2",
            "128 tokens, greedy, 3 runs",
            "                      tok/s    min    max  speed t/pass  acc. draft verify other",
            "a<b|c,\"d",
            " plain                100.0   98.5  102.5  1.00x   2.00     —   1.2    8.5     —",
            " draft:3              130.0  128.5  132.5  1.30x   2.00  62 %   1.2    8.5     —",
            " lookup-transformers   68.0   66.5   70.5  0.68x   2.00  62 %   1.2    8.5     —",
            "story",
            "story, draft:3: NOT plain's text",
            "story, lookup-transformers: not compared: plain has not answered",
            "alone, the target writes 100.0 tok/s and the draft 400.0, 4.0 times as fast",
            "tokens checked in a pass      1      2     16",
            "ms                         10.0   11.0   25.0",
            "passes of one token        1.00   1.10   2.50",
        ],
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let mut same = report();
    same.runs.truncate(4);
    check_lines(
        &table::text(&same),
        &["every text is plain's, token for token"],
    );
    same.runs.clear();
    assert!(!table::text(&same).contains("every text"));
}

#[test]
fn the_tables_in_markdown() {
    check_lines(
        &table::markdown(&report()),
        &[
            "| prompt (128 tokens, greedy) | plain | draft:3 | tokens/pass | lookup-transformers | tokens/pass |",
            "|---|---|---|---|---|---|",
            "| a\\<b\\|c,\"d | 100.0 tok/s | 130.0 (1.30x) | 2.00 | 68.0 (0.68x) | 2.00 |",
            "| story | 100.0 tok/s | 95.0 (0.95x) | 2.00 | 70.0 (0.70x) | 2.00 |",
            "| a\\<b\\|c,\"d | draft:3 | 130.0 (128.5 to 132.5) | 1.30x | 2.00 | 62 % | 1.25 | 8.50 | — | yes |",
            "| story | draft:3 | 95.0 (93.5 to 97.5) | 0.95x | 2.00 | 62 % | 1.25 | 8.50 | — | **no** |",
            "| tokens checked in a pass | ms | passes of one token |",
            "| 3 | 12.00 | 1.20 |",
        ],
    );
}

#[test]
fn the_rows_as_csv() {
    check_lines(
        &table::csv(&report()),
        &[
            "prompt,strategy,draft_length,tokens,passes,tokens_per_pass,acceptance,decode_ms,tok_s,tok_s_min,\
             tok_s_max,draft_ms,verify_ms,other_ms,speedup,identical",
            "\"a<b|c,\"\"d\",plain,,128,64,2,,1000.5,100,98.5,102.5,1.25,8.5,,1,true",
            "story,draft,3,128,64,2,0.625,1000.5,95,93.5,97.5,1.25,8.5,,0.95,false",
        ],
    );
}

#[test]
fn the_json_has_its_schema() {
    let json = serde_json::to_value(report()).unwrap();
    let keys = |value: &Value| -> Vec<String> {
        let mut keys: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&json), ["cost", "machine", "runs", "settings"]);
    let mut fields: Vec<_> = table::csv(&report())
        .lines()
        .next()
        .unwrap()
        .split(',')
        .map(str::to_owned)
        .collect();
    fields.sort();
    for run in json["runs"].as_array().unwrap() {
        assert_eq!(keys(run), fields);
    }
    assert_eq!(json["runs"][0]["draft_length"], Value::Null);
    assert_eq!(json["runs"][1]["draft_length"], 3);
    assert_eq!(json["runs"][4]["identical"], false);
    assert_eq!(json["cost"]["target"]["verify_ms"]["16"], 25.0);
    assert_eq!(
        json["cost"]["draft"],
        json!({"name": "small", "step_ms": 2.5, "pass_ms": {"1": 2.5}})
    );
    assert_eq!(json["machine"]["isa"], "avx2");
    assert_eq!(json["settings"]["tokens"], 128);
}

#[test]
fn the_charts_have_a_background_a_bar_for_each_row_and_escaped_names() {
    let svg = chart::svg(&report()).unwrap();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    let background =
        "<rect x=\"0\" y=\"0\" width=\"960\" height=\"800\" opacity=\"1\" fill=\"#FFFFFF\"";
    assert!(svg.contains(background), "{}", &svg[..400]);
    for part in [
        "a&lt;b|c,&quot;d",
        "lookup-transformers",
        "story",
        "passes of one token",
        "\n130\n",
    ] {
        assert!(svg.contains(part), "{part}");
    }
    // Beside the background: three squares of the legend and six bars.
    assert_eq!(svg.matches("<rect ").count(), 1 + 3 + 6);
    assert_eq!(svg.matches("<circle ").count(), 4);

    let mut empty = report();
    empty.runs.clear();
    assert_eq!(chart::svg(&empty).unwrap().matches("<rect ").count(), 1);
}
