//! The hub: transfers and answers.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use speck::cancel::{Cancel, Cancelled};
use speck::model::fetch::{self, Remote};

use crate::hub_server::{Body, Hub, Server};
use crate::place::{Place, error_of, good_hub};
use crate::{COMMIT, content, sha256};

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
    assert!(took < Duration::from_secs(20), "{took:?}");
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
