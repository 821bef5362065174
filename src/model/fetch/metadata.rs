//! What the hub says a file is, in one request; and what its refusals mean.
//!
//! **What the hub answers is checked before it names a path or sizes anything.**

use anyhow::{Context, Result, anyhow, ensure};
use ureq::Body;
use ureq::http::{Response, StatusCode};

use super::Problem;
use super::http::{Client, header};
use super::remote::{Remote, is_commit, is_sha256};

/// Largest file that is fetched without a pin: more than any model in one file today.
const MAX_SIZE: u64 = 1 << 40;

/// What the hub says a file is; checked.
#[derive(Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The commit that the revision stands for.
    pub commit: String,
    /// The content's SHA-256.
    pub sha256: String,
    /// The content's size in bytes.
    pub size: u64,
}

/// Asks the hub what the file is.
pub fn ask(client: &Client<'_>, url: &str, remote: &Remote) -> Result<Metadata, Problem> {
    let answer = client.head(url, "x-linked-etag")?;
    if !answer.status().is_redirection() {
        check_status(&answer, remote)?;
    }
    if !answer.headers().contains_key("x-repo-commit") {
        let why = "something answers in its place (a proxy or a sign-in page?)";
        return Err(Problem::Unreachable(anyhow!(why)));
    }
    Ok(read_metadata(&answer, remote)?)
}

fn read_metadata(answer: &Response<Body>, remote: &Remote) -> Result<Metadata> {
    let text = |name: &str| {
        let text = header(answer, name).transpose();
        text.with_context(|| format!("the hub answered with an unreadable header {name}"))
    };
    let commit = text("x-repo-commit")?.unwrap_or_default();
    ensure!(
        is_commit(commit),
        "the hub answered with a malformed commit: {commit:?}"
    );
    ensure!(
        !is_commit(&remote.revision) || commit == remote.revision,
        "the hub answered with commit {commit} instead of {}",
        remote.revision
    );

    let etag = match text("x-linked-etag")? {
        Some(etag) => etag,
        None => text("etag")?.unwrap_or_default(),
    };
    let sha256 = etag.trim_start_matches("W/").trim_matches('"');
    ensure!(
        is_sha256(sha256) || is_commit(sha256),
        "the hub answered with a malformed ETag: {etag:?}"
    );
    ensure!(
        is_sha256(sha256),
        "the hub states no SHA-256 for this file, so it cannot be checked: speck uses none that \
         it cannot check. If you trust it, download it by other means and give its path"
    );

    let size = match text("x-linked-size")? {
        Some(size) => Some(size),
        None => text("content-length")?,
    };
    let size: u64 = size
        .and_then(|size| size.parse().ok())
        .context("the hub does not state the file's size")?;
    ensure!(
        size <= MAX_SIZE,
        "the hub states a size of {size} bytes: no model is as large"
    );
    if let Some(pin) = &remote.pin {
        ensure!(
            sha256 == pin.sha256 && size == pin.size,
            "the hub offers another file than the one speck knows ({size} bytes with SHA-256 \
             {sha256} instead of {} with {}): it was not downloaded",
            pin.size,
            pin.sha256
        );
    }
    Ok(Metadata {
        commit: commit.to_owned(),
        sha256: sha256.to_owned(),
        size,
    })
}

/// `Ok` for an answer that is about the whole file.
pub fn check_status(answer: &Response<Body>, remote: &Remote) -> Result<(), Problem> {
    let status = answer.status();
    // The hub signs its refusals; a proxy or filter that answers for it does not.
    let is_hub = ["x-error-code", "x-error-message"]
        .iter()
        .any(|name| answer.headers().contains_key(*name));
    match status {
        StatusCode::OK => Ok(()),
        StatusCode::UNAUTHORIZED if is_hub => Err(Problem::Failed(anyhow!(
            "the hub wants a token for {remote}, or knows no such repository (401): check the \
             name, and HF_TOKEN if you set it"
        ))),
        StatusCode::FORBIDDEN if is_hub => Err(Problem::Failed(anyhow!(
            "the hub does not let you read {remote} (403): accept its terms on the hub's page and \
             set HF_TOKEN"
        ))),
        StatusCode::NOT_FOUND if is_hub => Err(Problem::Failed(anyhow!(
            "the hub has no {remote} (404): check the name"
        ))),
        status => Err(Problem::Unreachable(anyhow!(
            "it, or a proxy in its place, answers {status}"
        ))),
    }
}
