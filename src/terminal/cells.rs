//! Changed cells → bytes, as few as a terminal of today understands.
//!
//! In come ratatui's changed cells in order, out go characters, colours and moves. **What follows a
//! character whose width terminals disagree on is placed absolutely**, so that a disagreement shifts
//! nothing. Only what every terminal since the VT220 knows is used: CUP, CUF, ECH and SGR.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::{Cell, CellWidth};

use super::pen::Pen;

/// Blank cells from which erasing them costs less than writing them: `ESC [ 12 X ESC [ 12 C`.
const ERASE_FROM: u16 = 11;
/// Bytes of the shortest move over a few columns, at least.
const MOVE_BYTES: usize = 3;

/// The columns by which every terminal moves on after this; `None` where terminals disagree.
fn sure_width(symbol: &str) -> Option<u16> {
    let mut characters = symbol.chars();
    match (characters.next(), characters.next()) {
        // ASCII, Latin, lines and blocks.
        (Some(' '..='~' | '\u{c0}'..='\u{17f}' | '─'..='▟'), None) => Some(1),
        // Kana, ideographs, Hangul syllables.
        (Some('ぁ'..='ゖ' | 'ァ'..='ヺ' | '一'..='\u{9fff}' | '가'..='힣'), None) => Some(2),
        _ => None,
    }
}

/// The columns that ratatui counts.
fn width(symbol: &str) -> u16 {
    if symbol.len() == 1 {
        return 1;
    }
    symbol.cell_width().max(1)
}

/// A changed cell with its column and row.
type Change<'a> = (u16, u16, Cow<'a, Cell>);

fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && Pen::of(cell).is_invisible_on_blank()
}

/// What was written to a column.
#[derive(Debug)]
enum Written {
    /// Narrow ASCII.
    Ascii(Cell),
    /// What begins there has more columns.
    Wide,
    /// One of those.
    WideRest,
    /// Anything else.
    Other,
}

/// Writes changed cells, and remembers what stands where.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// By column and row.
    written: HashMap<(u16, u16), Written>,
    /// Whether the terminal was blank before anything was written.
    was_blank: bool,
}

impl Cells {
    /// Something else may have written on the terminal.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The terminal was cleared.
    pub fn clear(&mut self) {
        self.written.clear();
        self.was_blank = true;
    }

    /// Writes cells with their columns and rows, each row from left to right. Colours and attributes are the
    /// default before and after.
    pub fn write<'a>(
        &mut self,
        content: impl Iterator<Item = (u16, u16, &'a Cell)>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let cells = self.with_halves(content);
        let mut pen = Pen::DEFAULT;
        // Where the terminal's cursor is, while that is sure.
        let mut cursor: Option<(u16, u16)> = None;
        let mut rest = &cells[..];
        while let Some((x, y, cell)) = rest.first() {
            let (x, y) = (*x, *y);
            match cursor {
                Some((column, row)) if row == y && column <= x => {
                    self.advance(column..x, y, pen, out)?;
                }
                Some(_) | None => write!(out, "\x1b[{};{}H", y + 1, x + 1)?,
            }
            let n_blanks = self.blanks(rest);
            let last = rest[..n_blanks].last();
            let n_columns = last.map_or(0, |(last, ..)| last + 1 - x);
            if n_columns >= ERASE_FROM {
                // Erasing leaves the background that is in force.
                if !pen.is_invisible_on_blank() {
                    pen.change(Pen::DEFAULT, out);
                }
                write!(out, "\x1b[{n_columns}X")?;
                cursor = Some((x, y));
                for (x, y, cell) in &rest[..n_blanks] {
                    self.remember(*x, *y, cell);
                }
                rest = &rest[n_blanks..];
                continue;
            }
            if !pen.fits(cell) {
                pen.change(Pen::of(cell), out);
            }
            if sure_width(cell.symbol()).is_none() && width(cell.symbol()) > 1 {
                // Some terminals draw it narrow: what stands behind it goes first, as ratatui wants for some of
                // them, but not after it, which would cut it where it is wide.
                let end = x + width(cell.symbol());
                let behind =
                    |(column, row, _): &&Change| *row == y && (x + 1..end).contains(column);
                let n_behind = rest[1..].iter().take_while(behind).count();
                let blank = |cell: &Cell| cell.symbol() == " " && pen.fits(cell);
                let is_blank = (x + 1..end).all(|x| self.stands(x, y).is_some_and(blank));
                if n_behind > 0 || !is_blank {
                    let blanks = " ".repeat((end - x).into());
                    write!(out, "{blanks}\x1b[{};{}H", y + 1, x + 1)?;
                }
                out.extend(cell.symbol().bytes());
                cursor = None;
                self.remember(x, y, cell);
                rest = &rest[1 + n_behind..];
                continue;
            }
            out.extend(cell.symbol().bytes());
            cursor = sure_width(cell.symbol()).map(|width| (x + width, y));
            self.remember(x, y, cell);
            rest = &rest[1..];
        }
        pen.change(Pen::DEFAULT, out);
        Ok(())
    }

    /// The changes, with blanks where the second half of a wide character would be left when its first is written
    /// over: terminals differ in what becomes of it.
    fn with_halves<'a>(
        &self,
        content: impl Iterator<Item = (u16, u16, &'a Cell)>,
    ) -> Vec<Change<'a>> {
        let mut cells: Vec<Change> = Vec::new();
        let mut content = content.peekable();
        while let Some((x, y, cell)) = content.next() {
            let bg = cell.bg;
            let last = x + width(cell.symbol()) - 1;
            let is_cut = matches!(self.written.get(&(last, y)), Some(Written::Wide));
            cells.push((x, y, Cow::Borrowed(cell)));
            let mut half = last + 1;
            while is_cut
                && matches!(self.written.get(&(half, y)), Some(Written::WideRest))
                && content
                    .peek()
                    .is_none_or(|(x, row, _)| (*x, *row) != (half, y))
            {
                let mut blank = Cell::EMPTY;
                blank.set_bg(bg);
                cells.push((half, y, Cow::Owned(blank)));
                half += 1;
            }
        }
        cells
    }

    /// How many of these changed cells come first in one row, are blank, and have nothing but blanks between
    /// them.
    fn blanks(&self, cells: &[Change]) -> usize {
        let Some((next, row, _)) = cells.first() else {
            return 0;
        };
        let (mut next, row) = (*next, *row);
        let stands_blank = |x| self.stands(x, row).is_some_and(is_blank);
        cells
            .iter()
            .take_while(|(x, y, cell)| {
                let blank = *y == row && is_blank(cell) && (next..*x).all(stands_blank);
                next = x + 1;
                blank
            })
            .count()
    }

    /// Moves over unchanged columns: by writing them again where that is shorter.
    fn advance(&self, columns: Range<u16>, y: u16, pen: Pen, out: &mut Vec<u8>) -> io::Result<()> {
        let n = columns.len();
        if n <= MOVE_BYTES {
            let stands = columns.map(|x| self.stands(x, y));
            let same: Option<String> = stands
                .map(|cell| {
                    let cell = cell?;
                    pen.fits(cell).then(|| cell.symbol())
                })
                .collect();
            if let Some(same) = same {
                out.extend(same.bytes());
                return Ok(());
            }
        }
        match n {
            1 => out.extend(b"\x1b[C"),
            n => write!(out, "\x1b[{n}C")?,
        }
        Ok(())
    }

    /// The narrow ASCII that stands there, if that is known.
    fn stands(&self, x: u16, y: u16) -> Option<&Cell> {
        match self.written.get(&(x, y)) {
            Some(Written::Ascii(cell)) => Some(cell),
            Some(Written::Wide | Written::WideRest | Written::Other) => None,
            None => self.was_blank.then_some(&Cell::EMPTY),
        }
    }

    fn remember(&mut self, x: u16, y: u16, cell: &Cell) {
        let symbol = cell.symbol();
        let width = width(symbol);
        let first = match (symbol.len(), width) {
            (1, _) => Written::Ascii(cell.clone()),
            (_, 1) => Written::Other,
            (_, _) => Written::Wide,
        };
        self.written.insert((x, y), first);
        for column in x + 1..x + width {
            self.written.insert((column, y), Written::WideRest);
        }
        if width == 1 && sure_width(symbol).is_none() {
            // It may have written over this.
            self.written.insert((x + 1, y), Written::Other);
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Style};

    use super::*;

    fn check(cells: &[(u16, u16, &str, Style)], expect: &str) {
        let cells: Vec<_> = cells
            .iter()
            .map(|(x, y, symbol, style)| {
                let mut cell = Cell::EMPTY;
                cell.set_symbol(symbol).set_style(*style);
                (*x, *y, cell)
            })
            .collect();
        let mut out = Vec::new();
        let cells = cells.iter().map(|(x, y, cell)| (*x, *y, cell));
        Cells::default().write(cells, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn what_stands_between_is_written_again_where_that_is_shorter() {
        let mut cells = Cells::default();
        let mut write = |forget: bool, text: &[(u16, &str, Style)]| {
            if forget {
                cells.forget();
            }
            let made: Vec<_> = text
                .iter()
                .map(|(x, symbol, style)| {
                    let mut cell = Cell::EMPTY;
                    cell.set_symbol(symbol).set_style(*style);
                    (*x, cell)
                })
                .collect();
            let mut out = Vec::new();
            let content = made.iter().map(|(x, cell)| (*x, 0, cell));
            cells.write(content, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        let plain = Style::new();
        let line = [(0, "a", plain), (1, "b", plain), (2, "c", plain)];
        assert_eq!(write(false, &line), "\x1b[1;1Habc");
        let ends = [(0, "x", plain), (2, "z", plain)];
        assert_eq!(write(false, &ends), "\x1b[1;1Hxbz");
        let red = plain.fg(Color::Red);
        let ends = [(0, "x", red), (2, "z", red)];
        assert_eq!(write(false, &ends), "\x1b[1;1H\x1b[31mx\x1b[Cz\x1b[m");
        assert_eq!(write(false, &[(0, "日", plain)]), "\x1b[1;1H日");
        let ends = [(0, "x", plain), (2, "z", plain)];
        assert_eq!(write(false, &ends), "\x1b[1;1Hx z");
        assert_eq!(write(true, &[(1, "b", plain)]), "\x1b[1;2Hb");
        assert_eq!(write(true, &ends), "\x1b[1;1Hx\x1b[Cz");
    }

    #[test]
    fn no_half_of_a_wide_character_is_left() {
        let check = |before: &str, after: &[(u16, &str)], expect: &str| {
            let mut cells = Cells::default();
            cells.clear();
            let mut write = |content: &[(u16, &str)]| {
                let content: Vec<_> = content
                    .iter()
                    .map(|(x, symbol)| {
                        let mut cell = Cell::EMPTY;
                        cell.set_symbol(symbol);
                        (*x, cell)
                    })
                    .collect();
                let mut out = Vec::new();
                let content = content.iter().map(|(x, cell)| (*x, 0, cell));
                cells.write(content, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            assert_eq!(write(&[(1, before)]), format!("\x1b[1;2H{before}"));
            assert_eq!(write(after), expect);
        };
        check("日", &[(1, "a")], "\x1b[1;2Ha ");
        check("日", &[(1, "a"), (2, "b")], "\x1b[1;2Hab");
        check("日", &[(1, "本")], "\x1b[1;2H本");
        check("日", &[(0, "本")], "\x1b[1;1H本 ");
        check("日", &[(0, " "), (1, " ")], "\x1b[1;1H   ");
        check("日", &[(0, "a")], "\x1b[1;1Ha");
        check("🇩🇪", &[(1, "é")], "\x1b[1;2Hé ");
        check("❤️", &[(1, "👍🏽")], "\x1b[1;2H  \x1b[1;2H👍🏽");
        check("…", &[(1, "a")], "\x1b[1;2Ha");
    }

    #[test]
    fn what_a_clear_has_left_is_known_to_be_blank() {
        let plain = Style::new();
        let text = |columns: &[u16]| -> Vec<(u16, Cell)> {
            let mut cell = Cell::EMPTY;
            cell.set_symbol("x").set_style(plain);
            columns.iter().map(|x| (*x, cell.clone())).collect()
        };
        let blanks = |columns: &[u16]| -> Vec<(u16, Cell)> {
            columns.iter().map(|x| (*x, Cell::EMPTY)).collect()
        };
        let mut cells = Cells::default();
        let mut check = |content: &[(u16, Cell)], expect: &str| {
            let mut out = Vec::new();
            let content = content.iter().map(|(x, cell)| (*x, 0, cell));
            cells.write(content, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expect);
            cells.clear();
        };
        check(&text(&[0, 2]), "\x1b[1;1Hx\x1b[Cx");
        check(&text(&[0, 2]), "\x1b[1;1Hx x");
        check(&blanks(&[3, 9, 13, 15]), "\x1b[1;4H\x1b[13X");
        check(&blanks(&[3, 9, 13]), "\x1b[1;4H\x1b[11X");
        check(&blanks(&[3, 9, 12]), "\x1b[1;4H \x1b[5C    ");
    }

    #[test]
    fn moves_are_short() {
        let plain = Style::new();
        check(&[], "");
        check(&[(0, 0, "a", plain), (1, 0, "b", plain)], "\x1b[1;1Hab");
        check(
            &[(4, 1, "a", plain), (6, 1, "b", plain)],
            "\x1b[2;5Ha\x1b[Cb",
        );
        check(
            &[(4, 1, "a", plain), (9, 1, "b", plain)],
            "\x1b[2;5Ha\x1b[4Cb",
        );
        check(
            &[(4, 1, "a", plain), (5, 2, "b", plain)],
            "\x1b[2;5Ha\x1b[3;6Hb",
        );
    }

    #[test]
    fn what_follows_an_unsure_width_is_placed_absolutely() {
        let plain = Style::new();
        check(&[(0, 0, "日", plain), (2, 0, "b", plain)], "\x1b[1;1H日b");
        check(
            &[(0, 0, "👍🏽", plain), (2, 0, "b", plain)],
            "\x1b[1;1H  \x1b[1;1H👍🏽\x1b[1;3Hb",
        );
        check(
            &[(0, 0, "e\u{301}", plain), (1, 0, "b", plain)],
            "\x1b[1;1He\u{301}\x1b[1;2Hb",
        );
        check(
            &[(0, 0, "⚠️", plain), (1, 0, " ", plain), (2, 0, "b", plain)],
            "\x1b[1;1H  \x1b[1;1H⚠️\x1b[1;3Hb",
        );
        check(
            &[(0, 0, "⚠️", plain), (2, 0, "b", plain)],
            "\x1b[1;1H  \x1b[1;1H⚠️\x1b[1;3Hb",
        );
    }

    #[test]
    fn colours_change_only_where_they_show() {
        let red = Style::new().fg(Color::Red);
        let bold = Style::new().fg(Color::Red).bold();
        let plain = Style::new();
        check(
            &[(0, 0, "a", red), (1, 0, " ", plain), (2, 0, "b", red)],
            "\x1b[1;1H\x1b[31ma b\x1b[m",
        );
        check(
            &[(0, 0, "a", bold), (1, 0, "b", red), (2, 0, "c", plain)],
            "\x1b[1;1H\x1b[1;38;5;1ma\x1b[22mb\x1b[mc",
        );
        check(
            &[
                (0, 0, "a", red),
                (1, 0, "b", bold),
                (2, 0, "c", plain.bold()),
            ],
            "\x1b[1;1H\x1b[31ma\x1b[1;38;5;1mb\x1b[39mc\x1b[m",
        );
        let filled = Style::new().bg(Color::Rgb(1, 2, 3));
        check(&[(0, 0, " ", filled)], "\x1b[1;1H\x1b[48;2;1;2;3m \x1b[m");
        let underlined = Style::new().underlined();
        check(&[(0, 0, " ", underlined)], "\x1b[1;1H\x1b[4m \x1b[m");
    }

    #[test]
    fn long_blanks_are_erased() {
        let plain = Style::new();
        let blanks: Vec<_> = (0..20).map(|x| (x, 0, " ", plain)).collect();
        check(&blanks, "\x1b[1;1H\x1b[20X");
        check(&blanks[..5], "\x1b[1;1H     ");
        let mut then = blanks.clone();
        then.insert(0, (0, 0, "a", plain.reversed()));
        then.remove(1);
        then.push((20, 0, "b", plain));
        check(&then, "\x1b[1;1H\x1b[7ma\x1b[m\x1b[19X\x1b[19Cb");
        let filled: Vec<_> = (0..12)
            .map(|x| (x, 0, " ", plain.bg(Color::Blue)))
            .collect();
        check(&filled, "\x1b[1;1H\x1b[44m            \x1b[m");
    }
}
