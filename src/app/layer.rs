//! Marks on a text: ranges of bytes with a value each, in order and apart.
//!
//! Who drafted a token, what a word of code is, what a search found: all are layers over the same
//! source, laid over its lines when they are drawn.

use std::ops::Range;

/// Ranges of a text with a value each.
#[derive(Clone, Debug)]
pub struct Layer<T> {
    marks: Vec<(Range<usize>, T)>,
}

impl<T> Default for Layer<T> {
    fn default() -> Self {
        Self { marks: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Layer<T> {
    /// Marks `range`, which must not start before the end of the marks there are; else it is left out.
    pub fn push(&mut self, range: Range<usize>, value: T) {
        match self.marks.last_mut() {
            _ if range.is_empty() => {}
            Some((last, of)) if last.end == range.start && *of == value => last.end = range.end,
            Some((last, _)) if last.end > range.start => {}
            Some(_) | None => self.marks.push((range, value)),
        }
    }

    /// The value at `byte`, and up to which byte that holds.
    pub fn at(&self, byte: usize) -> (Option<T>, usize) {
        let index = self.marks.partition_point(|(range, _)| range.end <= byte);
        match self.marks.get(index) {
            Some((range, value)) if range.start <= byte => (Some(*value), range.end),
            Some((range, _)) => (None, range.start),
            None => (None, usize::MAX),
        }
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_touch_become_one() {
        let mut layer = Layer::default();
        layer.push(2..4, 'a');
        layer.push(4..6, 'a');
        layer.push(6..6, 'b');
        layer.push(8..9, 'b');
        layer.push(3..10, 'c');
        assert_eq!(layer.at(0), (None, 2));
        assert_eq!(layer.at(2), (Some('a'), 6));
        assert_eq!(layer.at(5), (Some('a'), 6));
        assert_eq!(layer.at(6), (None, 8));
        assert_eq!(layer.at(8), (Some('b'), 9));
        assert_eq!(layer.at(9), (None, usize::MAX));
    }
}
