//! Colours that a terminal cannot show → the nearest that it can.

use ratatui::style::Color;

/// How many colours the terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorDepth {
    /// None are wanted (`NO_COLOR`).
    None,
    /// The 16 ANSI colours.
    Ansi16,
    /// The 256 colours of xterm.
    Ansi256,
    /// All.
    Rgb,
}

/// The 16 ANSI colours with the values that xterm gives them, without bright black: as text, many
/// terminals make it unreadable.
const ANSI: [(Color, Rgb); 15] = [
    (Color::Black, Rgb(0, 0, 0)),
    (Color::Red, Rgb(205, 0, 0)),
    (Color::Green, Rgb(0, 205, 0)),
    (Color::Yellow, Rgb(205, 205, 0)),
    (Color::Blue, Rgb(0, 0, 238)),
    (Color::Magenta, Rgb(205, 0, 205)),
    (Color::Cyan, Rgb(0, 205, 205)),
    (Color::Gray, Rgb(229, 229, 229)),
    (Color::LightRed, Rgb(255, 0, 0)),
    (Color::LightGreen, Rgb(0, 255, 0)),
    (Color::LightYellow, Rgb(255, 255, 0)),
    (Color::LightBlue, Rgb(92, 92, 255)),
    (Color::LightMagenta, Rgb(255, 0, 255)),
    (Color::LightCyan, Rgb(0, 255, 255)),
    (Color::White, Rgb(255, 255, 255)),
];

/// The levels of red, green and blue in xterm's cube of 216 colours.
const CUBE: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// The contrast of two colours by WCAG 2, from 1 (none) to 21; `None` where the terminal decides what they
/// look like. The ANSI colours count with xterm's values.
pub fn contrast(a: Color, b: Color) -> Option<f64> {
    let [a, b] = [value(a)?.luminance(), value(b)?.luminance()];
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

fn value(color: Color) -> Option<Rgb> {
    match color {
        Color::Rgb(r, g, b) => Some(Rgb(r, g, b)),
        Color::Indexed(index @ 16..) => Some(indexed(index)),
        _ => {
            let known = ANSI.iter().find(|(ansi, _)| *ansi == color);
            known.map(|(_, value)| *value)
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rgb(u8, u8, u8);

impl Rgb {
    /// The relative luminance by WCAG 2, 0 to 1.
    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    fn distance(self, other: Self) -> u32 {
        let square = |a: u8, b: u8| u32::from(a.abs_diff(b)).pow(2);
        square(self.0, other.0) + square(self.1, other.1) + square(self.2, other.2)
    }
}

/// The colour at `depth` that is nearest to `color`.
pub fn reduce(color: Color, depth: ColorDepth) -> Color {
    match (depth, color) {
        (ColorDepth::None, _) => Color::Reset,
        (ColorDepth::Ansi256, Color::Rgb(r, g, b)) => Color::Indexed(nearest_indexed(Rgb(r, g, b))),
        (ColorDepth::Ansi16, Color::Rgb(r, g, b)) => nearest_ansi(Rgb(r, g, b)),
        (ColorDepth::Ansi16, Color::Indexed(index @ 16..)) => nearest_ansi(indexed(index)),
        (ColorDepth::Ansi16 | ColorDepth::Ansi256 | ColorDepth::Rgb, _) => color,
    }
}

/// The value of one of xterm's colours 16-255.
fn indexed(index: u8) -> Rgb {
    if index >= 232 {
        let level = 8 + 10 * (index - 232);
        return Rgb(level, level, level);
    }
    let cube = index.saturating_sub(16);
    let level = |step: u8| CUBE[usize::from(step % 6)];
    Rgb(level(cube / 36), level(cube / 6), level(cube))
}

fn nearest_indexed(rgb: Rgb) -> u8 {
    (16..=255)
        .min_by_key(|index| indexed(*index).distance(rgb))
        .unwrap_or(16)
}

/// The nearest of the ANSI colours. A colour with little hue becomes black, gray or white.
fn nearest_ansi(rgb: Rgb) -> Color {
    let [low, high] = [rgb.0.min(rgb.1).min(rgb.2), rgb.0.max(rgb.1).max(rgb.2)];
    if high - low < 24 {
        return match high {
            0..80 => Color::Black,
            80..240 => Color::Gray,
            240.. => Color::White,
        };
    }
    // Pale colours are stretched to full saturation first: what counts is the hue.
    let stretch = |c: u8| (u32::from(c - low) * 205 / u32::from(high - low)) as u8;
    let hue = Rgb(stretch(rgb.0), stretch(rgb.1), stretch(rgb.2));
    ANSI.iter()
        .filter(|(color, _)| !matches!(color, Color::Black | Color::Gray | Color::White))
        .min_by_key(|(_, value)| value.distance(hue))
        .map_or(Color::Reset, |(color, _)| *color)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contrasts_are_those_of_wcag() {
        let check = |a, b, expect: Option<f64>| {
            let found = contrast(a, b).map(|contrast| (contrast * 100.0).round() / 100.0);
            assert_eq!(found, expect, "{a:?} {b:?}");
        };
        let white = Color::Rgb(255, 255, 255);
        check(white, Color::Rgb(0, 0, 0), Some(21.0));
        check(Color::Rgb(0x77, 0x77, 0x77), white, Some(4.48));
        check(white, Color::Rgb(255, 0, 0), Some(4.0));
        check(Color::Indexed(231), Color::Black, Some(21.0));
        check(white, Color::Reset, None);
        check(Color::Indexed(3), white, None);
    }

    #[test]
    fn colours_become_the_nearest_that_there_are() {
        let check =
            |from, depth, expect| assert_eq!(reduce(from, depth), expect, "{from:?} {depth:?}");
        let red = Color::Rgb(236, 132, 132);
        check(red, ColorDepth::Rgb, red);
        check(red, ColorDepth::Ansi256, Color::Indexed(210));
        check(red, ColorDepth::Ansi16, Color::Red);
        check(red, ColorDepth::None, Color::Reset);
        check(
            Color::Rgb(22, 24, 29),
            ColorDepth::Ansi256,
            Color::Indexed(234),
        );
        check(Color::Rgb(22, 24, 29), ColorDepth::Ansi16, Color::Black);
        check(Color::Rgb(147, 201, 138), ColorDepth::Ansi16, Color::Green);
        check(Color::Rgb(124, 199, 216), ColorDepth::Ansi16, Color::Cyan);
        check(Color::Indexed(231), ColorDepth::Ansi16, Color::White);
        check(Color::Indexed(3), ColorDepth::Ansi16, Color::Indexed(3));
        check(Color::Cyan, ColorDepth::Ansi16, Color::Cyan);
        check(Color::Reset, ColorDepth::Ansi256, Color::Reset);
    }
}
