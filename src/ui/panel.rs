//! The side panel: what drafts, whether it pays, and where the time goes.
//!
//! Numbers stand in columns of fixed width and do not jump. Where the screen is low, space goes
//! first, from the end on, then what stands last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::app::wrap::{Break, wrap};
use crate::app::{App, Shown};
use crate::engine::protocol::Ready;
use crate::stats::Totals;
use crate::ui::format::{
    self, UNKNOWN, acceptance, age, bar, number, percent, sparkline, strategy_glyph, verdict,
};
use crate::ui::theme::Theme;
use crate::ui::{auto, put};

/// Panels as high as this have two rows for why `auto` chose as it did.
const LONG_REASON_FROM: usize = 20;
/// Columns of the numbers' names.
const LABEL: usize = 10;
/// Columns of ` 12.1 ms`.
const MS: usize = 9;
/// Columns of `  29 %`.
const SHARE: usize = 6;
/// The rest of a round is told from this share on.
const OTHER_FROM: f64 = 0.05;
/// Contexts fuller than this are a warning.
const NEARLY_FULL: f64 = 0.9;

/// Draws the panel; the first column of `area` is the line between it and the conversation.
pub fn draw(app: &App, theme: &Theme, area: Rect, buffer: &mut Buffer) {
    for row in 0..area.height {
        put(
            buffer,
            Rect { width: 1, ..area },
            row,
            Line::styled("│", theme.dim),
        );
    }
    let inner = Rect {
        x: area.x + 2,
        width: area.width.saturating_sub(3),
        ..area
    };
    let width = usize::from(inner.width);
    let height = usize::from(inner.height);
    let groups = [
        strategy(app, theme, width, height),
        worth(app, theme),
        choice(app, theme),
        this_answer(app, theme),
        latest_passes(app.shown(), theme, width),
        context(app, theme, width),
        sampling(app, theme),
        note(app.shown(), theme, width),
        costs(app, theme),
    ];
    let groups: Vec<Vec<Line>> = groups
        .into_iter()
        .filter(|group| !group.is_empty())
        .collect();
    let lines: usize = groups.iter().map(Vec::len).sum();
    let mut spaces = height.saturating_sub(lines);
    let mut row = 0;
    for (i, group) in groups.into_iter().enumerate() {
        // The second row of a reason is mostly empty, and space enough.
        let space = spaces > 0 && (i > 0 || !auto::is_active(app));
        for line in group {
            put(buffer, inner, row, line);
            row += 1;
        }
        row += u16::from(space);
        spaces -= usize::from(space);
    }
}

/// What drafts, what was asked to, and what it is or, by `auto`, why.
fn strategy(app: &App, theme: &Theme, width: usize, height: usize) -> Vec<Line<'static>> {
    let mut name = Line::from_iter(strategy_spans(app, theme));
    let hint = "Shift-Tab";
    if name.width() + hint.len() < width {
        name.push_span(Span::raw(" ".repeat(width - name.width() - hint.len())));
        name.push_span(Span::styled(hint, theme.dim));
    }
    let summary = app
        .ready()
        .and_then(|ready| {
            ready
                .strategies
                .iter()
                .find(|info| Some(info.name) == app.strategy())
        })
        .map_or("", |info| info.summary);
    let mut lines = vec![name];
    if auto::is_active(app) {
        let rows = 1 + usize::from(height >= LONG_REASON_FROM);
        let (text, style) = match auto::reason(app.shown()) {
            Some(reason) => (reason, theme.text),
            None => (summary, theme.dim),
        };
        let rows = auto::in_rows(text, rows, width - 2);
        lines.extend(rows.iter().map(|row| indented(row, style)));
    } else {
        lines.push(indented(summary, theme.dim));
    }
    lines
}

fn indented(text: &str, style: Style) -> Line<'static> {
    Line::styled(format!("  {text}"), style)
}

/// What `auto` has to choose from, and what it may lose.
fn choice(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    if !auto::is_active(app) {
        return Vec::new();
    }
    let mut lines = auto::drafters_table(app, theme);
    lines.push(row("to spare", auto::ledger(app.shown()), theme));
    lines
}

/// What passes cost, where that is what drafting is chosen by.
fn costs(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let curve = auto::is_active(app).then(|| auto::curve(app.shown(), theme));
    curve.into_iter().collect()
}

/// `◆ draft`, or `○ plain → ◆ draft…` until a pass confirms it.
pub fn strategy_spans(app: &App, theme: &Theme) -> Vec<Span<'static>> {
    let named = |name: &str| {
        Span::styled(
            format!("{} {name}", strategy_glyph(name)),
            theme.strategy(name),
        )
    };
    let mut spans = vec![
        app.strategy()
            .map_or(Span::styled("no strategy yet", theme.dim), named),
    ];
    if let Some(wanted) = app.wanted() {
        spans.push(Span::styled(" → ", theme.dim));
        spans.push(named(wanted));
        spans.push(Span::styled("…", theme.strategy(wanted)));
    }
    spans
}

/// The speed-up, and what it is measured against.
fn worth(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![headline(app, theme)];
    lines.extend(plain(app, theme));
    lines
}

fn headline(app: &App, theme: &Theme) -> Line<'static> {
    match app.shown().stats.speed_up() {
        Some(speed_up) => {
            let (glyph, word, style) = verdict(speed_up, theme);
            Line::from(vec![
                Span::styled(
                    format!("{glyph} {speed_up:.2}x"),
                    style.add_modifier(Modifier::BOLD),
                ),
                Span::styled(format!("  {word} plain"), style),
            ])
        }
        None => Line::from(vec![
            Span::styled(UNKNOWN, theme.text),
            Span::styled(format!("  {}", why_unknown(app.shown())), theme.dim),
        ]),
    }
}

/// Why there is no speed-up.
pub fn why_unknown(shown: &Shown) -> &'static str {
    match shown.stats.baseline() {
        None => "plain not measured yet",
        Some(_) => match shown.stats.rolling() {
            rolling if rolling.passes == 0 => "no passes yet",
            rolling if rolling.drafted == 0 => "nothing drafted",
            _ => "too few passes yet",
        },
    }
}

fn label(text: &str, theme: &Theme) -> Line<'static> {
    Line::from(Span::styled(format!("{text:<LABEL$}"), theme.panel_label))
}

fn row(name: &str, value: impl Into<String>, theme: &Theme) -> Line<'static> {
    let mut line = label(name, theme);
    line.push_span(Span::styled(value.into(), theme.text));
    line
}

/// What plain decoding takes, and how long ago that was measured.
fn plain(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = vec![row(
        "plain",
        format!("{} tok/s", number(plain_rate(app.shown()), 6, 1)),
        theme,
    )];
    if let (Some(baseline), Some(since)) = (app.shown().stats.baseline(), app.baseline_age()) {
        lines.push(
            row(
                "",
                format!(" {}, ctx {}", age(since), baseline.context),
                theme,
            )
            .style(theme.dim),
        );
    }
    lines
}

/// Tokens per second of plain decoding.
pub fn plain_rate(shown: &Shown) -> Option<f64> {
    let seconds = shown.stats.baseline()?.per_token.as_secs_f64();
    (seconds > 0.0).then(|| 1.0 / seconds)
}

fn this_answer(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let stats = &app.shown().stats;
    vec![
        Line::styled("this answer", theme.panel_label),
        row(
            "per pass",
            format!("{} tokens", number(stats.answer().tokens_per_pass(), 6, 2)),
            theme,
        ),
        row(
            "speed",
            format!("{} tok/s", number(stats.decode().tokens_per_second(), 6, 1)),
            theme,
        ),
    ]
}

fn latest_passes(shown: &Shown, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let rolling = shown.stats.rolling();
    let title = match rolling.passes {
        0 => "latest passes".to_owned(),
        1 => "latest pass".to_owned(),
        passes => format!("latest {passes} passes"),
    };
    let mut lines = vec![
        Line::styled(title, theme.panel_label),
        sparks(shown, theme, width),
    ];
    let room = (width - LABEL) / 4;
    lines.push(row("accepted", positions(&rolling, room), theme));
    lines.push(time(
        "draft",
        rolling.draft_ms(),
        rolling.share(rolling.draft_time),
        theme.draft,
        theme,
        width,
    ));
    lines.push(time(
        "verify",
        rolling.verify_ms(),
        rolling.share(rolling.verify_time),
        theme.accent,
        theme,
        width,
    ));
    let other = rolling.share(rolling.other_time);
    if other.is_some_and(|share| share > OTHER_FROM) {
        lines.push(time(
            "other",
            rolling.other_ms(),
            other,
            theme.warn,
            theme,
            width,
        ));
    }
    lines
}

/// Tokens of the latest passes as bars, and of the last one as a number.
fn sparks(shown: &Shown, theme: &Theme, width: usize) -> Line<'static> {
    let now = shown.stats.recent_emitted().last();
    let now = format!("now {}", number(now.map(|now| now as f64), 3, 0));
    let columns = width - now.len() - 1;
    let bars = sparkline(shown.stats.recent_emitted(), columns);
    Line::from(vec![
        Span::styled(format!("{bars:<columns$} "), theme.accent),
        Span::styled(now, theme.text),
    ])
}

/// Acceptance by position in the draft, as many positions as fit.
pub fn positions(totals: &Totals, room: usize) -> String {
    if totals.by_position.is_empty() {
        return UNKNOWN.to_owned();
    }
    let shown: Vec<String> = totals
        .by_position
        .iter()
        .take(room)
        .map(|position| acceptance(position.acceptance()))
        .collect();
    shown.join(" ")
}

fn time(
    name: &str,
    ms: Option<f64>,
    share: Option<f64>,
    style: Style,
    theme: &Theme,
    width: usize,
) -> Line<'static> {
    let mut line = row(name, format!("{} ms ", number(ms, 6, 1)), theme);
    let columns = width.saturating_sub(LABEL + MS + 1 + SHARE);
    line.push_span(Span::styled(
        bar(share.unwrap_or(0.0), columns),
        Style {
            add_modifier: Modifier::empty(),
            ..style
        },
    ));
    line.push_span(Span::styled(format!(" {}", percent(share)), theme.text));
    line
}

fn context(app: &App, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let Some(ready) = app.ready() else {
        return Vec::new();
    };
    let used = app.shown().context_used;
    let share = used.map(|used| used as f64 / ready.context_limit.max(1) as f64);
    let style = if share.is_some_and(|share| share > NEARLY_FULL) {
        theme.warn
    } else {
        theme.accent
    };
    let used = used.map_or(UNKNOWN.to_owned(), |used| used.to_string());
    vec![
        row(
            "context",
            format!("{used}/{} tokens", ready.context_limit),
            theme,
        ),
        Line::from(vec![
            Span::styled(bar(share.unwrap_or(0.0), width - SHARE), style),
            Span::styled(format!(" {}", percent(share)), theme.text),
        ]),
    ]
}

/// How answers are sampled, if they are.
fn sampling(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let info = app.ready().and_then(Ready::sampling);
    let line = info.map(|info| row("sampling", format::sampling(info), theme));
    line.into_iter().collect()
}

/// Why the last round fell back to plain decoding.
fn note(shown: &Shown, theme: &Theme, width: usize) -> Vec<Line<'static>> {
    let Some(note) = &shown.note else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    wrap(note, 0, width - 2, Break::Words, &mut lines);
    let mut shown = vec![Line::styled("! plain in the last pass", theme.warn)];
    shown.extend(
        lines
            .into_iter()
            .map(|line| indented(note[line.range].trim_end(), theme.dim)),
    );
    shown
}
