//! Changed cells → bytes, as few as a terminal of today understands.
//!
//! In come ratatui's changed cells in order, out go characters, colours and moves. **What follows a
//! character whose width terminals disagree on is placed absolutely**, so that a disagreement shifts
//! nothing, and what it may spoil is written again. Only what every terminal since the VT220 knows is used:
//! CUP, CUF, ECH and SGR.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::Range;

use ratatui::buffer::{Cell, CellWidth};
use unicode_width::UnicodeWidthChar;

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

/// The columns that a terminal takes which draws each of its characters by itself.
fn widest(symbol: &str) -> u16 {
    match sure_width(symbol) {
        Some(width) => width,
        None => symbol.chars().map(|c| c.width().unwrap_or(0) as u16).sum(),
    }
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
    /// Anything else that begins there, or what something else may have spoilt.
    Other(Cell),
    /// What began before goes on there.
    Rest,
}

/// Writes changed cells, and remembers what stands where.
#[derive(Debug, Default)]
pub(super) struct Cells {
    /// By column and row.
    written: HashMap<(u16, u16), Written>,
    /// Whether the terminal was blank before anything was written.
    was_blank: bool,
    /// The last column that was ever written.
    right: u16,
}

impl Cells {
    /// Something else may have written on the terminal.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// The terminal was cleared.
    pub fn clear(&mut self) {
        self.forget();
        self.was_blank = true;
    }

    /// Writes cells with their columns and rows, each row from left to right. Colours and attributes are the
    /// default before and after.
    pub fn write<'a>(
        &mut self,
        content: impl Iterator<Item = (u16, u16, &'a Cell)>,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        let cells = self.with_spoilt(content);
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
            let n_behind = self.blank_behind(rest, pen, out)?;
            out.extend(cell.symbol().bytes());
            cursor = sure_width(cell.symbol()).map(|width| (x + width, y));
            self.remember(x, y, cell);
            rest = &rest[1 + n_behind..];
        }
        pen.change(Pen::DEFAULT, out);
        Ok(())
    }

    /// The changes, with what they may spoil: the second half of a wide character whose first is written over, and
    /// what stands behind a character that some terminals draw wider than ratatui counts.
    fn with_spoilt<'a>(
        &self,
        content: impl Iterator<Item = (u16, u16, &'a Cell)>,
    ) -> Vec<Change<'a>> {
        let mut cells: Vec<Change> = content
            .map(|(x, y, cell)| (x, y, Cow::Borrowed(cell)))
            .collect();
        let columns = |(x, y, cell): &Change| {
            let y = *y;
            (*x..x + width(cell.symbol())).map(move |x| (x, y))
        };
        let mut given: HashSet<(u16, u16)> = cells.iter().flat_map(columns).collect();
        let mut i = 0;
        while let Some((x, y, cell)) = cells.get(i) {
            i += 1;
            let y = *y;
            let behind = x + width(cell.symbol());
            let reach = (x + widest(cell.symbol())).min(self.right + 1);
            let mut half = behind;
            while matches!(self.written.get(&(half, y)), Some(Written::Rest))
                && given.insert((half, y))
            {
                // As ratatui takes it to be, or it would be among the changes.
                cells.push((half, y, Cow::Owned(Cell::EMPTY)));
                half += 1;
            }
            for x in behind..reach {
                let drawn = match self.written.get(&(x, y)) {
                    Some(Written::Ascii(cell) | Written::Other(cell)) => cell,
                    None if self.was_blank => &Cell::EMPTY,
                    Some(Written::Rest) | None => continue,
                };
                if given.insert((x, y)) {
                    let drawn = (x, y, Cow::Owned(drawn.clone()));
                    given.extend(columns(&drawn));
                    cells.push(drawn);
                }
            }
        }
        cells.sort_by_key(|(x, y, _)| (*y, *x));
        cells
    }

    /// Blanks the columns of the first of these changed cells where some terminals draw it narrow; gives how many
    /// of the others are done with. What stands behind it goes first, as ratatui wants for some of them, but not
    /// after it, which would cut it where it is wide.
    fn blank_behind(&self, cells: &[Change], pen: Pen, out: &mut Vec<u8>) -> io::Result<usize> {
        let [(x, y, cell), others @ ..] = cells else {
            return Ok(0);
        };
        let columns = width(cell.symbol());
        if sure_width(cell.symbol()).is_some() || columns == 1 {
            return Ok(0);
        }
        let behind = x + 1..x + columns;
        let is_behind = |(column, row, _): &&Change| row == y && behind.contains(column);
        let n_behind = others.iter().take_while(is_behind).count();
        let blank = |cell: &Cell| cell.symbol() == " " && pen.fits(cell);
        let mut stands = behind.clone().map(|x| self.stands(x, *y));
        if n_behind > 0 || !stands.all(|stands| stands.is_some_and(blank)) {
            let blanks = " ".repeat(columns.into());
            write!(out, "{blanks}\x1b[{};{}H", y + 1, x + 1)?;
        }
        Ok(n_behind)
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
            Some(Written::Other(_) | Written::Rest) => None,
            None => self.was_blank.then_some(&Cell::EMPTY),
        }
    }

    fn remember(&mut self, x: u16, y: u16, cell: &Cell) {
        self.right = self.right.max(x);
        let symbol = cell.symbol();
        let first = if symbol.len() == 1 {
            Written::Ascii(cell.clone())
        } else {
            Written::Other(cell.clone())
        };
        self.written.insert((x, y), first);
        let end = x + width(symbol);
        for column in x + 1..end {
            self.written.insert((column, y), Written::Rest);
        }
        if sure_width(symbol).is_none()
            && let Some(behind) = self.stands(end, y).cloned()
        {
            self.written.insert((end, y), Written::Other(behind));
        }
    }
}

#[cfg(test)]
mod tests;
