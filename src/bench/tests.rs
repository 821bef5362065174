//! The benchmark on scripted models, and what rows make of answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::cancel::Cancel;
use crate::decoding::Decoder;
use crate::engine::protocol::Round;
use crate::model::scripted::{ScriptedModel, Step};
use crate::model::{PassError, Token};
use crate::stats::Totals;
use crate::strategy::{Plain, Strategy};

mod formats;

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

/// Drafts nothing, and fails unless it was told to forget before each answer.
struct Forgetful(bool);

impl Strategy for Forgetful {
    fn name(&self) -> &'static str {
        "forgetful"
    }

    fn begin(&mut self, _: &[Token]) {}

    fn forget(&mut self) {
        self.0 = true;
    }

    fn draft(
        &mut self,
        committed: &[Token],
        _: usize,
        _: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let first = committed.len() == PROMPT.len();
        if first && !std::mem::take(&mut self.0) {
            return Err(anyhow::anyhow!("it remembers").into());
        }
        Ok(Vec::new())
    }
}

const PROMPT: [Token; 3] = [1, 2, 3];

#[test]
fn no_answer_is_helped_by_one_before_it() {
    let target = ScriptedModel::new("fake", VOCAB, 100, |_| Step::Write(1));
    let strategies: Vec<Box<dyn Strategy>> = vec![Box::new(Forgetful(false)), Box::new(Plain)];
    let mut decoder = Decoder::new(Box::new(target), strategies, vec![]);
    let plan = Plan {
        prompts: vec![PROMPT.to_vec()],
        n_strategies: 2,
        runs: 3,
        tokens: 4,
    };
    let mut samples = Samples::new();
    run(
        &mut decoder,
        &plan,
        &mut samples,
        &Cancel::new(),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(samples[0][0].len(), 3);
    let errors = samples[0][0].iter().map(|sample| &sample.draft_error);
    assert!(
        errors.clone().all(Option::is_none),
        "{:?}",
        errors.collect::<Vec<_>>()
    );
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
        explanation: None,
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
