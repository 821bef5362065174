//! The hub's cache on disk, shared with the hub's Python tools:
//!
//! ```text
//! models--owner--name/blobs/<sha256>                   the content
//! models--owner--name/snapshots/<commit>/<file>        a relative link to it
//! models--owner--name/refs/<revision>                  a commit
//! .locks/models--owner--name/<sha256>.lock             held while a blob is written
//! ```
//!
//! hf-hub knows the layout and joins names unchecked: **only checked names come in here**.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use hf_hub::{Cache, CacheRepo, Repo, RepoType};

use super::environment::Environment;
use super::remote::{Remote, is_commit, is_sha256};
use super::remove_if_there;

/// The part of the cache that belongs to one file of one repository.
pub struct HubCache<'a> {
    remote: &'a Remote,
    repo: CacheRepo,
    folder: PathBuf,
    locks: PathBuf,
}

/// A file that is in the cache.
#[derive(Debug, PartialEq, Eq)]
pub struct Cached {
    /// Its path, by its own name where there is one.
    pub path: PathBuf,
    /// What its digest must be, where that is known.
    pub sha256: Option<String>,
}

impl<'a> HubCache<'a> {
    /// The place of `remote`, whose names were checked.
    pub fn new(environment: &Environment, remote: &'a Remote) -> Self {
        let cache = Cache::new(environment.hub_cache.clone());
        let repo = Repo::with_revision(
            remote.repo.clone(),
            RepoType::Model,
            remote.revision.clone(),
        );
        let folder = cache.path().join(repo.folder_name());
        let locks = cache.path().join(".locks").join(repo.folder_name());
        Self {
            remote,
            repo: cache.repo(repo),
            folder,
            locks,
        }
    }

    /// The file, if it is there. Reads names only, never the content.
    pub fn find(&self) -> Option<Cached> {
        let pin = self.remote.pin.as_ref().map(|pin| pin.sha256.clone());
        let pointer = self.commit().map(|commit| self.pointer(&commit));
        if let Some(path) = pointer.filter(|path| path.is_file()) {
            let blob = path.canonicalize().ok();
            let blob = blob
                .as_deref()
                .and_then(Path::file_name)
                .and_then(|name| name.to_str());
            let named = blob.filter(|name| is_sha256(name)).map(str::to_owned);
            return Some(Cached {
                path,
                sha256: pin.or(named),
            });
        }
        // Another revision of the repository may have brought the same content.
        let sha256 = pin?;
        let path = self.blob(&sha256);
        path.is_file().then_some(Cached {
            path,
            sha256: Some(sha256),
        })
    }

    /// The commit that the revision stood for when something was last fetched.
    fn commit(&self) -> Option<String> {
        if is_commit(&self.remote.revision) {
            return Some(self.remote.revision.clone());
        }
        let file = fs::File::open(self.folder.join("refs").join(&self.remote.revision)).ok()?;
        let mut text = String::new();
        file.take(64).read_to_string(&mut text).ok()?;
        let commit = text.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Where the content with this digest is or will be.
    pub fn blob(&self, sha256: &str) -> PathBuf {
        self.repo.blob_path(sha256)
    }

    /// The lock for writing the content with this digest: the one the Python tools take.
    pub fn lock(&self, sha256: &str) -> PathBuf {
        self.locks.join(format!("{sha256}.lock"))
    }

    fn pointer(&self, commit: &str) -> PathBuf {
        self.repo.pointer_path(commit).join(&self.remote.file)
    }

    /// Makes the file of `commit` a link to the blob, and the revision stand for the commit.
    pub fn link(&self, commit: &str, sha256: &str) -> Result<PathBuf> {
        let pointer = self.pointer(commit);
        let what = || format!("cannot write {}", pointer.display());
        let folder = pointer.parent().with_context(what)?;
        fs::create_dir_all(folder).with_context(what)?;
        // Up to the repository's folder: out of the file's folders, the commit and `snapshots`.
        let up = "../".repeat(self.remote.file.split('/').count() + 1);
        let new = folder.join(format!(".link-{}", std::process::id()));
        // Left behind by a process that had the same number.
        let _ = fs::remove_file(&new);
        std::os::unix::fs::symlink(format!("{up}blobs/{sha256}"), &new).with_context(what)?;
        fs::rename(&new, &pointer).with_context(what)?;
        if !is_commit(&self.remote.revision) {
            self.repo.create_ref(commit).with_context(what)?;
        }
        Ok(pointer)
    }

    /// Removes the file from its snapshot, and its content unless another snapshot uses it. Returns
    /// the paths that are gone and their sizes in bytes.
    pub fn remove(&self, cached: &Cached) -> Result<Vec<(PathBuf, u64)>> {
        let what = || format!("cannot remove {}", cached.path.display());
        let content = cached.path.canonicalize().with_context(what)?;
        let mut gone = Vec::new();
        if cached.path.is_symlink() {
            gone.extend(remove_if_there(&cached.path)?);
        }
        // Never a file outside this repository's folder, wherever a link may point.
        let folder = self.folder.canonicalize().with_context(what)?;
        if content.starts_with(&folder) && !is_linked(&folder.join("snapshots"), &content) {
            gone.extend(remove_if_there(&content)?);
        }
        Ok(gone)
    }
}

/// Whether a link below `folder` leads to `blob`.
fn is_linked(folder: &Path, blob: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else {
        return false;
    };
    entries.flatten().any(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => is_linked(&path, blob),
            Ok(kind) if kind.is_symlink() => path.canonicalize().is_ok_and(|to| to == blob),
            Ok(_) | Err(_) => false,
        }
    })
}
