//! Code fences: what opens and what closes a block of code.

/// An open fence of a code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The byte of the source where it stands.
    pub start: usize,
    mark: char,
    length: usize,
    /// Blanks that every line of the code is indented by.
    indent: usize,
}

impl Fence {
    /// Reads the line that opens a block of code at byte `start`.
    pub fn open(line: &str, start: usize) -> Option<Self> {
        let rest = line.trim_start_matches(' ');
        let mark = rest.chars().next().filter(|c| ['`', '~'].contains(c))?;
        let length = rest.len() - rest.trim_start_matches(mark).len();
        (length >= 3).then_some(Self {
            start,
            mark,
            length,
            indent: line.len() - rest.len(),
        })
    }

    /// Whether `line` closes the block.
    pub fn is_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_start_matches(' ');
        let after = rest.trim_start_matches(self.mark);
        line.len() - rest.len() <= 3
            && rest.len() - after.len() >= self.length
            && after.trim().is_empty()
    }

    /// Whether `line` may close the block once it is whole.
    pub fn may_be_closed_by(&self, line: &str) -> bool {
        let rest = line.trim_matches(' ');
        !rest.is_empty() && rest.trim_start_matches(self.mark).is_empty()
    }

    /// `line` without the indentation of the block: its bytes that are left out.
    pub fn indentation(&self, line: &str) -> usize {
        let blanks = line.bytes().take_while(|byte| *byte == b' ').count();
        blanks.min(self.indent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_open_and_close() {
        assert!(Fence::open("```rust", 0).is_some() && Fence::open(" ~~~ a", 0).is_some());
        assert!(Fence::open("``", 0).is_none() && Fence::open("", 0).is_none());
        let fence = Fence::open("  ````", 0).unwrap();
        assert!(fence.is_closed_by("`````  ") && fence.may_be_closed_by(" ``"));
        assert!(!fence.is_closed_by("```") && !fence.is_closed_by("    ````"));
        assert!(!fence.is_closed_by("````x") && !fence.may_be_closed_by("``x"));
        assert_eq!(fence.indentation("    x"), 2);
        assert_eq!(fence.indentation(" x"), 1);
    }
}
