//! The conversation: names, texts and states of answers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::app::App;
use crate::app::block::{Answer, AnswerState, Block, BodyLine, Kind, LineView, Part, Summary};
use crate::app::geometry::Geometry;
use crate::app::wrap::TAB_WIDTH;
use crate::engine::protocol::FinishReason;
use crate::ui::format::{bar, strategy_glyph, verdict};
use crate::ui::progress::Progress;
use crate::ui::theme::Theme;
use crate::ui::{fit, put};

/// Draws the lines in view.
pub fn draw(app: &App, theme: &Theme, geometry: &Geometry, buffer: &mut Buffer) {
    let area = geometry.transcript;
    let height = usize::from(area.height);
    let end = app.transcript().len().saturating_sub(height);
    let top = if app.scroll().follow {
        end
    } else {
        app.scroll().top.min(end)
    };
    for (row, line) in app.transcript().lines(top).take(height).enumerate() {
        let name_indent = geometry.text_indent.min(1);
        let (indent, line) = match line {
            LineView::Blank => continue,
            LineView::Heading(block) => (name_indent, heading(block, theme)),
            LineView::Body(block, body, first) => {
                if first && block.kind == Kind::Notice {
                    put(
                        buffer,
                        indented(area, name_indent),
                        row as u16,
                        Line::styled("·", theme.accent),
                    );
                }
                (
                    geometry.text_indent + body.line.indent,
                    text(app, block, body, theme),
                )
            }
            LineView::State(answer) => {
                let width = area.width.saturating_sub(geometry.text_indent);
                (geometry.text_indent, state(app, answer, theme, width))
            }
        };
        put(buffer, indented(area, indent), row as u16, line);
    }
}

fn indented(area: Rect, indent: u16) -> Rect {
    let indent = indent.min(area.width);
    Rect {
        x: area.x + indent,
        width: area.width - indent,
        ..area
    }
}

fn heading<'a>(block: &'a Block, theme: &Theme) -> Line<'a> {
    match &block.kind {
        Kind::User => Line::styled("You", theme.user),
        Kind::Assistant(answer) => {
            Line::styled(answer.model.as_deref().unwrap_or("Model"), theme.assistant)
        }
        Kind::Error => Line::styled("✗ error", theme.error),
        Kind::Notice => Line::default(),
    }
}

fn text(app: &App, block: &Block, body: &BodyLine, theme: &Theme) -> Line<'static> {
    let style = match (body.part, &block.kind) {
        (Part::Fence, _) | (Part::Prose, Kind::Notice) => theme.dim,
        (Part::Code, _) => theme.code,
        (Part::Prose, Kind::User | Kind::Assistant(_) | Kind::Error) => theme.text,
    };
    let range = body.line.range.clone();
    let shown = block.text()[range.clone()]
        .trim_end_matches([' ', '\t'])
        .len();
    let visible = &block.text()[range.start..range.start + shown];
    // An underlined indentation would look like a rule.
    let indentation = shown - visible.trim_start_matches([' ', '\t']).len();
    let indent = Span::raw(visible[..indentation].replace('\t', &" ".repeat(TAB_WIDTH)));
    let spans = block
        .marked(range.start + indentation..range.start + shown)
        .map(|(part, drafted)| {
            let style = if drafted && app.show_tokens() {
                accepted(style, body.part, theme)
            } else {
                style
            };
            Span::styled(
                block.text()[part].replace('\t', &" ".repeat(TAB_WIDTH)),
                style,
            )
        });
    std::iter::once(indent).chain(spans).collect()
}

/// Prose takes the whole style of accepted text; code keeps its colour.
fn accepted(style: Style, part: Part, theme: &Theme) -> Style {
    match part {
        Part::Prose => style.patch(theme.accepted),
        Part::Code | Part::Fence => style.add_modifier(theme.accepted.add_modifier),
    }
}

/// An answer's state in parts, as many as fit into `width` columns.
fn state(app: &App, answer: &Answer, theme: &Theme, width: u16) -> Line<'static> {
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
    parts.push(part(format!("{} tokens", summary.tokens), theme.dim));
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
