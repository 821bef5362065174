//! What is shown of a text that still grows, so that it does not flicker.
//!
//! A line of nothing but signs (`-`, `##`, `|--`) may become anything: it is held back, an empty line
//! in its place, until it says what it is. Rows of a table appear whole. Emphasis and code that are
//! open are shown as if they were closed.

/// How much of a growing text is shown.
#[derive(Debug, PartialEq, Eq)]
pub struct Calm {
    /// The end of what is shown.
    pub end: usize,
    /// What closes the markup that is open there.
    pub closers: String,
    /// Empty lines that stand for what is held back.
    pub held_lines: usize,
}

/// How much of `text`, whose last line grows, is shown.
pub fn calm(text: &str) -> Calm {
    let last = text.rfind('\n').map_or(0, |newline| newline + 1);
    let held = table_rows(text, last).or_else(|| only_signs(&text[last..]).then_some(last));
    if let Some(start) = held {
        let rows = text[start..].lines();
        return Calm {
            end: start,
            closers: String::new(),
            held_lines: rows.filter(|row| !row.trim().is_empty()).count(),
        };
    }
    let shown = text.trim_end_matches(['*', '~', '`']);
    let closers = closers(paragraph(shown));
    let end = if closers.is_empty() {
        shown.len()
    } else {
        shown.trim_end().len()
    };
    Calm {
        end,
        closers,
        held_lines: 0,
    }
}

/// Where rows of a table start that are not whole yet, or are not known to be a table.
fn table_rows(text: &str, last: usize) -> Option<usize> {
    let is_row = |line: &str| line.trim_start_matches([' ', '\t', '>']).starts_with('|');
    let fresh = text[last..].is_empty() && last > 0;
    if !fresh && !is_row(&text[last..]) {
        return None;
    }
    let mut first = last;
    let mut whole_rows = 0;
    for line in text[..last].split_inclusive('\n').rev() {
        if !is_row(line) || whole_rows == 2 {
            break;
        }
        first -= line.len();
        whole_rows += 1;
    }
    match whole_rows {
        0 if text[last..].is_empty() => None,
        0 | 1 => Some(first),
        _ => Some(last),
    }
}

/// Whether a line consists of nothing but what may begin something.
fn only_signs(line: &str) -> bool {
    let rest = line.trim();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let number = (1..=9).contains(&digits) && matches!(&rest[digits..], "" | "." | ")");
    !rest.is_empty() && (number || rest.chars().all(|c| "-=*_#+>~`|:".contains(c)))
}

/// The end of a text in which emphasis may be open: its last paragraph, list item or cell.
fn paragraph(text: &str) -> &str {
    let mut start = text.len();
    for line in text.split_inclusive('\n').rev() {
        if line.trim().is_empty() {
            break;
        }
        start -= line.len();
        let rest = line.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let item = ["- ", "* ", "+ ", "#", ">"]
            .iter()
            .any(|sign| rest.starts_with(sign))
            || digits > 0 && rest[digits..].starts_with(['.', ')']);
        if item {
            return &text[start..];
        }
    }
    &text[start..]
}

/// What closes the code, emphasis and strikethrough that are open at the end of `text`.
fn closers(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut open: Vec<(u8, usize)> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        let run = bytes[at..].iter().take_while(|b| **b == byte).count();
        let blank = |place: Option<&u8>| place.is_none_or(u8::is_ascii_whitespace);
        let before = blank(at.checked_sub(1).and_then(|i| bytes.get(i)));
        let after = blank(bytes.get(at + run));
        match byte {
            b'\\' => at += 1,
            // The start of a block of code, not of code in prose.
            b'`' if run >= 3
                && text[..at]
                    .rsplit('\n')
                    .next()
                    .is_none_or(|line| line.trim().is_empty()) =>
            {
                return String::new();
            }
            b'`' => {
                let fence = &text[at..at + run];
                let Some(close) = text[at + run..].find(fence) else {
                    open.push((b'`', run));
                    break;
                };
                at += run + close;
            }
            b'*' | b'~' if run <= 3 && (byte == b'*' || run == 2) => {
                if !before && open.last() == Some(&(byte, run)) {
                    open.pop();
                } else if !after {
                    open.push((byte, run));
                }
            }
            _ => {}
        }
        at += match byte {
            b'`' | b'*' | b'~' => run,
            _ => 1,
        };
    }
    let closers = open.iter().rev();
    closers
        .map(|(byte, run)| char::from(*byte).to_string().repeat(*run))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, shown: &str, closers: &str, held_lines: usize) {
        let calm = calm(text);
        assert_eq!(&text[..calm.end], shown, "shown of {text:?}");
        assert_eq!(calm.closers, closers, "closers of {text:?}");
        assert_eq!(calm.held_lines, held_lines, "lines held of {text:?}");
    }

    #[test]
    fn open_markup_is_closed() {
        check("a **bo", "a **bo", "**", 0);
        check("a **bo ", "a **bo", "**", 0);
        check("a **bo*", "a **bo", "**", 0);
        check("a **bo**", "a **bo", "**", 0);
        check("a **bo** c", "a **bo** c", "", 0);
        check("a *b **c", "a *b **c", "***", 0);
        check("a `co", "a `co", "`", 0);
        check("a `co` d", "a `co` d", "", 0);
        check("a `**` d", "a `**` d", "", 0);
        check("a ~~b", "a ~~b", "~~", 0);
        check("2 * 3", "2 * 3", "", 0);
        check("2 *", "2 ", "", 0);
        check("```py", "```py", "", 0);
        check("\\*a", "\\*a", "", 0);
        check("**a\n\nb", "**a\n\nb", "", 0);
        check("- **a\n- b", "- **a\n- b", "", 0);
    }

    #[test]
    fn a_line_of_signs_waits() {
        check("a\n-", "a\n", "", 1);
        check("a\n- b", "a\n- b", "", 0);
        check("##", "", "", 1);
        check("a\n12", "a\n", "", 1);
        check("a\n12.", "a\n", "", 1);
        check("a\n12 b", "a\n12 b", "", 0);
        check("a\n", "a\n", "", 0);
    }

    #[test]
    fn rows_of_a_table_appear_whole() {
        check("a\n\n| b", "a\n\n", "", 1);
        check("| a |\n", "", "", 1);
        check("| a |\n|--", "", "", 2);
        check("| a |\n|---|\n", "| a |\n|---|\n", "", 0);
        check("| a |\n|---|\n| b", "| a |\n|---|\n", "", 1);
        check("| a |\n|---|\n| b |\n| c", "| a |\n|---|\n| b |\n", "", 1);
    }
}
