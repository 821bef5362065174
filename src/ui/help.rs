//! The help: keys and commands, over the conversation.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::help::{Row, columns, height};
use crate::ui::theme::Theme;
use crate::ui::{put, put_ends};

/// Columns of the keys.
const KEYS: usize = 14;
/// Columns narrower than this have no room for keys in a column of their own.
const ALIGNED_FROM: u16 = 30;

/// Draws the help from line `top` on; the line below tells that there is more, and what closes it.
pub fn draw(top: usize, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let rows = usize::from(area.height);
    let last = height(area.width).saturating_sub(rows);
    let top = top.min(last);
    let columns = columns(area.width);
    let inner = Rect {
        x: area.x + area.width.min(1),
        width: area.width.saturating_sub(1),
        ..area
    };
    let width = inner.width / columns.len().max(1) as u16;
    for (i, column) in columns.iter().enumerate() {
        let place = Rect {
            x: inner.x + width * i as u16,
            width,
            ..inner
        };
        for (row, entry) in column.iter().skip(top).take(rows).enumerate() {
            put(
                buffer,
                place,
                row as u16,
                line(entry, width >= ALIGNED_FROM, theme),
            );
        }
    }
    let more = match (top > 0, top < last) {
        (false, false) => "",
        (false, true) => "↓ more",
        (true, false) => "↑ more",
        (true, true) => "↑ ↓ more",
    };
    let below = Rect {
        height: area.height + 1,
        ..inner
    };
    put_ends(
        buffer,
        below.intersection(buffer.area),
        area.height,
        Line::styled(more, theme.dim),
        Line::styled("Esc, q or typing closes it ", theme.dim),
    );
}

fn line<'a>(row: &'a Row, aligned: bool, theme: &Theme) -> Line<'a> {
    match row {
        Row::Title(title) => Line::styled(*title, theme.assistant),
        Row::Blank => Line::default(),
        Row::Entry(key, does) => {
            let key = if aligned {
                format!("  {key:<KEYS$} ")
            } else {
                format!("{key} ")
            };
            Line::from(vec![
                Span::styled(key, theme.accent),
                Span::styled(*does, theme.text),
            ])
        }
    }
}
