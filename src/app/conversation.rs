//! What was asked and answered, as written, and which of it the engine still knows.
//!
//! The transcript shows blocks; here is what they mean. **The engine's turns are exactly the answered ones
//! here, in order**: it leaves out what failed, and the app tells it what is taken back.

use crate::app::typed::Typed;
use crate::engine::protocol::{Piece, Role, Turn};

/// A question and what became of it.
#[derive(Clone, Debug)]
struct Exchange {
    /// The question's block in the transcript.
    block: usize,
    /// With its long pastes, so that it is shown again as it was.
    question: Typed,
    fate: Fate,
}

#[derive(Clone, Debug)]
enum Fate {
    /// Its answer has not ended; what is there of it.
    Asked(String),
    /// It has no answer, so the engine has left it out.
    Unanswered,
    /// Both are part of the conversation.
    Answered(String),
    /// Both were, until room was needed.
    Dropped,
}

/// All questions of the transcript.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    exchanges: Vec<Exchange>,
    /// The block that tells where the dropped part ends.
    marker: Option<usize>,
}

/// A question that was taken back, with all that followed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TakenBack {
    /// What was asked.
    pub question: Typed,
    /// Its block in the transcript.
    pub block: usize,
    /// Whether it had an answer.
    pub answered: bool,
    /// The turns that stay, if any are taken back: those that the engine knows, and all.
    pub rewind: Option<(usize, usize)>,
}

impl Conversation {
    /// A question was asked; `block` shows it.
    pub fn ask(&mut self, block: usize, question: Typed) {
        self.exchanges.push(Exchange {
            block,
            question,
            fate: Fate::Asked(String::new()),
        });
    }

    /// A question that has its answer already.
    pub fn put(&mut self, block: usize, question: Typed, answer: &str) {
        self.exchanges.push(Exchange {
            block,
            question,
            fate: Fate::Answered(answer.to_owned()),
        });
    }

    /// More of the answer.
    pub fn write(&mut self, pieces: &[Piece]) {
        if let Some(Exchange {
            fate: Fate::Asked(answer),
            ..
        }) = self.exchanges.last_mut()
        {
            answer.extend(pieces.iter().map(|piece| piece.text.as_str()));
        }
    }

    /// The answer ended; whether it became part of the conversation.
    pub fn end(&mut self, kept: bool) {
        if let Some(Exchange { fate, .. }) = self.exchanges.last_mut()
            && let Fate::Asked(answer) = fate
        {
            *fate = if kept {
                Fate::Answered(std::mem::take(answer))
            } else {
                Fate::Unanswered
            };
        }
    }

    /// How many questions there are.
    pub fn len(&self) -> usize {
        self.exchanges.len()
    }

    /// Whether nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.exchanges.is_empty()
    }

    /// Whether the last question has no answer.
    pub fn last_is_unanswered(&self) -> bool {
        let last = self.exchanges.last();
        last.is_some_and(|last| matches!(last.fate, Fate::Unanswered))
    }

    /// The whole question that block `block` shows.
    pub fn question(&self, block: usize) -> Option<String> {
        let asked = self.exchanges.iter().find(|it| it.block == block)?;
        Some(asked.question.whole())
    }

    /// Takes back question `n` from the end, from 1, and all after it.
    pub fn take_back(&mut self, n: usize) -> Option<TakenBack> {
        let first = self.exchanges.len().checked_sub(n.max(1))?;
        let taken = self.exchanges.split_off(first);
        let answered = |exchange: &Exchange| matches!(exchange.fate, Fate::Answered(_));
        let dropped = |exchange: &Exchange| matches!(exchange.fate, Fate::Dropped);
        let kept = self.exchanges.iter().filter(|it| answered(it)).count();
        let all = kept + self.exchanges.iter().filter(|it| dropped(it)).count();
        let question = taken.first()?;
        Some(TakenBack {
            question: question.question.clone(),
            block: question.block,
            answered: answered(question),
            rewind: taken
                .iter()
                .any(|it| answered(it) || dropped(it))
                .then_some((kept, all)),
        })
    }

    /// The engine has dropped its `n` oldest turns.
    pub fn drop_oldest(&mut self, n: usize) {
        let all = self.exchanges.iter_mut();
        let known = all.filter(|it| matches!(it.fate, Fate::Answered(_)));
        for exchange in known.take(n) {
            exchange.fate = Fate::Dropped;
        }
    }

    /// How many turns were dropped, and the block of the first question after them, if there is one.
    pub fn dropped(&self) -> Option<(usize, Option<usize>)> {
        let dropped = |exchange: &Exchange| matches!(exchange.fate, Fate::Dropped);
        let last = self.exchanges.iter().rposition(dropped)?;
        let after = self.exchanges.get(last + 1).map(|next| next.block);
        Some((
            self.exchanges.iter().filter(|it| dropped(it)).count(),
            after,
        ))
    }

    /// Takes the block that told where the dropped part ends.
    pub fn take_marker(&mut self) -> Option<usize> {
        self.marker.take()
    }

    /// Block `block` tells where the dropped part ends.
    pub fn set_marker(&mut self, block: usize) {
        self.marker = Some(block);
    }

    /// Blocks from `from` on stand `by` places further down.
    pub fn shift(&mut self, from: usize, by: isize) {
        for exchange in &mut self.exchanges {
            if exchange.block >= from {
                exchange.block = exchange.block.saturating_add_signed(by);
            }
        }
    }

    /// The turns that the engine knows, as it is to be told them again.
    pub fn turns(&self) -> Vec<Turn> {
        let turn = |role, text| Turn { role, text };
        let known = self.exchanges.iter().filter_map(|it| match &it.fate {
            Fate::Answered(answer) => Some((&it.question, answer)),
            Fate::Asked(_) | Fate::Unanswered | Fate::Dropped => None,
        });
        known
            .flat_map(|(question, answer)| {
                [
                    turn(Role::User, question.whole()),
                    turn(Role::Assistant, answer.clone()),
                ]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Questions `0`, `1`, …: answered `a`, failed `f`, dropped `d`.
    fn asked(fates: &str) -> Conversation {
        let mut conversation = Conversation::default();
        for (i, fate) in fates.chars().enumerate() {
            let question = Typed {
                text: i.to_string(),
                pasted: Vec::new(),
            };
            conversation.ask(2 * i, question);
            conversation.write(&[Piece {
                text: format!("answer {i}"),
                drafter: None,
            }]);
            conversation.end(fate != 'f');
        }
        conversation.drop_oldest(fates.matches('d').count());
        conversation
    }

    #[test]
    fn taking_back_tells_the_engine_what_it_knows() {
        type Taken<'a> = Option<(&'a str, bool, Option<(usize, usize)>)>;
        let check = |fates: &str, n, expect: Taken, left: usize| {
            let mut conversation = asked(fates);
            let taken = conversation.take_back(n);
            let found = taken
                .as_ref()
                .map(|it| (it.question.text.as_str(), it.answered, it.rewind));
            assert_eq!(found, expect, "{fates} {n}");
            assert_eq!(conversation.len(), left, "{fates} {n}");
        };
        check("", 1, None, 0);
        check("aaa", 1, Some(("2", true, Some((2, 2)))), 2);
        check("aaa", 3, Some(("0", true, Some((0, 0)))), 0);
        check("aaa", 4, None, 3);
        check("aaf", 1, Some(("2", false, None)), 2);
        check("aff", 2, Some(("1", false, None)), 1);
        check("afa", 2, Some(("1", false, Some((1, 1)))), 1);
        check("ddaa", 1, Some(("3", true, Some((1, 3)))), 3);
        check("ddf", 2, Some(("1", false, Some((0, 1)))), 1);
        check("ddaa", 4, Some(("0", false, Some((0, 0)))), 0);
    }

    #[test]
    fn dropped_turns_are_counted_and_not_told_again() {
        let conversation = asked("ddfa");
        assert_eq!(conversation.dropped(), Some((2, Some(4))));
        let texts: Vec<_> = conversation.turns().into_iter().map(|it| it.text).collect();
        assert_eq!(texts, ["3", "answer 3"]);
        assert_eq!(asked("dd").dropped(), Some((2, None)));
        assert_eq!(asked("af").dropped(), None);
    }
}
