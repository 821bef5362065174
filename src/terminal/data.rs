//! Where speck keeps what belongs to the user: a folder and files that nobody else can read.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::session;

/// `speck` in the user's data folder, where saved chats are too.
pub(super) fn folder() -> Option<PathBuf> {
    session::folder::data_of_user()
}

/// Makes the folder, for its owner alone, if it is not there.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Options that make a file for its owner alone.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    options
}

/// A path as it is told: the user's home as `~`.
pub(super) fn tell(path: &Path) -> String {
    let home = directories::BaseDirs::new().map(|folders| folders.home_dir().to_owned());
    match home.and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned)) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
