//! Files that a person named: opens them, reads their text, shows a place in it, and replaces them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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

/// Puts `content` into a file, in place of what it held, or, where that fails, leaves it as it was.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = beside(path);
    let written = fs::write(&new, content).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Whether [`replace`] could write this file, as far as one can tell without content.
pub fn can_replace(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(is) if !is.is_file() => {
            return Err(io::Error::other("it is a folder, a pipe or a device"));
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(_) | Err(_) => {}
    }
    let new = beside(path);
    File::create(&new)?;
    fs::remove_file(&new)
}

/// A new file's place in the folder of `path`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    name.into()
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
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chart.svg");
        for content in ["first", "second"] {
            can_replace(&path).unwrap();
            replace(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let taken = folder.path().join("folder");
        fs::create_dir(&taken).unwrap();
        for path in [&taken, &folder.path().join("none/chart.svg")] {
            assert!(can_replace(path).is_err() && replace(path, b"third").is_err());
        }
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

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
