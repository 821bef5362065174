//! Fetches a file from the hub into the hub's cache.
//!
//! `metadata` asks what the file is (commit, SHA-256, size), then `transfer` brings the content.

use super::digest::Stamps;
use super::environment::Environment;
use super::http::Client;
use super::hub_cache::{Cached, HubCache};
use super::metadata::ask;
use super::progress::Progress;
use super::remote::Remote;
use super::transfer::{self, Source};
use super::{Problem, install, lock, size_of};
use crate::cancel::Cancel;

/// Fetches `remote` into the cache.
pub fn fetch(
    environment: &Environment,
    remote: &Remote,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<Cached, Problem> {
    progress.stage("asking the hub", None);
    let client = Client::new(environment, cancel);
    let url = remote.url(&environment.endpoint);
    let metadata = ask(&client, &url, remote)?;

    let cache = HubCache::new(environment, remote);
    let blob = cache.blob(&metadata.sha256);
    let partial = blob.with_extension("incomplete");
    let _lock = lock::acquire(&cache.lock(&metadata.sha256), cancel, progress, &|| {
        size_of(&partial)
    })?;
    // Whoever held the lock may have brought it.
    if !blob.is_file() {
        let source = Source {
            client: &client,
            url: &url,
            remote,
            metadata: &metadata,
        };
        transfer::transfer(&source, &partial, cancel, progress)?;
        install(&partial, &blob)?;
        Stamps::new(&environment.speck_cache).remember(&blob, &metadata.sha256);
    }
    let path = cache.link(&metadata.commit, &metadata.sha256)?;
    Ok(Cached {
        path,
        sha256: Some(metadata.sha256),
    })
}
