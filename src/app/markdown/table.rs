//! Tables: cells → lines, columns as wide as they must be or as narrow as the screen demands.

use pulldown_cmark::Alignment;

use super::line::{Line, Span, wrap_spans};
use crate::app::wrap::text_width;

/// Between two columns.
const GAP: &str = " │ ";
const GAP_WIDTH: usize = 3;
/// A column is not made narrower than this.
const MIN_WIDTH: usize = 4;
/// A table of more columns is shown as its source.
const MAX_COLUMNS: usize = 64;

/// A table that is being read.
#[derive(Debug, Default)]
pub struct Table {
    /// How columns are aligned.
    pub alignments: Vec<Alignment>,
    /// The rows, the first of which is the head.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Debug, Default)]
pub struct Row {
    /// Where it stands in the source.
    pub start: usize,
    /// The spans of each cell.
    pub cells: Vec<Vec<Span>>,
}

impl Table {
    /// Its lines at `width` columns, or `None` where so many columns do not fit.
    pub fn lines(&mut self, source: &str, width: usize) -> Option<Vec<Line>> {
        let columns = self.alignments.len();
        let gaps = GAP_WIDTH * columns.saturating_sub(1);
        if columns == 0 || columns > MAX_COLUMNS || width < gaps + columns * MIN_WIDTH {
            return None;
        }
        for span in self
            .rows
            .iter_mut()
            .take(1)
            .flat_map(|head| head.cells.iter_mut().flatten())
        {
            span.look.strong = true;
        }
        let natural = (0..columns).map(|column| {
            let cells = self.rows.iter().filter_map(|row| row.cells.get(column));
            cells
                .map(|cell| cell_width(source, cell))
                .max()
                .unwrap_or(0)
                .max(1)
        });
        let widths = fit(natural.collect(), width - gaps);
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            self.row(source, row, &widths, &mut lines);
            if index == 0 {
                let bars: Vec<_> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line {
                    start: row.start,
                    spans: vec![Span::sign(row.start, &bars.join("─┼─"))],
                });
            }
        }
        Some(lines)
    }

    fn row(&self, source: &str, row: &Row, widths: &[usize], lines: &mut Vec<Line>) {
        let cells: Vec<_> = widths
            .iter()
            .enumerate()
            .map(|(column, width)| {
                let spans = row.cells.get(column).map_or(&[][..], Vec::as_slice);
                wrap_spans(source, spans, *width)
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        for index in 0..height {
            let mut spans = Vec::new();
            for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if column > 0 {
                    spans.push(Span::sign(row.start, GAP));
                }
                let text = cell.get(index).map_or(&[][..], Vec::as_slice);
                let free = width.saturating_sub(cell_width(source, text));
                let before = match self.alignments[column] {
                    Alignment::None | Alignment::Left => 0,
                    Alignment::Center => free / 2,
                    Alignment::Right => free,
                };
                let pad = |columns: usize, spans: &mut Vec<Span>| {
                    if columns > 0 {
                        spans.push(Span::sign(row.start, &" ".repeat(columns)));
                    }
                };
                pad(before, &mut spans);
                spans.extend_from_slice(text);
                if column + 1 < widths.len() {
                    pad(free - before, &mut spans);
                }
            }
            lines.push(Line {
                start: row.start,
                spans,
            });
        }
    }
}

fn cell_width(source: &str, spans: &[Span]) -> usize {
    spans.iter().map(|span| text_width(span.text(source))).sum()
}

/// Widths that sum up to at most `room`: the widest columns give way.
fn fit(natural: Vec<usize>, room: usize) -> Vec<usize> {
    let sum = |most: usize| {
        natural
            .iter()
            .map(|width| (*width).min(most))
            .sum::<usize>()
    };
    let most = (MIN_WIDTH..=room).rev().find(|most| sum(*most) <= room);
    let most = most.unwrap_or(MIN_WIDTH);
    let mut spare = room.saturating_sub(sum(most));
    natural
        .into_iter()
        .map(|width| {
            let extra = usize::from(width > most && spare > 0);
            spare -= extra;
            width.min(most + extra)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_give_way() {
        assert_eq!(fit(vec![3, 5], 20), [3, 5]);
        assert_eq!(fit(vec![3, 50], 20), [3, 17]);
        assert_eq!(fit(vec![30, 50], 21), [11, 10]);
        assert_eq!(fit(vec![9, 9, 9], 12), [4, 4, 4]);
    }
}
