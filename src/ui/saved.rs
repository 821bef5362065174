//! The list of saved chats, over the conversation.
//!
//! ```text
//!  saved chats                                                        2 of 12
//!  > palindrome                                             type to filter
//!  ▸ 2026-11-30 14:32    3 turns  Write is_palindrome(s) with a test   scripted
//!    2026-11-29 09:10   12 turns  my notes on palindromes              SmolLM2-135M
//! ```
//! Where that is too wide the model goes first, then the date becomes short, then the turns go.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::app::saved::{Item, SavedChats};
use crate::app::wrap::cut;
use crate::ui::theme::Theme;
use crate::ui::{filter, put, put_ends};

/// From this many columns on, the model is shown.
const MODEL_FROM: u16 = 70;
/// From this many columns on, date and time are told in full.
const TIME_FROM: u16 = 44;
/// From this many columns on, turns are told.
const TURNS_FROM: u16 = 30;
/// From this many columns on, a date is told.
const DATE_FROM: u16 = 16;

/// Draws the list, so that the marked chat is in view.
pub fn draw(chats: &SavedChats, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let area = filter::inner(area);
    let list = chats.list();
    let shown = list.shown();
    filter::draw("saved chats", list, &shown, theme, area, buffer);
    let below = filter::below(area, filter::HEAD);
    let said = match list.count() {
        _ if chats.is_opening() => "… opening",
        None => "… reading",
        Some(0) => "There is no other saved chat yet. Each is saved as you chat.",
        Some(_) if shown.is_empty() => "No chat has all of these words.",
        Some(_) => return rows(&shown, list.selected(), theme, below, buffer),
    };
    put(buffer, below, 0, Line::styled(said, theme.dim));
}

fn rows(shown: &[&Item], selected: usize, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let top = (selected + 1).saturating_sub(height);
    let dates = shown.iter().map(|item| item.brief.width()).max();
    let dates = dates.unwrap_or(0);
    for (row, (index, item)) in shown.iter().enumerate().skip(top).take(height).enumerate() {
        let marked = index == selected;
        let (mark, style) = if marked {
            (Span::styled("▸ ", theme.accent), theme.accent)
        } else {
            (Span::raw("  "), theme.text)
        };
        let mut left = vec![mark];
        if area.width >= TIME_FROM {
            left.push(Span::styled(format!("{}  ", item.when), theme.dim));
        } else if area.width >= DATE_FROM {
            left.push(Span::styled(format!("{:<dates$}  ", item.brief), theme.dim));
        }
        left.push(match item.turns {
            None if area.width < TURNS_FROM => Span::styled("✗ ", theme.error),
            None => Span::styled("  ✗ error   ", theme.error),
            Some(_) if area.width < TURNS_FROM => Span::raw(""),
            Some(1) => Span::styled("   1 turn   ", theme.dim),
            Some(turns) => Span::styled(format!("{turns:>4} turns  "), theme.dim),
        });
        let model = if area.width >= MODEL_FROM {
            item.model.as_str()
        } else {
            ""
        };
        let taken: usize = left.iter().map(Span::width).sum();
        let room = usize::from(area.width).saturating_sub(taken + model.width() + 2);
        left.push(Span::styled(cut(&item.title, room), style));
        let right = Line::styled(model, theme.dim);
        put_ends(buffer, area, row as u16, Line::from(left), right);
    }
}
