//! Text, code and links in a line of prose → spans.

use std::ops::Range;

use super::Builder;
use crate::app::markdown::line::{Look, Role, Span};
use crate::clean::clean;

/// What changes the look of inline text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Strong,
    Emphasis,
    Strike,
    Heading,
}

/// A link or an image that is being read.
pub(super) struct Link {
    /// Where it leads.
    pub address: String,
    /// Whether the text is the address.
    pub auto: bool,
    /// What is shown of it so far.
    pub text: String,
}

/// Text in which an entity may stand for anything → text for a part of a line.
pub fn one_line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

impl Builder<'_, '_> {
    /// Text in the look of now.
    pub(super) fn text(&mut self, text: &str, at: Range<usize>) {
        let at = at.start.min(self.end)..at.end.min(self.end);
        let shown = &self.source[at.clone()];
        let virtual_end = at.end == self.end && text.starts_with(shown);
        if text == shown || virtual_end {
            // A newline is never part of a span.
            let mut start = at.start;
            for line in shown.split_inclusive('\n') {
                let end = start + line.trim_end_matches('\n').len();
                self.push(start..end, None, self.current());
                start += line.len();
                self.end_line(line);
            }
        } else {
            for line in clean(text).split_inclusive('\n') {
                let literal = line.trim_end_matches('\n');
                self.push(at.clone(), Some(literal.into()), self.current());
                self.end_line(line);
            }
        }
    }

    pub(super) fn end_line(&mut self, line: &str) {
        if line.ends_with('\n') {
            // An empty line of code is a line.
            if self.code.is_some() && self.line.is_empty() {
                self.emit(self.out.last_start(), Vec::new());
            }
            self.flush();
        }
    }

    pub(super) fn current(&self) -> Look {
        let has = |tag| self.look.contains(&tag);
        let role = match () {
            () if self.code.is_some() => Role::Code,
            () if !self.links.is_empty() => Role::Link,
            () if has(Mark::Heading) => Role::Heading,
            () => Role::Text,
        };
        Look {
            role,
            strong: has(Mark::Strong),
            emphasis: has(Mark::Emphasis),
            strike: has(Mark::Strike),
        }
    }

    /// Adds a span; text that goes on where the last one ended becomes part of it.
    pub(super) fn push(&mut self, range: Range<usize>, literal: Option<Box<str>>, look: Look) {
        if let Some(link) = self.links.last_mut() {
            link.text
                .push_str(literal.as_deref().unwrap_or(&self.source[range.clone()]));
        }
        if range.is_empty() && literal.is_none() {
            return;
        }
        match self.line.last_mut() {
            Some(last)
                if literal.is_none()
                    && last.literal.is_none()
                    && last.look == look
                    && last.range.end == range.start =>
            {
                last.range.end = range.end;
            }
            Some(_) | None => self.line.push(Span {
                range,
                literal,
                look,
            }),
        }
    }

    /// The run of `sign` that starts at byte `at`, as a sign.
    pub(super) fn sign_at(&mut self, at: usize, sign: &str) {
        let rest = self.source[..self.end].get(at..).unwrap_or("");
        let run = rest.len() - rest.trim_start_matches(sign).len();
        self.push(at..at + run, None, Role::Sign.into());
    }

    /// Code in prose keeps its backticks: it is told from prose without colours, too.
    pub(super) fn inline_code(&mut self, text: &str, at: Range<usize>) {
        let at = at.start.min(self.end)..at.end.min(self.end);
        let shown = &self.source[at.clone()];
        let ticks = shown.len() - shown.trim_start_matches('`').len();
        let inner = shown[ticks..].trim_end_matches('`').len();
        let code = Look {
            role: Role::Code,
            ..self.current()
        };
        self.push(at.start..at.start + ticks, None, Role::Sign.into());
        let range = at.start + ticks..at.start + ticks + inner;
        if shown.contains('\n') {
            self.push(range.clone(), Some(clean(text).into()), code);
        } else {
            self.push(range.clone(), None, code);
        }
        self.push(range.end..at.end, None, Role::Sign.into());
    }

    pub(super) fn finish_link(&mut self, at: Range<usize>) {
        let Some(link) = self.links.pop() else { return };
        if link.auto || link.text == link.address || link.address.is_empty() {
            return;
        }
        let end = at.end.min(self.end);
        let whole = &self.source[at.start.min(end)..end];
        self.line.push(Span::sign(end, " ("));
        match whole.rfind(&link.address) {
            Some(found) => {
                let start = at.start + found;
                let range = start..start + link.address.len();
                self.line.push(Span::source(range, Role::Sign));
            }
            None => self.line.push(Span::sign(end, &link.address)),
        }
        self.line.push(Span::sign(end, ")"));
    }
}
