//! Streams a file from the hub to disk: resumed where an earlier transfer ended, hashed on the way.
//!
//! What is there of `<blob>.incomplete` counts, once its bytes are hashed too. On an error or a
//! cancel it stays for the next time; when the digest is wrong it goes.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};
use ureq::Body;
use ureq::http::{Response, StatusCode};

use super::http::{Client, header};
use super::metadata::{Metadata, check_status};
use super::progress::Progress;
use super::remote::Remote;
use super::{Problem, digest, megabytes};
use crate::cancel::Cancel;

/// Where the content comes from.
pub struct Source<'a> {
    /// Asks for it.
    pub client: &'a Client<'a>,
    /// Its address on the hub.
    pub url: &'a str,
    /// Its name, for messages.
    pub remote: &'a Remote,
    /// What it must be.
    pub metadata: &'a Metadata,
}

/// Completes `partial`. On return its size and digest are right and it is on disk.
pub fn transfer(
    source: &Source<'_>,
    partial: &Path,
    cancel: &Cancel,
    progress: &mut Progress<'_>,
) -> Result<(), Problem> {
    let what = || format!("cannot write {}", partial.display());
    let size = source.metadata.size;
    if let Some(folder) = partial.parent() {
        fs::create_dir_all(folder).with_context(what)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(partial).with_context(what)?;

    let mut sink = Sink {
        file: &mut file,
        hasher: Sha256::new(),
        done: 0,
        size,
    };
    progress.stage("checking what is here already", Some(size));
    sink.done = digest::hash_into(&mut sink.hasher, &*sink.file, cancel, &mut |done| {
        progress.done(done);
    })?;
    if sink.done > size {
        sink.restart().with_context(what)?;
    }
    if sink.done < size {
        progress.stage("hub", Some(size));
        progress.done(sink.done);
        let (answer, start) = open(source, sink.done)?;
        if start != sink.done {
            sink.restart().with_context(what)?;
        }
        let filled = source
            .client
            .read_body(answer, |body| sink.fill(body, cancel, progress));
        filled.map_err(|problem| problem.context(|| stopped_at(sink.done, size)))?;
    }

    let (done, sha256) = (sink.done, digest::hex(sink.hasher));
    if sha256 != source.metadata.sha256 {
        fs::remove_file(partial).with_context(what)?;
        let expected = &source.metadata.sha256;
        return Err(Problem::Failed(anyhow!(
            "what the hub sent is damaged ({done} bytes with SHA-256 {sha256} instead of \
             {expected}): it was deleted; run the same command again"
        )));
    }
    file.sync_all().with_context(what)?;
    Ok(())
}

fn stopped_at(done: u64, size: u64) -> String {
    let (done, size) = (megabytes(done), megabytes(size));
    format!(
        "the download stopped at {done} of {size}: run the same command again to go on from there"
    )
}

/// Opens the content from byte `done` on, or from the start where the server cannot resume. Returns
/// the answer and the byte it begins at.
fn open(source: &Source<'_>, done: u64) -> Result<(Response<Body>, u64), Problem> {
    if done > 0 {
        let answer = source.client.get(source.url, done)?;
        let size = source.metadata.size;
        let expected = format!("bytes {done}-{}/{size}", size - 1);
        let range = header(&answer, "content-range").and_then(Result::ok);
        if answer.status() == StatusCode::PARTIAL_CONTENT && range == Some(&expected) {
            return Ok((answer, done));
        }
        let is_refused = [
            StatusCode::PARTIAL_CONTENT,
            StatusCode::RANGE_NOT_SATISFIABLE,
        ];
        if !is_refused.contains(&answer.status()) {
            check_status(&answer, source.remote)?;
            return Ok((answer, 0));
        }
        // Another part than the one asked for, or none: ask for all of it.
    }
    let answer = source.client.get(source.url, 0)?;
    check_status(&answer, source.remote)?;
    Ok((answer, 0))
}

/// A file that grows to `size` bytes, and the digest of what is in it.
struct Sink<'a> {
    file: &'a mut File,
    hasher: Sha256,
    done: u64,
    size: u64,
}

impl Sink<'_> {
    /// Forgets what is there.
    fn restart(&mut self) -> std::io::Result<()> {
        self.hasher = Sha256::new();
        self.done = 0;
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        Ok(())
    }

    /// Reads `body` to its end, which must be at `size`.
    fn fill(
        &mut self,
        body: &mut dyn Read,
        cancel: &Cancel,
        progress: &mut Progress<'_>,
    ) -> Result<(), Problem> {
        let mut buffer = vec![0; digest::CHUNK];
        loop {
            cancel.check()?;
            let read = body.read(&mut buffer);
            // A cancel closes the connection, which looks like an error or an end.
            cancel.check()?;
            let n = match read {
                Ok(0) if self.done == self.size => return Ok(()),
                Ok(0) => return Err(anyhow!("the connection ended too early").into()),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(explain(error).into()),
            };
            if self.done + n as u64 > self.size {
                return Err(anyhow!("the hub sends more bytes than it stated").into());
            }
            self.file
                .write_all(&buffer[..n])
                .context("cannot write to the disk")?;
            self.hasher.update(&buffer[..n]);
            self.done += n as u64;
            progress.done(self.done);
        }
    }
}

/// Says what a failed read means.
fn explain(error: std::io::Error) -> anyhow::Error {
    match ureq::Error::from(error) {
        ureq::Error::Timeout(_) => anyhow!("the hub sent nothing for too long"),
        error => anyhow::Error::new(error),
    }
}
