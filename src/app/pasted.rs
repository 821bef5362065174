//! A message as it was typed ↔ its whole text with the places of its long pastes, as saved chats keep them.
//!
//! **Places that do not fit the text are no places**: then the whole text is shown.

use std::ops::Range;

use crate::app::typed::{Typed, character, index};

/// The bytes of the whole text that are long pastes, in order.
pub fn ranges(typed: &Typed) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut length = 0;
    for c in typed.text.chars() {
        match index(c).and_then(|index| typed.pasted.get(index)) {
            Some(paste) => {
                ranges.push(length..length + paste.len());
                length += paste.len();
            }
            None => length += c.len_utf8(),
        }
    }
    ranges
}

/// The message of this text, with long pastes in these places.
pub fn typed(text: &str, ranges: &[Range<usize>]) -> Typed {
    folded(text, ranges).unwrap_or_else(|| Typed {
        text: text.to_owned(),
        pasted: Vec::new(),
    })
}

fn folded(text: &str, ranges: &[Range<usize>]) -> Option<Typed> {
    let mut typed = Typed::default();
    let mut end = 0;
    for (range, number) in ranges.iter().zip(0..) {
        typed.text += plain(text.get(end..range.start)?)?;
        typed.pasted.push(text.get(range.clone())?.to_owned());
        typed.text.push(character(number)?);
        end = range.end;
    }
    let rest = text.get(end..)?;
    typed.text += if ranges.is_empty() {
        rest
    } else {
        plain(rest)?
    };
    Some(typed)
}

/// A part between pastes. In one that was none, a character that stands for a paste would become one.
fn plain(part: &str) -> Option<&str> {
    let is_plain = !part.chars().any(|c| index(c).is_some());
    is_plain.then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_survives_as_text_and_places() {
        let check = |text: &str, pasted: &[&str], expect: &[(usize, usize)]| {
            let message = Typed {
                text: text.to_owned(),
                pasted: pasted.iter().map(|&paste| paste.to_owned()).collect(),
            };
            let expect: Vec<_> = expect.iter().map(|&(start, end)| start..end).collect();
            assert_eq!(ranges(&message), expect);
            assert_eq!(typed(&message.whole(), &expect), message);
        };
        check("", &[], &[]);
        check("plain é", &[], &[]);
        check("é\u{10f000}!", &["日\n本"], &[(2, 9)]);
        check("\u{10f000}\u{10f001}", &["a", "b"], &[(0, 1), (1, 2)]);
        // What stands for a paste in a paste is no more than it is.
        check("x \u{10f000}", &["\u{10f000}"], &[(2, 6)]);
        check("literal \u{10f000}", &[], &[]);
    }

    #[test]
    fn places_that_do_not_fit_show_the_whole_text() {
        let check = |text: &str, ranges: &[(usize, usize)]| {
            let ranges: Vec<_> = ranges
                .iter()
                .map(|&(start, end)| Range { start, end })
                .collect();
            let message = typed(text, &ranges);
            assert_eq!(
                (message.whole(), message.shown()),
                (text.to_owned(), text.to_owned())
            );
        };
        check("abc", &[(2, 9)]);
        check("abc", &[(9, 10)]);
        check("aé", &[(0, 2)]);
        check("abc", &[(1, 3), (0, 1)]);
        check("abc", &[(2, 1)]);
        check("\u{10f000}abc", &[(5, 6)]);
        check("abc\u{10f000}", &[(0, 1)]);
        check("abc", &[(usize::MAX, usize::MAX)]);
    }
}
