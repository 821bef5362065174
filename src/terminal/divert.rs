//! Keeps standard error off the screen: while the screen is up, file descriptor 2 is a log file.
//!
//! System frameworks (the Mac's Metal among them) write there without asking, and a line in the middle
//! of the screen stays until it is drawn over. Nothing is diverted when standard error is not a
//! terminal.

use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The real standard error, while it is diverted.
static SAVED: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Where standard error goes meanwhile: `speck/stderr.log` in the user's state folder.
fn log_path() -> Option<PathBuf> {
    let folders = directories::BaseDirs::new()?;
    let folder = folders
        .state_dir()
        .unwrap_or_else(|| folders.data_local_dir());
    Some(folder.join("speck").join("stderr.log"))
}

/// Diverts standard error; where the log cannot be written, to nowhere.
pub(super) fn begin() {
    let mut saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner);
    if saved.is_some() || !io::stderr().is_terminal() {
        return;
    }
    let log = open_log().or_else(|| File::options().write(true).open("/dev/null").ok());
    let real = io::stderr().as_fd().try_clone_to_owned();
    if let (Some(log), Ok(real)) = (log, real)
        && rustix::stdio::dup2_stderr(log).is_ok()
    {
        *saved = Some(real);
    }
}

/// Undoes [`begin`].
pub(super) fn end() {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(real) = saved {
        rustix::stdio::dup2_stderr(real).ok();
    }
}

fn open_log() -> Option<File> {
    let path = log_path()?;
    fs::create_dir_all(path.parent()?).ok()?;
    File::options().create(true).append(true).open(path).ok()
}
