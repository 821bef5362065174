//! Changed cells → bytes, as few as a terminal of today understands.
//!
//! In come ratatui's changed cells in order, out go characters, colours and moves. **What follows a
//! character whose width terminals disagree on is placed absolutely**, so that a disagreement shifts
//! nothing. Only what every terminal since the VT220 knows is used: CUP, CUF, ECH and SGR.

use std::collections::HashMap;
use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::Cell;

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

/// Whether the character becomes an emoji, and wide, by what follows it (VS16).
fn is_emoji_by_request(cell: &Cell) -> bool {
    cell.symbol().contains('\u{fe0f}')
}

fn is_blank(cell: &Cell) -> bool {
    cell.symbol() == " " && Pen::of(cell).is_invisible_on_blank()
}

/// Writes changed cells, and remembers what stands where.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// What was written by column and row; `None` where it may be wider than one column.
    written: HashMap<(u16, u16), Option<Cell>>,
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
        let cells: Vec<_> = content.collect();
        let mut pen = Pen::DEFAULT;
        // Where the terminal's cursor is, while that is sure.
        let mut cursor: Option<(u16, u16)> = None;
        let mut rest = &cells[..];
        while let Some(&(x, y, cell)) = rest.first() {
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
            if is_emoji_by_request(cell)
                && rest
                    .get(1)
                    .is_some_and(|(next, row, _)| (*next, *row) == (x + 1, y))
            {
                // ratatui has its second half blanked for terminals that draw it narrow. Others would lose it if
                // that came after it.
                write!(out, "  \x1b[{};{}H{}", y + 1, x + 1, cell.symbol())?;
                cursor = None;
                self.remember(x, y, cell);
                rest = &rest[2..];
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

    /// How many of these changed cells come first in one row, are blank, and have nothing but blanks between
    /// them.
    fn blanks(&self, cells: &[(u16, u16, &Cell)]) -> usize {
        let Some(&(mut next, row, _)) = cells.first() else {
            return 0;
        };
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
            Some(written) => written.as_ref(),
            None => self.was_blank.then_some(&Cell::EMPTY),
        }
    }

    fn remember(&mut self, x: u16, y: u16, cell: &Cell) {
        for column in x..x.saturating_add(sure_width(cell.symbol()).unwrap_or(2)) {
            self.written.insert((column, y), None);
        }
        if cell.symbol().len() == 1 {
            self.written.insert((x, y), Some(cell.clone()));
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
        assert_eq!(write(false, &ends), "\x1b[1;1Hx\x1b[Cz");
        assert_eq!(write(true, &[(1, "b", plain)]), "\x1b[1;2Hb");
        assert_eq!(write(true, &ends), "\x1b[1;1Hx\x1b[Cz");
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
            "\x1b[1;1H👍🏽\x1b[1;3Hb",
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
            "\x1b[1;1H⚠️\x1b[1;3Hb",
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
