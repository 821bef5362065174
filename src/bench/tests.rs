//! The benchmark on scripted models, and the formats of a made-up report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::cancel::Cancel;
use crate::decoding::Decoder;
use crate::engine::protocol::Round;
use crate::measure::{Costs, DraftCosts, TargetCosts};
use crate::model::scripted::{ScriptedModel, Step};
use crate::model::{PassError, Token};
use crate::stats::Totals;
use crate::strategy::{Plain, Strategy};

const VOCAB: usize = 50;

fn contender(text: &str) -> Contender {
    Contender::parse(text).unwrap()
}

#[test]
fn contenders_are_names_with_a_length_where_they_take_one() {
    let check = |text: &str, expect: Result<&str, &str>| match (Contender::parse(text), expect) {
        (Ok(contender), Ok(expect)) => assert_eq!(contender.to_string(), expect),
        (Err(why), Err(expect)) => assert!(why.contains(expect), "{text}: {why}"),
        (got, _) => panic!("{text}: {got:?}"),
    };
    check("plain", Ok("plain"));
    check("draft", Ok("draft"));
    check("draft:5", Ok("draft:5"));
    check("draft-transformers", Ok("draft-transformers"));
    check("fast", Err("there are: plain, draft, lookup"));
    check("lookup:5", Err("lookup takes no draft length"));
    check("draft:0", Err("from 1 to 31"));
    check("draft:x", Err("`x` is no draft length"));
    check("", Err("there is no strategy ``"));
}

#[test]
fn plain_is_always_among_them_and_nothing_is_twice() {
    let check = |asked: &[&str], expect: &[&str]| {
        let asked: Vec<Contender> = asked.iter().map(|text| contender(text)).collect();
        let complete = Contender::complete(&asked, 3);
        let names: Vec<String> = complete.iter().map(ToString::to_string).collect();
        assert_eq!(names, expect, "{asked:?}");
    };
    check(&["lookup", "plain"], &["lookup", "plain"]);
    check(
        &["draft", "draft:3", "draft:5"],
        &["plain", "draft:3", "draft:5"],
    );
    let every = Contender::complete(&[], 3);
    assert_eq!(every.len(), crate::strategy::ALL.len());
    assert!(every.contains(&contender("draft:3")));
}

/// Drafts nothing, and makes the target write another token: what no strategy can.
struct Spoiler(Arc<AtomicBool>);

impl Strategy for Spoiler {
    fn name(&self) -> &'static str {
        "spoiler"
    }

    fn begin(&mut self, _: &[Token]) {}

    fn draft(
        &mut self,
        committed: &[Token],
        _: usize,
        _: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        self.0.store(committed.len() == 12, Ordering::Relaxed);
        Ok(Vec::new())
    }
}

/// Plain decoding twice and, third, the spoiler, on a target that counts; after `passes` of them the
/// target asks to stop.
fn decoder(cancel: &Cancel, passes: usize) -> Decoder {
    let spoiled = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&spoiled);
    let cancel = cancel.clone();
    let mut n_passes = 0;
    let script = move |context: &[Token]| {
        n_passes += 1;
        if n_passes > passes {
            cancel.cancel();
        }
        let step = if seen.swap(false, Ordering::Relaxed) {
            2
        } else {
            1
        };
        Step::Write((context[context.len() - 1] + step) % VOCAB as Token)
    };
    let target = ScriptedModel::new("counting", VOCAB, 100, script);
    let strategies: Vec<Box<dyn Strategy>> =
        vec![Box::new(Plain), Box::new(Plain), Box::new(Spoiler(spoiled))];
    Decoder::new(Box::new(target), strategies, vec![40])
}

fn plan() -> Plan {
    Plan {
        prompts: vec![vec![1, 2, 3], vec![30, 31]],
        n_strategies: 3,
        runs: 4,
        tokens: 20,
    }
}

#[test]
fn the_order_turns_with_every_run() {
    let cancel = Cancel::new();
    let mut steps = Vec::new();
    let mut samples = Samples::new();
    run(
        &mut decoder(&cancel, usize::MAX),
        &plan(),
        &mut samples,
        &cancel,
        &mut |step| {
            steps.push(step);
        },
    )
    .unwrap();
    assert_eq!(steps.len(), plan().n_answers());
    assert!(steps.iter().map(|step| step.done).eq(0..steps.len()));
    let order = |run: usize, prompt: usize| -> Vec<usize> {
        let these = steps.iter().filter(|s| (s.run, s.prompt) == (run, prompt));
        these.map(|step| step.strategy).collect()
    };
    for prompt in 0..2 {
        assert_eq!(order(0, prompt), [0, 1, 2]);
        assert_eq!(order(1, prompt), [1, 2, 0]);
        assert_eq!(order(2, prompt), [2, 0, 1]);
        assert_eq!(order(3, prompt), [0, 1, 2]);
    }
    assert!(samples.iter().flatten().all(|runs| runs.len() == 4));
    // The first ends for want of budget, the second at the end of the turn.
    assert_eq!(samples[0][0][0].text, (4..24).collect::<Vec<_>>());
    assert_eq!(samples[1][0][0].text, (32..=40).collect::<Vec<_>>());
    let sample = &samples[1][0][0];
    assert_eq!((sample.all.passes, sample.decode.passes), (9, 8));
}

#[test]
fn another_text_is_found() {
    let cancel = Cancel::new();
    let mut samples = Samples::new();
    run(
        &mut decoder(&cancel, usize::MAX),
        &plan(),
        &mut samples,
        &cancel,
        &mut |_| {},
    )
    .unwrap();
    let prompts = ["counted".to_owned(), "short".to_owned()];
    let contenders = ["plain", "draft:1", "lookup"].map(contender);
    let found = |samples: &Samples| -> Vec<Option<bool>> {
        let rows = rows(&prompts, &contenders, samples);
        rows.iter().map(|row| row.identical).collect()
    };
    let same = Some(true);
    // The spoiler, here called lookup, spoils the thirteenth token; the short text has fewer.
    assert_eq!(found(&samples), [same, same, Some(false), same, same, same]);
    // One other token in one run of plain decoding itself is found too.
    let mut flaky = samples.clone();
    flaky[1][0][2].text[3] += 1;
    assert_eq!(found(&flaky)[3..], [Some(false), same, same]);
    samples[1][0].clear();
    assert_eq!(found(&samples), [same, same, Some(false), None, None]);
}

#[test]
fn what_is_done_stays_when_it_is_interrupted() {
    let cancel = Cancel::new();
    let mut samples = Samples::new();
    // Three answers of 8 tokens warm up; then come two whole answers of 20, and a part of a third.
    let ended = run(
        &mut decoder(&cancel, 3 * 8 + 50),
        &plan(),
        &mut samples,
        &cancel,
        &mut |_| {},
    );
    assert!(matches!(ended, Err(PassError::Cancelled(_))));
    let counts: Vec<usize> = samples.iter().flatten().map(Vec::len).collect();
    assert_eq!(counts, [1, 1, 0, 0, 0, 0]);
    let contenders = ["plain", "draft:1", "lookup"].map(contender);
    assert_eq!(
        rows(&["a".into(), "b".into()], &contenders, &samples).len(),
        2
    );
}

/// An answer of a first round, which takes a second, and ten more, each of `wall_ms` of which drafting
/// takes 2 and the rest 1, that emit `n_emitted` tokens; all drafted tokens but one are accepted.
fn sample(wall_ms: u64, n_emitted: usize) -> Sample {
    let round = |ms: u64| Round {
        strategy: "",
        n_drafted: n_emitted,
        n_verified: n_emitted,
        n_accepted: n_emitted - 1,
        n_emitted,
        draft_time: Duration::from_millis(2),
        verify_time: Duration::from_millis(ms - 3),
        other_time: Duration::from_millis(1),
        pieces: Vec::new(),
        context_used: 0,
        note: None,
    };
    let mut sample = Sample::default();
    sample.all.add(&round(1000), None);
    for _ in 0..10 {
        sample.all.add(&round(wall_ms), None);
        sample.decode.add(&round(wall_ms), None);
    }
    sample
}

#[test]
fn a_row_is_of_the_median_run_and_its_speedup_of_the_ratios() {
    let plain = vec![sample(20, 1), sample(10, 1), sample(25, 1)];
    let faster = vec![sample(20, 2), sample(25, 2), sample(40, 2)];
    let contenders = ["plain", "draft:2"].map(contender);
    let rows = rows(&["p".to_owned()], &contenders, &[vec![plain, faster]]);
    let close = |got: Option<f64>, expect: f64| {
        assert!(
            got.is_some_and(|got| (got - expect).abs() < 1e-9),
            "{got:?} {expect}"
        );
    };
    let row = &rows[1];
    assert_eq!((row.strategy, row.draft_length), ("draft", Some(2)));
    assert_eq!((row.tokens, row.passes), (22, 11));
    close(row.tokens_per_pass, 2.0);
    close(row.acceptance, 0.5);
    close(row.tok_s, 80.0);
    close(row.tok_s_min, 50.0);
    close(row.tok_s_max, 100.0);
    close(Some(row.decode_ms), 250.0);
    close(row.draft_ms, 2.0);
    close(row.verify_ms, 22.0);
    close(row.other_ms, 1.0);
    // 100 / 50, 80 / 100 and 50 / 40; the medians' ratio would be 80 / 50.
    close(row.speedup, 1.25);
    close(rows[0].tok_s, 50.0);
    close(rows[0].speedup, 1.0);
}

#[test]
fn an_answer_of_one_round_has_counts_but_no_speed() {
    let mut only = sample(20, 4);
    only.decode = Totals::default();
    let samples = [vec![vec![only.clone()], vec![only]]];
    let rows = rows(
        &["p".to_owned()],
        &["plain", "lookup"].map(contender),
        &samples,
    );
    let row = &rows[1];
    assert_eq!((row.tok_s, row.speedup, row.draft_ms), (None, None, None));
    assert_eq!((row.passes, row.identical), (11, Some(true)));
}

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
        json!({"name": "small", "step_ms": 2.5})
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
