//! What code is highlighted by: the job that is asked for and what comes of it.
//!
//! The grammars take tens of milliseconds to be read, so highlighting happens on a thread of its own
//! (terminal/highlight.rs): code is shown at once, and its colours follow.

use std::ops::Range;

/// What a part of code is; the theme has a style for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A word or operator of the language.
    Keyword,
    /// A text.
    String,
    /// A comment.
    Comment,
    /// A number or another constant.
    Number,
    /// The name of a function.
    Function,
    /// The name of a type.
    Type,
}

/// Lines of code to be highlighted, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// The block of the conversation, to be given back.
    pub id: u64,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Tells the blocks of code of a text apart: a line goes on where the last one of its block ended.
    pub code: usize,
    /// What the text says that the code is: `python`, `rs`.
    pub language: String,
    /// The byte where the line starts.
    pub start: usize,
    /// Its text, without the newline.
    pub text: String,
}

/// Classes of a text's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Highlighted {
    /// The block of the conversation.
    pub id: u64,
    /// What its bytes are, in order.
    pub classes: Vec<(Range<usize>, Class)>,
}
