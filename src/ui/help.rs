//! The help: keys and commands, over the conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::app::help::{Row, rows};
use crate::ui::put;
use crate::ui::theme::Theme;

/// Columns of the keys.
const KEYS: usize = 14;

/// Draws the help from its first line in view; the last line tells that there is more.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let rows = rows();
    let height = usize::from(area.height);
    let top = app
        .help()
        .unwrap_or(0)
        .min(rows.len().saturating_sub(height));
    let inner = Rect {
        x: area.x + area.width.min(1),
        width: area.width.saturating_sub(1),
        ..area
    };
    for (row, entry) in rows[top..].iter().take(height).enumerate() {
        let line = match entry {
            Row::Title(title) => Line::styled(*title, theme.assistant),
            Row::Blank => Line::default(),
            Row::Entry(key, does) => Line::from(vec![
                Span::styled(format!("  {key:<KEYS$}"), theme.accent),
                Span::styled(*does, theme.text),
            ]),
        };
        put(buffer, inner, row as u16, line);
    }
    let more = if rows.len() > top + height {
        "↓ more"
    } else {
        ""
    };
    let below = Rect {
        height: area.height + 1,
        ..inner
    };
    put(
        buffer,
        below.intersection(buffer.area),
        area.height,
        Line::styled(more, theme.dim),
    );
}
