//! The message being typed: several lines, a cursor, and the messages typed before.
//!
//! The text and its undo live in a `TextArea`; the keys are ours (app/keymap.rs) and so is the
//! drawing (ui/input.rs), with the terminal's own cursor, which input methods need. The cursor
//! moves by grapheme: it never stands inside a character.

use ratatui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use crate::app::wrap::{Break, WrappedLine, text_width, wrap};
use crate::clean::clean;

/// The message being typed.
#[derive(Debug, Default)]
pub struct Input {
    area: TextArea<'static>,
    history: Vec<String>,
    /// The place in the history that is shown, and what was typed before going there.
    recalled: Option<(usize, String)>,
}

/// The text as lines of a given width, with the cursor's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLines {
    /// The text, cleaned: as many characters as were typed.
    pub text: String,
    /// Its lines.
    pub lines: Vec<WrappedLine>,
    /// The line with the cursor.
    pub row: usize,
    /// The cursor's column.
    pub column: usize,
}

/// A change to the text or the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Inserts a character.
    Insert(char),
    /// Starts a new line.
    Newline,
    /// Deletes what stands before the cursor.
    Backspace,
    /// Deletes what stands at the cursor.
    Delete,
    /// Deletes the word before the cursor.
    DeleteWord,
    /// Deletes to the start of the line.
    DeleteToStart,
    /// Deletes to the end of the line.
    DeleteToEnd,
    /// Puts back what was deleted last.
    Yank,
    /// Takes back the last change.
    Undo,
    /// One character to the left.
    Left,
    /// One character to the right.
    Right,
    /// One word to the left.
    WordLeft,
    /// One word to the right.
    WordRight,
    /// To the start of the line.
    LineStart,
    /// To the end of the line.
    LineEnd,
}

impl Input {
    /// The text as typed or pasted.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Whether the cursor stands at the end of its line.
    pub fn at_line_end(&self) -> bool {
        let (row, column) = self.cursor();
        column == self.area.lines()[row].chars().count()
    }

    /// What is typed, if it is one line that starts with `/` but not `//`, and nothing that was typed
    /// before.
    pub fn command_line(&self) -> Option<&str> {
        let [line] = self.area.lines() else {
            return None;
        };
        let is_command = line.starts_with('/') && !line.starts_with("//");
        let recalled = self.recalled.as_ref();
        let before = recalled.and_then(|(place, _)| self.history.get(*place));
        (is_command && before != Some(line)).then_some(line)
    }

    /// Replaces the text as an edit that can be undone.
    pub fn replace(&mut self, text: &str) {
        let typed = self.text();
        match text.strip_prefix(&typed) {
            Some(rest) if self.at_line_end() => self.insert(rest),
            Some(_) | None => {
                self.area.select_all();
                self.insert(text);
            }
        }
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        self.area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Takes the text out and remembers it.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.set("");
        self.recalled = None;
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        text
    }

    /// Inserts text literally; line ends of any system become newlines.
    pub fn insert(&mut self, text: &str) {
        self.area
            .insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Whether a backslash stands before the cursor; if so, it becomes a new line.
    pub fn continue_line(&mut self) -> bool {
        let (row, column) = self.cursor();
        let escaped = column > 0 && self.area.lines()[row].chars().nth(column - 1) == Some('\\');
        if escaped {
            self.area.delete_char();
            self.area.insert_newline();
        }
        escaped
    }

    /// Changes the text or moves the cursor.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Insert(c) => self.area.insert_char(c),
            Edit::Newline => self.area.insert_newline(),
            Edit::Backspace => {
                for _ in 0..self.grapheme_before().max(1) {
                    self.area.delete_char();
                }
            }
            Edit::Delete => {
                for _ in 0..self.grapheme_after().max(1) {
                    self.area.delete_next_char();
                }
            }
            Edit::DeleteWord => {
                self.area.delete_word();
            }
            Edit::DeleteToStart => {
                self.area.delete_line_by_head();
            }
            Edit::DeleteToEnd => {
                self.area.delete_line_by_end();
            }
            Edit::Yank => {
                self.area.paste();
            }
            Edit::Undo => {
                self.area.undo();
            }
            Edit::Left => {
                let (row, column) = self.cursor();
                match self.grapheme_before() {
                    0 => self.area.move_cursor(CursorMove::Back),
                    chars => self.jump(row, column - chars),
                }
            }
            Edit::Right => {
                let (row, column) = self.cursor();
                match self.grapheme_after() {
                    0 => self.area.move_cursor(CursorMove::Forward),
                    chars => self.jump(row, column + chars),
                }
            }
            Edit::WordLeft => self.area.move_cursor(CursorMove::WordBack),
            Edit::WordRight => self.area.move_cursor(CursorMove::WordForward),
            Edit::LineStart => self.area.move_cursor(CursorMove::Head),
            Edit::LineEnd => self.area.move_cursor(CursorMove::End),
        }
    }

    /// Moves the cursor to the line above (`-1`) or below (`1`) as they stand at `width`.
    pub fn move_row(&mut self, by: isize, width: usize) {
        let lines = self.lines(width);
        let Some(target) = lines
            .row
            .checked_add_signed(by)
            .and_then(|row| lines.lines.get(row))
        else {
            return;
        };
        let mut byte = target.range.start;
        let mut column = 0;
        for grapheme in lines.text[target.range.clone()].graphemes(true) {
            column += text_width(grapheme);
            // The place after the last character of a wrapped line is the start of the next one.
            let last = byte + grapheme.len() == target.range.end;
            let wrapped = lines
                .text
                .as_bytes()
                .get(target.range.end)
                .is_some_and(|byte| *byte != b'\n');
            if column > lines.column || last && wrapped {
                break;
            }
            byte += grapheme.len();
        }
        let before = &lines.text[..byte];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.jump(
            before.matches('\n').count(),
            before[line_start..].chars().count(),
        );
    }

    /// Goes back (`true`) or forth in the messages typed before.
    pub fn recall(&mut self, back: bool) {
        let (at, typed) = match self.recalled.take() {
            Some(place) => place,
            None => (self.history.len(), self.text()),
        };
        let target = if back { at.saturating_sub(1) } else { at + 1 };
        if let Some(text) = self.history.get(target) {
            self.set(&text.clone());
            self.recalled = Some((target, typed));
        } else {
            self.set(&typed);
        }
    }

    /// The text, cleaned, as lines of `width` columns. The last column is kept free for the cursor.
    pub fn lines(&self, width: usize) -> InputLines {
        let text = clean(&self.text()).into_owned();
        let (row, column) = self.cursor();
        let lines_before: usize = text.split('\n').take(row).map(|line| line.len() + 1).sum();
        let in_line: usize = text[lines_before..]
            .chars()
            .take(column)
            .map(char::len_utf8)
            .sum();
        let cursor = lines_before + in_line;
        let mut lines = Vec::new();
        wrap(
            &text,
            0,
            width.saturating_sub(1),
            Break::Anywhere,
            &mut lines,
        );
        let row = lines
            .partition_point(|line| line.range.start <= cursor)
            .saturating_sub(1);
        let column = text_width(&text[lines[row].range.start..cursor]);
        InputLines {
            text,
            lines,
            row,
            column,
        }
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// `TextArea` addresses 65,535 rows and columns; beyond them the cursor stays.
    fn jump(&mut self, row: usize, column: usize) {
        if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) {
            self.area.move_cursor(CursorMove::Jump(row, column));
        }
    }

    /// Characters of the grapheme before the cursor; 0 at the start of a line.
    fn grapheme_before(&self) -> usize {
        let (row, column) = self.cursor();
        let before: String = self.area.lines()[row].chars().take(column).collect();
        before
            .graphemes(true)
            .next_back()
            .map_or(0, |grapheme| grapheme.chars().count())
    }

    /// Characters of the grapheme at the cursor; 0 at the end of a line.
    fn grapheme_after(&self) -> usize {
        let (row, column) = self.cursor();
        let after: String = self.area.lines()[row].chars().skip(column).collect();
        after
            .graphemes(true)
            .next()
            .map_or(0, |grapheme| grapheme.chars().count())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FAMILY: &str = "👩‍👩‍👧‍👦";

    /// Types `start`, makes the edits, and shows the text with `|` at the cursor.
    #[track_caller]
    fn check(start: &str, edits: &[Edit], expect: &str) {
        let mut input = Input::default();
        input.insert(start);
        for edit in edits {
            input.edit(*edit);
        }
        assert_eq!(marked(&mut input), expect);
    }

    fn marked(input: &mut Input) -> String {
        input.edit(Edit::Insert('|'));
        input.text()
    }

    #[test]
    fn edits() {
        use Edit::*;
        check("ab", &[Left, Insert('x')], "ax|b");
        check("ab", &[Newline, Insert('c')], "ab\nc|");
        check("ab\ncd", &[LineStart, Left], "ab|\ncd");
        check("ab\ncd", &[LineStart, Backspace], "ab|cd");
        check("ab\ncd", &[LineStart, Left, Right, Right], "ab\nc|d");
        check("one two", &[DeleteWord], "one |");
        check(
            "one two",
            &[WordLeft, DeleteToEnd, LineStart, Yank],
            "two|one ",
        );
        check("one two", &[DeleteToStart, Undo], "one two|");
        check("ab", &[LineStart, Delete], "|b");
    }

    #[test]
    fn the_cursor_moves_and_deletes_by_grapheme() {
        use Edit::*;
        let text = format!("a{FAMILY}e\u{301}");
        check(&text, &[Left], &format!("a{FAMILY}|e\u{301}"));
        check(&text, &[Left, Left], &format!("a|{FAMILY}e\u{301}"));
        check(&text, &[Left, Left, Right], &format!("a{FAMILY}|e\u{301}"));
        check(&text, &[Backspace, Backspace], "a|");
        check(&text, &[LineStart, Right, Delete], "a|e\u{301}");
    }

    #[test]
    fn rows_are_those_on_the_screen() {
        let mut input = Input::default();
        input.insert("abcdefgh\nij");
        let lines = input.lines(5);
        assert_eq!(lines.lines.len(), 3);
        assert_eq!((lines.row, lines.column), (2, 2));
        input.move_row(-1, 5);
        input.move_row(-1, 5);
        input.move_row(-1, 5);
        assert_eq!(marked(&mut input), "ab|cdefgh\nij");
    }

    #[test]
    fn the_end_of_a_wrapped_row_is_not_the_next_row() {
        let mut input = Input::default();
        input.insert("abcd\nefgh");
        input.edit(Edit::Insert('i'));
        input.move_row(-1, 5);
        assert_eq!(input.lines(5).row, 1);
        input.move_row(-1, 5);
        assert_eq!(input.lines(5).row, 0);
    }

    #[test]
    fn history_keeps_what_was_being_typed() {
        let mut input = Input::default();
        for text in ["first", "second", "second"] {
            input.insert(text);
            input.take();
        }
        input.insert("third");
        let mut walk = |back: bool| {
            input.recall(back);
            input.text()
        };
        assert_eq!(
            [true, true, true].map(&mut walk),
            ["second", "first", "first"]
        );
        assert_eq!(
            [false, false, false].map(&mut walk),
            ["second", "third", "third"]
        );
    }

    #[test]
    fn a_paste_is_literal() {
        let mut input = Input::default();
        input.insert("a\r\nb\rc\t?");
        assert_eq!(input.text(), "a\nb\nc\t?");
    }

    #[test]
    fn a_backslash_continues_the_line() {
        let mut input = Input::default();
        input.insert("ab\\");
        assert!(input.continue_line());
        assert_eq!(input.text(), "ab\n");
        assert!(!input.continue_line());
    }

    fn edit() -> impl Strategy<Value = Edit> {
        use Edit::*;
        prop_oneof![
            prop::sample::select(vec![
                'a', ' ', '日', '\u{301}', '\u{200d}', '👩', '👍', '🏽', '\t', '\x1b'
            ])
            .prop_map(Insert),
            prop::sample::select(vec![
                Newline,
                Backspace,
                Delete,
                DeleteWord,
                DeleteToStart,
                DeleteToEnd,
                Yank,
                Undo,
                Left,
                Right,
                WordLeft,
                WordRight,
                LineStart,
                LineEnd,
            ]),
        ]
    }

    proptest! {
        #[test]
        fn any_edits_leave_a_cursor_inside_the_text(
            edits in prop::collection::vec((edit(), -1_isize..2), 0..40),
            width in 0_usize..12,
        ) {
            let mut input = Input::default();
            for (edit, rows) in edits {
                input.edit(edit);
                input.move_row(rows, width);
                let lines = input.lines(width);
                prop_assert!(lines.row < lines.lines.len());
            }
        }
    }
}
