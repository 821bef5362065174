//! Colours and attributes, and the SGR sequences that change them, as short as they can be.

use ratatui::buffer::Cell;
use ratatui::style::{Color, Modifier};

/// What shows on a blank.
const SHOWS_ON_BLANK: Modifier = Modifier::UNDERLINED
    .union(Modifier::REVERSED)
    .union(Modifier::CROSSED_OUT);
/// The attributes with their numbers in SGR.
const ATTRIBUTES: [(Modifier, u8); 9] = [
    (Modifier::BOLD, 1),
    (Modifier::DIM, 2),
    (Modifier::ITALIC, 3),
    (Modifier::UNDERLINED, 4),
    (Modifier::SLOW_BLINK, 5),
    (Modifier::RAPID_BLINK, 6),
    (Modifier::REVERSED, 7),
    (Modifier::HIDDEN, 8),
    (Modifier::CROSSED_OUT, 9),
];

/// The numbers that end attributes; bold and dim end together.
const OFF: [(Modifier, u8); 7] = [
    (Modifier::BOLD.union(Modifier::DIM), 22),
    (Modifier::ITALIC, 23),
    (Modifier::UNDERLINED, 24),
    (Modifier::SLOW_BLINK.union(Modifier::RAPID_BLINK), 25),
    (Modifier::REVERSED, 27),
    (Modifier::HIDDEN, 28),
    (Modifier::CROSSED_OUT, 29),
];

/// Colours and attributes in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pen {
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Pen {
    /// Nothing set.
    pub const DEFAULT: Self = Self {
        fg: Color::Reset,
        bg: Color::Reset,
        modifier: Modifier::empty(),
    };

    /// What a cell is written with.
    pub fn of(cell: &Cell) -> Self {
        Self {
            fg: cell.fg,
            bg: cell.bg,
            modifier: cell.modifier,
        }
    }

    fn has_default_colours(self) -> bool {
        (self.fg, self.bg) == (Color::Reset, Color::Reset)
    }

    /// Whether a blank in it is nothing but the terminal's background.
    pub fn is_invisible_on_blank(self) -> bool {
        self.bg == Color::Reset && !self.modifier.intersects(SHOWS_ON_BLANK)
    }

    /// Whether a cell looks the same when it is written with this pen.
    pub fn fits(self, cell: &Cell) -> bool {
        let other = Self::of(cell);
        let hidden = |pen: Self| !pen.modifier.intersects(SHOWS_ON_BLANK);
        let blank = cell.symbol() == " " && self.bg == other.bg && hidden(self) && hidden(other);
        self == other || blank
    }

    /// Goes over to `next`.
    pub fn change(&mut self, next: Self, out: &mut Vec<u8>) {
        if *self == next {
            return;
        }
        let mut numbers: Vec<String> = Vec::new();
        let bold = |pen: Self| pen.modifier.contains(Modifier::BOLD);
        let emboldened = bold(next) && !bold(*self);
        let removed = self.modifier - next.modifier;
        if next == Self::DEFAULT {
            *self = next;
            out.extend(b"\x1b[m");
            return;
        }
        if !removed.is_empty() && next.has_default_colours() {
            numbers.push("0".to_owned());
            *self = Self::DEFAULT;
        } else {
            for (attributes, number) in OFF {
                if removed.intersects(attributes) {
                    numbers.push(number.to_string());
                    self.modifier -= attributes;
                }
            }
        }
        let added = next.modifier - self.modifier;
        let attributes = ATTRIBUTES.iter().filter(|(one, _)| added.contains(*one));
        numbers.extend(attributes.map(|(_, number)| number.to_string()));
        let named = color(next.fg, 30, bold(next));
        if next.fg != self.fg || emboldened && named != color(next.fg, 30, false) {
            numbers.push(named);
        }
        if next.bg != self.bg {
            numbers.push(color(next.bg, 40, false));
        }
        *self = next;
        out.extend(format!("\x1b[{}m", numbers.join(";")).bytes());
    }
}

/// The numbers of a colour in SGR; `base` is 30 for the foreground, 40 for the background. Many terminals make
/// a bold text's colour bright where it has the short number: hard to read on a light background.
fn color(color: Color, base: u8, bold: bool) -> String {
    let (set, default, bright) = (base + 8, base + 9, base + 60);
    let index = match color {
        Color::Reset => return default.to_string(),
        Color::Rgb(red, green, blue) => return format!("{set};2;{red};{green};{blue}"),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    match index {
        0..8 if !bold => (base + index).to_string(),
        8..16 => (bright + index - 8).to_string(),
        _ => format!("{set};5;{index}"),
    }
}
