//! What `auto` learns, and that it can be made to forget it.

use super::super::*;
use crate::model::scripted::{ScriptedModel, Step};
use crate::sampling::Sampling;
use crate::strategy::Drafter;

const PROMPT: [Token; 8] = [9, 8, 1, 2, 3, 1, 2, 4];

/// What the target writes: a text of period 5, of which the draft model knows all but one token.
fn target(position: usize) -> Token {
    [1, 2, 3, 5, 6][position % 5]
}

fn auto() -> Auto {
    let draft = ScriptedModel::new("draft", 10, 500, |tokens| {
        let next = target(tokens.len());
        Step::Write(if next == 6 { 7 } else { next })
    });
    Auto::new(&Parts {
        draft: Ok(Drafter::new(Box::new(draft), Sampling::default())),
        draft_length: 3,
        ends: Vec::new(),
        calibration: Some(Calibration {
            target_ms: [(1, 10.0), (17, 12.0)].into(),
            draft_ms: [(1, 2.0), (16, 3.0)].into(),
        }),
    })
}

/// An answer of 40 tokens at most in which a pass takes `pass_ms`: the reasons that `auto` had, and what
/// it drafted.
fn answer(auto: &mut Auto, pass_ms: u64) -> Vec<(String, Vec<Token>)> {
    let mut committed = PROMPT.to_vec();
    let mut rounds = Vec::new();
    auto.begin(&committed);
    while committed.len() < 48 {
        let drafted = auto.draft(&committed, 16, &Cancel::new()).unwrap();
        let before = committed.len();
        let right = |(i, token): &(usize, &Token)| **token == target(before + i);
        let n_accepted = drafted.iter().enumerate().take_while(right).count();
        committed.extend((before..=before + n_accepted).map(target));
        auto.accept(&Feedback {
            committed: &committed,
            n_emitted: n_accepted + 1,
            n_drafted: drafted.len(),
            draft_time: Duration::from_millis(2),
            verify_time: Duration::from_millis(pass_ms),
            other_time: Duration::ZERO,
            idle: Duration::ZERO,
        });
        let reason = auto.explanation().unwrap().reason;
        rounds.push((reason, drafted));
    }
    rounds
}

#[test]
fn an_answer_after_forgetting_is_as_the_first() {
    let mut auto = auto();
    let first = answer(&mut auto, 10);
    let second = answer(&mut auto, 10);
    assert_ne!(first, second, "the recycling table outlives an answer");
    auto.forget();
    assert_eq!(auto.model.as_ref().unwrap().unjudged(&PROMPT), PROMPT.len());
    assert_eq!(answer(&mut auto, 10), first);
    // Costs that were learnt are forgotten too, those that were measured are not.
    answer(&mut auto, 80);
    auto.forget();
    assert_eq!(answer(&mut auto, 10), first);
    let mut twin = self::auto();
    twin.calibrate(&Calibration {
        target_ms: [(1, 10.0), (17, 900.0)].into(),
        draft_ms: [(1, 2.0), (16, 3.0)].into(),
    });
    let steep = answer(&mut twin, 10);
    assert_ne!(steep, first);
    twin.forget();
    assert_eq!(answer(&mut twin, 10), steep);
}
