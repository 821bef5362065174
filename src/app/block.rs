//! One block of the conversation: who speaks, the text, and its lines at the current width.
//!
//! Text comes in as it is and is cleaned here. Lines are rendered once and kept; text that is
//! appended renders only its tail again (app/markdown), so the cost of a token does not grow with the
//! answer. **A block never gets shorter while it grows**: what Markdown makes shorter is made up for by
//! empty lines, and an answer has its line of state from the start, so ending it moves nothing.

use std::ops::Range;
use std::time::Duration;

use crate::app::highlight::{self, Class, Job};
use crate::app::layer::Layer;
use crate::app::markdown::line::Line;
use crate::app::markdown::{CodeLine, Flow};
use crate::clean::clean;
use crate::engine::protocol::{FinishReason, Piece};

/// A byte is looked for in this many lines: a row of a table that is higher is found by its start.
const MAX_ROW_LINES: usize = 32;

/// How texts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Columns.
    pub width: usize,
    /// Whether answers are shown as Markdown; otherwise as they came.
    pub markdown: bool,
}

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

/// A block of the conversation.
#[derive(Clone, Debug)]
pub struct Block {
    /// Who speaks.
    pub kind: Kind,
    id: u64,
    text: String,
    /// Who drafted the tokens that were accepted.
    origins: Layer<&'static str>,
    /// What the words of its code are.
    classes: Layer<Class>,
    flow: Flow,
    grows: bool,
    lines: Vec<Line>,
    /// Lines that were reached: fewer become more by empty ones.
    floor: usize,
    code: Vec<CodeLine>,
    /// The code up to this byte has been given out to be highlighted.
    highlighted: usize,
    /// Whether it has its lines.
    rendered: bool,
    rendered_bytes: usize,
}

/// One line of the conversation on the screen.
#[derive(Clone, Copy, Debug)]
pub enum LineView<'a> {
    /// The name of who speaks.
    Heading(&'a Block),
    /// A line of a block's text, and whether it is the block's first.
    Body(&'a Block, &'a Line, bool),
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
    /// A block with its text as `view` shows it. `id` tells it from every other block.
    pub fn new(id: u64, kind: Kind, text: &str, view: View) -> Self {
        let mut block = Self::unrendered(id, kind, text);
        block.render_again(view);
        block
    }

    /// A block that takes no lines until it is rendered.
    pub fn unrendered(id: u64, kind: Kind, text: &str) -> Self {
        let grows = match &kind {
            Kind::Assistant(answer) => match answer.state {
                AnswerState::Ended(_) | AnswerState::Failed => false,
                AnswerState::Waiting
                | AnswerState::Sent
                | AnswerState::Prefill { .. }
                | AnswerState::Writing
                | AnswerState::Stopping => true,
            },
            Kind::User | Kind::Notice | Kind::Error => false,
        };
        Self {
            kind,
            id,
            text: clean(text).into_owned(),
            origins: Layer::default(),
            classes: Layer::default(),
            flow: Flow::new(false),
            grows,
            lines: Vec::new(),
            floor: 0,
            code: Vec::new(),
            highlighted: 0,
            rendered: false,
            rendered_bytes: 0,
        }
    }

    /// What tells it from every other block.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The lines of its text.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Its text, cleaned.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who drafted its tokens, as far as they were drafted and accepted.
    pub fn origins(&self) -> &Layer<&'static str> {
        &self.origins
    }

    /// What the words of its code are, as far as that is known.
    pub fn classes(&self) -> &Layer<Class> {
        &self.classes
    }

    /// Bytes that were rendered so far, those that were rendered again included: the work done.
    pub fn rendered_bytes(&self) -> usize {
        self.rendered_bytes
    }

    /// Appends text.
    pub fn append(&mut self, pieces: &[Piece], view: View) {
        for piece in pieces {
            let start = self.text.len();
            self.text.push_str(&clean(&piece.text));
            if let Some(drafter) = piece.drafter {
                self.origins.push(start..self.text.len(), drafter);
            }
        }
        self.render(view.width);
    }

    /// No more text will come.
    pub fn finish(&mut self, view: View) {
        self.grows = false;
        self.render(view.width);
    }

    /// Renders everything anew.
    pub fn render_again(&mut self, view: View) {
        let markdown = match self.kind {
            Kind::Assistant(_) => view.markdown,
            Kind::User | Kind::Notice | Kind::Error => false,
        };
        self.flow = Flow::new(markdown);
        self.floor = 0;
        self.render(view.width);
    }

    fn render(&mut self, width: usize) {
        self.rendered = true;
        self.rendered_bytes += self.flow.extend(
            &self.text,
            self.grows,
            width,
            &mut self.lines,
            &mut self.code,
        );
        self.floor = self.floor.max(self.lines.len());
        let start = self.text.len();
        self.lines.resize_with(self.floor, || Line {
            start,
            ..Line::default()
        });
    }

    /// The lines of code that were finished since it was last asked, if there are any.
    pub fn take_job(&mut self) -> Option<Job> {
        let mut lines = Vec::new();
        for line in self.code.drain(..) {
            if line.range.start >= self.highlighted && !line.language.is_empty() {
                self.highlighted = line.range.end.max(line.range.start + 1);
                lines.push(highlight::Line {
                    code: line.block,
                    language: line.language,
                    start: line.range.start,
                    text: self.text[line.range].to_owned(),
                });
            }
        }
        (!lines.is_empty()).then_some(Job { id: self.id, lines })
    }

    /// Takes what was highlighted.
    pub fn highlighted(&mut self, classes: &[(Range<usize>, Class)]) {
        for (range, class) in classes {
            self.classes.push(range.clone(), *class);
        }
    }

    /// The line of its text that shows `byte`.
    pub fn line_of(&self, byte: usize) -> usize {
        let after = self.lines.partition_point(|line| line.start <= byte);
        let shows = |line: &Line| line.spans.iter().any(|span| span.range.contains(&byte));
        // The lines of a table's row all start at the row.
        let near = after.saturating_sub(MAX_ROW_LINES)..after;
        let found = near.rev().find(|index| shows(&self.lines[*index]));
        found.unwrap_or(after.saturating_sub(1))
    }

    /// Its lines, with heading, state and the space after it.
    pub fn height(&self) -> usize {
        if !self.rendered {
            return 0;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: View = View {
        width: 40,
        markdown: true,
    };

    fn piece(text: &str, drafter: Option<&'static str>) -> Piece {
        Piece {
            text: text.to_owned(),
            drafter,
        }
    }

    fn answer() -> Block {
        let state = AnswerState::Writing;
        Block::new(1, Kind::Assistant(Answer { model: None, state }), "", VIEW)
    }

    #[test]
    fn drafted_text_is_marked_with_who_drafted_it() {
        let mut block = answer();
        let pieces = [
            piece("ab", None),
            piece("cd", Some("draft")),
            piece("ef", Some("draft")),
            piece("gh", Some("lookup")),
            piece("ij", None),
        ];
        block.append(&pieces, VIEW);
        assert_eq!(block.origins().at(0), (None, 2));
        assert_eq!(block.origins().at(2), (Some("draft"), 6));
        assert_eq!(block.origins().at(6), (Some("lookup"), 8));
        assert_eq!(block.origins().at(8), (None, usize::MAX));
    }

    #[test]
    fn what_comes_in_is_cleaned() {
        let mut block = Block::new(1, Kind::User, "\x1b[1m", VIEW);
        block.append(&[piece("\x1b[31mred", Some("draft"))], VIEW);
        assert_eq!(block.text(), "␛[1m␛[31mred");
    }

    #[test]
    fn each_line_of_code_is_highlighted_once() {
        let mut block = answer();
        let mut given = Vec::new();
        for part in [
            "```py\na = ",
            "1\nb",
            " = 2\n\n``",
            "`\n\n- ```rs\n  c\n  ```\n\n",
            "end",
        ] {
            block.append(&[piece(part, None)], VIEW);
            given.extend(block.take_job().map(|job| job.lines).unwrap_or_default());
        }
        block.finish(VIEW);
        given.extend(block.take_job().map(|job| job.lines).unwrap_or_default());
        block.render_again(View { width: 20, ..VIEW });
        assert_eq!(block.take_job(), None);
        let given: Vec<_> = given
            .iter()
            .map(|line| (line.code, line.language.as_str(), line.text.as_str()))
            .collect();
        assert_eq!(
            given,
            [
                (0, "py", "a = 1"),
                (0, "py", "b = 2"),
                (0, "py", ""),
                (26, "rs", "c")
            ]
        );
    }
}
