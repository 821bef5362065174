//! The loop with sampling: prompt and seed alone decide the text, and an answer can be ended at any token.

use super::*;
use crate::model::scripted::{ScriptedModel, Step};
use crate::sampling::definition::row_after;
use crate::strategy::{self, DraftModel, DraftRule, Drafter, Parts};

const VOCAB: usize = 12;
const END: Token = 0;
const PROMPT: [Token; 3] = [1, 2, 3];
const BUDGET: usize = 100;

/// Logits that depend on the last two tokens, so that lookup has something to find; few end the answer.
fn row(prefix: &[Token]) -> Vec<f32> {
    let mut row = row_after(&prefix[prefix.len().saturating_sub(2)..], VOCAB, 17);
    row[END as usize] = -3.0;
    row
}

/// Logits near those of the target.
fn draft_row(prefix: &[Token]) -> Vec<f32> {
    let mut row = row(prefix);
    let off = row_after(prefix, VOCAB, 18);
    row.iter_mut().zip(off).for_each(|(a, b)| *a += b / 8.0);
    row
}

fn decoder(sampling: Sampling, draft_length: usize) -> Decoder {
    let model = |rows: fn(&[Token]) -> Vec<f32>| {
        Box::new(ScriptedModel::with_logits("scripted", VOCAB, 1024, rows))
    };
    let (strategies, missing) = strategy::build_all(&Parts {
        draft: Ok(Drafter::new(model(draft_row), sampling)),
        draft_length,
        ends: vec![END],
        calibration: None,
    });
    assert!(missing.is_empty());
    Decoder::new(model(row), strategies, vec![END]).with_sampling(sampling)
}

/// What is written when nothing but the text so far is known.
fn alone(sampling: Sampling) -> Vec<Token> {
    let mut text = PROMPT.to_vec();
    while text.len() < PROMPT.len() + BUDGET
        && (text.len() == PROMPT.len() || !text.ends_with(&[END]))
    {
        let mut sampler = Sampler::new(sampling);
        sampler.begin(PROMPT.len());
        text.push(sampler.pick(&row(&text), &text).unwrap());
    }
    text.split_off(PROMPT.len())
}

fn settings() -> impl Iterator<Item = Sampling> {
    let penalties = [(1.0, 0.0), (1.2, 0.5)];
    let with = move |temperature, seed| {
        penalties.map(|(repetition_penalty, presence_penalty)| Sampling {
            temperature,
            top_p: 0.95,
            repetition_penalty,
            presence_penalty,
            seed,
            ..Sampling::default()
        })
    };
    [0.0, 0.8]
        .into_iter()
        .flat_map(move |temperature| (1..=5).flat_map(move |seed| with(temperature, seed)))
}

#[test]
fn prompt_and_seed_alone_decide_the_text() {
    let mut texts = std::collections::HashSet::new();
    let mut accepted = 0;
    for sampling in settings() {
        let expect = alone(sampling);
        let names: Vec<_> = strategy::names().collect();
        for length in 1..=8 {
            let mut decoder = decoder(sampling, length);
            // Each strategy alone, then all in turn, which swaps at every round.
            for way in 0..=names.len() {
                let cancel = Cancel::new();
                decoder.begin(&PROMPT, &cancel, &mut |_, _| {}).unwrap();
                let mut text = Vec::new();
                for n in 0.. {
                    decoder.set_strategy(names.get(way).unwrap_or(&names[n % names.len()]));
                    let round = decoder.round(BUDGET - text.len(), &cancel).unwrap();
                    accepted += round.n_accepted;
                    text.extend(round.emitted);
                    assert_eq!(decoder.target.len(), decoder.committed.len() - 1);
                    if round.ended || text.len() == BUDGET {
                        break;
                    }
                }
                assert_eq!(text, expect, "way {way}, length {length}: {sampling:?}");
            }
        }
        texts.insert(expect);
    }
    assert!(texts.len() >= 12, "{} different texts", texts.len());
    assert!(accepted > 10_000, "{accepted} drafted tokens accepted");
}

/// The strategy `draft` with this model.
fn drafting(model: Box<dyn Model>, length: usize) -> Box<dyn Strategy> {
    let drafter = Drafter::new(model, Sampling::default());
    Box::new(DraftModel::new(
        "draft",
        drafter,
        DraftRule::Fixed(length),
        vec![],
    ))
}

/// A model that writes 1, 2, 3, … after the prompt 0, and a strategy that drafts so many of them.
fn counting(draft_length: usize) -> Decoder {
    let script = |context: &[Token]| Step::Write(context[context.len() - 1] + 1);
    let model = || Box::new(ScriptedModel::new("counting", 100, 100, script));
    let mut decoder = Decoder::new(model(), vec![drafting(model(), draft_length)], vec![50]);
    decoder.begin(&[0], &Cancel::new(), &mut |_, _| {}).unwrap();
    decoder
}

#[test]
fn an_answer_can_be_ended_at_any_token_of_a_block() {
    for end in 1..=9 {
        let mut decoder = counting(8);
        let mut told = Vec::new();
        let round = decoder.round_until(100, &Cancel::new(), &mut |token| {
            told.push(token);
            token == end
        });
        let round = round.unwrap();
        let expect: Vec<Token> = (1..=end).collect();
        assert_eq!(round.emitted, expect);
        assert_eq!(told, expect, "no token after the end is told of");
        let accepted = 8.min(end as usize);
        assert_eq!((round.n_accepted, round.n_verified), (accepted, accepted));
        assert!(round.ended);
        assert_eq!(decoder.committed.len(), 1 + expect.len());
        assert_eq!(decoder.target.len(), decoder.committed.len() - 1);
        // What follows is what would have followed.
        assert_eq!(decoder.round(1, &Cancel::new()).unwrap().emitted, [end + 1]);
    }
}

#[test]
fn a_budget_ends_inside_a_block() {
    for budget in 1..=9 {
        let mut decoder = counting(8);
        let round = decoder.round(budget, &Cancel::new()).unwrap();
        assert_eq!(round.emitted.len(), budget);
        assert_eq!(round.drafted.len(), budget - 1, "no more than can be used");
        assert!(!round.ended);
        assert_eq!(decoder.target.len(), decoder.committed.len() - 1);
    }
}

#[test]
fn a_stop_while_drafting_changes_nothing() {
    let cancel = Cancel::new();
    let during = cancel.clone();
    let mut decoder = counting(8);
    let script = move |context: &[Token]| {
        if context.len() == 4 {
            during.cancel();
        }
        Step::Write(context[context.len() - 1] + 1)
    };
    let drafts = ScriptedModel::new("stopping", 100, 100, script);
    decoder.strategies = vec![drafting(Box::new(drafts), 8)];
    let stopped = decoder.round_until(100, &cancel, &mut |_| panic!("nothing is emitted"));
    assert!(matches!(stopped, Err(PassError::Cancelled(_))));
    assert_eq!((decoder.committed(), decoder.target.len()), (&[0][..], 0));
    let round = decoder.round(100, &Cancel::new()).unwrap();
    assert_eq!(round.emitted, (1..=9).collect::<Vec<_>>());
}
