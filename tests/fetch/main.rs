//! Fetching model files from a hub on 127.0.0.1 and from a fake pip that misbehave in every way
//! known.

mod caches;
mod hub;
#[path = "../support/hub_server.rs"]
mod hub_server;
mod pip;
mod place;
mod processes;

use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};
use speck::model::fetch::Environment;

/// The commit of the file that the tests fetch.
const COMMIT: &str = "ab810cf68114990406fdf996510dd3d3c6adbdf5";

/// The file that the tests fetch: 400,000 bytes that differ from place to place.
fn content() -> Vec<u8> {
    (0..100_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect()
}

fn sha256(bytes: &[u8]) -> String {
    let digits = Sha256::digest(bytes);
    digits
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// Empty caches below `root` and the hub at `endpoint`; Python is at `root/bin/python3`, if anywhere.
fn environment(root: &Path, endpoint: &str) -> Environment {
    // Without links on the way, so that paths can be compared.
    let root = root.canonicalize().unwrap();
    Environment {
        hub_cache: root.join("hf/hub"),
        speck_cache: root.join("speck"),
        endpoint: endpoint.to_owned(),
        token: None,
        offline: false,
        python: root.join("bin/python3").into(),
        proxy: None,
        reach_timeout: Duration::from_secs(5),
        stall_timeout: Duration::from_secs(30),
    }
}
