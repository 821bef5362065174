//! One download of a file at a time, among threads, processes and the hub's Python tools.
//!
//! An advisory lock on a file beside the download. The system releases it when its owner ends, so
//! none is ever stale.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use super::Problem;
use super::progress::Progress;
use crate::cancel::Cancel;

/// How often a lock that someone else holds is tried.
const POLL: Duration = Duration::from_millis(50);

/// Holds the lock until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct Lock(#[expect(dead_code, reason = "dropping the file releases the lock")] File);

/// Waits for the lock at `path`, whose folders are made. Meanwhile `done` says how many bytes its
/// owner has fetched.
pub fn acquire(
    path: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
    done: &dyn Fn() -> u64,
) -> Result<Lock, Problem> {
    let mut is_waiting = false;
    loop {
        cancel.check()?;
        if let Some(lock) = try_acquire(path)? {
            return Ok(lock);
        }
        if !is_waiting {
            progress.stage("waiting for another download of this file", None);
            is_waiting = true;
        }
        progress.done(done());
        std::thread::sleep(POLL);
    }
}

/// The lock at `path`, unless someone else holds it.
pub fn try_acquire(path: &Path) -> anyhow::Result<Option<Lock>> {
    let what = || format!("cannot lock {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(what)?;
    }
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(what)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error).with_context(what),
    }
}
