//! The state → cells. Drawing never changes the state.
//!
//! ```text
//!  You                                              │ ◆ draft              Shift-Tab
//!    Write is_palindrome(s).                        │
//!                                                   │ ▲ 1.93x  faster than plain
//!  SmolLM2-135M                  transcript.rs      │
//!    def is_palindrome(s):       welcome.rs         │ tokens/pass 3.41      panel.rs
//!      ...                       help.rs            │ ▁▃▆█▆▃▇█
//!    … writing                                      │ accepted .86 .71 .60 .44
//! ────────────────────────────── ↓ 14 new lines ────┤ draft   12.1 ms ━━┄┄┄┄  29 %
//! > _                            input.rs           │ verify  29.8 ms ━━━━┄┄  71 %
//!  SmolLM2-135M · cpu ×2 · ctx 412/8192    status.rs      Shift-Tab strategy · ? help
//! ```
//! Below 90 columns the panel is a strip of three lines above the input (strip.rs), below 60 of
//! one; below 30x8 there are only the last lines and the input. Where things stand is told by
//! [`crate::app::geometry`]. Every state has a glyph and a word, never a colour alone.

mod answer;
mod auto;
mod color;
mod filter;
mod find;
mod format;
mod help;
mod input;
mod notice;
mod panel;
mod picker;
mod popup;
mod progress;
mod saved;
mod status;
mod strip;
mod text;
mod theme;
mod transcript;
mod welcome;

pub use color::ColorDepth;
pub use theme::Theme;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::geometry::{Geometry, PanelArea};
use crate::app::overlay::Overlay;
use crate::app::scroll::Below;
use crate::app::{App, Phase};

/// Draws the whole screen.
pub fn draw(app: &App, theme: &Theme, frame: &mut Frame) {
    let screen = frame.area();
    let geometry = app.geometry(screen);
    let buffer = frame.buffer_mut();
    buffer.set_style(screen, theme.background);
    let mut cursor = None;
    match app.overlay() {
        Overlay::Picker(models) => {
            picker::draw(models, theme, geometry.transcript, buffer);
            cursor = filter::cursor(models.filter(), geometry.transcript);
        }
        Overlay::Saved(chats) => {
            saved::draw(chats, theme, geometry.transcript, buffer);
            cursor = filter::cursor(chats.list().filter(), geometry.transcript);
        }
        Overlay::Help(top) => help::draw(*top, theme, geometry.help(), buffer),
        Overlay::None | Overlay::Find(_) | Overlay::Search(_) => {
            conversation(app, theme, &geometry, buffer);
        }
    }
    let notice = notice::above(app, theme, &geometry);
    let list = app.popup().filter(|_| notice.is_none());
    rule(
        app,
        theme,
        geometry.rule,
        geometry.transcript.height,
        buffer,
    );
    let list_area = list.as_ref().map(|list| popup::area(list, &geometry));
    let over = notice.as_ref().map(|(area, _)| *area).or(list_area);
    match geometry.panel {
        PanelArea::Hidden => {}
        PanelArea::Side(area) => {
            panel::draw(app, theme, area, buffer);
            put(
                buffer,
                Rect { width: 1, ..area },
                over.map_or(geometry.rule.y, |over| over.y) - area.y,
                Line::styled("┤", theme.dim),
            );
        }
        PanelArea::Strip(area) => strip::draw(app, theme, area, buffer),
    }
    status::draw(app, theme, geometry.status, buffer);
    if let Some(list) = &list {
        popup::draw(list, theme, &geometry, buffer);
    }
    if let Some(notice) = &notice {
        notice::draw(app, theme, notice, buffer);
    }
    let typing = match app.find() {
        Some(find) => find::draw(find, theme, &geometry, buffer),
        None => input::draw(app, theme, &geometry, buffer),
    };
    if let Some(cursor) = cursor.or(typing) {
        frame.set_cursor_position(cursor);
    }
}

/// The conversation; until the first question the welcome, with notes below it where both fit.
fn conversation(app: &App, theme: &Theme, geometry: &Geometry, buffer: &mut Buffer) {
    let area = geometry.transcript;
    let notes = u16::try_from(app.transcript().len()).unwrap_or(u16::MAX);
    let blank = u16::from(notes > 0);
    let room = Rect {
        height: area.height.saturating_sub(notes).saturating_sub(blank),
        ..area
    };
    let welcomed = match app.phase() {
        Phase::Dead => false,
        Phase::Starting | Phase::Fetching(_) | Phase::Loading(_) | Phase::Ready => {
            app.transcript().is_unused()
                && (app.transcript().is_empty() || welcome::fits(app, theme, room))
        }
    };
    if !welcomed {
        transcript::draw(app, theme, geometry, buffer);
        return;
    }
    welcome::draw(app, theme, room, buffer);
    let below = Geometry {
        transcript: Rect {
            y: room.bottom() + blank,
            height: notes,
            ..area
        },
        ..*geometry
    };
    transcript::draw(app, theme, &below, buffer);
}

/// The line above the input, with what lies below the view.
fn rule(app: &App, theme: &Theme, area: Rect, height: u16, buffer: &mut Buffer) {
    put(
        buffer,
        area,
        0,
        Line::styled("─".repeat(area.width.into()), theme.dim),
    );
    if app.show_tokens() {
        put(buffer, area, 0, legend(theme, area.width));
    }
    let count = |lines: usize| {
        if lines == 1 {
            "1 line".to_owned()
        } else {
            format!("{lines} lines")
        }
    };
    let (text, style) = match app.scroll().below(app.transcript().len(), height.into()) {
        Below::Nothing => return,
        Below::Seen(lines) => (format!(" ↓ {} below · End ", count(lines)), theme.dim),
        Below::New(lines) => (
            format!(" ↓ {} · End ", count(lines).replacen(' ', " new ", 1)),
            theme.accent,
        ),
    };
    let marker = Line::styled(text, style);
    let x = area
        .right()
        .saturating_sub(marker.width() as u16 + 2)
        .max(area.x);
    put(
        buffer,
        Rect {
            x,
            width: area.right() - x,
            ..area
        },
        0,
        marker,
    );
}

/// How accepted tokens are marked, by who drafted them.
fn legend(theme: &Theme, width: u16) -> Line<'static> {
    let mut parts = vec![vec![Span::styled("── accepted from", theme.dim)]];
    for name in ["draft", "lookup", "recycling"] {
        let mark = theme.accepted_by(name);
        parts.push(vec![
            Span::styled(
                format!("{} ", format::strategy_glyph(name)),
                theme.strategy(name),
            ),
            Span::styled(name, mark),
        ]);
    }
    parts.push(vec![Span::styled("─", theme.dim)]);
    fit(parts, &Span::raw(" "), width)
}

/// Puts a line into row `row` of `area`; what does not fit is cut off.
fn put(buffer: &mut Buffer, area: Rect, row: u16, line: Line<'_>) {
    if row < area.height {
        line.render(
            Rect {
                y: area.y + row,
                height: 1,
                ..area
            },
            buffer,
        );
    }
}

/// Puts text at both ends of a row; the right one only where there is room.
fn put_ends(buffer: &mut Buffer, area: Rect, row: u16, left: Line<'_>, right: Line<'_>) {
    let room = usize::from(area.width) > left.width() + right.width();
    put(buffer, area, row, left);
    if room {
        put(buffer, area, row, right.right_aligned());
    }
}

/// The parts, separated, as many as fit into `width` columns.
fn fit<'a>(
    parts: impl IntoIterator<Item = Vec<Span<'a>>>,
    separator: &Span<'a>,
    width: u16,
) -> Line<'a> {
    let mut line = Line::default();
    for part in parts {
        let gap = if line.spans.is_empty() {
            0
        } else {
            separator.width()
        };
        let part_width: usize = part.iter().map(Span::width).sum();
        if line.width() + gap + part_width > usize::from(width) {
            break;
        }
        if gap > 0 {
            line.push_span(separator.clone());
        }
        line.extend(part);
    }
    line
}
