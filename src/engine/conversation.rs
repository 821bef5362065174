//! The conversation as the engine keeps it: the system prompt, if any, then messages of user and assistant.
//!
//! **Between two answers every message of the user's has its answer**: one that failed leaves no trace.

use super::protocol::{self, Turn};
use crate::model::chat_template::{Message, Role};

/// A conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Conversation {
    system: Option<Message>,
    messages: Vec<Message>,
}

impl Conversation {
    /// An empty one.
    pub fn new(system: Option<String>) -> Self {
        let mut conversation = Self::default();
        conversation.set_system(system);
        conversation
    }

    /// Replaces the system prompt; `None` leaves it to the template.
    pub fn set_system(&mut self, system: Option<String>) {
        self.system = system.map(|content| Message {
            role: Role::System,
            content,
        });
    }

    /// What the model reads to answer `question`, without the `n` oldest turns.
    pub fn prompt_without(&self, n: usize, question: &str) -> Vec<Message> {
        let question = message(protocol::Role::User, question.to_owned());
        let kept = &self.messages[self.start_of(n)..];
        let system = self.system.iter();
        system.chain(kept).cloned().chain([question]).collect()
    }

    /// What the model reads to answer `question`.
    pub fn prompt(&self, question: &str) -> Vec<Message> {
        self.prompt_without(0, question)
    }

    /// Adds a question and its answer.
    pub fn push(&mut self, question: String, answer: String) {
        self.messages.push(message(protocol::Role::User, question));
        self.messages
            .push(message(protocol::Role::Assistant, answer));
    }

    /// How many turns there are.
    pub fn turns(&self) -> usize {
        self.questions().count()
    }

    /// Keeps the first `turns` turns.
    pub fn rewind(&mut self, turns: usize) {
        self.messages.truncate(self.start_of(turns));
    }

    /// Forgets the `n` oldest turns.
    pub fn forget_oldest(&mut self, n: usize) {
        self.messages.drain(..self.start_of(n));
    }

    /// Forgets everything but the system prompt.
    pub fn clear(&mut self) {
        self.messages.clear();
    }

    /// Replaces all turns.
    pub fn restore(&mut self, turns: Vec<Turn>) {
        let messages = turns.into_iter().map(|turn| message(turn.role, turn.text));
        self.messages = messages.collect();
    }

    /// Where each turn begins.
    fn questions(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.messages.iter().enumerate();
        all.filter(|(_, message)| message.role == Role::User)
            .map(|(i, _)| i)
    }

    /// Where turn `n` begins, or the end where there are no more.
    fn start_of(&self, n: usize) -> usize {
        self.questions().nth(n).unwrap_or(self.messages.len())
    }
}

fn message(role: protocol::Role, content: String) -> Message {
    let role = match role {
        protocol::Role::User => Role::User,
        protocol::Role::Assistant => Role::Assistant,
    };
    Message { role, content }
}
