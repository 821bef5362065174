//! The line under an answer: how far it is, and what it was worth.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::app::block::{Answer, AnswerState, Summary};
use crate::app::report::plural;
use crate::engine::protocol::FinishReason;
use crate::ui::fit;
use crate::ui::format::{bar, strategy_glyph, verdict};
use crate::ui::progress::Progress;
use crate::ui::theme::Theme;

/// An answer's state in parts, as many as fit into `width` columns.
pub fn state(app: &App, answer: &Answer, theme: &Theme, width: u16) -> Line<'static> {
    let part = |text: &str, style: Style| vec![Span::styled(text.to_owned(), style)];
    let (parts, separator) = match &answer.state {
        AnswerState::Waiting => {
            let progress = Progress::of(app)
                .map(|progress| progress.parts(theme))
                .unwrap_or_default();
            (
                std::iter::once(part("… waiting", theme.dim))
                    .chain(progress)
                    .collect(),
                " ",
            )
        }
        AnswerState::Sent => (vec![part("… starting", theme.dim)], ""),
        AnswerState::Prefill { done, total } => {
            let digits = total.to_string().len();
            let share = if *total > 0 {
                *done as f64 / *total as f64
            } else {
                0.0
            };
            let text = format!("… reading the prompt {done:>digits$}/{total}");
            (
                vec![part(&text, theme.dim), part(&bar(share, 12), theme.accent)],
                " ",
            )
        }
        AnswerState::Writing => (vec![part("… writing", theme.dim)], ""),
        AnswerState::Stopping => (vec![part("■ stopping…", theme.warn)], ""),
        AnswerState::Failed => (
            vec![
                part("✗ failed", theme.error),
                part("not part of the conversation", theme.dim),
            ],
            " · ",
        ),
        AnswerState::Ended(summary) => (ended(summary, theme), " · "),
    };
    fit(parts, &Span::styled(separator, theme.dim), width)
}

fn ended(summary: &Summary, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let part = |text: String, style: Style| vec![Span::styled(text, style)];
    let mut parts = vec![match summary.reason {
        FinishReason::EndOfTurn => part("✓ done".to_owned(), theme.dim),
        FinishReason::StopString => part("✓ stop string".to_owned(), theme.dim),
        FinishReason::MaxTokens => part("■ token limit reached".to_owned(), theme.warn),
        FinishReason::ContextFull => part("■ context full".to_owned(), theme.warn),
        FinishReason::Stopped => part("■ stopped".to_owned(), theme.warn),
    }];
    if let Some(speed_up) = summary.speed_up {
        let (glyph, _, style) = verdict(speed_up, theme);
        parts.push(part(format!("{glyph} {speed_up:.2}x plain"), style));
    }
    if summary.tokens > 0 {
        let tokens = plural(summary.tokens, "token", "tokens");
        parts.push(part(tokens, theme.dim));
    }
    if let Some(rate) = summary.tokens_per_pass {
        parts.push(part(format!("{rate:.2} per pass"), theme.dim));
    }
    if let Some(rate) = summary.tokens_per_second {
        parts.push(part(format!("{rate:.1} tok/s"), theme.dim));
    }
    let names: Vec<String> = summary
        .strategies
        .iter()
        .map(|name| format!("{} {name}", strategy_glyph(name)))
        .collect();
    if !names.is_empty() {
        parts.push(part(names.join(" → "), theme.dim));
    }
    if let Some(drafters) = &summary.drafters {
        parts.push(part(drafters.clone(), theme.dim));
    }
    parts
}
