//! What others and crashes do to a chat's file while it is open, or before.

use super::*;
use crate::session::tests::{bytes, names, partial, sample};

/// A folder with an open chat.
fn open() -> (tempfile::TempDir, PathBuf, SessionFile) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, bytes(&sample())).unwrap();
    let (file, ..) = SessionFile::open(&path).unwrap();
    (folder, path, file)
}

fn add(path: &Path, bytes: &[u8]) {
    let mut file = File::options().append(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn what_others_do_to_an_open_file_is_noticed() {
    let check = |fate: &dyn Fn(&Path), expect: bool| {
        let (_folder, path, mut file) = open();
        file.append(&[partial("more")], false).unwrap();
        fate(&path);
        assert_eq!(file.is_as_written().unwrap(), expect);
        if expect {
            assert!(file.is_as_written().unwrap(), "still");
        }
    };
    let cut = |path: &Path, to| {
        let file = File::options().write(true).open(path).unwrap();
        file.set_len(to).unwrap();
    };
    let touch = |path: &Path| {
        let file = File::options().write(true).open(path).unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(9);
        file.set_modified(later).unwrap();
    };
    check(&|_| {}, true);
    check(&touch, true);
    check(&|path| cut(path, 0), false);
    check(&|path| cut(path, 70), false);
    check(&|path| add(path, b"x"), false);
    check(&|path| fs::remove_file(path).unwrap(), false);
    check(
        &|path| {
            let mut other = fs::read(path).unwrap();
            other[40] ^= 1;
            fs::write(path, other).unwrap();
            touch(path);
        },
        false,
    );
}

#[test]
fn an_append_begins_by_cutting_off_what_a_failed_one_has_left() {
    let (_folder, path, mut file) = open();
    // Neither appending nor cutting works.
    let good = std::mem::replace(&mut file.file, File::open(&path).unwrap());
    add(&path, b"{\"crc\":\"half a rec");
    file.append(&[partial("lost")], true).unwrap_err();
    file.file = good;
    file.append(&[partial("kept")], true).unwrap();
    assert!(file.is_as_written().unwrap());
    drop(file);
    let (_file, records, repaired) = SessionFile::open(&path).unwrap();
    assert_eq!((records.last(), repaired), (Some(&partial("kept")), None));
}

#[test]
fn a_file_that_gave_way_to_another_before_it_was_locked_is_in_use() {
    let (_folder, path, file) = open();
    drop(file);
    let opened = File::options().read(true).append(true).open(&path).unwrap();
    let other = path.with_extension("other");
    fs::copy(&path, &other).unwrap();
    fs::rename(&other, &path).unwrap();
    let error = SessionFile::go_on(opened, &path).unwrap_err();
    assert!(error.is::<InUse>(), "{error:#}");
    SessionFile::open(&path).unwrap();
}

#[test]
fn what_a_crash_in_a_repair_has_left_does_no_harm() {
    let headless = |damage: usize| {
        let mut bytes = bytes(&sample());
        bytes[damage] ^= 1;
        bytes
    };
    let (_folder, path, file) = open();
    drop(file);
    let check = |damaged: &[u8], expect: &[&str]| {
        fs::write(&path, damaged).unwrap();
        fs::write(path.with_extension("new"), "{\"crc\":\"half a rec").unwrap();
        let (.., repaired) = SessionFile::open(&path).unwrap();
        let told = repaired.unwrap();
        assert!(told.contains(expect[expect.len() - 2]), "{told}");
        assert_eq!(names(path.parent().unwrap()), expect);
    };
    check(&headless(40), &["a.damaged-1", "a.jsonl"]);
    check(&headless(40), &["a.damaged-1", "a.jsonl"]);
    check(&headless(41), &["a.damaged-1", "a.damaged-2", "a.jsonl"]);
    assert_eq!(
        fs::read(path.with_extension("damaged-1")).unwrap(),
        headless(40)
    );
}

#[test]
fn a_file_that_another_is_making_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let other = create_beside(&path.with_extension("new")).unwrap();
    let error = SessionFile::create(&path, &sample()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(names(path.parent().unwrap()), ["a.new"]);
    drop(other);
    SessionFile::create(&path, &sample()).unwrap();
    assert_eq!(names(path.parent().unwrap()), ["a.jsonl"]);
}

#[test]
fn what_came_to_the_place_meanwhile_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let error = SessionFile::make(&path, place, |new| {
        fs::write(&path, "mine")?;
        new.append(&sample(), true)
    })
    .unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(names(folder.path()), ["a.jsonl"]);
}

#[test]
fn the_other_name_that_a_crash_has_left_goes() {
    let (folder, path, file) = open();
    drop(file);
    let mut damaged = bytes(&sample());
    damaged[40] ^= 1;
    fs::write(&path, damaged).unwrap();
    fs::hard_link(&path, path.with_extension("new")).unwrap();
    SessionFile::open(&path).unwrap();
    assert_eq!(names(folder.path()), ["a.damaged-1", "a.jsonl"]);
}

#[test]
fn a_file_that_is_written_anew_goes_on_in_its_new_place() {
    let (folder, path, mut file) = open();
    fs::write(&path, "mine").unwrap();
    let anew = folder.path().join("b.jsonl");
    file.write_anew(&anew).unwrap();
    assert_eq!(file.path(), anew);
    assert!(file.is_as_written().unwrap());
    file.append(&[partial("more")], true).unwrap();
    assert!(SessionFile::open(&anew).unwrap_err().is::<InUse>());
    drop(file);
    let (_file, records, repaired) = SessionFile::open(&anew).unwrap();
    assert_eq!(records, [&sample()[..], &[partial("more")]].concat());
    assert_eq!(repaired, None);
}
