//! Progress of fetching and loading, as words and bars.

use ratatui::text::Span;

use crate::app::{App, Phase};
use crate::ui::format::{bar, bytes, percent};
use crate::ui::theme::Theme;

/// What is being waited for.
pub struct Progress<'a> {
    /// A glyph and a word: `⇣ fetching`.
    pub word: &'static str,
    /// What is fetched or loaded.
    pub what: &'a str,
    /// Where it comes from, if that matters.
    pub how: &'a str,
    /// Done, 0 to 1, where the total is known.
    pub share: Option<f64>,
    /// `42.1/98.4 MB   3.2 MB/s`, as far as known.
    pub amount: String,
}

impl<'a> Progress<'a> {
    /// What the app is waiting for, if it is waiting.
    pub fn of(app: &'a App) -> Option<Self> {
        match app.phase() {
            Phase::Ready | Phase::Dead => None,
            Phase::Starting => Some(Self {
                word: "… starting",
                what: "",
                how: "",
                share: None,
                amount: String::new(),
            }),
            Phase::Fetching(fetching) => {
                let fetch = &fetching.fetch;
                let rate = fetching.rate.map_or(String::new(), |rate| {
                    let (number, unit) = bytes(rate, rate);
                    format!("  {number} {unit}/s")
                });
                Some(Self {
                    word: "⇣ fetching",
                    what: &fetch.what,
                    how: &fetch.how,
                    share: share(fetch.done, fetch.total),
                    amount: amount(fetch.done, fetch.total) + &rate,
                })
            }
            Phase::Loading(loading) => Some(Self {
                word: "… loading",
                what: &loading.what,
                how: "",
                share: share(loading.done, Some(loading.total)),
                amount: amount(loading.done, Some(loading.total)) + " of weights",
            }),
        }
    }

    /// The progress in parts for one line, the most important first.
    pub fn parts(&self, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let percent = self
            .share
            .map_or(String::new(), |share| format!(" {}", percent(Some(share))));
        let mut parts = vec![vec![Span::styled(
            format!("{}{percent}", self.word),
            theme.accent,
        )]];
        if let Some(share) = self.share {
            parts.push(vec![Span::styled(bar(share, 10), theme.accent)]);
        }
        if !self.amount.is_empty() {
            parts.push(vec![Span::styled(self.amount.clone(), theme.dim)]);
        }
        parts
    }
}

fn share(done: u64, total: Option<u64>) -> Option<f64> {
    let total = total.filter(|total| *total > 0)?;
    Some((done as f64 / total as f64).min(1.0))
}

fn amount(done: u64, total: Option<u64>) -> String {
    let of = total.unwrap_or(done) as f64;
    let (number, unit) = bytes(done as f64, of);
    match total {
        Some(_) => {
            let all = bytes(of, of).0;
            let width = all.len();
            format!("{number:>width$}/{all} {unit}")
        }
        None => format!("{number} {unit}"),
    }
}
