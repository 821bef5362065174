//! The line that finds text in the conversation, in the place of the input.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::app::find::Find;
use crate::app::geometry::{Geometry, PROMPT_WIDTH};
use crate::app::wrap::{grapheme_width, text_width};
use crate::ui::theme::Theme;
use crate::ui::{put, put_ends};

/// Draws the line. Returns the cursor's place, if it is to be seen.
pub fn draw(
    find: &Find,
    theme: &Theme,
    geometry: &Geometry,
    buffer: &mut Buffer,
) -> Option<Position> {
    let area = geometry.input;
    put(buffer, area, 0, Line::styled("/ ", theme.accent));
    let text_area = Rect {
        x: area.x + PROMPT_WIDTH.min(area.width),
        width: area.width.saturating_sub(PROMPT_WIDTH),
        ..area
    };
    let count = match (find.count(), find.query().is_empty()) {
        (_, true) => Span::raw(""),
        ((_, 0), false) => Span::styled("nothing found ", theme.warn),
        ((position, all), false) => Span::styled(format!("{position}/{all} "), theme.accent),
    };
    let room = usize::from(text_area.width).saturating_sub(count.width() + 2);
    let query = end_of(find.query(), room);
    let width = text_width(query) as u16;
    let left = if find.query().is_empty() {
        Line::styled("Find in the conversation", theme.dim)
    } else {
        Line::styled(query.to_owned(), theme.text)
    };
    put_ends(buffer, text_area, 0, left, Line::from(count));
    (text_area.area() > 0).then(|| Position {
        x: (text_area.x + width).min(text_area.right() - 1),
        y: text_area.y,
    })
}

/// The end of `text` that fits into `width` columns.
fn end_of(text: &str, width: usize) -> &str {
    let mut columns = 0;
    let fitting = text
        .grapheme_indices(true)
        .rev()
        .take_while(|(_, grapheme)| {
            columns += grapheme_width(grapheme);
            columns <= width
        });
    let start = fitting.last().map_or(text.len(), |(at, _)| at);
    &text[start..]
}
