//! Where things stand on a screen of a given size.
//!
//! The app needs it for wrapping and scrolling, the ui for drawing: both ask here.
//! **Every size from 0x0 up has a geometry**, and no part of it leaves the screen.

use ratatui::layout::Rect;

/// Screens narrower than this have no side panel but a strip of three lines.
const SIDE_PANEL_FROM: u16 = 90;
/// Screens narrower than this have a strip of one line.
const THREE_LINES_FROM: u16 = 60;
/// Screens lower than this have a strip of one line.
const THREE_LINES_FROM_HEIGHT: u16 = 14;
/// Screens as high as this have a rule between strip and input.
const RULE_FROM_HEIGHT: u16 = 20;
/// Screens narrower or lower than this show only the last lines and the input.
const TINY: (u16, u16) = (30, 8);
/// Rows that the list above the input has at most.
const MOST_POPUP_ROWS: u16 = 8;
/// Columns of `> ` before the input.
pub const PROMPT_WIDTH: u16 = 2;

/// How much of the panel there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelArea {
    /// None, or it is switched off.
    Hidden,
    /// Beside the conversation; its first column is the line between them.
    Side(Rect),
    /// One or three lines above the input; a fourth is a rule.
    Strip(Rect),
}

/// Where things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The conversation.
    pub transcript: Rect,
    /// The panel.
    pub panel: PanelArea,
    /// The line between conversation and input.
    pub rule: Rect,
    /// The input, with its prompt.
    pub input: Rect,
    /// The status bar.
    pub status: Rect,
    /// Columns left free at the left of a text in the conversation.
    pub text_indent: u16,
}

impl Geometry {
    /// The geometry of a screen; `input_rows` tells how many rows the input takes at a width.
    pub fn new(screen: Rect, panel: bool, input_rows: impl FnOnce(usize) -> usize) -> Self {
        if screen.width < TINY.0 || screen.height < TINY.1 {
            return Self::tiny(screen);
        }
        let [main, status] = split_bottom(screen, 1);
        let side = panel && screen.width >= SIDE_PANEL_FROM;
        let (left, panel_area) = if side {
            let width = panel_width(screen.width);
            let left = Rect {
                width: main.width - width,
                ..main
            };
            (
                left,
                PanelArea::Side(Rect {
                    x: left.right(),
                    width,
                    ..main
                }),
            )
        } else {
            (main, PanelArea::Hidden)
        };
        let rows = input_rows(usize::from(left.width - 1 - PROMPT_WIDTH));
        let most = (left.height / 3).clamp(1, 10);
        let [above, input] = split_bottom(left, u16::try_from(rows).unwrap_or(most).clamp(1, most));
        let [mut above, mut rule] = split_bottom(above, 1);
        let mut panel_area = panel_area;
        if panel && !side {
            let three =
                screen.width >= THREE_LINES_FROM && screen.height >= THREE_LINES_FROM_HEIGHT;
            // The strip stands between the rule and the input.
            let lines = if three {
                3 + u16::from(screen.height >= RULE_FROM_HEIGHT)
            } else {
                1
            };
            let strip = Rect {
                y: input.y - lines,
                height: lines,
                ..input
            };
            rule.y -= lines;
            above.height -= lines;
            panel_area = PanelArea::Strip(strip);
        }
        Self {
            transcript: above,
            panel: panel_area,
            rule,
            input,
            status,
            text_indent: 3,
        }
    }

    /// Only the last lines and the input.
    fn tiny(screen: Rect) -> Self {
        let [transcript, input] = split_bottom(screen, 1);
        let none = Rect {
            height: 0,
            ..screen
        };
        Self {
            transcript,
            panel: PanelArea::Hidden,
            rule: none,
            input,
            status: none,
            text_indent: 0,
        }
    }

    /// Columns of a text in the conversation.
    pub fn text_width(&self) -> usize {
        let right_margin = u16::from(self.text_indent > 0);
        usize::from(
            self.transcript
                .width
                .saturating_sub(self.text_indent + right_margin),
        )
        .max(1)
    }

    /// The help, which stands over the conversation: all but its last line.
    pub fn help(&self) -> Rect {
        Rect {
            height: self.transcript.height.saturating_sub(1),
            ..self.transcript
        }
    }

    /// Rows of a list above the input, without its title; 0 where there is no room for one.
    pub fn popup_rows(&self) -> u16 {
        // Its title, and a line of the conversation.
        let room = self.input.y.saturating_sub(2).min(MOST_POPUP_ROWS);
        if self.text_indent == 0 { 0 } else { room }
    }

    /// Columns of the input's text.
    pub fn input_width(&self) -> usize {
        let margin = u16::from(self.text_indent > 0);
        usize::from(self.input.width.saturating_sub(PROMPT_WIDTH + margin))
    }
}

fn panel_width(screen: u16) -> u16 {
    match screen {
        0..110 => 36,
        110..150 => 40,
        150.. => 46,
    }
}

/// All but the last `rows` rows, and those.
fn split_bottom(area: Rect, rows: u16) -> [Rect; 2] {
    let rows = rows.min(area.height);
    let above = Rect {
        height: area.height - rows,
        ..area
    };
    [
        above,
        Rect {
            y: above.bottom(),
            height: rows,
            ..area
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_a_geometry_inside_the_screen() {
        for width in 0..130 {
            for height in 0..40 {
                for (panel, rows) in [(true, 1), (false, 3), (true, 100)] {
                    let screen = Rect::new(0, 0, width, height);
                    let geometry = Geometry::new(screen, panel, |_| rows);
                    let mut parts = vec![
                        geometry.transcript,
                        geometry.rule,
                        geometry.input,
                        geometry.status,
                    ];
                    match geometry.panel {
                        PanelArea::Hidden => {}
                        PanelArea::Side(area) | PanelArea::Strip(area) => parts.push(area),
                    }
                    for (i, part) in parts.iter().enumerate() {
                        assert_eq!(
                            part.intersection(screen).area(),
                            part.area(),
                            "{screen} {part}"
                        );
                        for other in &parts[i + 1..] {
                            assert_eq!(
                                part.intersection(*other).area(),
                                0,
                                "{screen} {part} {other}"
                            );
                        }
                    }
                    let area: u32 = parts.iter().map(|part| part.area()).sum();
                    assert_eq!(area, screen.area(), "{screen}: no gaps");
                }
            }
        }
    }
}
