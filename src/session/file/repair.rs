//! Puts a damaged file right.
//!
//! **Nothing is cut off a file that was damaged before a copy of it stands beside it.**

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{SessionFile, is_same, sync_folder_of};
use crate::files;
use crate::session::export::sentence;
use crate::session::log::Flaw;
use crate::session::record::Record;

impl SessionFile {
    /// Cuts off what is not whole, and writes a file without a header anew with one; says what that was.
    pub(super) fn repair(&mut self, flaws: &[Flaw], records: &[Record]) -> Result<Option<String>> {
        if flaws.is_empty() {
            return Ok(None);
        }
        let rest = self.file.metadata()?.len().saturating_sub(self.length());
        let kept = flaws
            .iter()
            .any(Flaw::is_damage)
            .then(|| self.keep_aside())
            .transpose()?;
        let mut said: Vec<String> = flaws.iter().map(|flaw| match flaw {
            Flaw::Headless(_) => format!("{}.", sentence(&flaw.to_string())),
            Flaw::Unended => {
                "The end of its last line was missing and has been put there.".to_owned()
            }
            Flaw::Torn => format!(
                "Its last record was not written to the end ({rest} bytes) and has been cut off."
            ),
            Flaw::Damaged(line, why) => format!(
                "It is damaged from line {line} on ({why}): what stands there, {rest} bytes, is missing."
            ),
        }).collect();
        said.extend(kept.map(|kept| format!("The damaged file is kept as {}.", kept.display())));
        if let Some(Flaw::Headless(_)) = flaws.first() {
            let path = self.path.clone();
            let replace = |new: &Path, path: &Path| fs::rename(new, path);
            *self = Self::make(&path, replace, |new| new.append(records, true))?;
        } else {
            self.torn = true;
            self.undo()?;
            if !self.written.ends_with(b"\n") {
                self.add(b"\n", false)?;
            }
            self.file.sync_data()?;
            self.note_change();
        }
        Ok(Some(said.join(" ")))
    }

    /// Copies the file beside itself, as it is; a copy that is there already is enough.
    fn keep_aside(&self) -> Result<PathBuf> {
        for number in 1_u32.. {
            let kept = self.path.with_extension(format!("damaged-{number}"));
            let mut options = File::options();
            let mut copy = match options.write(true).create_new(true).mode(0o600).open(&kept) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    (&self.file).rewind()?;
                    if files::open(&kept)
                        .is_ok_and(|kept| is_same(&self.file, kept).is_ok_and(|same| same))
                    {
                        return Ok(kept);
                    }
                    continue;
                }
                copy => copy.with_context(|| format!("cannot write {}", kept.display()))?,
            };
            let all = self.file.metadata()?.len();
            (&self.file).rewind()?;
            let copied = copy_all(&self.file, all, &mut copy).and_then(|()| copy.sync_all());
            if let Err(error) = copied {
                let _ = fs::remove_file(&kept);
                let why = format!("cannot keep the damaged file aside as {}", kept.display());
                return Err(error).context(why);
            }
            sync_folder_of(&kept);
            return Ok(kept);
        }
        bail!(
            "there are too many damaged copies of {}",
            self.path.display()
        )
    }
}

/// Copies a file of `all` bytes.
fn copy_all(mut from: impl Read, all: u64, to: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut from, to)?;
    if copied < all {
        let short = format!("only {copied} of {all} bytes could be read");
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, short));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_is_too_short_is_an_error() {
        let check = |n, expect: Result<(), &str>| {
            let mut copy = Vec::new();
            let copied = copy_all(&b"abcd"[..], n, &mut copy).map_err(|error| error.to_string());
            assert_eq!(copied, expect.map_err(str::to_owned));
            assert_eq!(copy, b"abcd");
        };
        check(4, Ok(()));
        check(5, Err("only 4 of 5 bytes could be read"));
    }
}
