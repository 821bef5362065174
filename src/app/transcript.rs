//! The conversation as blocks of text and their lines at the current width.
//!
//! Text comes in cleaned; lines are wrapped once and kept. Text that is appended wraps only its last
//! paragraph again, so the cost of a token does not grow with the chat. **A block never gets
//! shorter**: an answer has its line of state from the start, so ending it moves nothing.

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

/// A place in the conversation that survives wrapping it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    block: usize,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Heading,
    Byte(usize),
    /// Lines after the text.
    After(usize),
}

/// The conversation.
#[derive(Clone, Debug)]
pub struct Transcript {
    blocks: Vec<Block>,
    /// The first line of each block.
    starts: Vec<usize>,
    width: usize,
}

impl Kind {
    fn has_heading(&self) -> bool {
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
    fn new(kind: Kind, text: &str, width: usize) -> Self {
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

    fn append(&mut self, pieces: &[Piece], width: usize) {
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

    fn wrap_again(&mut self, width: usize) {
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
            let (how, width) = match part {
                Part::Prose => (Break::Words, width.min(PROSE_WIDTH)),
                Part::Code | Part::Fence => (Break::Anywhere, width),
            };
            wrap(
                &text[..byte + paragraph.len()],
                byte,
                width,
                how,
                &mut wrapped,
            );
            self.lines
                .extend(wrapped.drain(..).map(|line| BodyLine { line, part }));
            byte += paragraph.len() + 1;
        }
    }

    fn height(&self) -> usize {
        usize::from(self.kind.has_heading())
            + self.lines.len()
            + usize::from(self.kind.has_state())
            + 1
    }

    /// Its line `index`, counted from its heading.
    fn line(&self, index: usize) -> LineView<'_> {
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

impl Transcript {
    /// An empty conversation whose text is set `width` columns wide.
    pub fn new(width: usize) -> Self {
        Self {
            blocks: Vec::new(),
            starts: Vec::new(),
            width,
        }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Lines in all, without the space after the last block.
    pub fn len(&self) -> usize {
        match (self.starts.last(), self.blocks.last()) {
            (Some(start), Some(block)) => start + block.height() - 1,
            (None, _) | (_, None) => 0,
        }
    }

    /// The lines from `first` on.
    pub fn lines(&self, first: usize) -> impl Iterator<Item = LineView<'_>> {
        let block = self.block_at(first);
        let skip = first - self.starts.get(block).copied().unwrap_or(0);
        self.blocks[block.min(self.blocks.len())..]
            .iter()
            .flat_map(|block| (0..block.height()).map(|index| block.line(index)))
            .skip(skip)
    }

    /// Adds a block and returns its index.
    pub fn push(&mut self, kind: Kind, text: &str) -> usize {
        self.starts
            .push(match (self.starts.last(), self.blocks.last()) {
                (Some(start), Some(block)) => start + block.height(),
                (None, _) | (_, None) => 0,
            });
        self.blocks.push(Block::new(kind, text, self.width));
        self.blocks.len() - 1
    }

    /// Appends text to block `index`.
    pub fn append(&mut self, index: usize, pieces: &[Piece]) {
        self.blocks[index].append(pieces, self.width);
        self.restart(index);
    }

    /// The answer in block `index`, to change its state.
    pub fn answer_mut(&mut self, index: usize) -> Option<&mut Answer> {
        match &mut self.blocks.get_mut(index)?.kind {
            Kind::Assistant(answer) => Some(answer),
            Kind::User | Kind::Notice | Kind::Error => None,
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.starts.clear();
    }

    /// Wraps everything to another width; says whether it was another.
    pub fn set_width(&mut self, width: usize) -> bool {
        if width == self.width {
            return false;
        }
        self.width = width;
        for block in &mut self.blocks {
            block.wrap_again(width);
        }
        self.restart(0);
        true
    }

    /// The place that `line` shows.
    pub fn anchor(&self, line: usize) -> Option<Anchor> {
        let index = self.block_at(line);
        let block = self.blocks.get(index)?;
        let heading = usize::from(block.kind.has_heading());
        let place = match (line - self.starts[index]).checked_sub(heading) {
            None => Place::Heading,
            Some(body) => match block.lines.get(body) {
                Some(line) => Place::Byte(line.line.range.start),
                None => Place::After(body - block.lines.len()),
            },
        };
        Some(Anchor {
            block: index,
            place,
        })
    }

    /// The line that shows the place, at the width of now.
    pub fn line_of(&self, anchor: Anchor) -> usize {
        let Some(block) = self.blocks.get(anchor.block) else {
            return 0;
        };
        let body = self.starts[anchor.block] + usize::from(block.kind.has_heading());
        match anchor.place {
            Place::Heading => self.starts[anchor.block],
            Place::Byte(byte) => {
                let after = block
                    .lines
                    .partition_point(|line| line.line.range.start <= byte);
                body + after.saturating_sub(1)
            }
            Place::After(lines) => body + block.lines.len() + lines,
        }
    }

    fn block_at(&self, line: usize) -> usize {
        self.starts
            .partition_point(|start| *start <= line)
            .saturating_sub(1)
    }

    /// Counts the lines anew from block `index` on.
    fn restart(&mut self, index: usize) {
        for next in index + 1..self.blocks.len() {
            self.starts[next] = self.starts[next - 1] + self.blocks[next - 1].height();
        }
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

    fn answer() -> Kind {
        Kind::Assistant(Answer {
            model: None,
            state: AnswerState::Writing,
        })
    }

    /// The transcript as text: one line each, headings as `#`, states as `=`.
    fn shown(transcript: &Transcript, from: usize) -> Vec<String> {
        transcript
            .lines(from)
            .map(|line| match line {
                LineView::Heading(_) => "#".to_owned(),
                LineView::Body(block, line, _) => block.text()[line.line.range.clone()].to_owned(),
                LineView::State(_) => "=".to_owned(),
                LineView::Blank => String::new(),
            })
            .collect()
    }

    #[test]
    fn blocks_have_headings_states_and_space() {
        let mut transcript = Transcript::new(8);
        transcript.push(Kind::User, "one two three");
        transcript.push(answer(), "");
        transcript.push(Kind::Notice, "note");
        let expect = ["#", "one two ", "three", "", "#", "=", "", "note", ""];
        assert_eq!(shown(&transcript, 0), expect);
        assert_eq!(transcript.len(), expect.len() - 1);
        for first in 0..expect.len() {
            assert_eq!(shown(&transcript, first), expect[first..]);
        }
    }

    #[test]
    fn appending_equals_wrapping_the_whole() {
        let text = "Here is code:\n```python\ndef f(x):\n    return x + x + x\n```\nand 日本語 some more words";
        for cut in 1..6 {
            let mut streamed = Transcript::new(12);
            let index = streamed.push(answer(), "");
            let chars: Vec<char> = text.chars().collect();
            for (i, chunk) in chars.chunks(cut).enumerate() {
                streamed.append(
                    index,
                    &[piece(&chunk.iter().collect::<String>(), i % 2 == 0)],
                );
            }
            let mut whole = Transcript::new(12);
            whole.push(answer(), text);
            assert_eq!(streamed.blocks[0].lines, whole.blocks[0].lines);
            assert_eq!(streamed.len(), whole.len());
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
        let mut transcript = Transcript::new(40);
        let index = transcript.push(answer(), "");
        transcript.append(
            index,
            &[
                piece("ab", false),
                piece("cd", true),
                piece("ef", true),
                piece("gh", false),
                piece("ij", true),
            ],
        );
        let block = &transcript.blocks()[0];
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
    fn an_anchor_survives_another_width() {
        let mut transcript = Transcript::new(10);
        transcript.push(Kind::User, "one two three four five six seven");
        transcript.push(Kind::User, "one two three four five six seven");
        let line = shown(&transcript, 0)
            .iter()
            .rposition(|line| line.starts_with("five"))
            .unwrap();
        let anchor = transcript.anchor(line).unwrap();
        transcript.set_width(24);
        let shown = shown(&transcript, transcript.line_of(anchor));
        assert!(shown[0].contains("five"), "{shown:?}");
        transcript.set_width(10);
        assert_eq!(transcript.line_of(anchor), line);
    }

    #[test]
    fn what_comes_in_is_cleaned() {
        let mut transcript = Transcript::new(40);
        let index = transcript.push(answer(), "");
        transcript.append(index, &[piece("\x1b[31mred", true)]);
        assert_eq!(transcript.blocks()[0].text(), "␛[31mred");
    }
}
