//! Which lines of the conversation are in view.
//!
//! The view follows the end only while it is at the end; otherwise it stays where it is, whatever
//! is appended.

/// The part of the conversation in view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scroll {
    /// The first line in view.
    pub top: usize,
    /// Whether the view follows the end.
    pub follow: bool,
    /// Lines that were in view so far, or above one that was.
    seen: usize,
}

/// What lies below the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Below {
    /// Nothing: the end is in view.
    Nothing,
    /// Lines that were seen already.
    Seen(usize),
    /// Lines that came since the view left the end.
    New(usize),
}

impl Default for Scroll {
    fn default() -> Self {
        Self {
            top: 0,
            follow: true,
            seen: 0,
        }
    }
}

impl Scroll {
    /// Fits the view into `len` lines with `height` of them in view.
    pub fn settle(&mut self, len: usize, height: usize) {
        let end = len.saturating_sub(height);
        self.follow |= self.top >= end;
        if self.follow {
            self.top = end;
        }
        self.seen = self.seen.max(self.top + height).min(len);
    }

    /// Scrolls by `lines` (down is positive). At the end, the view follows again.
    pub fn by(&mut self, lines: isize, len: usize, height: usize) {
        let end = len.saturating_sub(height);
        self.top = self.top.saturating_add_signed(lines).min(end);
        self.follow = false;
        self.settle(len, height);
    }

    /// Brings `line` into view, a third from the top where it was not, and leaves the view there.
    pub fn show(&mut self, line: usize, len: usize, height: usize) {
        if line < self.top || line >= self.top + height {
            self.top = line.saturating_sub(height / 3);
        }
        self.by(0, len, height);
    }

    /// Goes to the end and follows it.
    pub fn to_end(&mut self) {
        self.follow = true;
    }

    /// So many lines were put before all others: the same ones stay in view.
    pub fn shift(&mut self, lines: usize) {
        self.top += lines;
        self.seen += lines;
    }

    /// What lies below.
    pub fn below(&self, len: usize, height: usize) -> Below {
        match (
            len.saturating_sub(self.top + height),
            len.saturating_sub(self.seen),
        ) {
            (0, _) => Below::Nothing,
            (hidden, 0) => Below::Seen(hidden),
            (_, new) => Below::New(new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_view_follows_only_at_the_end() {
        let mut scroll = Scroll::default();
        scroll.settle(5, 10);
        assert_eq!(scroll.top, 0);
        scroll.settle(30, 10);
        assert_eq!(scroll.top, 20);
        scroll.by(-4, 30, 10);
        assert_eq!((scroll.top, scroll.follow), (16, false));
        assert_eq!(scroll.below(30, 10), Below::Seen(4));
        scroll.settle(37, 10);
        assert_eq!(scroll.top, 16);
        assert_eq!(scroll.below(37, 10), Below::New(7));
        scroll.by(100, 37, 10);
        assert_eq!((scroll.top, scroll.follow), (27, true));
        assert_eq!(scroll.below(37, 10), Below::Nothing);
    }

    #[test]
    fn scrolling_stops_at_the_start() {
        let mut scroll = Scroll::default();
        scroll.settle(30, 10);
        scroll.by(isize::MIN, 30, 10);
        assert_eq!((scroll.top, scroll.follow), (0, false));
        scroll.by(isize::MAX, 3, 10);
        assert_eq!((scroll.top, scroll.follow), (0, true));
    }
}
