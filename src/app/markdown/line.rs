//! A rendered line: spans of text, each with a look and the bytes of the source that it shows.
//!
//! **Every character of the source that is shown knows its byte**, so marks of tokens, matches of a
//! search and colours of code are laid over a line by byte ranges when it is drawn.

use std::ops::Range;

use crate::app::wrap::{Break, wrap};

/// What a span is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Prose.
    #[default]
    Text,
    /// A heading.
    Heading,
    /// Code, in a block or in prose.
    Code,
    /// The text of a link.
    Link,
    /// Signs that structure the text: markers, rules, addresses of links.
    Sign,
}

/// What a span looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// What it is part of.
    pub role: Role,
    /// Strong emphasis.
    pub strong: bool,
    /// Emphasis.
    pub emphasis: bool,
    /// Struck through.
    pub strike: bool,
}

impl From<Role> for Look {
    fn from(role: Role) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }
}

/// A part of a line with one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The bytes of the source that it stands for; empty for decoration.
    pub range: Range<usize>,
    /// What is shown, where that is not the source itself.
    pub literal: Option<Box<str>>,
    /// Its look.
    pub look: Look,
}

impl Span {
    /// The source itself.
    pub fn source(range: Range<usize>, look: impl Into<Look>) -> Self {
        Self {
            range,
            literal: None,
            look: look.into(),
        }
    }

    /// Decoration at byte `at`.
    pub fn sign(at: usize, text: &str) -> Self {
        Self {
            range: at..at,
            literal: Some(text.into()),
            look: Role::Sign.into(),
        }
    }

    /// What is shown.
    pub fn text<'a>(&'a self, source: &'a str) -> &'a str {
        match &self.literal {
            Some(literal) => literal,
            None => &source[self.range.clone()],
        }
    }
}

/// A line of rendered text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Where it stands in the source; never before the line above it.
    pub start: usize,
    /// Its text.
    pub spans: Vec<Span>,
}

/// Wraps spans without newlines to `width` columns: a list of spans for each line.
pub fn wrap_spans(source: &str, spans: &[Span], width: usize) -> Vec<Vec<Span>> {
    let mut visible = String::new();
    let mut ends = Vec::with_capacity(spans.len());
    for span in spans {
        visible.push_str(span.text(source));
        ends.push(visible.len());
    }
    // No character but a tab takes more columns than bytes.
    if visible.len() <= width && !visible.contains('\t') && !visible.ends_with(' ') {
        return vec![spans.to_vec()];
    }
    let mut wrapped = Vec::new();
    wrap(&visible, 0, width, Break::Words, &mut wrapped);
    let mut first = 0;
    let mut lines = Vec::with_capacity(wrapped.len());
    for line in wrapped {
        let shown = visible[line.range.clone()].trim_end_matches([' ', '\t']);
        let range = line.range.start..line.range.start + shown.len();
        let mut out = Vec::new();
        if line.indent > 0 {
            let at = spans.get(first).map_or(0, |span| span.range.start);
            out.push(Span::sign(at, &" ".repeat(line.indent.into())));
        }
        while ends.get(first).is_some_and(|end| *end <= range.start) {
            first += 1;
        }
        for (span, end) in spans.iter().zip(&ends).skip(first) {
            let start = end - span.text(source).len();
            if start >= range.end {
                break;
            }
            let cut = range.start.max(start) - start..range.end.min(*end) - start;
            out.push(part(span, cut));
        }
        lines.push(out);
    }
    lines
}

/// The bytes `cut` of a span's text.
fn part(span: &Span, cut: Range<usize>) -> Span {
    match &span.literal {
        Some(literal) => Span {
            literal: Some(literal[cut].into()),
            ..span.clone()
        },
        None => Span::source(
            span.range.start + cut.start..span.range.start + cut.end,
            span.look,
        ),
    }
}
