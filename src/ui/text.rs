//! A rendered line of text → styled spans: its looks, with the layers over them.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_segmentation::GraphemeCursor;

use crate::app::find::Find;
use crate::app::highlight::Class;
use crate::app::layer::Layer;
use crate::app::markdown::line::{self, Look, Role};
use crate::app::wrap::TAB_WIDTH;
use crate::ui::theme::Theme;

/// What is laid over a text.
pub struct Layers<'a> {
    /// Who drafted its tokens, if that is to be seen.
    pub origins: Option<&'a Layer<&'static str>>,
    /// What the words of its code are.
    pub classes: &'a Layer<Class>,
    /// What is looked for, and the block of the conversation that the text is.
    pub found: Option<(&'a Find, usize)>,
}

/// The line of the text `source`, whose prose has the style `base`.
pub fn line(
    source: &str,
    line: &line::Line,
    base: Style,
    layers: &Layers,
    theme: &Theme,
) -> Line<'static> {
    let mut out = Line::default();
    for span in &line.spans {
        let text = span.text(source);
        let end = span.range.end;
        let mut from = 0;
        // What stands for other text of the source has the marks of that text's first byte.
        while from < text.len() {
            let at = span.range.start + if span.literal.is_none() { from } else { 0 };
            let (class, class_end) = layers.classes.at(at);
            let (origin, origin_end) = match layers.origins {
                Some(origins) => origins.at(at),
                None => (None, usize::MAX),
            };
            let (found, found_end) = match layers.found {
                Some((find, block)) => find.at(block, at),
                None => (None, usize::MAX),
            };
            let part = if span.literal.is_some() {
                text.len() - from
            } else {
                let mark_end = class_end.min(origin_end).min(found_end).min(end) - at;
                whole(text, from + mark_end) - from
            };
            let real = !span.range.is_empty();
            let mut style = look(span.look, base, theme);
            if let (Some(class), Role::Code) = (class, span.look.role) {
                style = style.patch(theme.class(class));
            }
            if layers.origins.is_some() {
                // Emphasis could be mistaken for a mark.
                style.add_modifier &= Modifier::DIM;
            }
            if let (Some(drafter), true) = (origin, real) {
                style = accepted(style, span.look.role, drafter, theme);
            }
            if let (Some(current), true) = (found, real) {
                style = if current {
                    theme.selection
                } else {
                    theme.found
                };
            }
            let shown = &text[from..from + part];
            push(&mut out, shown, style, origin.is_some() && found.is_none());
            from += part;
        }
    }
    out
}

/// Where the grapheme that `byte` is in ends: a combining mark that began a span would not be drawn.
fn whole(text: &str, byte: usize) -> usize {
    let mut cursor = GraphemeCursor::new(byte, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(false) => cursor.next_boundary(text, 0).ok().flatten(),
        Ok(true) | Err(_) => Some(byte),
    }
    .unwrap_or(text.len())
}

/// Adds text; marked blanks at the start of a line would look like a rule.
fn push(out: &mut Line<'static>, text: &str, style: Style, marked: bool) {
    let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
    let indentation = if marked && out.spans.iter().all(|span| span.content.trim().is_empty()) {
        blanks
    } else {
        0
    };
    let expand = |text: &str| text.replace('\t', &" ".repeat(TAB_WIDTH));
    if indentation > 0 {
        out.push_span(Span::raw(expand(&text[..indentation])));
    }
    if indentation < text.len() {
        out.push_span(Span::styled(expand(&text[indentation..]), style));
    }
}

fn look(look: Look, base: Style, theme: &Theme) -> Style {
    let mut style = match look.role {
        Role::Text => base,
        Role::Heading => theme.heading,
        Role::Code => theme.code,
        Role::Link => theme.link,
        Role::Sign => theme.dim,
    };
    for (on, modifier) in [
        (look.strong, Modifier::BOLD),
        (look.emphasis, Modifier::ITALIC),
        (look.strike, Modifier::CROSSED_OUT),
    ] {
        if on {
            style = style.add_modifier(modifier);
        }
    }
    style
}

/// Prose takes the whole style of accepted text; the rest keeps its colour.
fn accepted(style: Style, role: Role, drafter: &str, theme: &Theme) -> Style {
    let mark = theme.accepted_by(drafter);
    match role {
        Role::Text => style.patch(mark),
        Role::Heading | Role::Code | Role::Link | Role::Sign => {
            style.add_modifier(mark.add_modifier)
        }
    }
}
