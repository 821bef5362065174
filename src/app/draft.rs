//! A text with its cursor, its undo and its long pastes.
//!
//! A long paste is one character of the text ([`crate::app::typed`]) and is shown as a label, so what a key
//! costs does not depend on how much was pasted.

use std::ops::Range;

use ratatui_textarea::{CursorMove, TextArea};

use crate::app::typed::{self, Typed};
use crate::clean::clean;

/// Bytes of a message at most: more than the largest context that can be asked for would hold.
pub const MOST_BYTES: usize = 4 << 20;

/// A text that is being typed.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The text, with a character for each long paste.
    pub(super) area: TextArea<'static>,
    /// Also those that undo can bring back.
    pasted: Vec<Pasted>,
}

#[derive(Clone, Debug)]
struct Pasted {
    text: String,
    label: String,
}

impl From<String> for Pasted {
    fn from(text: String) -> Self {
        let label = typed::label(&text);
        Self { text, label }
    }
}

impl Draft {
    /// A text with the cursor at its end.
    pub fn new(typed: Typed) -> Self {
        let mut area = TextArea::new(typed.text.split('\n').map(str::to_owned).collect());
        area.move_cursor(CursorMove::Bottom);
        area.move_cursor(CursorMove::End);
        let pasted = typed.pasted.into_iter().map(Pasted::from).collect();
        Self { area, pasted }
    }

    /// The text and the pastes that are in it.
    pub fn typed(&self) -> Typed {
        let mut typed = Typed::default();
        for c in self.area.lines().join("\n").chars() {
            let paste = typed::index(c).and_then(|index| self.pasted.get(index));
            let renumbered = paste.and_then(|paste| {
                typed.pasted.push(paste.text.clone());
                typed::character(typed.pasted.len() - 1)
            });
            typed.text.push(renumbered.unwrap_or(c));
        }
        typed
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Inserts text literally; line ends of any system become newlines.
    pub fn insert(&mut self, text: &str) {
        self.area.insert_str(newlines(text));
    }

    /// Inserts a paste literally, a long one as one character. An error says why that cannot be.
    pub fn paste(&mut self, text: &str) -> Result<(), String> {
        if self.len() + text.len() > MOST_BYTES {
            return Err(format!(
                "not pasted: {:.1} MB, and a message holds {} MB",
                text.len() as f64 / 1e6,
                MOST_BYTES >> 20
            ));
        }
        let text = newlines(text);
        if !typed::is_long(&text) {
            self.area.insert_str(text);
        } else if !self.insert_as_one(text) {
            return Err("not pasted: too many pastes in one message".to_owned());
        }
        Ok(())
    }

    /// Inserts a text as one character; `false` when there are no more characters for that.
    pub fn insert_as_one(&mut self, text: String) -> bool {
        let Some(c) = typed::character(self.pasted.len()) else {
            return false;
        };
        self.pasted.push(text.into());
        self.area.insert_char(c);
        true
    }

    /// The text as it is shown, and where the labels of pastes are in it. `place` is told each place that
    /// the cursor can have, as row, column and byte of the shown text, in order.
    pub fn shown(&self, mut place: impl FnMut(usize, usize, usize)) -> (String, Vec<Range<usize>>) {
        let mut text = String::new();
        let mut labels = Vec::new();
        for (row, line) in self.area.lines().iter().enumerate() {
            if row > 0 {
                text.push('\n');
            }
            let mut column = 0;
            for c in clean(line).chars() {
                place(row, column, text.len());
                match typed::index(c).and_then(|index| self.pasted.get(index)) {
                    Some(paste) => {
                        let start = text.len();
                        text.push_str(&paste.label);
                        labels.push(start..text.len());
                    }
                    None => text.push(c),
                }
                column += 1;
            }
            place(row, column, text.len());
        }
        (text, labels)
    }

    /// Bytes of the text and of all pastes that are kept.
    fn len(&self) -> usize {
        let typed: usize = self.area.lines().iter().map(|line| line.len() + 1).sum();
        typed
            + self
                .pasted
                .iter()
                .map(|paste| paste.text.len())
                .sum::<usize>()
    }
}

/// The text with line ends of any system as newlines.
fn newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}
