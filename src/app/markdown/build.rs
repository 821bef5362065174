//! One top-level block of Markdown → rendered lines.
//!
//! Signs keep their columns where they can (`- ` becomes `• `, `> ` becomes `│ `, `#` stays), so that
//! a text hardly moves when a sign is recognised; lines of the source stay lines. Links show their
//! address, HTML is text, and what an entity stands for is cleaned.

mod code;
mod inline;

use std::mem::take;
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

use self::code::Code;
pub use self::code::opening;
pub use self::inline::one_line;
use self::inline::{Link, Mark};
use super::CodeLine;
use super::line::{Line, Role, Span, wrap_spans};
use super::table::{Row, Table};
use crate::app::wrap::text_width;

/// Prose is not set wider than this many columns: longer lines are hard to read.
pub const PROSE_WIDTH: usize = 100;
/// Lists and quotes are not indented deeper than this.
const MAX_DEPTH: usize = 8;
/// Text in lists and quotes is not set narrower than this.
const MIN_WIDTH: usize = 8;

/// The Markdown that is understood, beside `CommonMark`.
pub fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Where rendered lines go.
pub struct Out<'a> {
    /// The lines so far.
    pub lines: &'a mut Vec<Line>,
    /// Lines of code, for highlighting.
    pub code: &'a mut Vec<CodeLine>,
    /// Columns.
    pub width: usize,
}

impl Out<'_> {
    /// Where the last line stands.
    pub fn last_start(&self) -> usize {
        self.lines.last().map_or(0, |line| line.start)
    }

    /// Puts a line at byte `at` or where the line above stands, whichever is later.
    pub fn push(&mut self, at: usize, spans: Vec<Span>) {
        let start = at.max(self.last_start());
        self.lines.push(Line { start, spans });
    }
}

/// Renders `source[range]`, one top-level block, as if `closers` stood at its end.
pub fn render(source: &str, range: Range<usize>, closers: &str, out: &mut Out<'_>) {
    let text = [&source[range.clone()], closers].concat();
    let mut builder = Builder {
        source,
        end: range.end,
        out,
        containers: Vec::new(),
        line: Vec::new(),
        look: Vec::new(),
        links: Vec::new(),
        table: None,
        code: None,
        spaced: None,
    };
    for (event, at) in Parser::new_ext(&text, options()).into_offset_iter() {
        let at = range.start + at.start..range.start + at.end;
        builder.event(event, at);
    }
    builder.flush();
}

struct Builder<'a, 'o> {
    source: &'a str,
    /// The end of what is real; closers stand behind it.
    end: usize,
    out: &'a mut Out<'o>,
    containers: Vec<Container>,
    /// The line of the source that is being read.
    line: Vec<Span>,
    look: Vec<Mark>,
    links: Vec<Link>,
    table: Option<Table>,
    code: Option<Code>,
    /// The line of the source before which space was made.
    spaced: Option<usize>,
}

/// A list item or a quote.
struct Container {
    /// What stands before its first line, until that is written.
    marker: Option<Span>,
    /// What stands before the other lines.
    rest: String,
}

impl Builder<'_, '_> {
    fn event(&mut self, event: Event<'_>, at: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, at),
            Event::End(tag) => self.finish(tag, at),
            // Mathematics and footnotes are not turned on.
            Event::Text(text)
            | Event::InlineHtml(text)
            | Event::Html(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text, at),
            Event::Code(text) => self.inline_code(&text, at),
            Event::SoftBreak | Event::HardBreak => match self.table {
                Some(_) => self.text(" ", at),
                None => self.flush(),
            },
            Event::Rule => {
                self.space(at.start);
                let width = self.width().min(PROSE_WIDTH);
                self.line.push(Span::sign(at.start, &"─".repeat(width)));
                self.flush();
            }
            Event::TaskListMarker(_) => {
                let space = self.source[..self.end].get(at.end..).unwrap_or("");
                let end = at.end + usize::from(space.starts_with(' '));
                self.push(at.start..end.min(self.end), None, Role::Sign.into());
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, at: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock | Tag::List(_) => self.space(at.start),
            Tag::Heading { level, .. } => {
                self.space(at.start);
                let rest = &self.source[at.start..self.end.max(at.start)];
                let signs = rest.len() - rest.trim_start_matches('#').len();
                let blanks = rest[signs..].len() - rest[signs..].trim_start_matches(' ').len();
                if signs > 0 {
                    self.push(at.start..at.start + signs + blanks, None, Role::Sign.into());
                } else {
                    let sign = "#".repeat(level as usize) + " ";
                    self.line.push(Span::sign(at.start, &sign));
                }
                self.look.push(Mark::Heading);
            }
            Tag::BlockQuote(_) => {
                self.space(at.start);
                self.contain(Some(Span::sign(at.start, "│ ")), "│ ");
            }
            Tag::Item => {
                self.space(at.start);
                let marker = self.marker(at.start);
                let columns = text_width(marker.text(self.source));
                self.contain(Some(marker), &" ".repeat(columns));
            }
            Tag::CodeBlock(kind) => self.start_code(&kind, at.start),
            Tag::Table(alignments) => {
                self.space(at.start);
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Row {
                        start: at.start,
                        cells: Vec::new(),
                    });
                }
            }
            Tag::TableCell => self.line.clear(),
            Tag::Strong => self.look.push(Mark::Strong),
            Tag::Emphasis => self.look.push(Mark::Emphasis),
            Tag::Strikethrough => {
                self.sign_at(at.start, "~");
                self.look.push(Mark::Strike);
            }
            Tag::Link {
                link_type,
                dest_url,
                ..
            } => self.links.push(Link {
                address: one_line(&dest_url),
                auto: matches!(link_type, LinkType::Autolink | LinkType::Email),
                text: String::new(),
            }),
            Tag::Image { dest_url, .. } => {
                self.line.push(Span::sign(at.start, "image: "));
                self.links.push(Link {
                    address: one_line(&dest_url),
                    auto: false,
                    text: String::new(),
                });
            }
            // Not turned on.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn finish(&mut self, tag: TagEnd, at: Range<usize>) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.look.pop();
            }
            TagEnd::Item | TagEnd::BlockQuote(_) => {
                self.flush();
                if self
                    .containers
                    .last()
                    .is_some_and(|last| last.marker.is_some())
                {
                    self.emit(at.start, Vec::new());
                }
                self.containers.pop();
            }
            TagEnd::CodeBlock => self.finish_code(at),
            TagEnd::Table => self.finish_table(at),
            TagEnd::TableCell => {
                let cell = take(&mut self.line);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.cells.push(cell);
                }
            }
            TagEnd::Strong | TagEnd::Emphasis => {
                self.look.pop();
            }
            TagEnd::Strikethrough => {
                self.look.pop();
                let text = &self.source[..at.end.min(self.end)];
                self.sign_at(text.trim_end_matches('~').len(), "~");
            }
            TagEnd::Link | TagEnd::Image => self.finish_link(at),
            // Nothing ends with these, or they are not turned on.
            TagEnd::List(_)
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// The marker of the list item at byte `at`: the source's own number, or a bullet.
    fn marker(&self, at: usize) -> Span {
        const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];
        let rest = &self.source[at..self.end.max(at)];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            return Span {
                range: at..(at + digits + 1).min(self.end),
                literal: Some(format!("{} ", &rest[..(digits + 1).min(rest.len())]).into()),
                look: Role::Sign.into(),
            };
        }
        let depth = self
            .containers
            .iter()
            .filter(|outer| outer.rest.starts_with(' '));
        Span {
            range: at..(at + 1).min(self.end),
            ..Span::sign(at, BULLETS[depth.count() % BULLETS.len()])
        }
    }

    fn contain(&mut self, marker: Option<Span>, rest: &str) {
        let deep = self.containers.len() >= MAX_DEPTH || self.width() < MIN_WIDTH + rest.len();
        self.containers.push(if deep {
            Container {
                marker: None,
                rest: String::new(),
            }
        } else {
            Container {
                marker,
                rest: rest.to_owned(),
            }
        });
    }

    /// An empty line, where the source has one before the line of byte `at`.
    fn space(&mut self, at: usize) {
        self.flush();
        let line = self.source[..at]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        if self.spaced == Some(line) || line == 0 {
            return;
        }
        self.spaced = Some(line);
        let above = self.source[..line - 1].rsplit('\n').next().unwrap_or("");
        let quoted = !self.containers.is_empty();
        let blank = above
            .trim_matches(|c| matches!(c, ' ' | '\t') || quoted && c == '>')
            .is_empty();
        let waits = self.containers.iter().any(|outer| outer.marker.is_some());
        if blank && !waits && !self.out.lines.is_empty() {
            self.emit(line, Vec::new());
        }
    }

    /// Columns for text in the containers.
    fn width(&self) -> usize {
        let prefix: usize = self
            .containers
            .iter()
            .map(|outer| text_width(&outer.rest))
            .sum();
        self.out.width.saturating_sub(prefix).max(1)
    }

    fn finish_table(&mut self, at: Range<usize>) {
        let Some(mut table) = self.table.take() else {
            return;
        };
        if let Some(lines) = table.lines(self.source, self.width()) {
            for line in lines {
                self.emit(line.start, line.spans);
            }
            return;
        }
        let end = at.end.min(self.end);
        let source = self.source;
        let mut start = at.start;
        for line in source[start..end].split_inclusive('\n') {
            self.push(
                start..start + line.trim_end().len(),
                None,
                Role::Text.into(),
            );
            self.flush();
            start += line.len();
        }
    }

    /// Wraps and writes the line that was read, if there is anything on it.
    fn flush(&mut self) {
        let spans = take(&mut self.line);
        let Some(first) = spans.first() else {
            return;
        };
        let start = first.range.start;
        let width = match &self.code {
            Some(code) => {
                let end = spans.last().map_or(start, |last| last.range.end);
                self.out.code.push(CodeLine {
                    block: code.start,
                    language: code.language.clone(),
                    range: start..end,
                });
                self.width()
            }
            None => self.width().min(PROSE_WIDTH),
        };
        for line in wrap_spans(self.source, &spans, width) {
            let at = line.first().map_or(start, |span| span.range.start);
            self.emit(at, line);
        }
    }

    /// Writes a line behind what the containers put before it.
    fn emit(&mut self, at: usize, spans: Vec<Span>) {
        let mut line = Vec::with_capacity(spans.len() + self.containers.len());
        for outer in &mut self.containers {
            match outer.marker.take() {
                Some(marker) => line.push(marker),
                None if outer.rest.is_empty() => {}
                None => line.push(Span::sign(at, &outer.rest)),
            }
        }
        line.extend(spans);
        self.out.push(at, line);
    }
}
