//! The panel where there is no room beside the conversation: three lines, or one.
//!
//! With `auto`, the third tells what was chosen and why, instead of where the time goes.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::ui::format::{UNKNOWN, age, number, percent, sparkline, verdict};
use crate::ui::panel::{plain_rate, positions, strategy_spans, why_unknown};
use crate::ui::theme::Theme;
use crate::ui::{auto, fit, put};

/// Positions of the draft whose acceptance is shown.
const POSITIONS: usize = 4;
/// Columns between two parts of a line.
const GAP: usize = 3;
/// With fewer columns for it, a reason is not cut for the sake of the shares.
const LEAST_REASON: usize = 30;
/// Columns of the second line without its sparkline.
const BESIDE_SPARKS: u16 = 51;

/// Draws one line, or three and a rule.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let inner = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(2),
        ..area
    };
    let lines = if area.height >= 3 {
        three(
            app,
            theme,
            inner
                .width
                .saturating_sub(BESIDE_SPARKS)
                .clamp(4, 24)
                .into(),
            inner.width,
        )
    } else {
        vec![one(app, theme)]
    };
    let n_lines = lines.len() as u16;
    for (row, parts) in lines.into_iter().enumerate() {
        put(
            buffer,
            inner,
            row as u16,
            fit(parts, &Span::raw("   "), inner.width),
        );
    }
    put(
        buffer,
        area,
        n_lines,
        Line::styled("─".repeat(area.width.into()), theme.dim),
    );
}

type Parts = Vec<Vec<Span<'static>>>;

fn one(app: &App, theme: &Theme) -> Parts {
    let stats = &app.shown().stats;
    let speed_up = match stats.speed_up() {
        Some(speed_up) => {
            let (glyph, _, style) = verdict(speed_up, theme);
            Span::styled(format!("{glyph} {speed_up:.2}x plain"), style)
        }
        None => Span::styled(format!("{UNKNOWN} {}", why_unknown(app.shown())), theme.dim),
    };
    let text = |text: String| vec![Span::styled(text, theme.text)];
    vec![
        strategy_spans(app, theme),
        vec![speed_up],
        text(format!(
            "{} /pass",
            number(stats.answer().tokens_per_pass(), 4, 2)
        )),
        text(format!(
            "{} tok/s",
            number(stats.decode().tokens_per_second(), 5, 1)
        )),
    ]
}

fn three(app: &App, theme: &Theme, sparks: usize, width: u16) -> Vec<Parts> {
    let shown = app.shown();
    let stats = &shown.stats;
    let rolling = stats.rolling();
    let named = |name: &str, value: String| {
        vec![
            Span::styled(format!("{name} "), theme.panel_label),
            Span::styled(value, theme.text),
        ]
    };
    let verdict = match stats.speed_up() {
        Some(speed_up) => {
            let (glyph, word, style) = verdict(speed_up, theme);
            Span::styled(format!("{glyph} {speed_up:.2}x {word} plain"), style)
        }
        None => Span::styled(format!("{UNKNOWN} {}", why_unknown(shown)), theme.dim),
    };
    let mut first = vec![
        strategy_spans(app, theme),
        vec![verdict],
        vec![Span::styled(
            format!("{} tok/s", number(stats.decode().tokens_per_second(), 5, 1)),
            theme.text,
        )],
    ];
    if let (Some(plain), Some(since)) = (plain_rate(shown), app.baseline_age()) {
        first.push(named("plain", format!("{plain:.1}, {}", age(since))));
    }
    let now = stats.recent_emitted().last().map(|now| now as f64);
    let second = vec![
        named("per pass", number(stats.answer().tokens_per_pass(), 5, 2)),
        vec![
            Span::styled(
                format!("{:<sparks$}", sparkline(stats.recent_emitted(), sparks)),
                theme.accent,
            ),
            Span::styled(format!(" now {}", number(now, 2, 0)), theme.text),
        ],
        named("accepted", positions(&rolling, POSITIONS)),
    ];
    if auto::is_active(app) && shown.note.is_none() {
        return vec![first, second, choice(app, theme, width.into())];
    }
    let time = |name, ms, share| named(name, format!("{} ms {}", number(ms, 6, 1), percent(share)));
    let mut third = vec![
        time(
            "draft",
            rolling.draft_ms(),
            rolling.share(rolling.draft_time),
        ),
        time(
            "verify",
            rolling.verify_ms(),
            rolling.share(rolling.verify_time),
        ),
    ];
    if let Some(note) = &shown.note {
        third.push(vec![Span::styled(format!("! {note}"), theme.warn)]);
    }
    vec![first, second, third]
}

/// Why `auto` chose as it did, and beside it, always in the same columns, who drafted how often.
fn choice(app: &App, theme: &Theme, width: usize) -> Parts {
    let beside = auto::SHARES + GAP;
    let (room, shares) = if width >= LEAST_REASON + beside {
        (width - beside, auto::shares(app, theme))
    } else {
        (width, Vec::new())
    };
    let (text, style) = match auto::reason(app.shown()) {
        Some(reason) => (reason, theme.text),
        None => ("nothing chosen yet", theme.dim),
    };
    let reason = auto::in_rows(text, 1, room).concat();
    let reason = Span::styled(format!("{reason:room$}"), style);
    vec![vec![reason], shares]
}
