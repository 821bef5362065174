//! Blocks of code inside lists and quotes, and those that are whole; those that grow are read by the flow.

use std::ops::Range;

use pulldown_cmark::CodeBlockKind;

use super::{Builder, one_line};
use crate::app::markdown::line::{Span, wrap_spans};

/// A block of code.
pub(super) struct Code {
    /// Where it starts.
    pub start: usize,
    /// What the source says that it is.
    pub language: String,
    /// Whether it stands in fences; otherwise it is indented.
    pub fenced: bool,
}

impl Builder<'_, '_> {
    pub(super) fn start_code(&mut self, kind: &CodeBlockKind<'_>, at: usize) {
        self.space(at);
        let (fenced, info) = match kind {
            CodeBlockKind::Fenced(info) => (true, one_line(info)),
            CodeBlockKind::Indented => (false, String::new()),
        };
        if fenced {
            let spans = opening(self.source, at, &info, self.width());
            self.emit(at, spans);
        } else {
            self.contain(None, "    ");
        }
        self.code = Some(Code {
            start: at,
            language: info,
            fenced,
        });
    }

    pub(super) fn finish_code(&mut self, at: Range<usize>) {
        self.flush();
        let Some(code) = self.code.take() else { return };
        if !code.fenced {
            self.containers.pop();
            return;
        }
        let text = &self.source[at.start.min(self.end)..at.end.min(self.end)];
        let mut lines = text.trim_end().split('\n');
        let mark = lines
            .next()
            .and_then(|line| line.chars().next())
            .unwrap_or('`');
        let last = lines.next_back().unwrap_or("");
        let last = last.trim_start_matches([' ', '\t', '>']);
        if last.len() >= 3 && last.chars().all(|c| c == mark) {
            self.emit(at.end, vec![Span::sign(at.end, "└─")]);
        }
    }
}

/// The line above a block of code, with what the source says it is.
pub fn opening(source: &str, at: usize, info: &str, width: usize) -> Vec<Span> {
    let mut spans = vec![Span::sign(at, "┌─ ")];
    spans.push(Span::sign(at, info));
    wrap_spans(source, &spans, width)
        .into_iter()
        .next()
        .unwrap_or_default()
}
