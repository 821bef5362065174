//! The loop against scripted models: the text never depends on the strategy, and the cache is always
//! one token behind.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::model::scripted::{ScriptedModel, Step};
use crate::model::{Logits, argmax};
use crate::strategy::{self, Drafter, Parts};

const VOCAB: u64 = 12;
const END: Token = 0;

/// A reproducible choice from a context: short repetitive texts with an end now and then.
fn choice(context: &[Token], seed: u64, window: usize) -> Token {
    let recent = &context[context.len().saturating_sub(window)..];
    let mut hash = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (context.len() as u64 / 40);
    for &token in recent {
        hash = (hash ^ u64::from(token))
            .wrapping_mul(0xBF58_476D_1CE4_E5B9)
            .rotate_left(29);
    }
    match hash % 97 {
        0 => END,
        _ => (1 + hash % (VOCAB - 1)) as Token,
    }
}

fn target(seed: u64, capacity: usize) -> Box<dyn Model> {
    let script = move |context: &[Token]| Step::Write(choice(context, seed, 3));
    Box::new(ScriptedModel::new(
        "target",
        VOCAB as usize,
        capacity,
        script,
    ))
}

/// Agrees with the target most of the time.
fn draft(seed: u64, capacity: usize) -> Box<dyn Model> {
    let script = move |context: &[Token]| {
        let wrong = choice(context, seed + 1, 2).is_multiple_of(3);
        Step::Write(if wrong { 1 } else { choice(context, seed, 3) })
    };
    Box::new(ScriptedModel::new(
        "draft",
        VOCAB as usize,
        capacity,
        script,
    ))
}

fn decoder(seed: u64, draft_length: usize, capacity: usize) -> Decoder {
    let (strategies, missing) = strategy::build_all(&Parts {
        draft: Ok(Drafter::new(draft(seed, capacity), Sampling::default())),
        draft_length,
        ends: vec![END],
        calibration: None,
    });
    assert!(missing.is_empty());
    Decoder::new(target(seed, capacity), strategies, vec![END])
}

/// Runs an answer of at most `budget` tokens; `before_round(n)` names the strategy of round `n`.
fn answer(
    decoder: &mut Decoder,
    prompt: &[Token],
    budget: usize,
    mut before_round: impl FnMut(usize) -> &'static str,
) -> Vec<Token> {
    let cancel = Cancel::new();
    decoder.begin(prompt, &cancel, &mut |_, _| {}).unwrap();
    let mut answer = Vec::new();
    for n in 0.. {
        if answer.len() == budget {
            break;
        }
        assert!(decoder.set_strategy(before_round(n)));
        let round = decoder.round(budget - answer.len(), &cancel).unwrap();
        check_round(&round);
        assert_eq!(decoder.target.len(), decoder.committed.len() - 1);
        answer.extend(&round.emitted);
        assert_eq!(decoder.committed, [prompt, &answer].concat());
        if round.ended {
            break;
        }
    }
    answer
}

fn check_round(round: &Round) {
    assert!(round.n_accepted <= round.n_verified && round.n_verified <= round.drafted.len());
    assert_eq!(
        round.emitted[..round.n_accepted],
        round.drafted[..round.n_accepted]
    );
    let own = usize::from(!(round.ended && round.n_accepted == round.emitted.len()));
    assert_eq!(round.emitted.len(), round.n_accepted + own);
    assert_eq!(round.draft_error, None);
}

/// What the target writes, by definition.
fn alone(seed: u64, prompt: &[Token], budget: usize) -> Vec<Token> {
    let mut text = prompt.to_vec();
    while text.len() < prompt.len() + budget {
        text.push(choice(&text, seed, 3));
        if text.last() == Some(&END) {
            break;
        }
    }
    text.split_off(prompt.len())
}

proptest! {
    #[test]
    fn the_text_is_the_targets_whatever_drafts(
        seed in 0u64..10_000,
        prompt in prop::collection::vec(1u32..VOCAB as u32, 1..30),
        draft_length in 1usize..=8,
        budget in 1usize..120,
        swaps in prop::collection::vec(0..strategy::ALL.len(), 120),
    ) {
        let expect = alone(seed, &prompt, budget);
        let names: Vec<_> = strategy::names().collect();
        for fixed in &names {
            let mut decoder = decoder(seed, draft_length, 1024);
            prop_assert_eq!(&answer(&mut decoder, &prompt, budget, |_| fixed), &expect, "{}", fixed);
        }
        let mut decoder = decoder(seed, draft_length, 1024);
        prop_assert_eq!(&answer(&mut decoder, &prompt, budget, |n| names[swaps[n]]), &expect);
    }

    #[test]
    fn a_following_turn_reuses_the_cache_and_writes_the_same(
        seed in 0u64..10_000,
        first in prop::collection::vec(1u32..VOCAB as u32, 1..20),
        second in prop::collection::vec(1u32..VOCAB as u32, 1..20),
        keep in 0usize..40,
        name in prop::sample::select(strategy::names().collect::<Vec<_>>()),
    ) {
        let mut decoder = decoder(seed, 3, 1024);
        answer(&mut decoder, &first, 30, |_| name);
        let mut prompt = decoder.committed[..keep.min(decoder.committed.len())].to_vec();
        prompt.extend(&second);
        let expect = alone(seed, &prompt, 40);
        let cached = decoder.committed[..decoder.target.len()].to_vec();
        let prefill = decoder.begin(&prompt, &Cancel::new(), &mut |_, _| {}).unwrap();
        prop_assert_eq!(
            prefill.reused,
            strategy::common_prefix(&cached, &prompt[..prompt.len() - 1])
        );
        prop_assert_eq!(answer(&mut decoder, &prompt, 40, |_| name), expect);
    }

    #[test]
    fn a_small_context_is_filled_to_its_last_token(
        seed in 0u64..1000,
        capacity in 2usize..40,
        name in prop::sample::select(strategy::names().collect::<Vec<_>>()),
    ) {
        let prompt = [1, 2];
        let mut decoder = decoder(seed, 8, capacity);
        let budget = capacity - prompt.len();
        prop_assert_eq!(answer(&mut decoder, &prompt, budget, |_| name), alone(seed, &prompt, budget));
    }
}

/// Drafts what it was given, round by round.
struct Fixed(Vec<Result<Vec<Token>, &'static str>>);

impl strategy::Strategy for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn begin(&mut self, _: &[Token]) {}

    fn draft(&mut self, _: &[Token], _: usize, _: &Cancel) -> Result<Vec<Token>, PassError> {
        self.0.remove(0).map_err(|why| anyhow::anyhow!(why).into())
    }
}

/// Counts up from the last token, and ends at 9.
fn counting(drafts: Vec<Result<Vec<Token>, &'static str>>) -> Decoder {
    let script = |context: &[Token]| {
        Step::Write(if context.ends_with(&[8]) {
            9
        } else {
            context[context.len() - 1] + 1
        })
    };
    let target = ScriptedModel::new("counting", 100, 100, script);
    Decoder::new(Box::new(target), vec![Box::new(Fixed(drafts))], vec![9])
}

#[test]
fn the_worked_sequence() {
    let mut decoder = counting(vec![Ok(vec![4, 5, 60])]);
    decoder
        .begin(&[1, 2, 3], &Cancel::new(), &mut |_, _| {})
        .unwrap();
    let round = decoder.round(100, &Cancel::new()).unwrap();
    assert_eq!(round.emitted, [4, 5, 6]);
    assert_eq!((round.n_accepted, round.n_verified), (2, 3));
    assert_eq!(decoder.committed, [1, 2, 3, 4, 5, 6]);
    assert_eq!(decoder.target.len(), 5);
}

#[test]
fn the_first_drafted_token_is_verified_too() {
    let mut decoder = counting(vec![Ok(vec![50, 5])]);
    decoder.begin(&[3], &Cancel::new(), &mut |_, _| {}).unwrap();
    assert_eq!(decoder.round(100, &Cancel::new()).unwrap().emitted, [4]);
}

#[test]
fn nothing_is_emitted_or_judged_after_an_end() {
    let check = |draft: &[Token], expect: (&[Token], usize, usize)| {
        let mut decoder = counting(vec![Ok(draft.to_vec())]);
        decoder.begin(&[7], &Cancel::new(), &mut |_, _| {}).unwrap();
        let round = decoder.round(100, &Cancel::new()).unwrap();
        assert_eq!(
            (round.emitted.as_slice(), round.n_accepted, round.n_verified),
            expect
        );
        assert!(round.ended);
    };
    check(&[8, 9, 10, 11], (&[8, 9], 2, 2));
    check(&[8, 50, 51], (&[8, 9], 1, 2));
    check(&[8], (&[8, 9], 1, 1));
}

#[test]
fn a_failing_strategy_makes_the_round_plain_and_is_named() {
    let mut decoder = counting(vec![Err("no luck"), Ok(vec![6])]);
    decoder.begin(&[4], &Cancel::new(), &mut |_, _| {}).unwrap();
    let round = decoder.round(100, &Cancel::new()).unwrap();
    assert_eq!(
        (round.emitted, round.draft_error.as_deref()),
        (vec![5], Some("no luck"))
    );
    assert_eq!(decoder.round(100, &Cancel::new()).unwrap().emitted, [6, 7]);
}

#[test]
fn a_stop_in_the_middle_leaves_the_answer_continuable() {
    let stop: Arc<Mutex<Option<Cancel>>> = Arc::default();
    let stopper = Arc::clone(&stop);
    let script = move |context: &[Token]| {
        if let Some(cancel) = stopper.lock().unwrap().take() {
            cancel.cancel();
        }
        Step::Write(choice(context, 5, 3))
    };
    for name in strategy::names() {
        let mut decoder = decoder(5, 4, 1024);
        decoder.target = Box::new(ScriptedModel::new(
            "stoppable",
            VOCAB as usize,
            1024,
            script.clone(),
        ));
        let prompt = [1, 2, 3];
        decoder.set_strategy(name);
        decoder
            .begin(&prompt, &Cancel::new(), &mut |_, _| {})
            .unwrap();
        let mut answer = decoder.round(100, &Cancel::new()).unwrap().emitted;
        let cancel = Cancel::new();
        *stop.lock().unwrap() = Some(cancel.clone());
        assert!(matches!(
            decoder.round(100, &cancel),
            Err(PassError::Cancelled(_))
        ));
        assert_eq!(decoder.target.len(), decoder.committed.len() - 1);
        while answer.len() < 50 {
            answer.extend(
                decoder
                    .round(50 - answer.len(), &Cancel::new())
                    .unwrap()
                    .emitted,
            );
        }
        let mut expect = prompt.to_vec();
        while expect.len() < prompt.len() + 50 {
            expect.push(choice(&expect, 5, 3));
        }
        assert_eq!([&prompt[..], &answer].concat(), expect, "{name}");
    }
}

#[test]
fn a_failing_pass_changes_nothing() {
    let failing = Arc::new(Mutex::new(false));
    let fails = Arc::clone(&failing);
    let script = move |context: &[Token]| {
        if *fails.lock().unwrap() {
            Step::Fail
        } else {
            Step::Write(choice(context, 6, 3))
        }
    };
    let target = ScriptedModel::new("failing", VOCAB as usize, 100, script);
    let mut decoder = Decoder::new(Box::new(target), vec![Box::new(strategy::Plain)], vec![END]);
    decoder
        .begin(&[1, 2, 3], &Cancel::new(), &mut |_, _| {})
        .unwrap();
    *failing.lock().unwrap() = true;
    assert!(matches!(
        decoder.round(9, &Cancel::new()),
        Err(PassError::Failed(_))
    ));
    assert_eq!(
        (decoder.target.len(), decoder.committed()),
        (2, &[1, 2, 3][..])
    );
    *failing.lock().unwrap() = false;
    assert_eq!(
        decoder.round(9, &Cancel::new()).unwrap().emitted,
        [choice(&[1, 2, 3], 6, 3)]
    );
}

#[test]
fn rows_without_numbers_commit_nothing() {
    let logits = Logits::new(vec![f32::NAN; 4], 4);
    let mut committed = vec![1];
    assert_eq!(
        verify(
            &mut committed,
            &[],
            &logits,
            |row, _| argmax(row),
            |_| false
        ),
        None
    );
    assert_eq!(committed, [1]);
}

#[test]
fn timing_plain_passes_leaves_everything_as_it_was() {
    let mut decoder = counting(vec![Ok(vec![])]);
    decoder
        .begin(&[1, 2], &Cancel::new(), &mut |_, _| {})
        .unwrap();
    for _ in 0..3 {
        assert!(decoder.time_pass(1, &Cancel::new()).unwrap().is_some());
    }
    assert_eq!(
        (decoder.target.len(), decoder.committed()),
        (1, &[1, 2][..])
    );
    assert_eq!(decoder.round(9, &Cancel::new()).unwrap().emitted, [3]);
}
