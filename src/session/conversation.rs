//! Records → the conversation they tell.

use std::ops::Range;

use jiff::Timestamp;

use super::record::{Reason, Record, Settings, Stats, Turn};
use crate::engine::protocol::{self, Role};

/// What was said in a saved chat.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// When it began.
    pub begun: Timestamp,
    /// When something was said last.
    pub updated: Timestamp,
    /// How the latest run of the program was set up.
    pub settings: Settings,
    /// The name that the user gave it.
    pub name: Option<String>,
    /// Messages with their answers.
    pub turns: Vec<Turn>,
    /// So many of the oldest turns are no longer read by the model.
    pub dropped: usize,
    /// The last message, where the program ended before a word of the answer was written.
    pub unanswered: Option<Unanswered>,
}

/// A message without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// What the user wrote, raw.
    pub text: String,
    /// The bytes of it that are long pastes.
    pub pasted: Vec<Range<usize>>,
}

/// A message on the way to its answer.
struct Pending {
    time: Timestamp,
    user: String,
    pasted: Vec<Range<usize>>,
    answer: String,
    /// Who writes the answer, where that was told.
    model: Option<String>,
}

impl Conversation {
    /// What the records tell; `None` when the first is no header.
    pub fn new(records: impl IntoIterator<Item = Record>) -> Option<Self> {
        let mut records = records.into_iter();
        let Some(Record::Header(header)) = records.next() else {
            return None;
        };
        let mut told = Self {
            begun: header.settings.time,
            updated: header.settings.time,
            settings: header.settings,
            name: None,
            turns: Vec::new(),
            dropped: 0,
            unanswered: None,
        };
        let mut pending = None;
        for record in records {
            match record {
                Record::Header(_) => {}
                Record::Resumed(settings) => {
                    told.interrupted(pending.take());
                    told.settings = settings;
                }
                Record::Asked { time, text, pasted } => {
                    told.interrupted(pending.take());
                    told.updated = time;
                    pending = Some(Pending {
                        time,
                        user: text,
                        pasted,
                        answer: String::new(),
                        model: None,
                    });
                }
                Record::Partial { text, model } => {
                    if let Some(pending) = &mut pending {
                        pending.answer += &text;
                        pending.model = model.or(pending.model.take());
                    }
                }
                Record::Turn(turn) => {
                    pending = None;
                    told.updated = turn.time;
                    told.turns.push(*turn);
                }
                Record::Failed { .. } => pending = None,
                Record::Rewound { turns } => {
                    told.turns.truncate(turns);
                    told.dropped = told.dropped.min(told.turns.len());
                }
                Record::Dropped { turns } => {
                    told.dropped = told.turns.len().min(told.dropped.saturating_add(turns));
                }
                Record::System { text } => told.settings.system = text,
                Record::Name { name } => told.name = Some(name),
            }
        }
        told.unanswered = told.interrupted(pending);
        Some(told)
    }

    /// Takes what there is of an answer for a turn; gives the message when there is nothing.
    fn interrupted(&mut self, pending: Option<Pending>) -> Option<Unanswered> {
        let Pending {
            time,
            user,
            pasted,
            answer,
            model,
        } = pending?;
        if answer.is_empty() {
            return Some(Unanswered { text: user, pasted });
        }
        self.turns.push(Turn {
            time,
            user,
            pasted,
            answer,
            reason: Reason::Interrupted,
            model: model.unwrap_or_else(|| self.model().to_owned()),
            seed: None,
            stats: Stats::default(),
        });
        None
    }

    /// The model that answered last; before the first answer, the one that was asked for.
    pub fn model(&self) -> &str {
        let last = self.turns.last();
        last.map_or(&self.settings.model, |turn| &turn.model)
    }

    /// The first message.
    pub fn first_words(&self) -> &str {
        let first = self.turns.first().map(|turn| turn.user.as_str());
        first.or(self.unanswered_text()).unwrap_or_default()
    }

    /// The last message, where it has no answer.
    pub fn unanswered_text(&self) -> Option<&str> {
        self.unanswered.as_ref().map(|it| it.text.as_str())
    }

    /// The turns that the model reads, as the engine takes them.
    pub fn messages(&self) -> Vec<protocol::Turn> {
        let message = |role, text: &str| protocol::Turn {
            role,
            text: text.to_owned(),
        };
        let said = self.turns.iter().skip(self.dropped).flat_map(|turn| {
            [
                message(Role::User, &turn.user),
                message(Role::Assistant, &turn.answer),
            ]
        });
        said.collect()
    }
}
