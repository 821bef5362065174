//! Rounds in, rates out.

use std::sync::Arc;

use super::*;
use crate::engine::protocol::Explanation;

fn round(drafted: usize, accepted: usize, ms: [u64; 3]) -> Round {
    let [draft, verify, other] = ms.map(Duration::from_millis);
    Round {
        strategy: "draft",
        n_drafted: drafted,
        n_verified: drafted,
        n_accepted: accepted,
        n_emitted: accepted + 1,
        draft_time: draft,
        verify_time: verify,
        other_time: other,
        pieces: Vec::new(),
        context_used: 0,
        note: None,
        explanation: None,
    }
}

fn of(rounds: &[Round]) -> Totals {
    let mut totals = Totals::default();
    for round in rounds {
        totals.add(round, None);
    }
    totals
}

fn baseline(ms: u64) -> Baseline {
    Baseline {
        per_token: Duration::from_millis(ms),
        context: 0,
    }
}

#[test]
fn no_rounds_have_no_rates() {
    let totals = Totals::default();
    assert_eq!(totals.tokens_per_pass(), None);
    assert_eq!(totals.acceptance(), None);
    assert_eq!(totals.tokens_per_second(), None);
    assert_eq!(totals.speed_up(), None);
    assert_eq!(totals.share(Duration::ZERO), None);
    assert_eq!(totals.draft_ms(), None);
}

#[test]
fn rounds_without_a_draft_count_as_passes() {
    let totals = of(&[round(4, 3, [10, 30, 0]), round(0, 0, [0, 20, 0])]);
    assert_eq!(totals.tokens_per_pass(), Some(2.5));
    assert_eq!(totals.acceptance(), Some(0.75));
    assert_eq!(totals.draft_ms(), Some(5.0));
    assert_eq!(totals.verify_ms(), Some(25.0));
    let share = totals.share(totals.draft_time).unwrap();
    assert!((share - 1.0 / 6.0).abs() < 1e-9, "{share}");
}

#[test]
fn positions_after_a_rejection_count_as_verified() {
    let totals = of(&[round(3, 1, [0; 3]), round(2, 2, [0; 3])]);
    let acceptances: Vec<_> = totals
        .by_position
        .iter()
        .map(|p| p.acceptance().unwrap())
        .collect();
    assert_eq!(acceptances, [1.0, 0.5, 0.0]);
}

#[test]
fn the_decode_clock_starts_after_the_first_round() {
    let mut stats = Stats::default();
    stats.begin_answer();
    stats.push(&round(0, 0, [0, 900, 0]));
    assert_eq!(stats.decode().tokens_per_second(), None);
    stats.push(&round(3, 3, [20, 60, 20]));
    assert_eq!(stats.decode().tokens_per_second(), Some(40.0));
    assert_eq!(stats.answer().passes, 2);
}

#[test]
fn a_speed_up_is_over_the_rounds_that_had_a_baseline_each_with_its_own() {
    let mut stats = Stats::default();
    for _ in 0..MIN_VERDICT_PASSES {
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert_eq!(stats.speed_up(), None);
    stats.set_baseline(baseline(30));
    assert_eq!(stats.speed_up(), None);
    for _ in 0..MIN_VERDICT_PASSES {
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert_eq!(stats.speed_up(), None, "half of them tell nothing of all");
    for _ in 0..WINDOW_ROUNDS - MIN_VERDICT_PASSES {
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert_eq!(stats.speed_up(), Some(1.5));
    stats.set_baseline(baseline(10));
    assert_eq!(stats.speed_up(), Some(1.5));
    for _ in 0..WINDOW_ROUNDS {
        stats.push(&round(1, 0, [0, 10, 0]));
    }
    assert_eq!(stats.speed_up(), Some(1.0));
    assert_eq!(stats.recent_emitted().len(), WINDOW_ROUNDS);
}

#[test]
fn without_a_draft_there_is_nothing_to_compare() {
    let mut stats = Stats::default();
    stats.set_baseline(baseline(30));
    for _ in 0..=MIN_VERDICT_PASSES {
        stats.push(&round(0, 0, [0, 29, 0]));
    }
    assert_eq!(stats.speed_up(), None);
    assert_eq!(stats.decode().speed_up(), None);
    stats.push(&round(1, 1, [0, 29, 0]));
    assert!(stats.speed_up().is_some());
}

#[test]
fn more_than_the_tokens_per_pass_is_an_outdated_baseline() {
    let mut stats = Stats::default();
    stats.set_baseline(baseline(300));
    for _ in 0..=MIN_VERDICT_PASSES {
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert_eq!(stats.speed_up(), None);
}

#[test]
fn a_few_passes_are_no_verdict() {
    let mut stats = Stats::default();
    stats.set_baseline(baseline(30));
    // The first round is left out.
    for n in 0..=MIN_VERDICT_PASSES {
        assert_eq!(stats.speed_up(), None, "{n}");
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert!(stats.speed_up().is_some());
    let summary = stats.decode().speed_up().expect("enough passes");
    assert!((summary - 1.5).abs() < 1e-9, "{summary}");
    stats.clear_window();
    assert_eq!(stats.speed_up(), None);
}

#[test]
fn the_window_holds_ten_seconds_or_enough_for_a_verdict() {
    let check = |ms: u64, expect: usize| {
        let mut stats = Stats::default();
        for _ in 0..=WINDOW_ROUNDS {
            stats.push(&round(0, 0, [0, ms, 0]));
        }
        assert_eq!(stats.rolling().passes, expect, "{ms}");
    };
    check(20, WINDOW_ROUNDS);
    check(400, 25);
    check(4000, MIN_VERDICT_PASSES);
}

#[test]
fn passes_are_counted_by_who_drafted_for_auto() {
    let by = |drafter| Round {
        explanation: Some(Arc::new(Explanation {
            reason: String::new(),
            drafter,
            length: 0,
            expected: 1.0,
            alternatives: Vec::new(),
            balance: 0.0,
            affordable: 0.0,
            curve: Vec::new(),
            step: None,
            plain_ms: None,
        })),
        ..round(0, 0, [0; 3])
    };
    let check = |rounds: &[Round], lookup, expect: Option<&str>| {
        let totals = of(rounds);
        assert_eq!(totals.drafter_share("lookup"), lookup);
        assert_eq!(totals.drafters().as_deref(), expect);
    };
    check(&[], None, None);
    check(&[round(4, 4, [0; 3])], None, None);
    check(&[by("plain")], Some(0.0), Some("100 % plain"));
    let mut rounds = vec![by("plain"), by("lookup"), by("draft"), by("draft")];
    rounds.extend([round(4, 4, [0; 3]), by("draft"), by("draft")]);
    let shares = "67 % draft, 17 % plain, 17 % lookup";
    check(&rounds, Some(1.0 / 6.0), Some(shares));
}

#[test]
fn all_answers_and_each_strategy_go_by_the_decode_clock() {
    let mut stats = Stats::default();
    for _ in 0..2 {
        stats.begin_answer();
        // The first round of each answer is slow: the draft reads the prompt.
        stats.push(&round(3, 3, [900, 60, 40]));
        stats.push(&round(3, 3, [20, 60, 20]));
    }
    let rates = |tally: &Tally| (tally.all.passes, tally.decode.tokens_per_second());
    assert_eq!(rates(stats.tally()), (2, Some(40.0)));
    assert_eq!(stats.speed_up(), None);
    let session = stats.session();
    assert_eq!(rates(&session.all), (4, Some(40.0)));
    assert_eq!(rates(&session.by_strategy[0].1), (4, Some(40.0)));
}

#[test]
fn the_panel_and_the_line_after_an_answer_tell_the_same_speed_up() {
    let mut stats = Stats::default();
    stats.set_baseline(baseline(30));
    stats.push(&round(3, 3, [900, 60, 40]));
    for _ in 0..MIN_VERDICT_PASSES {
        stats.push(&round(3, 1, [10, 30, 0]));
    }
    assert_eq!(stats.speed_up(), Some(1.5));
    assert_eq!(stats.decode().speed_up(), Some(1.5));
}
