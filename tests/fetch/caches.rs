//! The caches: locks, files that others brought, what removing takes.

use std::fs::{self, File};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use speck::cancel::{Cancel, Cancelled};
use speck::model::fetch::{self, Remote};

use crate::hub_server::{Body, Hub, Server, dead_url};
use crate::place::{Place, error_of, good_hub};
use crate::{COMMIT, content, sha256};

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
