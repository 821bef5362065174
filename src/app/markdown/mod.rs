//! A growing text → rendered lines, as Markdown or as it is.
//!
//! ```text
//! source ─▶ Flow: what is finished is rendered once and kept ─▶ lines of spans, each with its bytes
//!             └ the tail: calm (what is shown of it) ─▶ build (one block) ─▶ wrap
//! ```
//! A top-level block is finished when the next one has begun on a line that is whole; code is
//! finished line by line. The tail is rendered again with each token, and **is never longer than
//! [`TAIL_LIMIT`]**: a longer block is cut, so that no text makes a token expensive. Each block is
//! parsed on its own: whatever the splits in which a text came, its lines are the same.

mod build;
mod calm;
mod fence;
pub mod line;
mod table;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use self::build::{Out, PROSE_WIDTH, one_line, opening, options, render};
use self::calm::calm;
use self::fence::Fence;
use self::line::{Line, Role, Span, wrap_spans};
use crate::app::wrap::boundary_before;

/// A block of more bytes is cut.
pub const TAIL_LIMIT: usize = 16 * 1024;

/// A line of code, to be highlighted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// The byte where its block of code starts, which tells blocks apart.
    pub block: usize,
    /// What the source says that the code is.
    pub language: String,
    /// Its bytes.
    pub range: Range<usize>,
}

/// How far a text is rendered.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Where the tail starts: its byte, and its first line.
    byte: usize,
    line: usize,
    mode: Mode,
}

#[derive(Clone, Debug)]
enum Mode {
    /// The text as it is.
    Literal,
    /// Between blocks of Markdown.
    Blocks,
    /// In a block of code; `first` is its first line.
    Code {
        fence: Fence,
        language: String,
        first: usize,
    },
}

impl Flow {
    /// At the start of a text that is `markdown`, or shown as it is.
    pub fn new(markdown: bool) -> Self {
        Self {
            byte: 0,
            line: 0,
            mode: if markdown {
                Mode::Blocks
            } else {
                Mode::Literal
            },
        }
    }

    /// Renders what is new in `source`, which has only grown, to `width` columns: `lines` are changed
    /// from the tail on, finished lines of code are appended to `code`. `grows` says whether more
    /// will come. Returns the bytes that were rendered.
    pub fn extend(
        &mut self,
        source: &str,
        grows: bool,
        width: usize,
        lines: &mut Vec<Line>,
        code: &mut Vec<CodeLine>,
    ) -> usize {
        lines.truncate(self.line);
        let mut work = 0;
        let mut out = Out { lines, code, width };
        loop {
            let before = self.byte;
            let more = match self.mode.clone() {
                Mode::Literal => self.literal(source, grows, &mut out),
                Mode::Blocks => self.blocks(source, grows, &mut out),
                Mode::Code {
                    fence,
                    language,
                    first,
                } => {
                    let named = !language.is_empty();
                    let more = self.code(source, grows, &fence, language, &mut out);
                    if !more && !grows && !named && is_empty_fence(&source[fence.start..]) {
                        out.lines.truncate(first);
                    }
                    more
                }
            };
            if !more {
                return work + (source.len() - self.byte).min(TAIL_LIMIT);
            }
            work += self.byte - before;
        }
    }

    /// What was rendered up to `byte` is finished.
    fn freeze(&mut self, byte: usize, out: &Out<'_>) {
        self.byte = byte;
        self.line = out.lines.len();
    }

    /// The next line: its end, and whether it is whole. A line that is too long is cut.
    fn next_line(&self, source: &str, grows: bool) -> (usize, bool) {
        let rest = &source[self.byte..];
        let limit = boundary_before(rest, TAIL_LIMIT);
        match rest[..limit].find('\n') {
            Some(newline) => (self.byte + newline, true),
            None if limit < rest.len() => (self.byte + limit, true),
            None => (source.len(), !grows),
        }
    }

    /// One line of literal text; false at the end.
    fn literal(&mut self, source: &str, grows: bool, out: &mut Out<'_>) -> bool {
        if self.byte == source.len() {
            return false;
        }
        let (end, whole) = self.next_line(source, grows);
        let width = out.width.min(PROSE_WIDTH);
        put_text(source, self.byte..end, Role::Text, width, out);
        if whole {
            self.freeze(after_newline(source, end), out);
        }
        whole
    }

    /// One line of a block of code; false at the end.
    fn code(
        &mut self,
        source: &str,
        grows: bool,
        fence: &Fence,
        language: String,
        out: &mut Out<'_>,
    ) -> bool {
        if self.byte == source.len() {
            return false;
        }
        let (end, whole) = self.next_line(source, grows);
        let text = &source[self.byte..end];
        if fence.is_closed_by(text) {
            out.push(self.byte, vec![Span::sign(self.byte, "└─")]);
            if whole {
                self.mode = Mode::Blocks;
            }
        } else if !whole && fence.may_be_closed_by(text) {
            out.push(self.byte, Vec::new());
        } else {
            let start = self.byte + fence.indentation(text);
            put_text(source, start..end, Role::Code, out.width, out);
            if whole {
                out.code.push(CodeLine {
                    block: fence.start,
                    language,
                    range: start..end,
                });
            }
        }
        if whole {
            self.freeze(after_newline(source, end), out);
        }
        whole
    }

    /// The next blocks that are finished; the tail, and false, where there are none.
    fn blocks(&mut self, source: &str, grows: bool, out: &mut Out<'_>) -> bool {
        let rest = &source[self.byte..];
        let window = &rest[..boundary_before(rest, TAIL_LIMIT)];
        let full = window.len() < rest.len();
        let whole = if grows || full {
            window.rfind('\n').map_or(0, |newline| newline + 1)
        } else {
            window.len()
        };
        let starts: Vec<_> = block_starts(window)
            .into_iter()
            .filter(|start| start.byte < whole)
            .collect();
        if let [first] = &starts[..]
            && first.language.is_some()
            && let Some(fence) = open_fence(source, self.byte + first.byte)
        {
            Self::gap(source, self.byte..self.byte + first.byte, out);
            let first_line = out.lines.len();
            spaced(source, self.byte + first.byte, out);
            let language = first.language.clone().unwrap_or_default();
            let spans = opening(source, fence.start, &language, out.width);
            out.push(fence.start, spans);
            let newline = source[fence.start..].find('\n');
            let end = newline.map_or(source.len(), |newline| fence.start + newline);
            self.mode = Mode::Code {
                fence,
                language,
                first: first_line,
            };
            self.freeze(after_newline(source, end), out);
            return true;
        }
        let last = starts.last().map_or(0, |start| start.byte);
        if last > 0 {
            self.regions(source, &starts, last, out);
            self.freeze(self.byte + last, out);
            return true;
        }
        if full {
            let cut = cut(window);
            self.regions(source, &starts, cut, out);
            self.freeze(self.byte + cut, out);
            return true;
        }
        let finished = out.code.len();
        self.tail(source, window, grows, out);
        if grows {
            out.code.truncate(finished);
        }
        false
    }

    /// Renders the blocks that start at `starts` and what lies between them, up to `end`.
    fn regions(&self, source: &str, starts: &[BlockStart], end: usize, out: &mut Out<'_>) {
        let bytes = starts
            .iter()
            .map(|start| start.byte)
            .filter(|byte| *byte < end);
        let bounds: Vec<_> = bytes.chain([end]).collect();
        Self::gap(source, self.byte..self.byte + bounds[0], out);
        for pair in bounds.windows(2) {
            render(source, self.byte + pair[0]..self.byte + pair[1], "", out);
        }
    }

    /// What is no block, such as the definition of a link, is shown as it is.
    fn gap(source: &str, range: Range<usize>, out: &mut Out<'_>) {
        let text = source[range.clone()].trim_end();
        let mut start = range.start;
        for line in text.split_inclusive('\n') {
            if !line.trim().is_empty() {
                spaced(source, start, out);
                let end = start + line.trim_end().len();
                let width = out.width.min(PROSE_WIDTH);
                put_text(source, start..end, Role::Sign, width, out);
            }
            start += line.len();
        }
    }

    /// The blocks that may still change.
    fn tail(&self, source: &str, window: &str, grows: bool, out: &mut Out<'_>) {
        if !grows {
            self.regions(source, &block_starts(window), window.len(), out);
            return;
        }
        let calm = calm(window);
        let starts = block_starts(&window[..calm.end]);
        let Some(last) = starts.last() else {
            Self::gap(source, self.byte..self.byte + calm.end, out);
            return self.held(source, &calm, out);
        };
        self.regions(source, &starts, last.byte, out);
        let range = self.byte + last.byte..self.byte + calm.end;
        render(source, range, &calm.closers, out);
        self.held(source, &calm, out);
    }

    /// Empty lines in the place of what is held back.
    fn held(&self, source: &str, calm: &calm::Calm, out: &mut Out<'_>) {
        if calm.held_lines > 0 {
            let at = self.byte + calm.end;
            spaced(source, at, out);
            for _ in 0..calm.held_lines {
                out.push(at, Vec::new());
            }
        }
    }
}

/// Whether a text that begins with an opening fence has nothing else.
fn is_empty_fence(text: &str) -> bool {
    text.trim_end().lines().count() == 1
}

/// The start of a line with a top-level block.
struct BlockStart {
    byte: usize,
    /// What a fenced block of code says that it is.
    language: Option<String>,
}

/// Where the top-level blocks of `text` start.
fn block_starts(text: &str) -> Vec<BlockStart> {
    let mut depth = 0_usize;
    let mut starts: Vec<BlockStart> = Vec::new();
    for (event, at) in Parser::new_ext(text, options()).into_offset_iter() {
        let top = depth == 0;
        let mut language = None;
        match event {
            Event::Start(tag) => {
                depth += 1;
                if let Tag::CodeBlock(CodeBlockKind::Fenced(info)) = tag {
                    language = Some(one_line(&info));
                }
            }
            Event::End(_) => {
                depth -= 1;
                continue;
            }
            _ => {}
        }
        let byte = text[..at.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        if top && starts.last().is_none_or(|last| last.byte < byte) {
            starts.push(BlockStart { byte, language });
        }
    }
    starts
}

/// The fence on the line that starts at byte `at`.
fn open_fence(source: &str, at: usize) -> Option<Fence> {
    Fence::open(source[at..].split('\n').next()?, at)
}

/// An empty line, where the source has one before the line at byte `at`.
fn spaced(source: &str, at: usize, out: &mut Out<'_>) {
    let above = source[..at]
        .strip_suffix('\n')
        .map(|text| text.rsplit('\n').next().unwrap_or(""));
    if above.is_some_and(|line| line.trim().is_empty()) && !out.lines.is_empty() {
        out.push(at, Vec::new());
    }
}

fn put_text(source: &str, range: Range<usize>, role: Role, width: usize, out: &mut Out<'_>) {
    let start = range.start;
    for spans in wrap_spans(source, &[Span::source(range, role)], width) {
        let at = spans.first().map_or(start, |span| span.range.start);
        out.push(at, spans);
    }
}

fn after_newline(source: &str, end: usize) -> usize {
    end + usize::from(source[end..].starts_with('\n'))
}

/// Where a block that is too long is cut: before its last line that is not indented, or else its last
/// line, or else its last word.
fn cut(window: &str) -> usize {
    let lines = || window.match_indices('\n').map(|(at, _)| at + 1).rev();
    let outer = |at: &usize| !window[*at..].starts_with([' ', '\t', '\n']) && *at < window.len();
    lines()
        .find(outer)
        .or_else(|| lines().next())
        .or_else(|| window.rfind(' ').map(|at| at + 1))
        .unwrap_or(window.len())
}

#[cfg(test)]
mod tests;
