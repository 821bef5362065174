//! Text → lines of a given width, as byte ranges of the text.
//!
//! The ranges are contiguous: together with the newlines between them they cover the text, so a
//! cursor has a place for every byte. Blanks at the end of a wrapped line belong to that line and
//! may stand beyond its width; who draws it cuts them off.

use std::ops::Range;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

/// Columns that a tab takes.
pub const TAB_WIDTH: usize = 4;

/// Punctuation that does not start a line in text without spaces.
const NOT_AT_LINE_START: &str = "、。，．：；！？）」』】〉》〕｝］…ー々";

/// How to break a line that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words where possible; list items, indented text and code keep their indentation.
    Words,
    /// Between words where possible, each line from the first column: for what is being typed.
    Flush,
}

/// One line on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedLine {
    /// Its bytes of the text.
    pub range: Range<usize>,
    /// Columns left free before it, so that continued lines of a list item align.
    pub indent: u16,
}

/// The columns that `grapheme` takes.
pub fn grapheme_width(grapheme: &str) -> usize {
    match grapheme {
        "\t" => TAB_WIDTH,
        _ if grapheme.contains(char::is_control) => 0,
        _ => grapheme.cell_width().into(),
    }
}

/// The columns that `text` takes.
pub fn text_width(text: &str) -> usize {
    text.graphemes(true).map(grapheme_width).sum()
}

/// As much of `text` as `columns` hold, with `…` where some is left out.
pub fn cut(text: &str, columns: usize) -> String {
    if text_width(text) <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept) >= columns {
            kept.pop();
            break;
        }
    }
    if columns > 0 { kept + "…" } else { kept }
}

/// The last boundary of a character of `text` that is not behind byte `at`.
pub fn boundary_before(text: &str, at: usize) -> usize {
    let mut boundaries = (0..=at.min(text.len())).rev();
    boundaries
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Wraps `text[from..]` (which starts a line) to `width` columns and appends its lines to `out`.
pub fn wrap(text: &str, from: usize, width: usize, how: Break, out: &mut Vec<WrappedLine>) {
    let mut start = from;
    for line in text[from..].split('\n') {
        wrap_line(line, start, width.max(1), how, out);
        start += line.len() + 1;
    }
}

/// Wraps one line without newlines that starts at byte `base` of the text.
fn wrap_line(line: &str, base: usize, width: usize, how: Break, out: &mut Vec<WrappedLine>) {
    let (prefix, hang) = hanging_indent(line);
    let hang = match how {
        Break::Words => hang.min(width / 2),
        Break::Flush => 0,
    };
    let mut start = 0;
    let mut column = 0;
    // Where the line can be broken, and the column there.
    let mut opportunity: Option<(usize, usize)> = None;
    // Whether the grapheme before is a blank or wide.
    let mut after_break = false;
    let mut push = |range: Range<usize>| {
        let indent = if range.start == 0 { 0 } else { hang as u16 };
        out.push(WrappedLine {
            range: base + range.start..base + range.end,
            indent,
        });
    };
    for (at, grapheme) in line.grapheme_indices(true) {
        let grapheme_columns = grapheme_width(grapheme);
        let blank = matches!(grapheme, " " | "\t");
        let wide = grapheme_columns > 1 && !blank;
        let may_start_line = !blank && !NOT_AT_LINE_START.contains(grapheme);
        // A line of nothing but the indentation or the marker would be wasted.
        if (wide || after_break) && may_start_line && at > start.max(prefix) {
            opportunity = Some((at, column));
        }
        after_break = blank || wide;
        // Twice, where the part after a break does not fit behind the indentation.
        while column + grapheme_columns > width && at > start && !blank {
            let (break_at, break_column) = opportunity.unwrap_or((at, column));
            push(start..break_at);
            start = break_at;
            column = column - break_column + hang;
            opportunity = None;
        }
        column += grapheme_columns;
    }
    push(start..line.len());
}

/// Leading blanks and a list marker (`- `, `* `, `12. `): their bytes and their columns.
fn hanging_indent(line: &str) -> (usize, usize) {
    let rest = line.trim_start_matches([' ', '\t']);
    let blanks = line.len() - rest.len();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let marker = if ["- ", "* ", "• "].iter().any(|mark| rest.starts_with(mark)) {
        2
    } else if (1..=3).contains(&digits)
        && (rest[digits..].starts_with(". ") || rest[digits..].starts_with(") "))
    {
        digits + 2
    } else {
        0
    };
    let marker_bytes: usize = rest.chars().take(marker).map(char::len_utf8).sum();
    let columns = text_width(&line[..blanks]) + marker;
    (blanks + marker_bytes, columns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines(text: &str, width: usize, how: Break) -> Vec<String> {
        let mut out = Vec::new();
        wrap(text, 0, width, how, &mut out);
        out.iter()
            .map(|line| " ".repeat(line.indent.into()) + &text[line.range.clone()])
            .collect()
    }

    #[track_caller]
    fn check(text: &str, width: usize, how: Break, expect: &[&str]) {
        assert_eq!(lines(text, width, how), expect);
    }

    #[test]
    fn words_stay_whole_and_blanks_hang() {
        check(
            "the quick brown fox",
            10,
            Break::Words,
            &["the quick ", "brown fox"],
        );
        check(
            "the quick    brown",
            9,
            Break::Words,
            &["the quick    ", "brown"],
        );
        check("", 10, Break::Words, &[""]);
        check("a\n\nb\n", 10, Break::Words, &["a", "", "b", ""]);
    }

    #[test]
    fn a_word_that_is_too_long_is_cut() {
        check(
            "see https://example.org/x",
            10,
            Break::Words,
            &["see ", "https://ex", "ample.org/", "x"],
        );
        check("abc", 1, Break::Words, &["a", "b", "c"]);
    }

    #[test]
    fn lists_and_indented_lines_hang() {
        check(
            "- one two three",
            9,
            Break::Words,
            &["- one two ", "  three"],
        );
        check(
            "12. one two three",
            10,
            Break::Words,
            &["12. one ", "    two ", "    three"],
        );
        check("- -eeae", 4, Break::Words, &["- -e", "  ea", "  e"]);
        check("    abcdefgh", 8, Break::Words, &["    abcd", "    efgh"]);
        check(
            "  deep text here",
            11,
            Break::Words,
            &["  deep text ", "  here"],
        );
    }

    #[test]
    fn what_is_typed_has_no_indentation_of_its_own() {
        check(
            "    return x + y",
            10,
            Break::Flush,
            &["    return ", "x + y"],
        );
        check("- one two", 6, Break::Flush, &["- one ", "two"]);
        check("    abcdefgh", 8, Break::Flush, &["    abcd", "efgh"]);
    }

    #[test]
    fn code_breaks_between_words_behind_its_indentation() {
        check(
            "    return first_value + second",
            20,
            Break::Words,
            &["    return ", "    first_value + ", "    second"],
        );
    }

    #[test]
    fn wide_text_breaks_between_characters_but_not_before_punctuation() {
        check(
            "日本語のテキスト",
            6,
            Break::Words,
            &["日本語", "のテキ", "スト"],
        );
        check("日本語。はい", 6, Break::Words, &["日本", "語。は", "い"]);
        check("ab 日本語", 6, Break::Words, &["ab 日", "本語"]);
        check("👩‍👩‍👧‍👦👍🏽x", 3, Break::Flush, &["👩‍👩‍👧‍👦", "👍🏽x"]);
    }

    proptest! {
        #[test]
        fn lines_cover_the_text_and_fit(text in "[ab \t\n日👍🏽e\u{301}-]{0,60}", width in 4_usize..20) {
            for how in [Break::Words, Break::Flush] {
                let mut out = Vec::new();
                wrap(&text, 0, width, how, &mut out);
                let mut next = 0;
                for line in &out {
                    if line.range.start != next {
                        prop_assert_eq!(&text[next..line.range.start], "\n");
                    }
                    next = line.range.end;
                    let shown = text[line.range.clone()].trim_end_matches([' ', '\t']);
                    // Nothing but a single character may be wider than the line.
                    let fits = usize::from(line.indent) + text_width(shown) <= width;
                    prop_assert!(fits || shown.graphemes(true).count() == 1, "{:?}", shown);
                }
                prop_assert_eq!(next, text.len());
            }
        }

        #[test]
        fn wrapping_never_panics(text in any::<String>(), width in 0_usize..5) {
            let mut out = Vec::new();
            wrap(&text, 0, width, Break::Words, &mut out);
            prop_assert!(!out.is_empty());
        }
    }
}
