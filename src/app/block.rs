//! One block of the conversation: who speaks, the text, and its lines at the current width.
//!
//! Text comes in as it is and is cleaned here. Lines are wrapped once and kept; text that is
//! appended wraps only its last paragraph again, so the cost of a token does not grow with the
//! answer. **A block never gets shorter**: an answer has its line of state from the start, so
//! ending it moves nothing.

use std::ops::Range;
use std::time::Duration;

use crate::app::wrap::{Break, WrappedLine, wrap};
use crate::clean::clean;
use crate::engine::protocol::{FinishReason, Piece};

/// Prose is not set wider than this many columns: longer lines are hard to read.
const PROSE_WIDTH: usize = 100;

/// Who speaks in a block, or what it tells.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// The user's message.
    User,
    /// The model's answer.
    Assistant(Answer),
    /// Something the user should know.
    Notice,
    /// Something that failed.
    Error,
}

/// An answer's name and state.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The model's name, once it is known.
    pub model: Option<String>,
    /// How far it is.
    pub state: AnswerState,
}

/// How far an answer is.
#[derive(Clone, Debug, PartialEq)]
pub enum AnswerState {
    /// Sent before the models were loaded.
    Waiting,
    /// Sent; nothing heard yet.
    Sent,
    /// The prompt is being read: `done` of `total` tokens.
    Prefill {
        /// Tokens read.
        done: usize,
        /// Tokens to read.
        total: usize,
    },
    /// Rounds are coming in.
    Writing,
    /// The user asked to stop; the engine has not ended the answer yet.
    Stopping,
    /// It ended.
    Ended(Summary),
    /// It failed and is not part of the conversation.
    Failed,
}

/// What an ended answer was worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Why it ended.
    pub reason: FinishReason,
    /// The strategies that drafted, in order of appearance.
    pub strategies: Vec<&'static str>,
    /// Tokens of the answer.
    pub tokens: usize,
    /// Emitted tokens per pass.
    pub tokens_per_pass: Option<f64>,
    /// Tokens per second by the decode clock.
    pub tokens_per_second: Option<f64>,
    /// Times faster than plain decoding, over the rounds of the decode clock.
    pub speed_up: Option<f64>,
    /// Wall time of reading the prompt.
    pub prefill_time: Duration,
    /// Who drafted for `auto`, with the shares of the passes.
    pub drafters: Option<String>,
}

/// One line of a block's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyLine {
    /// Its bytes and indentation.
    pub line: WrappedLine,
    /// What it is part of.
    pub part: Part,
}

/// What a line of text is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Prose.
    Prose,
    /// The inside of a code fence.
    Code,
    /// A line that opens or closes a code fence.
    Fence,
}

/// A block of the conversation.
#[derive(Clone, Debug)]
pub struct Block {
    /// Who speaks.
    pub kind: Kind,
    text: String,
    drafted: Vec<Range<usize>>,
    lines: Vec<BodyLine>,
    /// Where the last paragraph starts: its byte, its first line, and the code fence around it.
    tail: Tail,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    byte: usize,
    line: usize,
    fence: Option<char>,
}

/// One line of the conversation on the screen.
#[derive(Clone, Copy, Debug)]
pub enum LineView<'a> {
    /// The name of who speaks.
    Heading(&'a Block),
    /// A line of a block's text, and whether it is the block's first.
    Body(&'a Block, &'a BodyLine, bool),
    /// An answer's state.
    State(&'a Answer),
    /// The space between two blocks.
    Blank,
}

impl Kind {
    /// Whether a line with a name stands above the text.
    pub fn has_heading(&self) -> bool {
        match self {
            Self::User | Self::Assistant(_) | Self::Error => true,
            Self::Notice => false,
        }
    }

    fn has_state(&self) -> bool {
        match self {
            Self::Assistant(_) => true,
            Self::User | Self::Notice | Self::Error => false,
        }
    }
}

impl Block {
    /// A block with its text at `width` columns.
    pub fn new(kind: Kind, text: &str, width: usize) -> Self {
        let mut block = Self {
            kind,
            text: clean(text).into_owned(),
            drafted: Vec::new(),
            lines: Vec::new(),
            tail: Tail::default(),
        };
        block.wrap_tail(width);
        block
    }

    /// The lines of its text.
    pub fn lines(&self) -> &[BodyLine] {
        &self.lines
    }

    /// Its text, cleaned.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The parts of `range` of the text with whether their tokens had been drafted, in order.
    pub fn marked(&self, range: Range<usize>) -> impl Iterator<Item = (Range<usize>, bool)> + '_ {
        let first = self.drafted.partition_point(|mark| mark.end <= range.start);
        let marks = self.drafted[first..].iter().take_while({
            let end = range.end;
            move |mark| mark.start < end
        });
        let end = range.end;
        let mut at = range.start;
        marks
            .map(move |mark| mark.start.max(range.start)..mark.end.min(range.end))
            .chain(std::iter::once(end..end))
            .flat_map(move |mark| {
                let before = at..mark.start;
                at = mark.end;
                [(before, false), (mark, true)]
            })
            .filter(|(part, _)| !part.is_empty())
    }

    /// Appends text.
    pub fn append(&mut self, pieces: &[Piece], width: usize) {
        for piece in pieces {
            let start = self.text.len();
            self.text.push_str(&clean(&piece.text));
            let range = start..self.text.len();
            if !piece.drafted || range.is_empty() {
                continue;
            }
            match self.drafted.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                Some(_) | None => self.drafted.push(range),
            }
        }
        self.wrap_tail(width);
    }

    /// Wraps everything to another width.
    pub fn wrap_again(&mut self, width: usize) {
        self.tail = Tail::default();
        self.wrap_tail(width);
    }

    /// Wraps the text from the last paragraph on.
    fn wrap_tail(&mut self, width: usize) {
        self.lines.truncate(self.tail.line);
        if self.text.is_empty() {
            return;
        }
        let mut wrapped = Vec::new();
        let mut byte = self.tail.byte;
        let mut fence = self.tail.fence;
        let text = self.text.as_str();
        for paragraph in text[byte..].split('\n') {
            self.tail = Tail {
                byte,
                line: self.lines.len(),
                fence,
            };
            let part = part_of(paragraph, &mut fence);
            let width = match part {
                Part::Prose => width.min(PROSE_WIDTH),
                Part::Code | Part::Fence => width,
            };
            wrap(
                &text[..byte + paragraph.len()],
                byte,
                width,
                Break::Words,
                &mut wrapped,
            );
            self.lines
                .extend(wrapped.drain(..).map(|line| BodyLine { line, part }));
            byte += paragraph.len() + 1;
        }
    }

    /// Its lines, with heading, state and the space after it.
    pub fn height(&self) -> usize {
        usize::from(self.kind.has_heading())
            + self.lines.len()
            + usize::from(self.kind.has_state())
            + 1
    }

    /// Its line `index`, counted from its heading.
    pub fn line(&self, index: usize) -> LineView<'_> {
        let heading = usize::from(self.kind.has_heading());
        if index < heading {
            return LineView::Heading(self);
        }
        match (self.lines.get(index - heading), &self.kind) {
            (Some(line), _) => LineView::Body(self, line, index == heading),
            (None, Kind::Assistant(answer)) if index - heading == self.lines.len() => {
                LineView::State(answer)
            }
            (None, Kind::User | Kind::Assistant(_) | Kind::Notice | Kind::Error) => LineView::Blank,
        }
    }
}

/// What a paragraph is part of; a line of three or more backticks or tildes opens or closes a fence.
fn part_of(paragraph: &str, fence: &mut Option<char>) -> Part {
    let mark = ['`', '~'].into_iter().find(|mark| {
        let rest = paragraph.trim_start();
        rest.len() - rest.trim_start_matches(*mark).len() >= 3
    });
    match (*fence, mark) {
        (None, None) => Part::Prose,
        (None, Some(_)) => {
            *fence = mark;
            Part::Fence
        }
        (Some(open), Some(close)) if open == close => {
            *fence = None;
            Part::Fence
        }
        (Some(_), Some(_) | None) => Part::Code,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str, drafted: bool) -> Piece {
        Piece {
            text: text.to_owned(),
            drafted,
        }
    }

    #[test]
    fn code_fences_are_recognised() {
        use Part::{Code, Fence, Prose};
        let parts = |text: &str| {
            let block = Block::new(Kind::User, text, 40);
            block.lines.iter().map(|line| line.part).collect::<Vec<_>>()
        };
        assert_eq!(
            parts("a\n```rust\nb\n~~~\n```\nc"),
            [Prose, Fence, Code, Code, Fence, Prose]
        );
        assert_eq!(parts("  ~~~\nb"), [Fence, Code]);
        assert_eq!(parts("a `` b"), [Prose]);
    }

    #[test]
    fn drafted_text_is_marked() {
        let mut block = Block::new(Kind::User, "", 40);
        let pieces = [
            piece("ab", false),
            piece("cd", true),
            piece("ef", true),
            piece("gh", false),
            piece("ij", true),
        ];
        block.append(&pieces, 40);
        let marked = |range| block.marked(range).collect::<Vec<_>>();
        assert_eq!(
            marked(0..10),
            [(0..2, false), (2..6, true), (6..8, false), (8..10, true)]
        );
        assert_eq!(marked(3..5), [(3..5, true)]);
        assert_eq!(marked(0..2), [(0..2, false)]);
        assert_eq!(marked(5..7), [(5..6, true), (6..7, false)]);
        assert_eq!(marked(4..4), []);
    }

    #[test]
    fn what_comes_in_is_cleaned() {
        let mut block = Block::new(Kind::User, "\x1b[1m", 40);
        block.append(&[piece("\x1b[31mred", true)], 40);
        assert_eq!(block.text(), "␛[1m␛[31mred");
    }
}
