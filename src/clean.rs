//! Untrusted text → text that cannot control a terminal.
//!
//! Whatever comes from a model, a file, a paste or a server passes [`clean`] on its way to a
//! terminal. Each forbidden character becomes one visible character, so cleaning piece by piece
//! gives the same text as cleaning the whole, and counts of characters stay as they are.

use std::borrow::Cow;

/// Replaces what could control a terminal or hide text: control characters (C0 except newline and
/// tab, DEL, C1), bidirectional embeddings, overrides and isolates, and Unicode tag characters.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| replacement(c).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| replacement(c).unwrap_or(c)).collect())
}

/// What is shown instead of `c`, if `c` is forbidden.
fn replacement(c: char) -> Option<char> {
    match c {
        '\n' | '\t' => None,
        // The block "Control Pictures" has a picture for each of the C0 controls, in their order.
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => Some(char::REPLACEMENT_CHARACTER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(input: &str, expect: &str) {
        assert_eq!(clean(input), expect, "{input:?}");
    }

    #[test]
    fn ordinary_text_is_borrowed_unchanged() {
        for text in [
            "",
            "plain text\n\twith a tab",
            "日本語 한국어 العربية עברית",
            "e\u{301} n\u{303} Z\u{351}",
            "👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇳🇿",
            "non-breaking\u{a0}space, zero width\u{200b}space, left-to-right\u{200e}mark",
        ] {
            assert!(
                matches!(clean(text), Cow::Borrowed(same) if same == text),
                "{text:?}"
            );
        }
    }

    #[test]
    fn forbidden_characters_are_shown() {
        check("\x1b[2J", "␛[2J");
        check("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇");
        check("a\r\nb\x08\x7f\0", "a␍\nb␈␡␀");
        check("\u{9b}31m\u{85}", "\u{fffd}31m\u{fffd}");
        check(
            "\u{202e}evil\u{202c} \u{2066}x\u{2069}",
            "\u{fffd}evil\u{fffd} \u{fffd}x\u{fffd}",
        );
        check("hi\u{e0041}\u{e007f}", "hi\u{fffd}\u{fffd}");
    }

    proptest! {
        #[test]
        fn cleaning_is_complete_idempotent_and_keeps_the_count(text in any::<String>()) {
            let once = clean(&text);
            prop_assert!(once.chars().all(|c| replacement(c).is_none()));
            prop_assert!(once.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(clean(&once), once.as_ref());
            prop_assert_eq!(once.chars().count(), text.chars().count());
        }

        #[test]
        fn pieces_and_the_whole_agree(a in any::<String>(), b in any::<String>()) {
            prop_assert_eq!(
                clean(&format!("{a}{b}")).into_owned(),
                format!("{}{}", clean(&a), clean(&b))
            );
        }
    }
}
