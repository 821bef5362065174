//! Characters of two columns, and those whose columns terminals disagree on: whatever is written over what,
//! the screen shows what was drawn.

use proptest::prelude::*;
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthChar;
use vte::{Params, Parser, Perform};

use crate::recorder::written;

const SIZE: (u16, u16) = (14, 2);
const SYMBOLS: [&str; 14] = [
    "a", "b", " ", " ", "日", "한", "⚠️", "❤️", "🇩🇪", "👍🏽", "e\u{301}", "…", "·", "あﾞ",
];

/// What a terminal may do.
#[derive(Clone, Copy, Debug)]
struct Ways {
    /// What is left of a wide character stays when the other half is written over.
    keeps_halves: bool,
    /// U+FE0F makes the character before it wide.
    widens: bool,
}

/// What stands in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stands {
    Char(char),
    SecondHalf,
}

/// A terminal that knows what speck writes.
struct Grid {
    ways: Ways,
    rows: Vec<Vec<Stands>>,
    x: usize,
    y: usize,
}

impl Grid {
    fn new(ways: Ways) -> Self {
        let row = vec![Stands::Char(' '); usize::from(SIZE.0)];
        Self {
            ways,
            rows: vec![row; usize::from(SIZE.1)],
            x: 0,
            y: 0,
        }
    }

    fn put(&mut self, x: usize, what: Stands) {
        let row = &mut self.rows[self.y];
        if !self.ways.keeps_halves {
            if row.get(x) == Some(&Stands::SecondHalf) && what != Stands::SecondHalf {
                row[x - 1] = Stands::Char(' ');
            }
            if row.get(x + 1) == Some(&Stands::SecondHalf) {
                row[x + 1] = Stands::Char(' ');
            }
        }
        if let Some(cell) = row.get_mut(x) {
            *cell = what;
        }
    }
}

impl Perform for Grid {
    fn print(&mut self, c: char) {
        match c.width().unwrap_or(0) {
            0 if c == '\u{fe0f}' && self.ways.widens => {
                self.put(self.x, Stands::SecondHalf);
                self.x += 1;
            }
            0 => {}
            width => {
                self.put(self.x, Stands::Char(c));
                if width > 1 {
                    self.put(self.x + 1, Stands::SecondHalf);
                }
                self.x += width;
            }
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], _: bool, action: char) {
        let numbers: Vec<usize> = params.iter().map(|it| it[0].into()).collect();
        let n = numbers.first().map_or(1, |n| (*n).max(1));
        match action {
            'H' => (self.y, self.x) = (numbers[0] - 1, numbers[1] - 1),
            'C' => self.x += n,
            'X' => (self.x..self.x + n).for_each(|x| self.put(x, Stands::Char(' '))),
            'm' | 'h' | 'l' => {}
            _ => panic!("CSI {numbers:?} {action}"),
        }
    }
}

/// Symbols side by side, in rows.
struct Rows<'a>(&'a [Vec<usize>]);

impl Widget for Rows<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        for (y, row) in (0..).zip(self.0) {
            let text: String = row.iter().map(|i| SYMBOLS[*i]).collect();
            buffer.set_stringn(0, y, text, area.width.into(), Style::new());
        }
    }
}

fn check(frames: &[Vec<Vec<usize>>], ways: Ways) -> Result<(), TestCaseError> {
    let mut grid = Grid::new(ways);
    let mut parser = Parser::new();
    let mut drawn = Buffer::default();
    // As on a real screen something reaches the right edge.
    let full = vec![vec![0; usize::from(SIZE.0)]; usize::from(SIZE.1)];
    let frames = [&[full], frames].concat();
    let writes = written(SIZE, frames.iter().map(|rows| Rows(rows)), &mut drawn);
    for bytes in &writes {
        parser.advance(&mut grid, bytes);
    }
    for y in 0..SIZE.1 {
        let mut x = 0;
        while x < SIZE.0 {
            let symbol = drawn[(x, y)].symbol();
            let shown = grid.rows[usize::from(y)][usize::from(x)];
            let bytes: Vec<_> = writes
                .iter()
                .map(|it| it.escape_ascii().to_string())
                .collect();
            prop_assert_eq!(
                shown,
                Stands::Char(symbol.chars().next().unwrap()),
                "{}, {}, {:?}: {:?}",
                x,
                y,
                ways,
                bytes
            );
            x += symbol.cell_width().max(1);
        }
    }
    Ok(())
}

fn rows() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let row = prop::collection::vec(0..SYMBOLS.len(), 0..10);
    prop::collection::vec(row, usize::from(SIZE.1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn whatever_is_written_over_what_the_screen_shows_what_was_drawn(
        frames in prop::collection::vec(rows(), 1..5),
        keeps_halves: bool,
        widens: bool,
    ) {
        check(&frames, Ways { keeps_halves, widens })?;
    }
}
