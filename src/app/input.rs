//! The message being typed: several lines, a cursor, and the messages typed before.
//!
//! A long paste is one character ([`crate::app::typed`]), which is shown as a label.
//! The text and its undo live in a `TextArea`; the keys are ours (app/keymap.rs) and so is the
//! drawing (ui/input.rs), with the terminal's own cursor, which input methods need. The cursor
//! moves by grapheme: it never stands inside a character.

use std::ops::Range;

use ratatui_textarea::CursorMove;
use unicode_segmentation::UnicodeSegmentation;

use crate::app::draft::Draft;
use crate::app::history::History;
use crate::app::typed::{self, Typed};
use crate::app::wrap::{Break, WrappedLine, text_width, wrap};

/// A text that is put into the input becomes one character if it is longer than this, in bytes: each
/// key wraps what is shown anew.
const MOST_EDITABLE: usize = 16 << 10;

/// The message being typed, with the messages typed before.
#[derive(Debug, Default)]
pub struct Input {
    draft: Draft,
    history: History,
    /// The place in the history that is shown, and what was typed before going there.
    recalled: Option<(usize, Draft)>,
}

/// The text as lines of a given width, with the cursor's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLines {
    /// The text, cleaned, with a label for each long paste.
    pub text: String,
    /// Where the labels are.
    pub labels: Vec<Range<usize>>,
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
    /// With the messages of earlier runs, oldest first.
    pub fn new(messages: Vec<Typed>) -> Self {
        Self {
            history: History::new(messages),
            ..Self::default()
        }
    }

    /// The text as typed and pasted.
    pub fn text(&self) -> String {
        self.draft.typed().whole()
    }

    /// The text, in which a long paste is one character.
    pub fn typed(&self) -> Typed {
        self.draft.typed()
    }

    /// The messages typed before.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// What was typed and not handed out yet, for the history of later runs.
    pub fn take_fresh(&mut self) -> Vec<Typed> {
        self.history.take_fresh()
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.draft.area.is_empty()
    }

    /// Whether the cursor stands at the end of its line.
    pub fn at_line_end(&self) -> bool {
        let (row, column) = self.cursor();
        column == self.draft.area.lines()[row].chars().count()
    }

    /// What is typed, if it is one line that starts with `/` but not `//`, and nothing that was typed
    /// before.
    pub fn command_line(&self) -> Option<&str> {
        let [line] = self.draft.area.lines() else {
            return None;
        };
        let is_command = line.starts_with('/') && !line.starts_with("//");
        let recalled = self.recalled.as_ref();
        let before = recalled.and_then(|(place, _)| self.history.get(*place));
        let recalled = before.is_some_and(|message| message.text == *line);
        (is_command && !recalled).then_some(line)
    }

    /// Replaces the text as an edit that can be undone.
    pub fn replace(&mut self, text: &str) {
        let typed = self.text();
        match text.strip_prefix(&typed) {
            Some(rest) if self.at_line_end() => self.insert(rest),
            Some(_) | None => {
                self.draft.area.select_all();
                self.insert(text);
            }
        }
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set(&mut self, text: &str) {
        if text.len() <= MOST_EDITABLE {
            self.set_typed(Typed {
                text: text.to_owned(),
                pasted: Vec::new(),
            });
        } else {
            self.draft = Draft::default();
            self.draft.insert_as_one(text.to_owned());
        }
    }

    /// Replaces the text; the cursor goes to its end.
    pub fn set_typed(&mut self, typed: Typed) {
        self.draft = Draft::new(typed);
    }

    /// Puts a message that was typed before into the input, its long pastes as they were.
    pub fn put_back(&mut self, typed: Typed) {
        if typed.pasted.is_empty() {
            self.set(&typed.text);
        } else {
            self.set_typed(typed);
        }
    }

    /// Takes the text out and remembers it.
    pub fn take(&mut self) -> Typed {
        let typed = self.put_aside().typed();
        self.remember(typed.clone());
        typed
    }

    /// Remembers what was typed and has left the input.
    pub fn remember(&mut self, typed: Typed) {
        self.recalled = None;
        self.history.push(typed);
    }

    /// Takes the text out, to come back with [`Self::take_back`].
    pub fn put_aside(&mut self) -> Draft {
        std::mem::take(&mut self.draft)
    }

    /// Puts back what was put aside.
    pub fn take_back(&mut self, draft: Draft) {
        self.draft = draft;
    }

    /// Inserts text literally; line ends of any system become newlines.
    pub fn insert(&mut self, text: &str) {
        self.draft.insert(text);
    }

    /// Inserts a paste literally, a long one as one character. An error says why that cannot be.
    pub fn paste(&mut self, text: &str) -> Result<(), String> {
        self.draft.paste(text)
    }

    /// Whether a backslash stands before the cursor; if so, it becomes a new line.
    pub fn continue_line(&mut self) -> bool {
        let (row, column) = self.cursor();
        let escaped =
            column > 0 && self.draft.area.lines()[row].chars().nth(column - 1) == Some('\\');
        if escaped {
            self.draft.area.delete_char();
            self.draft.area.insert_newline();
        }
        escaped
    }

    /// Changes the text or moves the cursor.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Insert(c) if typed::index(c).is_some() => {
                self.draft.insert_as_one(c.to_string());
            }
            Edit::Insert(c) => self.draft.area.insert_char(c),
            Edit::Newline => self.draft.area.insert_newline(),
            Edit::Backspace => {
                for _ in 0..self.grapheme_before().max(1) {
                    self.draft.area.delete_char();
                }
            }
            Edit::Delete => {
                for _ in 0..self.grapheme_after().max(1) {
                    self.draft.area.delete_next_char();
                }
            }
            Edit::DeleteWord => {
                self.draft.area.delete_word();
            }
            Edit::DeleteToStart => {
                self.draft.area.delete_line_by_head();
            }
            Edit::DeleteToEnd => {
                self.draft.area.delete_line_by_end();
            }
            Edit::Yank => {
                self.draft.area.paste();
            }
            Edit::Undo => {
                self.draft.area.undo();
            }
            Edit::Left => {
                let (row, column) = self.cursor();
                match self.grapheme_before() {
                    0 => self.draft.area.move_cursor(CursorMove::Back),
                    chars => self.jump(row, column - chars),
                }
            }
            Edit::Right => {
                let (row, column) = self.cursor();
                match self.grapheme_after() {
                    0 => self.draft.area.move_cursor(CursorMove::Forward),
                    chars => self.jump(row, column + chars),
                }
            }
            Edit::WordLeft => self.draft.area.move_cursor(CursorMove::WordBack),
            Edit::WordRight => self.draft.area.move_cursor(CursorMove::WordForward),
            Edit::LineStart => self.draft.area.move_cursor(CursorMove::Head),
            Edit::LineEnd => self.draft.area.move_cursor(CursorMove::End),
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
        let mut place = (0, 0);
        self.draft.shown(|row, column, at| {
            if at <= byte {
                place = (row, column);
            }
        });
        self.jump(place.0, place.1);
    }

    /// Goes back (`true`) or forth in the messages typed before.
    pub fn recall(&mut self, back: bool) {
        let (at, draft) = match self.recalled.take() {
            Some(place) => place,
            None => (self.history.len(), self.draft.clone()),
        };
        let target = if back { at.saturating_sub(1) } else { at + 1 };
        if let Some(message) = self.history.get(target) {
            self.set_typed(message.clone());
            self.recalled = Some((target, draft));
        } else {
            self.draft = draft;
        }
    }

    /// The text, cleaned, as lines of `width` columns. The last column is kept free for the cursor; blanks
    /// at the end of a wrapped line may stand beyond it.
    pub fn lines(&self, width: usize) -> InputLines {
        let mut cursor = 0;
        let (text, labels) = self.draft.shown(|row, column, at| {
            if (row, column) == self.cursor() {
                cursor = at;
            }
        });
        let mut lines = Vec::new();
        wrap(&text, 0, width.saturating_sub(1), Break::Flush, &mut lines);
        let row = lines
            .partition_point(|line| line.range.start <= cursor)
            .saturating_sub(1);
        let column = text_width(&text[lines[row].range.start..cursor]);
        InputLines {
            text,
            labels,
            lines,
            row,
            column,
        }
    }

    fn cursor(&self) -> (usize, usize) {
        let cursor = self.draft.area.cursor();
        (cursor.0, cursor.1)
    }

    /// `TextArea` addresses 65,535 rows and columns; beyond them the cursor stays.
    fn jump(&mut self, row: usize, column: usize) {
        if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column)) {
            self.draft.area.move_cursor(CursorMove::Jump(row, column));
        }
    }

    /// Characters of the grapheme before the cursor; 0 at the start of a line.
    fn grapheme_before(&self) -> usize {
        let (row, column) = self.cursor();
        let before: String = self.draft.area.lines()[row].chars().take(column).collect();
        before
            .graphemes(true)
            .next_back()
            .map_or(0, |grapheme| grapheme.chars().count())
    }

    /// Characters of the grapheme at the cursor; 0 at the end of a line.
    fn grapheme_after(&self) -> usize {
        let (row, column) = self.cursor();
        let after: String = self.draft.area.lines()[row].chars().skip(column).collect();
        after
            .graphemes(true)
            .next()
            .map_or(0, |grapheme| grapheme.chars().count())
    }
}

#[cfg(test)]
mod tests;
