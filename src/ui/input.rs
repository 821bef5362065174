//! The message being typed, and where the terminal's cursor stands.

use std::ops::Range;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use crate::app::geometry::{Geometry, PROMPT_WIDTH};
use crate::app::input::InputLines;
use crate::app::wrap::{TAB_WIDTH, WrappedLine};
use crate::app::{App, Phase};
use crate::ui::put;
use crate::ui::theme::Theme;

/// Draws the input. Returns the cursor's place, if it is to be seen.
pub fn draw(
    app: &App,
    theme: &Theme,
    geometry: &Geometry,
    buffer: &mut Buffer,
) -> Option<Position> {
    let area = geometry.input;
    let prompt = match app.phase() {
        Phase::Dead => Line::styled("✗ ", theme.error),
        Phase::Starting | Phase::Fetching(_) | Phase::Loading(_) | Phase::Ready => {
            Line::styled(if app.searching() { "‹ " } else { "> " }, theme.accent)
        }
    };
    put(buffer, area, 0, prompt);
    let text_area = Rect {
        x: area.x + PROMPT_WIDTH.min(area.width),
        width: area.width.saturating_sub(PROMPT_WIDTH),
        ..area
    };
    if app.input().is_empty() {
        put(
            buffer,
            text_area,
            0,
            Line::styled(placeholder(app), theme.dim),
        );
    }
    let lines = app.input().lines(geometry.input_width());
    let top = (lines.row + 1).saturating_sub(area.height.into());
    for (row, line) in lines
        .lines
        .iter()
        .skip(top)
        .take(area.height.into())
        .enumerate()
    {
        put(buffer, text_area, row as u16, text(&lines, line, theme));
    }
    let visible = text_area.area() > 0 && app.help().is_none();
    visible.then(|| Position {
        x: (text_area.x + lines.column as u16).min(text_area.right() - 1),
        y: text_area.y + (lines.row - top) as u16,
    })
}

/// A line of the text, with the labels of pastes marked.
fn text(lines: &InputLines, line: &WrappedLine, theme: &Theme) -> Line<'static> {
    let mut spans = Vec::new();
    let mut span = |range: Range<usize>, style| {
        let text = lines.text[range].replace('\t', &" ".repeat(TAB_WIDTH));
        spans.push(Span::styled(text, style));
    };
    let mut at = line.range.start;
    for label in &lines.labels {
        let start = label.start.clamp(at, line.range.end);
        let end = label.end.clamp(at, line.range.end);
        span(at..start, theme.text);
        span(start..end, theme.accent);
        at = end;
    }
    span(at..line.range.end, theme.text);
    spans.into()
}

fn placeholder(app: &App) -> &'static str {
    if app.searching() {
        return "Type to search what was typed before";
    }
    match (app.phase(), app.answering()) {
        (Phase::Dead, _) => "/reload, or q quits",
        (_, true) => "Type the next message",
        (Phase::Starting | Phase::Fetching(_) | Phase::Loading(_) | Phase::Ready, false) => {
            "Type a message"
        }
    }
}
