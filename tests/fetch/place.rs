//! A hub, and empty caches that a test fetches into from it.

use std::fs;
use std::path::PathBuf;

use speck::cancel::Cancel;
use speck::engine::protocol::Fetch;
use speck::model::fetch::{self, Environment, Pin, Remote};

use crate::hub_server::{Body, Hub};
use crate::{COMMIT, content, environment, sha256};

/// A hub that does everything right.
pub fn good_hub() -> Hub {
    let content = content();
    Hub {
        head: vec![
            ("x-repo-commit", COMMIT.to_owned()),
            ("x-linked-etag", format!("\"{}\"", sha256(&content))),
            ("x-linked-size", content.len().to_string()),
        ],
        head_status: 200,
        body: Body::Good,
        content,
    }
}

/// Empty caches and an environment that uses them.
pub struct Place {
    pub folder: tempfile::TempDir,
    pub environment: Environment,
    pub remote: Remote,
}

impl Place {
    pub fn new(endpoint: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path(), endpoint);
        let remote = Remote::new("owner/name", "sub/model.gguf", "main").unwrap();
        Self {
            folder,
            environment,
            remote,
        }
    }

    /// With a file whose digest is known beforehand, at a known commit.
    pub fn pinned(mut self) -> Self {
        let content = content();
        self.remote.pin = Some(Pin {
            size: content.len() as u64,
            sha256: sha256(&content),
        });
        COMMIT.clone_into(&mut self.remote.revision);
        self
    }

    pub fn locate(&self) -> anyhow::Result<PathBuf> {
        self.locate_with(&Cancel::new(), &mut |_| {})
    }

    pub fn locate_with(
        &self,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Fetch),
    ) -> anyhow::Result<PathBuf> {
        fetch::locate_in(&self.environment, &self.remote, false, cancel, progress)
    }

    pub fn repo(&self) -> PathBuf {
        self.environment.hub_cache.join("models--owner--name")
    }

    pub fn blob(&self) -> PathBuf {
        self.repo().join("blobs").join(sha256(&content()))
    }

    pub fn partial(&self) -> PathBuf {
        self.blob().with_extension("incomplete")
    }

    pub fn lock(&self) -> PathBuf {
        let name = format!("{}.lock", sha256(&content()));
        self.environment
            .hub_cache
            .join(".locks/models--owner--name")
            .join(name)
    }

    pub fn write_partial(&self, bytes: &[u8]) {
        fs::create_dir_all(self.partial().parent().unwrap()).unwrap();
        fs::write(self.partial(), bytes).unwrap();
    }

    /// Asserts that nothing is at a path that `locate` looks at.
    pub fn assert_nothing(&self) {
        assert!(!self.blob().exists());
        assert_eq!(fetch::find(&self.environment, &self.remote), None);
    }
}

pub fn error_of(result: anyhow::Result<PathBuf>) -> String {
    format!("{:#}", result.unwrap_err())
}
