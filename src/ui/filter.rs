//! The head of a list that is filtered by typing: its title, how many it shows, and what is typed.
//!
//! ```text
//!  saved chats                                                        2 of 12
//!  > palindrome_                                            type to filter
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::app::filtered::{Filtered, Searched};
use crate::ui::put_ends;
use crate::ui::theme::Theme;

/// Rows of the head.
pub const HEAD: u16 = 2;
/// What stands before the filter.
const PROMPT: &str = "> ";

/// Draws the head into the first two rows of `area`, with how many of how many are `shown`.
pub fn draw<T: Searched>(
    title: &'static str,
    list: &Filtered<T>,
    shown: &[&T],
    theme: &Theme,
    area: Rect,
    buffer: &mut Buffer,
) {
    let filter = list.filter();
    let count = list.count();
    let count = count.map_or(String::new(), |all| format!("{} of {all}", shown.len()));
    put_ends(
        buffer,
        area,
        0,
        Line::styled(title, theme.assistant),
        Line::styled(count, theme.dim),
    );
    let typed = Line::from(vec![
        Span::styled(PROMPT, theme.accent),
        Span::styled(tail(filter, room(area)), theme.text),
    ]);
    let hint = if filter.is_empty() {
        "type to filter"
    } else {
        ""
    };
    put_ends(buffer, area, 1, typed, Line::styled(hint, theme.dim));
}

/// Where the next character of the filter will stand, of a list that stands in `area`, margins included.
pub fn cursor(filter: &str, area: Rect) -> Option<Position> {
    let area = inner(area);
    let column = PROMPT.width() + tail(filter, room(area)).width();
    let x = area.x + column as u16;
    (area.height >= 2 && x < area.right()).then(|| Position::new(x, area.y + 1))
}

/// What is left of `area` below so many rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect {
        y: area.y + rows,
        height: area.height - rows,
        ..area
    }
}

/// `area` without its margins.
pub fn inner(area: Rect) -> Rect {
    Rect {
        x: area.x + area.width.min(1),
        width: area.width.saturating_sub(2),
        ..area
    }
}

/// Columns for the filter, with its cursor.
fn room(area: Rect) -> usize {
    usize::from(area.width).saturating_sub(PROMPT.len() + 1)
}

/// As much of the end of `text` as fits into `width` columns.
fn tail(text: &str, width: usize) -> &str {
    let starts = text.char_indices().map(|(at, _)| at);
    let fits = |at: &usize| text[*at..].width() <= width;
    starts
        .chain([text.len()])
        .find(fits)
        .map_or("", |at| &text[at..])
}
