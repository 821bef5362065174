//! The conversation's place until the first question: what is being loaded, then what is loaded.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::{App, Phase};
use crate::ui::format::{bar, percent, strategy_glyph};
use crate::ui::progress::Progress;
use crate::ui::theme::Theme;
use crate::ui::{fit, put};

/// Columns of the block, where there is room.
const WIDTH: u16 = 56;
/// Its lines below the title once models with all four strategies are loaded: what is shown before begins where
/// that will.
const HEIGHT: usize = 12;
/// Columns of the names at its left.
const LABEL: usize = 12;

/// Whether `area` has room for the block.
pub fn fits(app: &App, theme: &Theme, area: Rect) -> bool {
    lines(app, theme, width(area)).len() <= area.height.into()
}

/// Draws the block, in the middle of `area`.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let width = width(area);
    let lines = lines(app, theme, width);
    let title = [
        fit(
            [
                vec![Span::styled("speck", theme.assistant)],
                vec![Span::styled(
                    "a local chat that shows what drafting is worth",
                    theme.dim,
                )],
            ],
            &Span::raw("  "),
            width,
        ),
        Line::default(),
    ];
    let room = usize::from(area.height);
    let height = Some(lines.len().max(HEIGHT)).filter(|height| *height <= room);
    let height = height.unwrap_or(lines.len());
    let title_height = Some(title.len()).filter(|title| height + title <= room);
    let title_height = title_height.unwrap_or(0);
    let top = room.saturating_sub(title_height + height) as u16 / 2;
    let lines = title.into_iter().take(title_height).chain(lines);
    let x = area.x + (area.width - width) / 2;
    let block = Rect { x, width, ..area };
    for (row, line) in lines.enumerate() {
        put(buffer, block, top + row as u16, line);
    }
}

fn width(area: Rect) -> u16 {
    WIDTH.min(area.width.saturating_sub(2))
}

fn lines(app: &App, theme: &Theme, width: u16) -> Vec<Line<'static>> {
    match Progress::of(app) {
        Some(progress) => waiting(&progress, theme, width.into()),
        None => ready(app, theme),
    }
}

fn waiting(progress: &Progress<'_>, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![
        Span::styled(progress.word, theme.accent),
        Span::styled(
            if progress.how.is_empty() {
                String::new()
            } else {
                format!(" · {}", progress.how)
            },
            theme.dim,
        ),
    ])];
    if !progress.what.is_empty() {
        lines.push(Line::styled(progress.what.to_owned(), theme.text));
    }
    if let Some(share) = progress.share {
        lines.push(Line::from(vec![
            Span::styled(bar(share, width.saturating_sub(6)), theme.accent),
            Span::styled(format!(" {}", percent(Some(share))), theme.text),
        ]));
    }
    lines.push(Line::styled(progress.amount.clone(), theme.dim));
    lines.push(Line::default());
    lines.push(Line::styled("You can type a message already.", theme.dim));
    lines
}

fn ready(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let row = |label: &str, value: Vec<Span<'static>>| {
        let mut line = Line::styled(format!("{label:<LABEL$}"), theme.dim);
        line.extend(value);
        line
    };
    let text = |text: &str| vec![Span::styled(text.to_owned(), theme.text)];
    let mut lines = Vec::new();
    if let (Some(ready), Phase::Ready) = (app.ready(), app.phase()) {
        lines.push(row("target", text(&ready.target)));
        lines.push(row("draft", text(ready.draft.as_deref().unwrap_or("none"))));
        lines.push(row("device", text(&ready.device)));
        lines.push(Line::default());
        for strategy in ready.strategies.iter().filter(|s| s.cycled) {
            let name = format!("{} {}", strategy_glyph(strategy.name), strategy.name);
            let mut line = Line::styled(format!("{name:<LABEL$}"), theme.strategy(strategy.name));
            line.push_span(Span::styled(strategy.summary, theme.text));
            lines.push(line);
        }
        lines.push(Line::default());
    }
    lines.push(row("Enter", text("send a message")));
    lines.push(row("Shift-Tab", text("next strategy, also mid-answer")));
    lines.push(row("?", text("all keys and commands")));
    lines
}
