//! The panel where there is no room beside the conversation: three lines, or one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::app::App;
use crate::ui::format::{UNKNOWN, age, number, percent, sparkline, verdict};
use crate::ui::panel::{positions, strategy_spans, why_unknown};
use crate::ui::theme::Theme;
use crate::ui::{fit, put};

/// Columns of the sparkline.
const SPARKS: usize = 16;
/// Positions of the draft whose acceptance is shown.
const POSITIONS: usize = 6;

/// Draws one line or three.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
    let lines = if area.height >= 3 { three(app, theme) } else { vec![one(app, theme)] };
    for (row, parts) in lines.into_iter().enumerate() {
        put(buffer, inner, row as u16, fit(parts, Span::raw("   "), inner.width));
    }
}

type Parts = Vec<Vec<Span<'static>>>;

fn one(app: &App, theme: &Theme) -> Parts {
    let stats = &app.shown().stats;
    let speed_up = match stats.speed_up() {
        Some(speed_up) => {
            let (glyph, _, style) = verdict(speed_up, theme);
            Span::styled(format!("{glyph} {speed_up:.2}x plain"), style)
        }
        None => Span::styled(format!("{UNKNOWN} x plain"), theme.dim),
    };
    let text = |text: String| vec![Span::styled(text, theme.text)];
    vec![
        strategy_spans(app, theme),
        vec![speed_up],
        text(format!("{} /pass", number(stats.answer().tokens_per_pass(), 4, 2))),
        text(format!("{} tok/s", number(stats.decode().tokens_per_second(), 5, 1))),
    ]
}

fn three(app: &App, theme: &Theme) -> Vec<Parts> {
    let shown = app.shown();
    let stats = &shown.stats;
    let rolling = stats.rolling();
    let named = |name: &str, value: String| {
        vec![Span::styled(format!("{name} "), theme.panel_label), Span::styled(value, theme.text)]
    };
    let verdict = match stats.speed_up() {
        Some(speed_up) => {
            let (glyph, word, style) = verdict(speed_up, theme);
            let than = if word == "as fast" { "as" } else { "than" };
            Span::styled(format!("{glyph} {speed_up:.2}x {word} {than} plain"), style)
        }
        None => Span::styled(format!("{UNKNOWN} {}", why_unknown(shown)), theme.dim),
    };
    let mut first = vec![
        strategy_spans(app, theme),
        vec![verdict],
        named("speed", format!("{} tok/s", number(stats.decode().tokens_per_second(), 5, 1))),
    ];
    if let (Some(baseline), Some(since)) = (stats.baseline(), app.baseline_age()) {
        let plain = number(Some(1.0 / baseline.per_token.as_secs_f64()), 5, 1);
        first.push(named("plain", format!("{plain} ({})", age(since))));
    }
    let now = stats.recent_emitted().last().map(|now| now as f64);
    let second = vec![
        named("tokens/pass", number(stats.answer().tokens_per_pass(), 5, 2)),
        vec![
            Span::styled(format!("{:<SPARKS$}", sparkline(stats.recent_emitted(), SPARKS)), theme.accent),
            Span::styled(format!(" now {}", number(now, 2, 0)), theme.text),
        ],
        named("accepted", positions(&rolling, POSITIONS)),
    ];
    let time = |name, ms, share| named(name, format!("{} ms {}", number(ms, 6, 1), percent(share)));
    let mut third = vec![
        time("draft", rolling.draft_ms(), rolling.share(rolling.draft_time)),
        time("verify", rolling.verify_ms(), rolling.share(rolling.verify_time)),
    ];
    if let Some(note) = &shown.note {
        third.push(vec![Span::styled(format!("! {note}"), Style { ..theme.warn })]);
    }
    vec![first, second, third]
}
