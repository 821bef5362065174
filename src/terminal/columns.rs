//! How wide a terminal is, and text that is to stay on its lines.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

use crate::app::wrap::cut;
use crate::clean::clean;

/// Columns of the terminal behind `output`; `None` where that is no terminal, or does not know.
pub fn columns(output: impl AsFd) -> Option<usize> {
    let size = tcgetwinsize(output).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// A text whose lines end with `…` where they are longer than `columns`, if there is such a limit.
pub fn fitted(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns else {
        return text.to_owned();
    };
    let lines = text.lines().map(|line| cut(&clean(line), columns) + "\n");
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_fit() {
        let check = |text: &str, columns, expect: &str| {
            assert_eq!(fitted(text, columns), expect, "{text:?} {columns:?}");
        };
        check("one two\nthree\n", None, "one two\nthree\n");
        check("one two\nthree\n", Some(7), "one two\nthree\n");
        check("one two\nthree\n", Some(6), "one t…\nthree\n");
        check("日本語 text\n", Some(6), "日本…\n");
        check("a\u{1b}[31mb\n", Some(6), "a␛[31…\n");
        check("", Some(1), "");
        check("abc\n", Some(1), "…\n");
    }

    #[test]
    fn what_is_no_terminal_has_no_columns() {
        assert_eq!(columns(tempfile::tempfile().unwrap()), None);
    }
}
