//! The messages typed before, of this run and, from a file, of earlier ones.
//!
//! It is bounded in number and bytes. What is new is handed out once, to be written to the file
//! (`terminal/history_file.rs`). **Commands are remembered in this run only**, and are not searched.

use std::collections::{HashSet, VecDeque};

use crate::app::slash::is_command;
use crate::app::typed::Typed;

/// Messages that are remembered.
pub const MOST_MESSAGES: usize = 1_000;
/// Bytes of messages that are remembered.
const MOST_BYTES: usize = 16 << 20;

/// The messages typed before, oldest first.
#[derive(Debug, Default)]
pub struct History {
    messages: VecDeque<Typed>,
    bytes: usize,
    fresh: Vec<Typed>,
}

impl History {
    /// Messages of earlier runs, oldest first.
    pub fn new(messages: Vec<Typed>) -> Self {
        let mut history = Self::default();
        for message in messages {
            history.add(message);
        }
        history
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Message `index`; 0 is the oldest.
    pub fn get(&self, index: usize) -> Option<&Typed> {
        self.messages.get(index)
    }

    /// Remembers a message, if it is not the same as the last.
    pub fn push(&mut self, message: Typed) {
        if !message.is_empty() && self.messages.back() != Some(&message) {
            if !is_command(&message.text) {
                self.fresh.push(message.clone());
            }
            self.add(message);
        }
    }

    /// What was pushed since this was asked last.
    pub fn take_fresh(&mut self) -> Vec<Typed> {
        std::mem::take(&mut self.fresh)
    }

    /// The messages, without commands, whose typed text contains `query` in upper or lower case, newest first,
    /// each once.
    pub fn search(&self, query: &str) -> Vec<usize> {
        let query = query.to_lowercase();
        let mut seen = HashSet::new();
        let all = self.messages.iter().enumerate().rev();
        all.filter(|(_, message)| !is_command(&message.text))
            .filter(|(_, message)| message.text.to_lowercase().contains(&query))
            .filter(|(_, message)| seen.insert((&message.text, &message.pasted)))
            .map(|(index, _)| index)
            .collect()
    }

    fn add(&mut self, message: Typed) {
        self.bytes += message.len();
        self.messages.push_back(message);
        while self.messages.len() > MOST_MESSAGES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.messages.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Typed {
        Typed {
            text: text.into(),
            pasted: Vec::new(),
        }
    }

    fn history(texts: &[&str]) -> History {
        History::new(texts.iter().map(|text| typed(text)).collect())
    }

    #[test]
    fn it_is_searched_newest_first_without_duplicates() {
        let texts = ["Write a poem", "explain", "write it", "Write a poem"];
        let history = history(&[&texts[..], &["/system write", "//write"]].concat());
        assert_eq!(history.search("WRITE"), [5, 3, 2]);
        assert_eq!(history.search(""), [5, 3, 2, 1]);
        assert_eq!(history.search("none"), [0; 0]);
    }

    #[test]
    fn only_what_is_new_is_handed_out() {
        let mut history = history(&["old"]);
        for text in ["old", "", "new", "new", "/quit"] {
            history.push(typed(text));
        }
        assert_eq!(history.take_fresh(), [typed("new")]);
        assert_eq!(history.take_fresh(), []);
        assert_eq!(history.get(2), Some(&typed("/quit")));
    }

    #[test]
    fn it_is_bounded() {
        let mut many = History::default();
        for i in 0..MOST_MESSAGES + 5 {
            many.push(typed(&i.to_string()));
        }
        assert_eq!(
            (many.len(), many.get(0)),
            (MOST_MESSAGES, Some(&typed("5")))
        );
        let mut large = History::default();
        for i in 0..5 {
            large.push(Typed {
                text: "\u{10f000}".into(),
                pasted: vec![i.to_string().repeat(4 << 20)],
            });
        }
        assert!(large.bytes <= MOST_BYTES && large.len() == 3);
    }
}
