//! The conversation: names, texts (text.rs) and states of answers (answer.rs).

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::app::App;
use crate::app::block::{Block, Kind, LineView};
use crate::app::geometry::Geometry;
use crate::ui::text::{self, Layers};
use crate::ui::theme::Theme;
use crate::ui::{answer, put};

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
    for (row, (index, line)) in app.transcript().lines(top).take(height).enumerate() {
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
                let layers = Layers {
                    origins: app.show_tokens().then_some(block.origins()),
                    classes: block.classes(),
                    found: app.find().map(|find| (find, index)),
                };
                let base = base(&block.kind, theme);
                let line = text::line(block.text(), body, base, &layers, theme);
                (geometry.text_indent, line)
            }
            LineView::State(answer) => {
                let width = area.width.saturating_sub(geometry.text_indent);
                (
                    geometry.text_indent,
                    answer::state(app, answer, theme, width),
                )
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

fn base(kind: &Kind, theme: &Theme) -> Style {
    match kind {
        Kind::Notice => theme.dim,
        Kind::User | Kind::Assistant(_) | Kind::Error => theme.text,
    }
}
