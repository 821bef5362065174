//! What the status bar tells for a moment. Why something was not done stands above the input where the bar is
//! too narrow for it, or where there is none; what was done is cut off there.
//!
//! ```text
//! ──────────────────────────────────────
//! ! no command `/nwe`: did you mean
//!   /new? /help lists all, // sends it …
//! > /nwe_
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Widget};

use crate::app::App;
use crate::app::geometry::Geometry;
use crate::app::wrap::{Break, cut, text_width, wrap};
use crate::ui::put;
use crate::ui::theme::Theme;

/// Columns of the mark before it.
const MARK: usize = 2;

/// The notice as one line, if there is one and it may stand in `width` columns.
pub fn line(app: &App, theme: &Theme, width: u16) -> Option<Line<'static>> {
    let text = app.notice()?;
    let (mark, style) = look(app, theme);
    let room = usize::from(width).saturating_sub(MARK);
    let told_there = !app.is_refusal() || text_width(text) <= room;
    told_there.then(|| Line::styled(format!("{mark}{}", cut(text, room)), style))
}

/// Where it stands above the input, if it is not in the status bar; and its lines.
pub fn above(app: &App, theme: &Theme, geometry: &Geometry) -> Option<(Rect, Vec<String>)> {
    let text = app.notice()?;
    let told = if geometry.status.height > 0 {
        line(app, theme, inner(geometry.status).width).is_some()
    } else {
        // What was done is to be seen.
        !app.is_refusal() && !app.asks_to_quit()
    };
    if told {
        return None;
    }
    let (mark, _) = look(app, theme);
    let width = usize::from(geometry.input.width).saturating_sub(MARK + 1);
    let mut wrapped = Vec::new();
    wrap(text, 0, width.max(1), Break::Words, &mut wrapped);
    let lines: Vec<String> = wrapped
        .into_iter()
        .enumerate()
        .map(|(row, line)| {
            let mark = if row == 0 { mark } else { "  " };
            format!("{mark}{}", text[line.range].trim_end())
        })
        .collect();
    let rows = lines.len() + usize::from(geometry.rule.height);
    let rows = u16::try_from(rows).unwrap_or(u16::MAX);
    let height = rows.min(geometry.input.y);
    let area = Rect {
        y: geometry.input.y - height,
        height,
        ..geometry.input
    };
    Some((area, lines))
}

/// Draws it there, over what stands above the input. Where there is less room, the rule goes first, then its end.
pub fn draw(app: &App, theme: &Theme, (area, lines): &(Rect, Vec<String>), buffer: &mut Buffer) {
    Clear.render(*area, buffer);
    buffer.set_style(*area, theme.background);
    let (_, style) = look(app, theme);
    let ruled = usize::from(area.height) > lines.len();
    if ruled {
        let rule = "─".repeat(area.width.into());
        put(buffer, *area, 0, Line::styled(rule, theme.dim));
    }
    for (row, text) in (u16::from(ruled)..).zip(lines) {
        put(buffer, *area, row, Line::styled(text.as_str(), style));
    }
}

/// The part of the status bar that holds text.
pub fn inner(status: Rect) -> Rect {
    Rect {
        x: status.x + status.width.min(1),
        width: status.width.saturating_sub(2),
        ..status
    }
}

fn look(app: &App, theme: &Theme) -> (&'static str, Style) {
    if app.is_refusal() {
        ("! ", theme.warn)
    } else {
        ("› ", theme.accent)
    }
}
