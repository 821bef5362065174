//! What `auto` shows: pictures, and that they are calm.

use std::sync::Arc;

use insta::assert_snapshot;
use speck::app::Msg;
use speck::engine::protocol::{Alternative, Event, Explanation, FinishReason, StrategyInfo};

use crate::user::{CODE, User, ready};

const SIZES: [(u16, u16); 5] = [(120, 40), (100, 30), (104, 24), (80, 24), (60, 16)];

/// What a round was chosen by on a machine where a pass over 16 tokens costs four plain ones.
fn chosen(drafter: &'static str, length: usize, reason: &str) -> Explanation {
    let alternative = |drafter, length, expected| Alternative {
        drafter,
        length,
        expected,
        acceptance: 0.7,
    };
    Explanation {
        reason: reason.to_owned(),
        drafter,
        length,
        expected: if length > 0 { 1.8 } else { 1.0 },
        alternatives: vec![
            alternative("lookup", 6, 1.8),
            alternative("recycling", 2, 1.1),
            alternative("draft", 3, 0.9),
        ],
        balance: 3.21,
        affordable: 5.2,
        curve: (0..17).map(|i| Some(1.0 + 0.2 * f64::from(i))).collect(),
        step: Some(0.3),
        plain_ms: Some(40.0),
    }
}

fn lookup() -> Explanation {
    chosen("lookup", 6, "lookup 6: 1.8x expected")
}

fn not_affordable() -> Explanation {
    Explanation {
        balance: -1.16,
        affordable: 0.84,
        ..chosen(
            "plain",
            0,
            "plain: a wrong recycling would cost more than the 0.8 passes to spare",
        )
    }
}

/// As on a machine that nobody has measured, before the first plain pass.
fn untimed() -> Explanation {
    Explanation {
        balance: 0.0,
        affordable: 2.0,
        curve: vec![None; 17],
        plain_ms: None,
        ..chosen("plain", 0, "plain: to time a plain pass")
    }
}

fn ready_for_auto() -> Event {
    let Event::Ready(mut ready) = ready() else {
        panic!("it is ready")
    };
    ready.strategies.push(StrategyInfo {
        name: "auto",
        summary: "whichever pays, by measured time",
        cycled: true,
    });
    ready.strategy = "auto";
    Event::Ready(ready)
}

/// A user for whom `auto` drafts.
fn user(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.hear(ready_for_auto());
    user
}

fn asked(size: (u16, u16)) -> User {
    let mut user = user(size);
    user.keys("Write is_palindrome(s) with a docstring.<Enter>");
    user
}

impl User {
    fn auto(&mut self, text: &str, chosen: Explanation, accepted: &[usize]) {
        self.explanation = Some(Arc::new(chosen));
        self.stream(text, "auto", accepted);
    }
}

/// An answer of which `auto` let three drafters draft parts.
fn written(size: (u16, u16)) -> User {
    let mut user = asked(size);
    let (head, tail) = CODE.split_at(24);
    user.auto(
        head,
        chosen("plain", 0, "plain: nothing to draft from"),
        &[0],
    );
    user.auto(tail, chosen("draft", 3, "draft 3: 1.8x expected"), &[2, 3]);
    user.auto(" And back, and back, and back, and so on.", lookup(), &[5]);
    user.wait(1000);
    user
}

#[track_caller]
fn pictures(name: &str, state: impl Fn((u16, u16)) -> User) {
    for size in SIZES {
        assert_snapshot!(
            format!("{name}_{}x{}", size.0, size.1),
            state(size).picture()
        );
    }
}

#[test]
fn writing() {
    pictures("writing", written);
}

#[test]
fn a_draft_that_is_not_affordable() {
    pictures("not_affordable", |size| {
        let mut user = written(size);
        user.auto(" Not so.", not_affordable(), &[0]);
        user.wait(1000);
        user
    });
}

#[test]
fn before_anything_was_timed() {
    pictures("untimed", |size| {
        let mut user = User::new(size);
        user.hear(ready_for_auto());
        user.keys("Hello<Enter>");
        user.auto("Here ", untimed(), &[0]);
        user
    });
}

#[test]
fn before_anything_was_chosen() {
    pictures("unused", user);
}

#[test]
fn finished() {
    let mut user = written((180, 40));
    user.finish(FinishReason::EndOfTurn);
    assert_snapshot!("finished_180x40", user.picture());
}

#[test]
fn a_reason_stands_for_a_second_and_the_last_one_stays() {
    let mut user = asked((120, 40));
    let mut seen = Vec::new();
    for i in 0..50 {
        let (drafter, length) = [("lookup", 6), ("draft", 3)][i % 2];
        let reason = format!("{drafter} {length}: 1.{i:02}x expected");
        user.auto("so ", chosen(drafter, length, &reason), &[0]);
        seen.push(user.app.shown().choice.as_ref().unwrap().reason.clone());
    }
    let first = seen[0].clone();
    seen.dedup();
    // 50 rounds of 42 ms are 2.1 s.
    assert_eq!((seen.len(), seen[0] == first), (3, true), "{seen:?}");
    user.wait(1000);
    assert!(user.picture().contains("draft 3: 1.49x expected"));
    assert_eq!(user.app.wake_at().map(|at| at > user.now), Some(true));
}

#[test]
fn a_reason_is_cleaned() {
    let mut user = asked((120, 40));
    user.auto("so ", chosen("lookup", 6, "\x1b[2Jlookup"), &[0]);
    assert!(user.picture().contains("  ␛[2Jlookup"));
}

#[test]
fn a_swap_by_hand_clears_what_auto_showed_and_swapping_back_resumes() {
    let parts = ["lookup 6: 1.8x expected", "to spare", "pass of 16"];
    let shows = |user: &User| parts.map(|part| user.picture().contains(part));
    let mut user = written((120, 40));
    assert_eq!(shows(&user), [true; 3]);
    user.keys("/mode draft<Enter>");
    assert_eq!(shows(&user), [true; 3], "until the engine confirms it");
    user.explanation = None;
    user.hear(Event::Strategy("draft"));
    assert_eq!(shows(&user), [false; 3]);
    user.stream("by the model ", "draft", &[1]);
    assert_eq!(shows(&user), [false; 3]);
    user.keys("/mode auto<Enter>");
    assert_eq!(user.effects[1..], ["strategy draft", "strategy auto"]);
    user.hear(Event::Strategy("auto"));
    assert_eq!(shows(&user), [false, true, true]);
    user.auto("and on ", lookup(), &[1]);
    user.wait(300);
    assert_eq!(shows(&user), [true; 3]);
}

#[test]
fn another_question_starts_the_ledger_anew() {
    let mut user = written((120, 40));
    assert!(user.picture().contains("to spare   ≈5.2 passes,  3.2 won"));
    user.finish(FinishReason::EndOfTurn);
    user.keys("again<Enter>");
    let picture = user.picture();
    assert!(picture.contains("to spare     — passes"), "{picture}");
    assert!(
        picture.contains("█ 4.0x") || picture.contains("█  4.0x"),
        "{picture}"
    );
}

#[test]
fn many_passes_fit_too() {
    let mut user = asked((90, 40));
    let rich = Explanation {
        balance: 1234.5,
        affordable: 1260.2,
        curve: vec![Some(12.3); 17],
        ..lookup()
    };
    user.auto("so ", rich, &[0]);
    let picture = user.picture();
    assert!(
        picture.contains("to spare  ≈1260 passes, 1234 won\n"),
        "{picture}"
    );
    assert!(picture.contains(" 12.3x\n"), "{picture}");
}

#[test]
fn every_size_is_drawn() {
    let mut user = written((80, 24));
    for width in (1..130).step_by(3) {
        for height in 1..40 {
            user.size = (width, height);
            user.update(Msg::Resize(width, height));
            user.picture();
        }
    }
}
