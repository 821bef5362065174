//! The conversation: names, texts and states of answers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::app::geometry::Geometry;
use crate::app::transcript::{Answer, AnswerState, Block, BodyLine, Kind, LineView, Part, Summary};
use crate::app::wrap::TAB_WIDTH;
use crate::engine::protocol::FinishReason;
use crate::ui::format::{bar, strategy_glyph, verdict};
use crate::ui::progress::Progress;
use crate::ui::put;
use crate::ui::theme::Theme;

/// Draws the lines in view.
pub fn draw(app: &App, theme: &Theme, geometry: &Geometry, buffer: &mut Buffer) {
    let area = geometry.transcript;
    let height = usize::from(area.height);
    let end = app.transcript().len().saturating_sub(height);
    let top = if app.scroll().follow { end } else { app.scroll().top.min(end) };
    for (row, line) in app.transcript().lines(top).take(height).enumerate() {
        let name_indent = geometry.text_indent.min(1);
        let (indent, line) = match line {
            LineView::Blank => continue,
            LineView::Heading(block) => (name_indent, heading(block, theme)),
            LineView::Body(block, body, first) => {
                if first && block.kind == Kind::Notice {
                    put(buffer, indented(area, name_indent), row as u16, Line::styled("·", theme.accent));
                }
                (geometry.text_indent + body.line.indent, text(app, block, body, theme))
            }
            LineView::State(answer) => (geometry.text_indent, state(app, answer, theme)),
        };
        put(buffer, indented(area, indent), row as u16, line);
    }
}

fn indented(area: Rect, indent: u16) -> Rect {
    let indent = indent.min(area.width);
    Rect { x: area.x + indent, width: area.width - indent, ..area }
}

fn heading<'a>(block: &'a Block, theme: &Theme) -> Line<'a> {
    match &block.kind {
        Kind::User => Line::styled("You", theme.user),
        Kind::Assistant(answer) => Line::styled(answer.model.as_deref().unwrap_or("Model"), theme.assistant),
        Kind::Error => Line::styled("✗ error", theme.error),
        Kind::Notice => Line::default(),
    }
}

fn text(app: &App, block: &Block, body: &BodyLine, theme: &Theme) -> Line<'static> {
    let style = match (body.part, &block.kind) {
        (Part::Fence, _) => theme.dim,
        (Part::Code, _) => theme.code,
        (Part::Prose, Kind::Notice) => theme.dim,
        (Part::Prose, Kind::User | Kind::Assistant(_) | Kind::Error) => theme.text,
    };
    let range = body.line.range.clone();
    let shown = match body.part {
        Part::Prose => block.text()[range.clone()].trim_end_matches([' ', '\t']).len(),
        Part::Code | Part::Fence => range.len(),
    };
    let spans = block.marked(range.start..range.start + shown).map(|(part, drafted)| {
        let style = if drafted && app.show_tokens() { accepted(style, body.part, theme) } else { style };
        Span::styled(block.text()[part].replace('\t', &" ".repeat(TAB_WIDTH)), style)
    });
    Line::from_iter(spans)
}

/// Prose takes the whole style of accepted text; code keeps its colour.
fn accepted(style: Style, part: Part, theme: &Theme) -> Style {
    match part {
        Part::Prose => style.patch(theme.accepted),
        Part::Code | Part::Fence => style.add_modifier(theme.accepted.add_modifier),
    }
}

fn state(app: &App, answer: &Answer, theme: &Theme) -> Line<'static> {
    match &answer.state {
        AnswerState::Waiting => {
            let mut line = Line::styled("… waits for the model  ", theme.dim);
            line.extend(Progress::of(app).into_iter().flat_map(|progress| progress.line(theme).spans));
            line
        }
        AnswerState::Sent => Line::styled("… starting", theme.dim),
        AnswerState::Prefill { done, total } => {
            let width = total.to_string().len();
            let share = if *total > 0 { *done as f64 / *total as f64 } else { 0.0 };
            Line::from(vec![
                Span::styled(format!("… reading the prompt {done:>width$}/{total} "), theme.dim),
                Span::styled(bar(share, 12), theme.accent),
            ])
        }
        AnswerState::Writing => Line::styled("… writing", theme.dim),
        AnswerState::Stopping => Line::styled("■ stopping…", theme.warn),
        AnswerState::Failed => Line::styled("✗ failed · not part of the conversation", theme.error),
        AnswerState::Ended(summary) => ended(summary, theme),
    }
}

fn ended(summary: &Summary, theme: &Theme) -> Line<'static> {
    let (outcome, style) = match summary.reason {
        FinishReason::EndOfTurn => ("✓", theme.dim),
        FinishReason::MaxTokens => ("■ token limit reached ·", theme.warn),
        FinishReason::ContextFull => ("■ context full ·", theme.warn),
        FinishReason::Stopped => ("■ stopped ·", theme.warn),
    };
    let mut line = Line::styled(format!("{outcome} "), style);
    let mut say = |text: String, style: Style| line.push_span(Span::styled(text, style));
    say(format!("{} tokens", summary.tokens), theme.dim);
    if let Some(rate) = summary.tokens_per_pass {
        say(format!(" · {rate:.2} per pass"), theme.dim);
    }
    if let Some(rate) = summary.tokens_per_second {
        say(format!(" · {rate:.1} tok/s"), theme.dim);
    }
    if let Some(speed_up) = summary.speed_up {
        let (glyph, _, style) = verdict(speed_up, theme);
        say(" · ".to_owned(), theme.dim);
        say(format!("{glyph} {speed_up:.2}x plain"), style);
    }
    let names: Vec<String> =
        summary.strategies.iter().map(|name| format!("{} {name}", strategy_glyph(name))).collect();
    if !names.is_empty() {
        say(format!(" · {}", names.join(" → ")), theme.dim);
    }
    line
}
