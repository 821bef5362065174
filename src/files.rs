//! Files that a person named: opens them, reads their text, and shows a place in it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};

/// The most that is read of a text, in bytes.
const MAX_TEXT: u64 = 8 << 20;

/// Characters of a line that an error shows.
const MAX_SHOWN: usize = 100;

/// Opens a regular file for reading. Anything else is an error: opening a pipe could block for ever, and
/// a device need never end.
pub fn open(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other(
            "it is no regular file (a folder, a pipe or a device): name a file",
        ));
    }
    File::open(path)
}

/// All of a regular file, which must be UTF-8 text of at most 8 MiB.
pub fn read_text(path: &Path) -> anyhow::Result<String> {
    text(open(path)?)
}

/// All that can be read, which must be UTF-8 text of at most 8 MiB.
pub fn text(from: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        bail!("it is longer than {MAX_TEXT} bytes");
    }
    String::from_utf8(bytes).context("it is not UTF-8 text")
}

/// A line, or of a long one the part around the character `column`.
pub fn excerpt(line: &str, column: usize) -> String {
    let n_chars = line.chars().count();
    let start = column
        .saturating_sub(MAX_SHOWN / 2)
        .min(n_chars.saturating_sub(MAX_SHOWN));
    let part: String = line.chars().skip(start).take(MAX_SHOWN).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if start + MAX_SHOWN < n_chars {
        "…"
    } else {
        ""
    };
    format!("{before}{}{after}", part.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_line_the_part_around_the_place_is_shown() {
        let line = format!("{}HERE{}", "a".repeat(300), "z".repeat(300));
        let middle = excerpt(&line, 300);
        assert!(middle.contains("aHEREz"), "{middle}");
        assert!(middle.starts_with('…') && middle.ends_with('…'));
        assert_eq!(middle.chars().count(), MAX_SHOWN + 2);
        assert_eq!(excerpt("  short  ", 3), "short");
        assert!(excerpt(&line, 0).starts_with('a') && excerpt(&line, 603).ends_with('z'));
    }
}
