//! What `auto` shows: who drafts how often and what each would bring, what was won, what passes cost.
//!
//! In come the rolling window and the choice of one round, which the app holds for a second so that it
//! can be read. Rows and columns keep their places whatever is chosen. **Before a plain pass was timed,
//! costs are a guess and nothing that follows from them is shown.**

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::wrap::{Break, wrap};
use crate::app::{App, Shown};
use crate::engine::protocol::Explanation;
use crate::ui::format::{UNKNOWN, levels, number, percent, strategy_glyph};
use crate::ui::theme::Theme;

/// The name of the strategy that chooses.
const NAME: &str = "auto";
/// Who can draft, in the order of the rows.
const DRAFTERS: [&str; 4] = ["draft", "lookup", "recycling", "plain"];
/// Rows of the longest pass whose cost is shown.
const PASS: usize = 16;
/// The curve of passes reaches the top at this cost at least, so that a flat one looks flat.
const STEEP: f64 = 2.0;
/// From here on a count of passes is told without decimals.
const MANY: f64 = 99.95;
/// Columns of a drafter's name with its glyph.
const DRAFTER: usize = 12;
/// Columns of the shares in the strip.
pub const SHARES: usize = 36;

/// Whether `auto` drafts.
pub fn is_active(app: &App) -> bool {
    app.strategy() == Some(NAME)
}

/// The choice of the answer that is being written or was last.
fn choice(shown: &Shown) -> Option<&Explanation> {
    let choice = shown.choice.as_deref();
    choice.filter(|_| shown.stats.answer().passes > 0)
}

/// The drafters that there are.
fn drafters(app: &App) -> impl Iterator<Item = &'static str> {
    let model = app.ready().is_some_and(|ready| ready.draft.is_some());
    let all = DRAFTERS.into_iter();
    all.filter(move |name| *name != "draft" || model)
}

/// What was chosen and why, if anything was yet.
pub fn reason(shown: &Shown) -> Option<&str> {
    choice(shown).map(|choice| choice.reason.as_str())
}

/// The text in exactly `rows` rows, at least one, of at most `width` columns.
pub fn in_rows(text: &str, rows: usize, width: usize) -> Vec<String> {
    let mut wrapped = Vec::new();
    wrap(text, 0, width, Break::Words, &mut wrapped);
    let mut lines: Vec<String> = wrapped
        .iter()
        .map(|line| text[line.range.clone()].trim_end().to_owned())
        .collect();
    if lines.len() > rows {
        lines.truncate(rows - 1);
        lines.push(cut(&text[wrapped[rows - 1].range.start..], width));
    }
    lines.resize(rows, String::new());
    lines
}

/// The text, with `…` at its end where it is longer than `width` columns. It has no wide characters.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.truncate(short.trim_end().len());
    short + "…"
}

/// A row for each drafter: how often it drafted, what it would draft now, and what that would bring.
pub fn drafters_table(app: &App, theme: &Theme) -> Vec<Line<'static>> {
    let shown = app.shown();
    let choice = choice(shown);
    let title = format!(
        "  {:DRAFTER$}{:>6}{:>4}{:>9}",
        "drafter", "passes", "k", "expected"
    );
    let mut lines = vec![Line::styled(title, theme.panel_label)];
    let rolling = shown.stats.rolling();
    for name in drafters(app) {
        let chosen = choice.is_some_and(|choice| choice.drafter == name);
        let offer = choice.and_then(|choice| offer(choice, name));
        let (marker, style, text) = if chosen {
            ("▸ ", theme.strategy(name), theme.text)
        } else {
            ("  ", theme.dim, theme.dim)
        };
        let named = format!("{} {name}", strategy_glyph(name));
        let k = offer.map(|(k, _)| k as f64);
        let rate = offer.and_then(|(_, rate)| rate);
        lines.push(Line::from_iter([
            Span::styled(marker, theme.accent),
            Span::styled(format!("{named:DRAFTER$}"), style),
            Span::styled(
                format!(" {}", percent(rolling.drafter_share(name))),
                theme.text,
            ),
            Span::styled(format!("{}{}", number(k, 4, 0), factor(rate, 9)), text),
        ]));
    }
    lines
}

/// The draft length of a drafter and how many times faster than plain that is expected to be. Before a
/// plain pass was timed, only the length that was chosen is known.
fn offer(choice: &Explanation, drafter: &str) -> Option<(usize, Option<f64>)> {
    if choice.plain_ms.is_none() {
        return (choice.drafter == drafter).then_some((choice.length, None));
    }
    let (k, expected) = if choice.drafter == drafter {
        (choice.length, choice.expected)
    } else if drafter == "plain" {
        (0, 1.0)
    } else {
        let mut offers = choice.alternatives.iter();
        let offer = offers.find(|offer| offer.drafter == drafter)?;
        (offer.length, offer.expected)
    };
    Some((k, Some(expected)))
}

/// What may be lost, and what this answer has won: by the costs that `auto` plans with, not by the clock, and marked so.
pub fn ledger(shown: &Shown) -> String {
    let timed = choice(shown).filter(|choice| choice.plain_ms.is_some());
    let Some(choice) = timed else {
        return format!("{UNKNOWN:>4} passes");
    };
    let won = passes(choice.balance.abs());
    let word = if choice.balance < 0.0 { "lost" } else { "won" };
    let spare = number(
        Some(choice.affordable.max(0.0)),
        1,
        usize::from(choice.affordable < MANY),
    );
    format!("{:>5} passes, {won} {word}", format!("≈{spare}"))
}

/// A count of passes in four columns.
fn passes(count: f64) -> String {
    number(Some(count), 4, usize::from(count < MANY))
}

/// What passes over 1 to 16 tokens cost, as bars, and the last as a number.
pub fn curve(shown: &Shown, theme: &Theme) -> Line<'static> {
    let curve = shown
        .choice
        .as_deref()
        .map_or(&[][..], |choice| &choice.curve);
    let costs: [Option<f64>; PASS] = std::array::from_fn(|i| curve.get(i).copied().flatten());
    let top = costs
        .iter()
        .flatten()
        .fold(STEEP, |top, cost| top.max(*cost));
    Line::from_iter([
        Span::styled(format!("pass of {PASS} "), theme.panel_label),
        Span::styled(levels(costs, 1.0, top), theme.accent),
        Span::styled(factor(costs[PASS - 1], 6), theme.text),
    ])
}

/// `1.8x`, right-aligned.
fn factor(value: Option<f64>, width: usize) -> String {
    match value {
        Some(value) => format!("{value:>0$.1}x", width - 1),
        None => format!("{UNKNOWN:>width$}"),
    }
}

/// The drafters' shares of the latest passes by their glyphs, in [`SHARES`] columns.
pub fn shares(app: &App, theme: &Theme) -> Vec<Span<'static>> {
    let rolling = app.shown().stats.rolling();
    let share = |name: &str| {
        let share = percent(rolling.drafter_share(name));
        [
            Span::styled(format!("  {}", strategy_glyph(name)), theme.strategy(name)),
            Span::styled(format!(" {share}"), theme.text),
        ]
    };
    let spans: Vec<Span> = drafters(app).flat_map(share).collect();
    let used: usize = spans.iter().map(Span::width).sum();
    let space = Span::styled(" ".repeat(SHARES.saturating_sub(used)), Style::new());
    std::iter::once(space).chain(spans).collect()
}
