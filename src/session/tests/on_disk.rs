//! Files and folder: locks, what is cut off and kept aside, ids.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::session::{Folder, Id, InUse, SessionFile};

/// A folder with one chat of these bytes.
fn place(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Opens a file of these bytes, appends a record, and reads it again.
fn check_repair(before: &[u8], n_kept: usize, said: &str, copies: &[&str]) {
    let (folder, path) = place(before);
    let (mut file, records, repaired) = SessionFile::open(&path).unwrap();
    assert_eq!(records, sample()[..n_kept]);
    let repaired = repaired.unwrap_or_default();
    assert!(repaired.contains(said), "{repaired}");
    file.append(&[partial("appended")], true).unwrap();
    drop(file);
    let (_file, records, repaired) = SessionFile::open(&path).unwrap();
    assert_eq!(records[..n_kept], sample()[..n_kept]);
    assert_eq!(records[n_kept..], [partial("appended")]);
    assert_eq!(repaired, None);
    assert_eq!(names(folder.path())[1..], *copies);
    for copy in copies.iter().filter(|copy| **copy != "a.jsonl") {
        assert_eq!(fs::read(folder.path().join(copy)).unwrap(), before);
    }
}

#[test]
fn a_file_is_put_right_and_nothing_is_lost() {
    let whole = bytes(&sample());
    let n = sample().len();
    check_repair(&whole, n, "", &[]);
    check_repair(&whole[..whole.len() - 1], n, "end of its last line", &[]);
    check_repair(
        &whole[..whole.len() - 5],
        n - 1,
        "bytes) and has been cut off",
        &[],
    );
    let mut damaged = whole.clone();
    let middle = whole.len() / 2;
    damaged[middle] ^= 1;
    let kept = n_lines(&whole[..middle]);
    let (folder, path) = place(&damaged);
    let (_, records, repaired) = SessionFile::open(&path).unwrap();
    assert_eq!(records.len(), kept);
    let repaired = repaired.unwrap();
    assert!(
        repaired.contains("kept as") && repaired.contains("a.damaged-1"),
        "{repaired}"
    );
    assert_eq!(names(folder.path()), ["a.damaged-1", "a.jsonl"]);
    assert_eq!(
        fs::read(folder.path().join("a.damaged-1")).unwrap(),
        damaged
    );
    assert!(bytes(&sample()).starts_with(&fs::read(&path).unwrap()));
}

#[test]
fn a_chat_without_its_header_goes_on_under_a_new_one() {
    let mut damaged = bytes(&sample());
    damaged[40] ^= 1;
    let (folder, path) = place(&damaged);
    let chats = Folder::at(folder.path());
    let id = Id::parse("a").unwrap();
    let (read, flaws) = chats.read(&id).unwrap();
    assert_eq!(flaws, [crate::session::log::Flaw::Headless(1)]);
    assert_eq!(fs::read(&path).unwrap(), damaged, "reading changes nothing");
    let (mut file, told, repaired) = chats.open(&id).unwrap();
    assert_eq!(told, read);
    let repaired = repaired.unwrap();
    for part in ["Its first line is damaged", "system prompt", "a.damaged-1"] {
        assert!(repaired.contains(part), "{repaired}");
    }
    assert_eq!(names(folder.path()), ["a.damaged-1", "a.jsonl"]);
    assert_eq!(
        fs::read(folder.path().join("a.damaged-1")).unwrap(),
        damaged
    );
    assert!(chats.open(&id).unwrap_err().is::<InUse>(), "it is locked");
    file.append(&[turn("new", "Yes.")], true).unwrap();
    drop(file);
    let (_file, again, repaired) = chats.open(&id).unwrap();
    assert_eq!((again.turns.len(), repaired), (told.turns.len() + 1, None));
}

#[test]
fn what_only_has_the_name_of_a_chat_is_deleted_or_told() {
    let home = tempfile::tempdir().unwrap();
    let place = |name: &str| home.path().join(name);
    fs::write(place("target"), bytes(&sample())).unwrap();
    let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
    link(place("target"), place("link.jsonl")).unwrap();
    link(place("nothing"), place("nowhere.jsonl")).unwrap();
    fs::create_dir(place("folder.jsonl")).unwrap();
    let chats = Folder::at(home.path());
    let delete = |id: &str| chats.delete(&Id::parse(id).unwrap());
    delete("link").unwrap();
    delete("nowhere").unwrap();
    assert!(
        delete("folder")
            .unwrap_err()
            .to_string()
            .contains("is a folder")
    );
    assert_eq!(names(home.path()), ["folder.jsonl", "target"]);
}

#[test]
fn a_file_of_another_program_is_left_as_it_is() {
    for content in ["", "# notes\n", "\0\0\0\0"] {
        let (folder, path) = place(content.as_bytes());
        assert!(SessionFile::open(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
        assert_eq!(names(folder.path()), ["a.jsonl"]);
    }
}

#[test]
fn one_at_a_time_may_write() {
    let (folder, path) = place(&bytes(&sample()));
    let first = SessionFile::open(&path).unwrap();
    let error = SessionFile::open(&path).unwrap_err();
    assert!(error.is::<InUse>(), "{error:#}");
    let chats = Folder::at(folder.path());
    let id = Id::parse("a").unwrap();
    assert!(chats.delete(&id).is_err());
    assert!(chats.read(&id).is_ok(), "everybody may read");
    drop(first);
    drop(SessionFile::open(&path).unwrap());
    chats.delete(&id).unwrap();
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn files_and_folder_are_the_users_alone() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::at(home.path().join("speck/sessions"));
    let id = Id::parse("x").unwrap();
    let file = folder.create(&id, &sample()).unwrap();
    assert_eq!(names(folder.path()), ["x.jsonl"]);
    drop(file);
    assert_eq!(SessionFile::open(&folder.file(&id)).unwrap().1, sample());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.file(&id)), 0o600);
    assert_eq!(mode(folder.path()), 0o700);
    assert!(folder.create(&id, &sample()).is_err(), "never over another");
    assert_eq!(names(folder.path()), ["x.jsonl"]);
}

#[test]
fn chats_are_found_by_the_start_of_their_ids() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::at(home.path());
    let error = |text: &str| folder.find(text).unwrap_err().to_string();
    assert!(error("last").contains("no saved chats yet"));
    for (name, age) in [
        ("20261130-1432-abc", 1),
        ("20261130-1433-abd", 9),
        ("20261201-0900-xyz", 5),
    ] {
        let path = home.path().join(name).with_extension("jsonl");
        fs::write(&path, bytes(&sample())).unwrap();
        let used = std::time::SystemTime::now() - Duration::from_secs(age);
        fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(used)
            .unwrap();
    }
    let check = |text: &str, expect: &str| assert_eq!(folder.find(text).unwrap().as_str(), expect);
    check("20261130-1432-abc", "20261130-1432-abc");
    check("20261130-1433", "20261130-1433-abd");
    check("202612", "20261201-0900-xyz");
    check("last", "20261130-1432-abc");
    assert!(error("20261130").contains("2 saved chats begin with `20261130`: 20261130-1433-abd"));
    assert!(error("").contains("there is no saved chat whose ID begins"));
    assert!(error("../x").contains("`speck sessions` lists them"));
    fs::write(home.path().join("bad.jsonl"), "x").unwrap();
    fs::write(home.path().join("Not An Id.jsonl"), "x").unwrap();
    fs::write(home.path().join("other.txt"), "x").unwrap();
    let list = folder.list().unwrap();
    assert_eq!(list.len(), 4);
    let bad = list
        .iter()
        .find(|entry| entry.id.as_str() == "bad")
        .unwrap();
    assert!(bad.summary.is_err());
    let good = list
        .iter()
        .find_map(|entry| entry.summary.as_ref().ok())
        .unwrap();
    assert_eq!((good.turns, good.title()), (2, "a name"));
}
