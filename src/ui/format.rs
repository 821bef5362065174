//! Numbers → short text of a fixed width. What was not measured is `—`, never 0.

use std::time::Duration;

use ratatui::style::Style;

use crate::app::age_step;
use crate::engine::protocol::SamplingInfo;
use crate::ui::theme::Theme;

/// Stands for what was not measured.
pub const UNKNOWN: &str = "—";
/// Speed-ups this near to 1 are told as no difference.
const SAME_WITHIN: f64 = 0.02;
const SPARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// A number right-aligned in `width` columns.
pub fn number(value: Option<f64>, width: usize, decimals: usize) -> String {
    match value {
        Some(value) => format!("{value:>width$.decimals$}"),
        None => format!("{UNKNOWN:>width$}"),
    }
}

/// A share as ` 29 %`, five columns.
pub fn percent(share: Option<f64>) -> String {
    format!("{} %", number(share.map(|share| share * 100.0), 3, 0))
}

/// How answers are sampled: `T 0.8, seed 42`.
pub fn sampling(info: SamplingInfo) -> String {
    let SamplingInfo { temperature, seed } = info;
    format!("T {temperature}, seed {seed}")
}

/// An acceptance in three columns: `.86`, or `1.0`.
pub fn acceptance(value: Option<f64>) -> String {
    match value.map(|value| (value * 100.0).round() as u32) {
        None => format!("{UNKNOWN:>3}"),
        Some(100..) => "1.0".to_owned(),
        Some(hundredths) => format!(".{hundredths:02}"),
    }
}

/// What a speed-up means: a glyph, words that `plain` completes, and a style.
pub fn verdict(speed_up: f64, theme: &Theme) -> (&'static str, &'static str, Style) {
    if speed_up > 1.0 + SAME_WITHIN {
        ("▲", "faster than", theme.ok)
    } else if speed_up < 1.0 - SAME_WITHIN {
        ("▼", "slower than", theme.warn)
    } else {
        ("=", "as fast as", theme.text)
    }
}

/// The glyph of a strategy.
pub fn strategy_glyph(name: &str) -> &'static str {
    match name {
        "plain" => "○",
        "draft" | "draft-transformers" => "◆",
        "lookup" | "lookup-transformers" => "≡",
        "recycling" => "↻",
        "auto" => "◈",
        _ => "•",
    }
}

/// A bar of `width` columns, `share` of it heavy.
pub fn bar(share: f64, width: usize) -> String {
    let heavy = (share.clamp(0.0, 1.0) * width as f64).round() as usize;
    "━".repeat(heavy) + &"┄".repeat(width - heavy)
}

/// The latest `width` counts of emitted tokens as bars. One token, what plain decoding gives, is
/// the lowest bar.
pub fn sparkline(emitted: impl ExactSizeIterator<Item = usize>, width: usize) -> String {
    let skip = emitted.len().saturating_sub(width);
    let latest: Vec<usize> = emitted.skip(skip).collect();
    let top = latest.iter().copied().max().unwrap_or(0).max(4);
    latest
        .iter()
        .map(|n| SPARKS[n.saturating_sub(1) * (SPARKS.len() - 1) / (top - 1)])
        .collect()
}

/// Values between `low` and `top` as bars; `·` where there is none.
pub fn levels(values: impl IntoIterator<Item = Option<f64>>, low: f64, top: f64) -> String {
    let last = SPARKS.len() - 1;
    let level = |value: f64| ((value - low) / (top - low) * last as f64).round() as usize;
    let values = values.into_iter();
    values
        .map(|value| value.map_or('·', |value| SPARKS[level(value).min(last)]))
        .collect()
}

/// How long ago, in steps.
pub fn age(age: Duration) -> String {
    let step = age_step(age).as_secs();
    match (age.as_secs() / step * step, step) {
        (0, _) => "just now".to_owned(),
        (seconds, 10) => format!("{seconds} s ago"),
        (seconds, 60) => format!("{} min ago", seconds / 60),
        (seconds, _) => format!("{} h ago", seconds / 3600),
    }
}

/// Bytes in the unit that fits `of`, which is usually the total.
pub fn bytes(bytes: f64, of: f64) -> (String, &'static str) {
    let (unit, size) = match of {
        0.0..1e6 => ("kB", 1e3),
        1e6..1e9 => ("MB", 1e6),
        _ => ("GB", 1e9),
    };
    (format!("{:.1}", bytes / size), unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_width() {
        for value in [None, Some(0.0), Some(3.456), Some(120.0)] {
            assert_eq!(number(value, 6, 1).chars().count(), 6);
            assert_eq!(percent(value.map(|value| value / 120.0)).chars().count(), 5);
        }
        assert_eq!(
            [None, Some(0.0), Some(0.857), Some(0.999), Some(1.0)].map(acceptance),
            ["  —", ".00", ".86", "1.0", "1.0"]
        );
    }

    #[test]
    fn bars_and_sparklines() {
        assert_eq!(bar(0.29, 8), "━━┄┄┄┄┄┄");
        assert_eq!(bar(7.0, 3), "━━━");
        assert_eq!(bar(f64::NAN, 3), "┄┄┄");
        assert_eq!(sparkline([1, 2, 4, 5, 0].into_iter(), 9), "▁▂▆█▁");
        assert_eq!(sparkline([9, 1, 1].into_iter(), 2), "▁▁");
        assert_eq!(sparkline([].into_iter(), 2), "");
        let costs = [1.0, 1.1, 1.5, 2.0, 9.0, 0.0, f64::NAN].map(Some);
        assert_eq!(levels(costs, 1.0, 2.0), "▁▂▅██▁▁");
        assert_eq!(levels([Some(1.0), None], 1.0, 2.0), "▁·");
    }

    #[test]
    fn ages_go_in_steps() {
        let check = |seconds, expect| assert_eq!(age(Duration::from_secs(seconds)), expect);
        check(0, "just now");
        check(9, "just now");
        check(47, "40 s ago");
        check(119, "1 min ago");
        check(7300, "2 h ago");
    }

    #[test]
    fn sizes_use_the_unit_of_the_total() {
        let check = |value, of, expect: (&str, &str)| {
            assert_eq!(bytes(value, of), (expect.0.to_owned(), expect.1));
        };
        check(512_000.0, 98_362_432.0, ("0.5", "MB"));
        check(98_362_432.0, 98_362_432.0, ("98.4", "MB"));
        check(2.5e9, 4e9, ("2.5", "GB"));
        check(1500.0, 1500.0, ("1.5", "kB"));
    }
}
