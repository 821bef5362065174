//! The status bar: what runs where, how full the context is, and the keys that matter now.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::overlay::Overlay;
use crate::app::{App, Phase};
use crate::ui::format::{self, UNKNOWN};
use crate::ui::progress::Progress;
use crate::ui::theme::Theme;
use crate::ui::{fit, notice, put_ends};

/// Draws the status bar.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let inner = notice::inner(area);
    let dot = Span::styled(" · ", theme.dim);
    let left = notice::line(app, theme, inner.width).unwrap_or_else(|| {
        // How to get help matters more than the last of the facts.
        let first = hints(app).first().map_or(0, |hint| hint.len() as u16 + 2);
        facts(app, theme, inner.width.saturating_sub(first))
    });
    let room = inner.width.saturating_sub(left.width() as u16 + 2);
    let right = fit(
        hints(app)
            .iter()
            .map(|hint| vec![Span::styled(*hint, theme.dim)]),
        &dot,
        room,
    );
    put_ends(buffer, inner, 0, left, right);
}

fn facts(app: &App, theme: &Theme, width: u16) -> Line<'static> {
    let part = |text: String| vec![Span::styled(text, theme.dim)];
    match (app.phase(), app.ready()) {
        (Phase::Dead, _) => Line::styled("✗ the engine has ended", theme.error),
        (Phase::Starting | Phase::Fetching(_) | Phase::Loading(_), _) | (Phase::Ready, None) => {
            let parts = Progress::of(app).map(|progress| progress.parts(theme));
            fit(parts.unwrap_or_default(), &Span::raw(" "), width)
        }
        (Phase::Ready, Some(ready)) => {
            let used = app
                .shown()
                .context_used
                .map_or(UNKNOWN.to_owned(), |used| used.to_string());
            let sampling = ready.sampling().map(|info| part(format::sampling(info)));
            let parts = [
                part(ready.target.clone()),
                part(format!("ctx {used}/{}", ready.context_limit)),
                part(ready.device.clone()),
            ];
            let parts = parts.into_iter().chain(sampling);
            fit(parts, &Span::styled(" · ", theme.dim), width)
        }
    }
}

/// The keys that matter now, the most important first.
fn hints(app: &App) -> &'static [&'static str] {
    match app.overlay() {
        Overlay::Help(_) => &["Esc close"],
        Overlay::Find(_) => &["Enter next", "Esc close", "Ctrl-P previous"],
        Overlay::Search(_) => &["Enter take", "Ctrl-R older", "Esc back"],
        Overlay::Picker(_) => &["Enter load", "Esc close"],
        Overlay::Saved(saved) if saved.is_opening() => &["Ctrl-D quit"],
        Overlay::Saved(_) => &["Enter open", "Esc close"],
        Overlay::None => match app.popup() {
            Some(list) if list.enter_runs => &["Enter run", "Tab complete", "Esc close"],
            Some(_) => &["Tab complete", "↑↓ choose", "Esc close"],
            None => chat_hints(app),
        },
    }
}

fn chat_hints(app: &App) -> &'static [&'static str] {
    match (app.phase(), app.answering()) {
        (Phase::Dead, _) => &["/reload", "q quit"],
        (_, true) => &["Ctrl-C stop", "Shift-Tab strategy"],
        (Phase::Starting | Phase::Fetching(_) | Phase::Loading(_), false) => {
            if app.changing_models() {
                &["Esc stop", "? help"]
            } else {
                &["? help", "Ctrl-D quit"]
            }
        }
        (Phase::Ready, false) => &["? help", "Shift-Tab strategy"],
    }
}
