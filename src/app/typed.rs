//! A message as it was typed: text, in which a long paste is one character.
//!
//! The character is one of private use, U+10F000 and on; what it stands for is in a list beside the
//! text, in the order of these characters. **A paste is kept literally**, so such a character that comes
//! from outside is itself kept as a paste.

use serde::{Deserialize, Serialize};

/// Pastes of more lines than this are one character in the input.
pub const MOST_LINES: usize = 20;
/// Pastes of more characters than this are one character in the input.
pub const MOST_CHARS: usize = 2_000;
/// Lines of a long paste that the conversation shows.
const LINES_SHOWN: usize = 4;
/// Characters of a line of a long paste that the conversation shows.
const CHARS_SHOWN: usize = 200;

/// The character that stands for the first paste, and how many there can be.
const FIRST: char = '\u{10f000}';
const MOST_PASTES: usize = 0xffe;

/// A message as it was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// The text, with a character for each paste.
    pub text: String,
    /// The pastes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pasted: Vec<String>,
}

impl Typed {
    /// The whole message.
    pub fn whole(&self) -> String {
        self.with_pastes(|paste| paste.into())
    }

    /// The message as the conversation shows it: of pastes the first lines and how many follow.
    pub fn shown(&self) -> String {
        self.with_pastes(beginning)
    }

    /// The message in one line, where a paste is its label.
    pub fn line(&self) -> String {
        self.with_pastes(label).replace('\n', " ⏎ ")
    }

    /// Takes away the first character, which may be that of a paste.
    pub fn remove_first(&mut self) {
        let first = self.text.chars().next();
        let paste = first.and_then(index).and_then(|it| self.pasted.get_mut(it));
        let of = paste.unwrap_or(&mut self.text);
        if !of.is_empty() {
            of.remove(0);
        }
    }

    /// Bytes of text and pastes.
    pub fn len(&self) -> usize {
        self.text.len() + self.pasted.iter().map(String::len).sum::<usize>()
    }

    /// Whether nothing was typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    fn with_pastes(&self, as_text: impl Fn(&str) -> String) -> String {
        let mut out = String::with_capacity(self.text.len());
        for c in self.text.chars() {
            match index(c).and_then(|index| self.pasted.get(index)) {
                Some(paste) => out.push_str(&as_text(paste)),
                None => out.push(c),
            }
        }
        out
    }
}

/// Whether a pasted text becomes one character: because it is long, or has such a character itself.
pub fn is_long(text: &str) -> bool {
    text.split('\n').nth(MOST_LINES).is_some()
        || text.chars().nth(MOST_CHARS).is_some()
        || text.chars().any(|c| index(c).is_some())
}

/// The character for paste number `index`, while there are any left.
pub fn character(index: usize) -> Option<char> {
    let offset = u32::try_from(index).ok().filter(|_| index < MOST_PASTES)?;
    char::from_u32(u32::from(FIRST) + offset)
}

/// The number of the paste that `c` may stand for.
pub fn index(c: char) -> Option<usize> {
    let offset = u32::from(c).checked_sub(u32::from(FIRST))? as usize;
    (offset < MOST_PASTES).then_some(offset)
}

/// What stands for a paste in the input: `[pasted 143 lines]`.
pub fn label(paste: &str) -> String {
    match (count_lines(paste), paste.chars().count()) {
        (1, 1) => "[pasted 1 character]".into(),
        (1, chars) => format!("[pasted {chars} characters]"),
        (lines, _) => format!("[pasted {lines} lines]"),
    }
}

/// Lines of a text; a newline at its end begins no other.
fn count_lines(text: &str) -> usize {
    text.strip_suffix('\n').unwrap_or(text).split('\n').count()
}

/// The first lines of a paste, and how much follows.
fn beginning(paste: &str) -> String {
    let lines = count_lines(paste);
    let mut shown: Vec<String> = Vec::new();
    for line in paste.split('\n').take(LINES_SHOWN.min(lines)) {
        let start: String = line.chars().take(CHARS_SHOWN).collect();
        let cut = start.len() < line.len();
        shown.push(if cut { start + "…" } else { start });
    }
    match lines.saturating_sub(LINES_SHOWN) {
        0 if lines == 1 && paste.chars().count() > CHARS_SHOWN => shown.push(label(paste)),
        0 => {}
        more => shown.push(format!("[{more} more of {lines} pasted lines]")),
    }
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str, pasted: &[&str]) -> Typed {
        let pasted = pasted.iter().map(|&paste| paste.to_owned()).collect();
        let text = text.to_owned();
        Typed { text, pasted }
    }

    #[test]
    fn a_paste_stands_where_its_character_is() {
        let message = typed("a \u{10f001} b\n\u{10f000}", &["one", "two\nlines"]);
        assert_eq!(message.whole(), "a two\nlines b\none");
        assert_eq!(
            message.line(),
            "a [pasted 2 lines] b ⏎ [pasted 3 characters]"
        );
        assert_eq!(typed("\u{10f005}", &["one"]).whole(), "\u{10f005}");
        assert_eq!(message.len(), 2 + 4 + 2 + 1 + 4 + 3 + 9);
    }

    #[test]
    fn the_first_character_may_be_a_pastes() {
        let check = |mut message: Typed, expect: &str| {
            message.remove_first();
            assert_eq!(message.whole(), expect);
        };
        check(typed("//a", &[]), "/a");
        check(typed("\u{10f000} b", &["//a"]), "/a b");
        check(typed("/\u{10f000}", &["/a"]), "/a");
        check(typed("\u{10f005}b", &["/a"]), "b");
        check(typed("", &[]), "");
    }

    #[test]
    fn what_is_long() {
        let lines = |n: usize| vec!["x"; n].join("\n");
        assert!(!is_long(&lines(20)) && is_long(&lines(21)));
        assert!(!is_long(&"é".repeat(2_000)) && is_long(&"é".repeat(2_001)));
        assert!(is_long("\u{10f000}") && !is_long("\u{e000}\u{10ffff}"));
    }

    #[test]
    fn the_conversation_shows_how_a_paste_begins() {
        let check = |paste: &str, expect: &str| {
            assert_eq!(typed("\u{10f000}", &[paste]).shown(), expect);
        };
        check(
            "1\n2\n3\n4\n5\n6\n",
            "1\n2\n3\n4\n[2 more of 6 pasted lines]",
        );
        check("1\n2\n3", "1\n2\n3");
        let line = "é".repeat(2_500);
        let start = "é".repeat(200);
        check(&line, &format!("{start}…\n[pasted 2500 characters]"));
        check(&format!("{line}\n2"), &format!("{start}…\n2"));
    }

    #[test]
    fn characters_and_numbers_agree() {
        for n in [0, 1, MOST_PASTES - 1] {
            assert_eq!(character(n).and_then(index), Some(n));
        }
        assert_eq!(character(MOST_PASTES), None);
        assert_eq!((index('a'), index('\u{10ffff}')), (None, None));
    }
}
