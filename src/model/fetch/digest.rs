//! Checks files by SHA-256, and remembers which file was checked so that a warm start need not.
//!
//! The memory is one small JSON file for each digest: path, size and time of the last change. A
//! file that differs in any of them is hashed again. It saves time; it is no defence against
//! someone who can write to the user's caches.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Problem;
use crate::cancel::Cancel;

/// Bytes read between two looks at the cancel request: under a millisecond's work.
pub const CHUNK: usize = 1 << 18;

/// The digest as 64 lower-case hexadecimal digits.
pub fn hex(hasher: Sha256) -> String {
    let mut text = String::new();
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Feeds the rest of `file` to `hasher`; `progress` is told the bytes so far. Returns their number.
pub fn hash_into(
    hasher: &mut Sha256,
    mut file: impl Read,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, Problem> {
    let mut buffer = vec![0; CHUNK];
    let mut done = 0;
    loop {
        cancel.check()?;
        match file.read(&mut buffer) {
            Ok(0) => return Ok(done),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                done += n as u64;
                progress(done);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(anyhow::Error::new(error).into()),
        }
    }
}

/// The SHA-256 of the file at `path`.
pub fn hash_file(
    path: &Path,
    cancel: &Cancel,
    progress: &mut dyn FnMut(u64),
) -> Result<String, Problem> {
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut hasher = Sha256::new();
    hash_into(&mut hasher, file, cancel, progress)?;
    Ok(hex(hasher))
}

/// What was true of a file when its digest was found right.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

impl Stamp {
    fn of(path: &Path) -> std::io::Result<Self> {
        let path = path.canonicalize()?;
        let metadata = path.metadata()?;
        Ok(Self {
            size: metadata.len(),
            modified: metadata.modified()?,
            path,
        })
    }
}

/// The memory of checked files, in a folder of speck's cache.
pub struct Stamps(PathBuf);

impl Stamps {
    /// The memory below `speck_cache`.
    pub fn new(speck_cache: &Path) -> Self {
        Self(speck_cache.join("verified"))
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.0.join(format!("{sha256}.json"))
    }

    /// Whether the file at `path` was found to have this digest and has not changed since.
    pub fn remembers(&self, path: &Path, sha256: &str) -> bool {
        let stamp = fs::read(self.path(sha256)).ok();
        let stamp: Option<Stamp> = stamp.and_then(|text| serde_json::from_slice(&text).ok());
        stamp.is_some_and(|stamp| Stamp::of(path).is_ok_and(|now| now == stamp))
    }

    /// Remembers that the file at `path` has this digest.
    pub fn remember(&self, path: &Path, sha256: &str) {
        // Without the stamp the next start hashes the file again: slower, and just as right.
        let _ = self.write(path, sha256);
    }

    fn write(&self, path: &Path, sha256: &str) -> Result<()> {
        fs::create_dir_all(&self.0)?;
        let stamp = serde_json::to_vec(&Stamp::of(path)?)?;
        let new = self.0.join(format!("{sha256}.{}", std::process::id()));
        fs::write(&new, stamp)?;
        fs::rename(&new, self.path(sha256))?;
        Ok(())
    }

    /// Forgets what is known of this digest.
    pub fn forget(&self, sha256: &str) {
        // Nothing to forget is as good as forgotten.
        let _ = fs::remove_file(self.path(sha256));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancelled;

    /// SHA-256 of `abc`, from FIPS 180-2.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_file_is_hashed_and_remembered_until_it_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "abc").unwrap();
        assert_eq!(hash_file(&path, &Cancel::new(), &mut |_| {}).unwrap(), ABC);

        let stamps = Stamps::new(folder.path());
        assert!(!stamps.remembers(&path, ABC));
        stamps.remember(&path, ABC);
        assert!(stamps.remembers(&path, ABC));
        // The same file by another name is the same file.
        std::os::unix::fs::symlink(&path, folder.path().join("link")).unwrap();
        assert!(stamps.remembers(&folder.path().join("link"), ABC));
        // Same content, same size, another time of change.
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(!stamps.remembers(&path, ABC));

        stamps.remember(&path, ABC);
        fs::write(stamps.path(ABC), "{ broken").unwrap();
        assert!(!stamps.remembers(&path, ABC));
        stamps.remember(&path, ABC);
        stamps.forget(ABC);
        assert!(!stamps.remembers(&path, ABC));
    }

    #[test]
    fn hashing_stops_on_request() {
        let cancel = Cancel::new();
        let stop = cancel.clone();
        let endless = std::io::repeat(0);
        let ended = hash_into(&mut Sha256::new(), endless, &cancel, &mut |_| stop.cancel());
        assert!(matches!(ended, Err(Problem::Cancelled(Cancelled))));
    }
}
