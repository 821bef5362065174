//! The hub: transfers, answers, caches, locks.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use speck::cancel::{Cancel, Cancelled};
use speck::engine::protocol::Fetch;
use speck::model::fetch::{self, Environment, Pin, Remote};

use crate::hub_server::{Body, Hub, Server, dead_url};
use crate::{COMMIT, content, environment, sha256};

/// A hub that does everything right.
fn good_hub() -> Hub {
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
struct Place {
    folder: tempfile::TempDir,
    environment: Environment,
    remote: Remote,
}

impl Place {
    fn new(endpoint: &str) -> Self {
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
    fn pinned(mut self) -> Self {
        let content = content();
        self.remote.pin = Some(Pin {
            size: content.len() as u64,
            sha256: sha256(&content),
        });
        COMMIT.clone_into(&mut self.remote.revision);
        self
    }

    fn locate(&self) -> anyhow::Result<PathBuf> {
        self.locate_with(&Cancel::new(), &mut |_| {})
    }

    fn locate_with(
        &self,
        cancel: &Cancel,
        progress: &mut dyn FnMut(Fetch),
    ) -> anyhow::Result<PathBuf> {
        fetch::locate_in(&self.environment, &self.remote, false, cancel, progress)
    }

    fn repo(&self) -> PathBuf {
        self.environment.hub_cache.join("models--owner--name")
    }

    fn blob(&self) -> PathBuf {
        self.repo().join("blobs").join(sha256(&content()))
    }

    fn partial(&self) -> PathBuf {
        self.blob().with_extension("incomplete")
    }

    fn lock(&self) -> PathBuf {
        let name = format!("{}.lock", sha256(&content()));
        self.environment
            .hub_cache
            .join(".locks/models--owner--name")
            .join(name)
    }

    fn write_partial(&self, bytes: &[u8]) {
        fs::create_dir_all(self.partial().parent().unwrap()).unwrap();
        fs::write(self.partial(), bytes).unwrap();
    }

    /// Asserts that nothing is at a path that `locate` looks at.
    fn assert_nothing(&self) {
        assert!(!self.blob().exists());
        assert_eq!(fetch::find(&self.environment, &self.remote), None);
    }
}

fn error_of(result: anyhow::Result<PathBuf>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn a_download_lands_in_the_hubs_layout() {
    let server = Server::start(good_hub());
    let place = Place::new(&server.url());
    let mut reports = Vec::new();
    let path = place
        .locate_with(&Cancel::new(), &mut |fetch| reports.push(fetch))
        .unwrap();

    assert_eq!(
        path,
        place
            .repo()
            .join("snapshots")
            .join(COMMIT)
            .join("sub/model.gguf")
    );
    assert_eq!(fs::read(&path).unwrap(), content());
    let target = format!("../../../blobs/{}", sha256(&content()));
    assert_eq!(fs::read_link(&path).unwrap(), Path::new(&target));
    assert_eq!(
        fs::read_to_string(place.repo().join("refs/main")).unwrap(),
        COMMIT
    );
    assert!(!place.partial().exists());
    let last = reports.iter().rfind(|fetch| fetch.how == "hub").unwrap();
    assert_eq!((last.done, last.total), (400_000, Some(400_000)));
    assert_eq!(last.what, "model.gguf");
    assert_eq!(
        server.requests()[0].header("accept-encoding"),
        Some("identity")
    );

    // Warm: no request, and no second look at the content.
    let asked = server.requests().len();
    let mut reports = 0;
    assert_eq!(
        place
            .locate_with(&Cancel::new(), &mut |_| reports += 1)
            .unwrap(),
        path
    );
    assert_eq!((server.requests().len(), reports), (asked, 0));
}

#[test]
fn a_partial_download_is_completed_or_replaced() {
    let check = |body: Body, partial: &[u8], gets: usize| {
        let server = Server::start(Hub { body, ..good_hub() });
        let place = Place::new(&server.url());
        place.write_partial(partial);
        let path = place.locate().unwrap();
        assert_eq!(fs::read(path).unwrap(), content());
        assert_eq!(server.count("GET"), gets);
        server.requests()
    };
    let (half, all) = (&content()[..200_000], &content()[..]);
    let requests = check(Body::Good, half, 1);
    assert_eq!(requests[1].header("range"), Some("bytes=200000-"));
    check(Body::IgnoreRange, half, 1);
    check(Body::OtherRange, half, 2);
    check(Body::RefuseRange, half, 2);
    check(Body::Good, all, 0);
    check(Body::Good, b"", 1);
    let too_long = [all, b"more"].concat();
    check(Body::Good, &too_long, 1);
}

#[test]
fn wrong_content_is_deleted_and_never_used() {
    let damaged = |edit: &dyn Fn(&mut Vec<u8>), partial: &[u8], words: &str| {
        let mut hub = good_hub();
        edit(&mut hub.content);
        let server = Server::start(hub);
        let place = Place::new(&server.url());
        place.write_partial(partial);
        let error = error_of(place.locate());
        assert!(error.contains(words), "{error}");
        place.assert_nothing();
        place
    };
    let flip = |content: &mut Vec<u8>| content[300_000] ^= 1;
    assert!(!damaged(&flip, b"", "is damaged").partial().exists());
    // Damage in what was there before is found as well.
    let mut half = content()[..200_000].to_vec();
    half[7] ^= 1;
    assert!(!damaged(&|_| {}, &half, "is damaged").partial().exists());
    damaged(&|content| content.push(0), b"", "more bytes than it stated");
    damaged(&|content| content.truncate(1000), b"", "ended too early");
}

#[test]
fn a_file_other_than_the_pinned_one_is_not_even_downloaded() {
    let check = |name: &str, value: String| {
        let mut hub = good_hub();
        hub.head
            .iter_mut()
            .filter(|(key, _)| *key == name)
            .for_each(|pair| pair.1.clone_from(&value));
        let server = Server::start(hub);
        let place = Place::new(&server.url()).pinned();
        let error = error_of(place.locate());
        assert!(error.contains("instead of"), "{error}");
        assert_eq!(server.count("GET"), 0);
        place.assert_nothing();
    };
    check("x-linked-etag", "0".repeat(64));
    check("x-linked-size", "1".to_owned());
    check("x-repo-commit", "0".repeat(40));
}

#[test]
fn a_cut_connection_is_resumed_by_the_next_run() {
    let server = Server::start(Hub {
        body: Body::Cut(150_000),
        ..good_hub()
    });
    let mut place = Place::new(&server.url());
    let error = error_of(place.locate());
    assert!(
        error.contains("run the same command again to go on"),
        "{error}"
    );
    place.assert_nothing();
    assert_eq!(fs::read(place.partial()).unwrap(), &content()[..150_000]);

    let server = Server::start(good_hub());
    place.environment.endpoint = server.url();
    assert_eq!(fs::read(place.locate().unwrap()).unwrap(), content());
    assert_eq!(server.requests()[1].header("range"), Some("bytes=150000-"));
}

#[test]
fn statuses_are_explained() {
    let check = |hub: Hub, words: &str| {
        let server = Server::start(hub);
        let place = Place::new(&server.url());
        let error = error_of(place.locate());
        assert!(error.contains(words), "{error}");
        assert!(
            error.contains("By hand: download http://127.0.0.1"),
            "{error}"
        );
        assert!(error.contains("speck chat --target"), "{error}");
        place.assert_nothing();
    };
    let status = |head_status: u16, code: &str| Hub {
        head_status,
        head: vec![("x-error-code", code.to_owned())],
        ..good_hub()
    };
    let no_entry = "has no owner/name:sub/model.gguf@main (404)";
    check(status(404, "EntryNotFound"), no_entry);
    check(status(401, "RepoNotFound"), "HF_TOKEN");
    check(status(403, "GatedRepo"), "accept its terms");
    check(status(500, "Trouble"), "answers 500");
    // A sign-in page, or a proxy that answers for the hub.
    for code in [200, 401, 403, 404, 418] {
        let head = Vec::new();
        check(
            Hub {
                head_status: code,
                head,
                ..good_hub()
            },
            "in its place",
        );
    }
    let loops = vec![("location", "/again".to_owned())];
    check(
        Hub {
            head_status: 307,
            head: loops,
            ..good_hub()
        },
        "redirects more than",
    );
    let down = vec![("location", "ftp://127.0.0.1/".to_owned())];
    check(
        Hub {
            head_status: 307,
            head: down,
            ..good_hub()
        },
        "redirects to \"ftp:",
    );
    for code in [401, 403, 404, 500] {
        check(
            Hub {
                body: Body::Status(code),
                ..good_hub()
            },
            &code.to_string(),
        );
    }
}

#[test]
fn hostile_answers_are_refused() {
    let check = |name: &'static str, value: &str, words: &str| {
        let mut hub = good_hub();
        hub.head.retain(|(key, _)| *key != name);
        hub.head.push((name, value.to_owned()));
        let server = Server::start(hub);
        let place = Place::new(&server.url());
        let error = error_of(place.locate());
        assert!(error.contains(words), "{value:?}: {error}");
        assert_eq!(server.count("GET"), 0);
        // Nothing was written, in the caches or beside them.
        let written: Vec<_> = fs::read_dir(place.folder.path()).unwrap().collect();
        assert!(written.is_empty(), "{written:?}");
    };
    for etag in [
        "",
        "../../../evil",
        "\"/etc/passwd\"",
        &"A".repeat(64),
        &"a".repeat(63),
    ] {
        check("x-linked-etag", etag, "ETag");
    }
    check("x-linked-etag", "\u{e9}", "unreadable header x-linked-etag");
    check("x-linked-etag", &"a".repeat(40), "states no SHA-256");
    for commit in ["", "../../../../evil", &"g".repeat(40), "main"] {
        check("x-repo-commit", commit, "malformed commit");
    }
    for size in ["", "-1", "x", "99999999999999999999999"] {
        check("x-linked-size", size, "does not state the file's size");
    }
    check(
        "x-linked-size",
        "18446744073709551615",
        "no model is as large",
    );
}

#[test]
fn hostile_names_reach_neither_disk_nor_network() {
    let server = Server::start(good_hub());
    for (repo, file, revision) in [
        ("../evil", "f.gguf", "main"),
        ("o/n", "../../../f.gguf", "main"),
        ("o/n", "/etc/f.gguf", "main"),
        ("o/n", "f.gguf", "../main"),
    ] {
        let mut place = Place::new(&server.url());
        place.remote = Remote {
            repo: repo.to_owned(),
            file: file.to_owned(),
            revision: revision.to_owned(),
            pin: None,
            wheel: None,
        };
        place.locate().unwrap_err();
        fetch::remove(&place.environment, &place.remote).unwrap_err();
        assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
    }
    assert!(server.requests().is_empty());
}

#[test]
fn the_token_stays_with_the_hub() {
    let elsewhere = Server::start(good_hub());
    let hub = Server::start(Hub {
        body: Body::Redirect(elsewhere.url()),
        ..good_hub()
    });
    let mut place = Place::new(&hub.url());
    place.environment.token = Some("secret".to_owned());
    // Half is there: the range goes along, the token does not.
    place.write_partial(&content()[..200_000]);
    assert_eq!(fs::read(place.locate().unwrap()).unwrap(), content());
    assert_eq!(hub.requests().len(), 2);
    for request in hub.requests() {
        assert_eq!(request.header("authorization"), Some("Bearer secret"));
    }
    assert_eq!(elsewhere.requests().len(), 1);
    for request in elsewhere.requests() {
        assert_eq!(request.header("range"), Some("bytes=200000-"));
        assert!(!format!("{request:?}").contains("secret"), "{request:?}");
    }
    // A token that is no header value is an error that does not show it.
    let mut place = Place::new(&hub.url());
    place.environment.token = Some("sec\nret".to_owned());
    let error = error_of(place.locate());
    assert!(
        error.contains("HF_TOKEN") && !error.contains("ret\""),
        "{error}"
    );
}

#[test]
fn a_transfer_that_hangs_can_be_cancelled_or_ends_by_itself() {
    let server = Server::start(Hub {
        body: Body::Hang(150_000),
        ..good_hub()
    });
    let mut place = Place::new(&server.url());
    let cancel = Cancel::new();
    let (result, took) = thread::scope(|scope| {
        let run = scope.spawn(|| place.locate_with(&cancel, &mut |_| {}));
        server.hanging.recv().unwrap();
        // All that will come has come, or the client would not be waiting for more.
        while place
            .partial()
            .metadata()
            .map_or(0, |metadata| metadata.len())
            < 150_000
        {
            thread::yield_now();
        }
        let start = Instant::now();
        cancel.cancel();
        (run.join().unwrap(), start.elapsed())
    });
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&Cancelled));
    // The promise is 100 ms; a busy test machine gets more. The server would wait for ever.
    assert!(took < Duration::from_secs(2), "{took:?}");
    println!("cancelled in {took:?}");
    assert_eq!(fs::read(place.partial()).unwrap(), &content()[..150_000]);

    place.environment.stall_timeout = Duration::from_millis(200);
    let error = error_of(place.locate());
    assert!(error.contains("sent nothing for too long"), "{error}");
    assert!(error.contains("run the same command again"), "{error}");
    // And nothing is left locked.
    server.let_go.send(()).unwrap();
    let server = Server::start(good_hub());
    place.environment.endpoint = server.url();
    place.locate().unwrap();
}

#[test]
fn two_threads_share_one_download() {
    let server = Server::start(Hub {
        body: Body::Hang(150_000),
        ..good_hub()
    });
    let place = Place::new(&server.url());
    let (waits, waiting) = std::sync::mpsc::channel();
    let paths = thread::scope(|scope| {
        let first = scope.spawn(|| place.locate());
        server.hanging.recv().unwrap();
        let second = scope.spawn(|| {
            place.locate_with(&Cancel::new(), &mut |fetch| {
                if fetch.how.starts_with("waiting") && fetch.done == 150_000 {
                    let _ = waits.send(());
                }
            })
        });
        // It waits, and sees how far the other one is.
        waiting.recv().unwrap();
        server.let_go.send(()).unwrap();
        [
            first.join().unwrap().unwrap(),
            second.join().unwrap().unwrap(),
        ]
    });
    assert_eq!(paths[0], paths[1]);
    assert_eq!(fs::read(&paths[0]).unwrap(), content());
    assert_eq!(server.count("GET"), 1);
}

#[test]
fn waiting_for_the_lock_can_be_cancelled() {
    let server = Server::start(good_hub());
    let place = Place::new(&server.url());
    fs::create_dir_all(place.lock().parent().unwrap()).unwrap();
    let held = File::create(place.lock()).unwrap();
    held.lock().unwrap();
    let cancel = Cancel::new();
    let result = place.locate_with(&cancel, &mut |fetch| {
        if fetch.how.starts_with("waiting") {
            cancel.cancel();
        }
    });
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&Cancelled));
    assert_eq!(server.count("GET"), 0);
    drop(held);
    let place = place.pinned();
    place.locate().unwrap();

    // What someone is fetching is not removed.
    let held = File::create(place.lock()).unwrap();
    held.lock().unwrap();
    let error = fetch::remove(&place.environment, &place.remote).unwrap_err();
    assert!(error.to_string().contains("being fetched"), "{error:#}");
    assert!(place.blob().exists());
}

#[test]
fn a_hub_that_never_answers_is_given_up() {
    // Connections are accepted by the system, and nobody reads them.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut place = Place::new(&format!("http://{}", listener.local_addr().unwrap()));
    place.environment.reach_timeout = Duration::from_millis(300);
    let error = error_of(place.locate());
    assert!(error.contains("cannot be reached"), "{error}");
    assert!(error.contains("timeout"), "{error}");

    place.environment.reach_timeout = Duration::from_secs(600);
    let cancel = Cancel::new();
    let result = thread::scope(|scope| {
        let run = scope.spawn(|| place.locate_with(&cancel, &mut |_| {}));
        // One connection of the first try, one of this: it is waiting for an answer now.
        listener.accept().unwrap();
        listener.accept().unwrap();
        cancel.cancel();
        run.join().unwrap()
    });
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&Cancelled));
}

#[test]
fn an_unusable_cache_folder_is_named() {
    let server = Server::start(good_hub());
    let place = Place::new(&server.url());
    fs::create_dir(place.environment.hub_cache.parent().unwrap()).unwrap();
    fs::write(&place.environment.hub_cache, "a file, not a folder").unwrap();
    let error = error_of(place.locate());
    assert!(
        error.contains(place.environment.hub_cache.to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn a_damaged_cached_file_is_moved_aside_and_fetched_again() {
    let server = Server::start(good_hub());
    let place = Place::new(&server.url()).pinned();
    let path = place.locate().unwrap();
    let mut damaged = content();
    damaged[5] ^= 1;
    fs::write(place.blob(), &damaged).unwrap();
    // A change within the clock's step would go unnoticed: make sure that the time differs.
    let file = File::options().write(true).open(place.blob()).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();

    let error = error_of(place.locate());
    assert!(
        error.contains("is damaged") && error.contains("run the same command again"),
        "{error}"
    );
    place.assert_nothing();
    assert_eq!(
        fs::read(place.blob().with_extension("damaged")).unwrap(),
        damaged
    );
    assert_eq!(place.locate().unwrap(), path);
    assert_eq!(fs::read(path).unwrap(), content());
}

#[test]
fn files_of_the_python_tools_are_used_once_checked() {
    let place = Place::new(&dead_url());
    let sha256 = sha256(&content());
    let snapshot = place.repo().join("snapshots").join(COMMIT).join("sub");
    for folder in [
        place.repo().join("blobs"),
        place.repo().join("refs"),
        snapshot.clone(),
    ] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(place.blob(), content()).unwrap();
    fs::write(place.repo().join("refs/main"), COMMIT).unwrap();
    let link = snapshot.join("model.gguf");
    std::os::unix::fs::symlink(format!("../../../blobs/{sha256}"), &link).unwrap();
    let mut checked = false;
    let path = place.locate_with(&Cancel::new(), &mut |fetch| {
        checked |= fetch.how.contains("sha256");
    });
    assert_eq!(path.unwrap(), link);
    assert!(checked);

    // Brought by another revision: found by its digest.
    let mut place = place.pinned();
    place.remote.revision = "0".repeat(40);
    assert_eq!(place.locate().unwrap(), place.blob());

    // A snapshot that holds the file itself does not say what it must be.
    place.remote = Remote::new("owner/name", "sub/model.gguf", "main").unwrap();
    fs::remove_file(&link).unwrap();
    fs::write(&link, content()).unwrap();
    let error = error_of(place.locate());
    assert!(error.contains("cannot be checked"), "{error}");
    // A reference to a commit that is no commit leads nowhere.
    fs::write(place.repo().join("refs/main"), "../../../../etc").unwrap();
    assert_eq!(fetch::find(&place.environment, &place.remote), None);
}

#[test]
fn offline_means_caches_only() {
    let server = Server::start(good_hub());
    let mut place = Place::new(&server.url());
    let offline = |place: &Place, flag: bool| {
        fetch::locate_in(
            &place.environment,
            &place.remote,
            flag,
            &Cancel::new(),
            &mut |_| {},
        )
    };
    let error = error_of(offline(&place, true));
    assert!(
        error.contains("the network is off") && error.contains("By hand"),
        "{error}"
    );
    place.environment.offline = true;
    error_of(offline(&place, false));
    assert!(server.requests().is_empty());
    place.environment.offline = false;
    let path = place.locate().unwrap();
    assert_eq!(offline(&place, true).unwrap(), path);
}

#[test]
fn remove_takes_this_file_and_no_other() {
    let server = Server::start(good_hub());
    let place = Place::new(&server.url());
    let path = place.locate().unwrap();
    let neighbour = path.with_file_name("other.gguf");
    fs::write(&neighbour, "other").unwrap();
    let foreign = place.repo().join("blobs/foreign");
    fs::write(&foreign, "foreign").unwrap();

    let gone = fetch::remove(&place.environment, &place.remote).unwrap();
    let paths: Vec<&PathBuf> = gone.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [&path, &place.blob()]);
    assert_eq!(gone[1].1, 400_000);
    assert!(!path.is_symlink() && !place.blob().exists());
    assert!(neighbour.exists() && foreign.exists());
    assert!(
        fetch::remove(&place.environment, &place.remote)
            .unwrap()
            .is_empty()
    );

    // Content that another snapshot uses stays.
    let path = place.locate().unwrap();
    let other = place.repo().join("snapshots").join("0".repeat(40));
    fs::create_dir_all(&other).unwrap();
    let target = format!("../../blobs/{}", sha256(&content()));
    std::os::unix::fs::symlink(target, other.join("model.gguf")).unwrap();
    let gone = fetch::remove(&place.environment, &place.remote).unwrap();
    assert_eq!(gone.len(), 1);
    assert!(!path.is_symlink() && place.blob().exists());

    // An unfinished download goes with the rest; a link out of the repository is cut, not followed.
    let place = place.pinned();
    place.write_partial(b"half");
    fs::remove_dir_all(&other).unwrap();
    fs::remove_file(place.blob()).unwrap();
    let outside = place.folder.path().join("mine");
    fs::write(&outside, "mine").unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    fetch::remove(&place.environment, &place.remote).unwrap();
    assert!(!place.partial().exists() && !path.is_symlink());
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine");
}
