//! Edits → text, cursor and lines.

use proptest::prelude::*;

use super::*;
use crate::app::draft::MOST_BYTES;

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

fn lines(n: usize) -> String {
    vec!["line"; n].join("\n")
}

#[test]
fn a_long_paste_is_one_character() {
    use Edit::*;
    let mut input = Input::default();
    input.insert("see ");
    input.paste(&lines(143).replace('\n', "\r\n")).unwrap();
    input.insert(" there");
    let shown = input.lines(80);
    assert_eq!(shown.text, "see [pasted 143 lines] there");
    assert_eq!(shown.labels, vec![4..22; 1]);
    assert_eq!(input.text(), format!("see {} there", lines(143)));
    for _ in " there".chars() {
        input.edit(Left);
    }
    assert_eq!(input.lines(80).column, 22);
    input.edit(Left);
    assert_eq!(input.lines(80).column, 4);
    input.edit(Delete);
    assert_eq!(input.text(), "see  there");
    assert_eq!(
        input.typed().pasted,
        [""; 0],
        "what was deleted is not kept"
    );
    input.edit(Undo);
    assert_eq!(input.text(), format!("see {} there", lines(143)));
}

#[test]
fn the_cursor_never_stands_inside_a_label() {
    let mut input = Input::default();
    input.insert("0123456789\n");
    input.paste(&lines(30)).unwrap();
    input.insert("\n0123456789");
    input.move_row(-1, 80);
    input.edit(Edit::Insert('|'));
    assert_eq!(
        input.lines(80).text,
        "0123456789\n|[pasted 30 lines]\n0123456789"
    );
}

#[test]
fn a_paste_survives_the_history() {
    let mut input = Input::default();
    input.paste(&lines(30)).unwrap();
    let typed = input.take();
    input.recall(true);
    assert_eq!(input.lines(80).text, "[pasted 30 lines]");
    assert_eq!(input.typed(), typed);
    let mut later = Input::new(vec![typed]);
    later.recall(true);
    assert_eq!(later.text(), lines(30));
}

#[test]
fn a_paste_may_hold_the_characters_of_pastes() {
    let mut input = Input::default();
    input.paste(&lines(30)).unwrap();
    input.paste("\u{10f000}").unwrap();
    input.edit(Edit::Insert('\u{10f000}'));
    assert_eq!(input.text(), format!("{}\u{10f000}\u{10f000}", lines(30)));
}

#[test]
fn what_no_context_could_hold_is_refused() {
    let mut input = Input::default();
    let why = input.paste(&"x".repeat(10_000_000)).unwrap_err();
    assert_eq!(why, "not pasted: 10.0 MB, and a message holds 4 MB");
    assert!(input.is_empty());
    input.paste(&"x".repeat(MOST_BYTES / 2)).unwrap();
    assert!(input.paste(&"x".repeat(MOST_BYTES / 2)).is_err());
}
