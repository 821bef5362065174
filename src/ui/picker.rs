//! The picker of `/model`, over the conversation.
//!
//! ```text
//!  models                                           2 of 7
//!  > qw_                                    type to filter
//!  ▸ Qwen2.5-0.5B     491.4 MB  ✓ here
//!    Qwen2.5-72B       47.4 GB  ✗ cannot run
//!
//!    weights and context need …          of the one that is chosen
//!    owner/repo:file.gguf@main
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::picker::Picker;
use crate::app::wrap::{Break, cut, text_width, wrap};
use crate::clean::clean;
use crate::engine::protocol::ModelEntry;
use crate::ui::format::bytes;
use crate::ui::theme::Theme;
use crate::ui::{filter, put};

/// Rows for what is told of the choice, with the space before it.
const DETAIL: u16 = 4;
/// Screens with fewer rows of models than this have no details.
const LEAST_ROWS: u16 = 3;
/// Columns of `  1234.5 MB`.
const SIZE: usize = 11;
/// Columns of `  ✗ cannot run`.
const STATE: usize = 14;
/// Titles have at least this many columns: size and state are left out first.
const LEAST_TITLE: usize = 12;

/// Draws the open picker, so that the choice is in view.
pub fn draw(picker: &Picker, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let inner = filter::inner(area);
    let shown = picker.shown();
    filter::draw("models", picker, &shown, theme, inner, buffer);
    list(
        picker,
        &shown,
        theme,
        filter::below(inner, filter::HEAD),
        buffer,
    );
}

fn list(picker: &Picker, entries: &[&ModelEntry], theme: &Theme, area: Rect, buffer: &mut Buffer) {
    if entries.is_empty() {
        let why = if picker.is_waiting() {
            "… looking"
        } else {
            "No model here has all of these words. /model REF takes any that speck can fetch."
        };
        paragraph(why, 0, theme, area, buffer);
        return;
    }
    let detailed = area.height >= LEAST_ROWS + DETAIL;
    let rows = area.height - if detailed { DETAIL } else { 0 };
    let most = usize::from(rows).max(1);
    let selected = picker.selected().min(entries.len() - 1);
    // The choice stays in view.
    let top = (selected + 1).saturating_sub(most);
    let longest = entries.iter().map(|entry| text_width(&entry.title)).max();
    let width = usize::from(area.width).saturating_sub(2);
    let room = match width.checked_sub(SIZE + STATE) {
        Some(room) if room >= LEAST_TITLE => room,
        Some(_) | None => width,
    };
    let columns = longest.unwrap_or(0).min(room);
    for (row, entry) in entries.iter().enumerate().skip(top).take(most) {
        let line = entry_line(entry, row == selected, columns, theme);
        put(
            buffer,
            Rect {
                height: rows,
                ..area
            },
            (row - top) as u16,
            line,
        );
    }
    if detailed {
        let shown = u16::try_from(entries.len()).unwrap_or(rows).min(rows);
        detail(
            entries[selected],
            theme,
            filter::below(area, shown + 1),
            buffer,
        );
    }
}

fn entry_line(entry: &ModelEntry, chosen: bool, columns: usize, theme: &Theme) -> Line<'static> {
    let size = entry.size.map_or(String::new(), |size| {
        let (number, unit) = bytes(size as f64, size as f64);
        format!("{number} {unit}")
    });
    let (state, style) = match (&entry.unfit, entry.here) {
        (Some(_), _) => ("✗ cannot run", theme.warn),
        (None, true) => ("✓ here", theme.ok),
        (None, false) => ("⇣ to fetch", theme.dim),
    };
    let text = if chosen { theme.accent } else { theme.text };
    let mark = if chosen { "▸ " } else { "  " };
    let title = cut(&entry.title, columns);
    let pad = " ".repeat(columns - text_width(&title));
    Line::from(vec![
        Span::styled(mark, theme.accent),
        Span::styled(title + &pad, text),
        Span::styled(format!("{size:>SIZE$}"), theme.dim),
        Span::styled(format!("  {state}"), style),
    ])
}

/// What is told of the choice: why it cannot be loaded, its name on the command line, what it is.
fn detail(entry: &ModelEntry, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    // The name is kept as it is, to be loaded by.
    let name = clean(&entry.reference);
    let told = [entry.unfit.as_deref(), Some(&name), Some(&entry.about)];
    let mut row = 0;
    for text in told.into_iter().flatten().filter(|text| !text.is_empty()) {
        row += paragraph(text, row, theme, area, buffer);
    }
}

/// Puts text from row `from` on and says how many rows it takes.
fn paragraph(text: &str, from: u16, theme: &Theme, area: Rect, buffer: &mut Buffer) -> u16 {
    let mut lines = Vec::new();
    let width = usize::from(area.width.saturating_sub(2)).max(1);
    wrap(text, 0, width, Break::Words, &mut lines);
    for (row, line) in (from..).zip(&lines) {
        let text = text[line.range.clone()].trim_end();
        put(
            buffer,
            area,
            row,
            Line::styled(format!("  {text}"), theme.dim),
        );
    }
    u16::try_from(lines.len()).unwrap_or(u16::MAX)
}
