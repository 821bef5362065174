//! What reads become: keys, pastes, and nothing that stays.

use super::*;
use crossterm::event::KeyCode;
use proptest::prelude::*;

fn key(code: KeyCode) -> Input {
    modified(code, KeyModifiers::NONE)
}

fn modified(code: KeyCode, modifiers: KeyModifiers) -> Input {
    Input::Key(KeyEvent::new(code, modifiers))
}

fn alt(character: char) -> Input {
    modified(KeyCode::Char(character), KeyModifiers::ALT)
}

fn ctrl(character: char) -> Input {
    modified(KeyCode::Char(character), KeyModifiers::CONTROL)
}

fn paste(text: &str) -> Input {
    Input::Paste(text.into())
}

fn typed(text: &str) -> Vec<Input> {
    text.chars()
        .map(|character| Input::Key(keys::of_character(character)))
        .collect()
}

/// Reads, each a moment after the one before; `…` is a pause longer than the hold, `⏳` one that tries the
/// patience.
fn decode(reads: &[&[u8]]) -> Vec<Input> {
    let mut decoder = Decoder::new(false);
    let mut now = Instant::now();
    let mut got = Vec::new();
    for read in reads {
        let pause = match str::from_utf8(read) {
            Ok("…") => Some(HOLD_LOCAL),
            Ok("⏳") => Some(PATIENCE),
            Ok(_) | Err(_) => None,
        };
        match pause {
            Some(pause) => {
                now += pause;
                got.extend(decoder.expire(now));
            }
            None => got.extend(decoder.push(read, now)),
        }
        now += Duration::from_millis(1);
    }
    got
}

fn check(reads: &[&str], expect: &[Input]) {
    let bytes: Vec<_> = reads.iter().map(|read| read.as_bytes()).collect();
    assert_eq!(decode(&bytes), expect, "{reads:?}");
}

#[test]
fn a_lone_esc_is_esc_after_the_hold() {
    let esc = || key(KeyCode::Esc);
    check(&["\x1b"], &[]);
    check(&["\x1b", "…"], &[esc()]);
    check(&["\x1b", "…", "[A"], &typed("\x1b[A"));
    check(&["\x1b", "\x1b", "…"], &[esc(), esc()]);
    check(&["\x1b\x1b", "…"], &[esc(), esc()]);
    check(&["\x1b", "x"], &typed("\x1bx"));
    check(&["\x1b", "\r"], &[esc(), key(KeyCode::Enter)]);
    check(&["\x1b\x03"], &[esc(), ctrl('c')]);
    check(&["\x1b", "["], &[]);
    check(&["\x1b", "[", "…"], &typed("\x1b["));
    check(&["\x1b", "]", "…"], &typed("\x1b]"));
    check(
        &["\x1b", "[", "\x1b[A"],
        &[typed("\x1b["), vec![key(KeyCode::Up)]].concat(),
    );
}

#[test]
fn esc_together_with_a_character_is_alt() {
    check(&["\x1bb"], &[alt('b')]);
    check(&["\x1b[", "…"], &[alt('[')]);
    check(
        &["\x1bO", "…"],
        &[modified(
            KeyCode::Char('O'),
            KeyModifiers::ALT | KeyModifiers::SHIFT,
        )],
    );
    check(&["\x1b\r"], &[modified(KeyCode::Enter, KeyModifiers::ALT)]);
    check(
        &["\x1b\x7f"],
        &[modified(KeyCode::Backspace, KeyModifiers::ALT)],
    );
    check(&["\x1bé"], &[alt('é')]);
    check(&["\x1bbb"], &[alt('b'), key(KeyCode::Char('b'))]);
}

#[test]
fn text_that_follows_esc_in_one_read_is_not_lost() {
    for text in ["Please", "]so", "_x", "^x", "OK", "Xerox"] {
        let read = format!("\x1b{text}");
        let got = decode(&[read.as_bytes(), "⏳".as_bytes()]);
        let rest = &text[1..];
        assert!(got.ends_with(&typed(rest)), "{text}: {got:?}");
    }
    check(&["\x1bPlease"], &typed("\x1bPlease"));
    check(&["\x1bOK"], &typed("\x1bOK"));
    check(&["\x1b", "Please"], &typed("\x1bPlease"));
}

#[test]
fn the_end_of_a_reply_may_come_late() {
    check(&["\x1b]11;rgb:0/0/0\x1b", "…", "\\x"], &typed("x"));
    check(&["\x1b]11;rgb:0/0/0\x1b", "⏳", "x"], &typed("x"));
}

#[test]
fn sequences_are_put_together_wherever_they_were_cut() {
    let up = [key(KeyCode::Up)];
    check(&["\x1b[A"], &up);
    check(&["\x1b", "[A"], &up);
    check(&["\x1b", "[", "A"], &up);
    check(&["\x1bOA"], &up);
    check(&["\x1b", "OA"], &up);
    check(
        &["\x1b[1;", "…", "2A"],
        &[modified(KeyCode::Up, KeyModifiers::SHIFT)],
    );
    check(
        &["\x1b", "[13;2u"],
        &[modified(KeyCode::Enter, KeyModifiers::SHIFT)],
    );
    check(
        &["\x1b[5~x"],
        &[key(KeyCode::PageUp), key(KeyCode::Char('x'))],
    );
    check(&["\x1bOP", "\x1b[[A", "\x1b[15~", "x"], &typed("x"));
}

#[test]
fn characters_are_put_together_wherever_they_were_cut() {
    for cut in 1..4 {
        let (head, tail) = "🦀".as_bytes().split_at(cut);
        assert_eq!(decode(&[b"a", head, tail, b"b"]), typed("a🦀b"));
        assert_eq!(decode(&[head, b"b"]), typed("\u{fffd}b"));
        assert_eq!(
            decode(&[head, b"\x03"]),
            [typed("\u{fffd}"), vec![ctrl('c')]].concat()
        );
    }
    assert_eq!(decode(&[b"\xff\xc3\xa9\xe9"]), typed("\u{fffd}é"));
}

/// What a terminal says when it was asked, by an earlier program or by one beside speck.
const REPLIES: &[&str] = &[
    "\x1b[?2026;2$y",
    "\x1b[?1;2c",
    "\x1b[>41;354;0c",
    "\x1b[?0u",
    "\x1b[24;80R",
    "\x1b[<0;10;10M",
    "\x1b[<0;10;10m",
    "\x1b[I",
    "\x1b[O",
    "\x1b[8;24;80t",
    "\x1b]11;rgb:0000/0000/0000\x07",
    "\x1b]11;rgb:0000/0000/0000\x1b\\",
    "\x1bP>|XTerm(390)\x1b\\",
    "\x1bP1+r524742=38\x1b\\",
    "\x1b_Gi=1;OK\x1b\\",
];

#[test]
fn a_reply_types_nothing_wherever_it_was_cut() {
    for reply in REPLIES {
        for cut in 1..reply.len() {
            let (head, tail) = reply.split_at(cut);
            check(&[head, tail, "x"], &typed("x"));
        }
    }
}

/// The keyboard is the user's again: at once for Ctrl-C, after a moment for everything.
#[test]
fn a_reply_without_its_end_takes_no_key_away() {
    for reply in REPLIES {
        for cut in 3..reply.len() {
            let head = &reply[..cut];
            if !matches!(head.as_bytes()[1], b'[' | b']' | b'P' | b'_') {
                continue;
            }
            let got = decode(&[head.as_bytes(), b"\x03"]);
            assert_eq!(got.last(), Some(&ctrl('c')), "{head:?}");
            check(
                &[head, "⏳", "x\r"],
                &[key(KeyCode::Char('x')), key(KeyCode::Enter)],
            );
        }
    }
}

#[test]
fn a_paste_is_one_wherever_it_was_cut() {
    let text = "a\r\nü\x03\x1b[A\x1b[20\x07";
    let whole = format!("\x1b[200~{text}\x1b[201~x");
    for cut in 1..whole.len() - 1 {
        let (head, tail) = whole.as_bytes().split_at(cut);
        let expect = [paste(text), key(KeyCode::Char('x'))];
        assert_eq!(decode(&[head, tail]), expect, "{cut}");
    }
    check(&["\x1b[200~\x1b[201~x"], &typed("x"));
    check(&["\x1b[200~a", "…", "b\x1b[201~"], &[paste("ab")]);
}

#[test]
fn a_paste_that_stalls_is_given_and_goes_on() {
    check(&["\x1b[200~one", "⏳"], &[paste("one")]);
    check(
        &["\x1b[200~one", "⏳", " two\r", " three\x1b[201~x"],
        &[paste("one"), paste(" two\r three"), key(KeyCode::Char('x'))],
    );
    check(
        &["\x1b[200~one\x1b[2", "⏳", "01~\r"],
        &[paste("one"), key(KeyCode::Enter)],
    );
    let (head, tail) = "\x1b[200~\u{e4}".as_bytes().split_at(7);
    assert_eq!(
        decode(&[head, b"\x1b", "⏳".as_bytes(), b"[201~"]).len(),
        1,
        "a cut character is given before an end"
    );
    let got = decode(&[head, "⏳".as_bytes(), tail, b"\x1b[201~"]);
    assert_eq!(got, [paste("ä")]);
}

#[test]
fn a_paste_without_its_end_takes_no_key_away() {
    check(&["\x1b[200~one", "⏳", "\x03"], &[paste("one"), ctrl('c')]);
    check(
        &["\x1b[200~one", "⏳", "\x03\x03"],
        &[paste("one"), ctrl('c'), ctrl('c')],
    );
    let got = decode(&[b"\x1b[200~one", "⏳".as_bytes(), b"de", b"\x03"]);
    assert_eq!(got, [paste("one"), paste("de"), ctrl('c')]);
    check(
        &["\x1b[200~", "⏳", "\x1bOA", "\x1bb"],
        &[key(KeyCode::Up), alt('b')],
    );
    check(
        &["\x1b[200~", "⏳", "\r", "x"],
        &[key(KeyCode::Enter), key(KeyCode::Char('x'))],
    );
    check(
        &["\x1b[200~", "⏳", "\x1b[A", "x"],
        &[key(KeyCode::Up), key(KeyCode::Char('x'))],
    );
}

#[test]
fn a_paste_longer_than_any_message_is_cut_and_ends() {
    let mut decoder = Decoder::new(false);
    let now = Instant::now();
    assert_eq!(decoder.push(b"\x1b[200~", now), []);
    let read = vec![b'a'; LONGEST_PASTE / 8];
    for _ in 0..10 {
        assert_eq!(decoder.push(&read, now), []);
    }
    let got = decoder.push(b"\x1b[201~x", now);
    let [Input::Paste(text), x] = &got[..] else {
        panic!("{} inputs", got.len());
    };
    assert_eq!(x, &key(KeyCode::Char('x')));
    assert!((LONGEST_PASTE..LONGEST_PASTE + 10).contains(&text.len()));
}

/// Any byte, and often those with a meaning.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        any::<u8>(),
        prop::sample::select(&b"\x1b\x1b[O]P_\\~;:?201Au\x07\x18"[..])
    ]
}

proptest! {
    /// Whatever came before: after a pause the keyboard is the user's again.
    #[test]
    fn after_any_bytes_ctrl_c_is_heard(
        begins in prop::sample::select([REPLIES, &["\x1b[200~"]].concat()),
        reads in prop::collection::vec(prop::collection::vec(byte(), 1..20), 0..6),
    ) {
        let mut decoder = Decoder::new(true);
        let mut now = Instant::now();
        decoder.push(begins.as_bytes(), now);
        for read in reads {
            decoder.push(&read, now);
        }
        now += PATIENCE;
        decoder.expire(now);
        let got = decoder.push(b"\x03", now);
        prop_assert_eq!(got.last(), Some(&ctrl('c')));
        prop_assert_eq!(decoder.deadline(), None);
    }

    /// Where the reads are cut says nothing, as long as they follow each other and no ESC is alone.
    #[test]
    fn cuts_do_not_matter(text in "[a-zé🦀\\r\\t]{0,20}", cut in 0..40_usize) {
        let bytes = text.as_bytes();
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        prop_assert_eq!(decode(&[head, tail]), typed(&text));
    }
}
