//! The list above the input: commands that complete what is typed, or messages typed before.
//!
//! ```text
//! ── commands ───────────────────────── 1/14 ──
//! ▸ /mode [NAME]  use this strategy
//!   /new          start a new chat
//! > /_
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::app::geometry::Geometry;
use crate::app::popup::{Popup, PopupRow};
use crate::app::wrap::{cut, text_width};
use crate::ui::put;
use crate::ui::theme::Theme;

/// Labels get at most this share of the width where there is help beside them.
const LABEL_SHARE: usize = 2;
/// Columns of `▸ ` before a label, and of the space behind it.
const MARK: usize = 2;

/// Where the list stands. A short one covers all of the strip: its title is the rule above that.
pub fn area(popup: &Popup, geometry: &Geometry) -> Rect {
    let height = n_rows(popup, geometry) as u16 + 1;
    let top = geometry.input.y.saturating_sub(height);
    let y = top.min(geometry.rule.y);
    Rect {
        y,
        height: geometry.input.y - y,
        ..geometry.input
    }
}

/// How many rows of the list are shown at a time.
fn n_rows(popup: &Popup, geometry: &Geometry) -> usize {
    popup.rows.len().min(geometry.popup_rows().into())
}

/// Draws the list over what stands above the input.
pub fn draw(popup: &Popup, theme: &Theme, geometry: &Geometry, buffer: &mut Buffer) {
    let area = area(popup, geometry);
    let n_rows = n_rows(popup, geometry);
    Clear.render(area, buffer);
    buffer.set_style(area, theme.background);
    put(
        buffer,
        area,
        0,
        rule(popup, n_rows, area.width.into(), theme),
    );
    let first = (popup.selected + 1).saturating_sub(n_rows);
    let shown = popup.rows.get(first..first + n_rows).unwrap_or_default();
    let width = usize::from(area.width).saturating_sub(MARK + 1);
    let label = shown.iter().map(|row| text_width(&row.label)).max();
    let label = label
        .unwrap_or(0)
        .min(if shown.iter().all(|row| row.help.is_empty()) {
            width
        } else {
            width / LABEL_SHARE
        });
    for (i, row) in shown.iter().enumerate() {
        let selected = popup.enter_takes && first + i == popup.selected;
        put(
            buffer,
            area,
            i as u16 + 1,
            line(row, selected, [label, width], theme),
        );
    }
}

fn rule(popup: &Popup, n_rows: usize, width: usize, theme: &Theme) -> Line<'static> {
    let title = format!("── {} ", popup.title);
    let place = if popup.rows.len() > n_rows {
        format!(" {}/{} ──", popup.selected + 1, popup.rows.len())
    } else {
        String::new()
    };
    let between = width.saturating_sub(text_width(&title) + text_width(&place));
    Line::styled(format!("{title}{}{place}", "─".repeat(between)), theme.dim)
}

fn line(
    row: &PopupRow,
    selected: bool,
    [label, width]: [usize; 2],
    theme: &Theme,
) -> Line<'static> {
    let name = cut(&row.label, label);
    let pad = " ".repeat(label - text_width(&name));
    let help = cut(&row.help, width.saturating_sub(label + MARK));
    let mut line = Line::from(vec![
        Span::styled(if selected { "▸ " } else { "  " }, theme.accent),
        Span::styled(format!("{name}{pad}  "), theme.accent),
        Span::styled(help, theme.dim),
    ]);
    if selected {
        let rest = (width + MARK).saturating_sub(line.width());
        line.push_span(" ".repeat(rest));
        for span in &mut line.spans {
            span.style = theme.selection;
        }
    }
    line
}
