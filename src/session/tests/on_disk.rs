//! Files and folder: locks, what is cut off and kept aside, ids, and a saver whose disk fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::cancel::Cancel;
use crate::engine::protocol::{Command, Event, FinishReason, Finished};
use crate::session::record::MAX_LINE;
use crate::session::writer::MAX_WAITING;
use crate::session::{Folder, Id, InUse, News, Note, Request, Saver, SessionFile, Setup};

const SOON: Duration = Duration::from_secs(20);

/// A folder with one chat of these bytes.
fn place(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
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
    assert!(error("").contains("there is no saved chat"));
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

/// A saver in a folder that may not exist.
fn saver(folder: &Path) -> (Saver, UnboundedReceiver<Note>) {
    let setup = Setup {
        folder: Some(Folder::at(folder)),
        save: true,
        settings: settings(),
    };
    let (to, notes) = unbounded_channel();
    (Saver::start(setup, None, to).unwrap(), notes)
}

fn say(saver: &Saver, text: &str) {
    saver.sent(&Command::Send {
        text: text.to_owned(),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    saver.heard(&Event::Finished(Finished {
        reason: FinishReason::EndOfTurn,
        prompt_tokens: 1,
        reused_tokens: 0,
        prefill_time: Duration::ZERO,
        answer_tokens: 1,
        rest: format!("you said {text}"),
        sampling: None,
    }));
    saver.settle(SOON);
}

fn turns(folder: &Path) -> Vec<String> {
    let folder = Folder::at(folder);
    let ids = folder.ids().unwrap();
    let told = ids.iter().flat_map(|id| folder.read(id).unwrap().0.turns);
    told.map(|turn| turn.user).collect()
}

#[test]
fn nothing_is_written_before_the_first_message() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    let (saver, _notes) = saver(&folder);
    saver.sent(&Command::Reset);
    saver.settle(SOON);
    assert!(!folder.exists());
    say(&saver, "one");
    assert_eq!(turns(&folder), ["one"], "on the disk once settled");
    saver.sent(&Command::Reset);
    say(&saver, "two");
    let ended = saver.end();
    assert_eq!(Folder::at(&folder).ids().unwrap().len(), 2);
    assert!(ended.place()[0].contains(ended.saved.as_ref().unwrap().0.as_str()));
}

#[test]
fn while_the_disk_fails_all_is_kept_and_saved_when_it_works() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    // A file where the folder should be.
    fs::write(&folder, "").unwrap();
    let (saver, mut notes) = saver(&folder);
    say(&saver, "one");
    say(&saver, "two");
    saver.sent(&Command::Reset);
    say(&saver, "three");
    let Some(Note::News(News::Trouble(_))) = notes.blocking_recv() else {
        panic!("not told")
    };
    assert!(notes.try_recv().is_err(), "told once");
    fs::remove_file(&folder).unwrap();
    // It tries again by itself.
    let Some(Note::News(News::SavesAgain { lost: false })) = notes.blocking_recv() else {
        panic!("not told")
    };
    assert_eq!(Folder::at(&folder).ids().unwrap().len(), 2, "two chats");
    let mut said = turns(&folder);
    said.sort();
    assert_eq!(said, ["one", "three", "two"]);
    assert_eq!(saver.end().unsaved, None);
}

/// What becomes of a chat of one turn whose file meets `fate` before the next turn.
fn check_gone(fate: impl FnOnce(&Path, &Path), n_files: usize) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    let (saver, mut notes) = saver(&folder);
    say(&saver, "one");
    let file = folder.join(&names(&folder)[0]);
    fate(&folder, &file);
    say(&saver, "two");
    let Some(Note::News(News::WrittenAnew(path))) = notes.blocking_recv() else {
        panic!("not told")
    };
    say(&saver, "three");
    let ended = saver.end();
    assert_eq!(
        (ended.saved.unwrap().1, ended.unsaved),
        (path.clone(), None)
    );
    assert!(notes.try_recv().is_err(), "told once");
    let id = Id::parse(path.file_stem().unwrap().to_str().unwrap()).unwrap();
    let (told, flaws) = Folder::at(&folder).read(&id).unwrap();
    let users: Vec<&str> = told.turns.iter().map(|turn| turn.user.as_str()).collect();
    assert_eq!((users, flaws), (vec!["one", "two", "three"], Vec::new()));
    assert_eq!(names(&folder).len(), n_files);
}

#[test]
fn a_chat_whose_file_is_taken_away_is_written_anew() {
    check_gone(|_, file| fs::remove_file(file).unwrap(), 1);
    check_gone(|folder, _| fs::remove_dir_all(folder).unwrap(), 1);
    check_gone(
        |folder, _| fs::rename(folder, folder.with_extension("old")).unwrap(),
        1,
    );
    // What stands in its place is left alone.
    check_gone(
        |_, file| {
            fs::remove_file(file).unwrap();
            fs::write(file, "mine").unwrap();
        },
        2,
    );
}

#[test]
fn a_chat_whose_file_others_changed_is_written_anew() {
    let cut = |path: &Path, to| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_len(to).unwrap();
    };
    check_gone(|_, file| cut(file, 0), 2);
    check_gone(
        |_, file| cut(file, fs::metadata(file).unwrap().len() - 1),
        2,
    );
    check_gone(
        |_, file| cut(file, fs::metadata(file).unwrap().len() + 1),
        2,
    );
}

#[test]
fn a_chat_that_was_deleted_last_is_not_said_to_be_saved() {
    let home = tempfile::tempdir().unwrap();
    let (saver, _notes) = saver(home.path());
    say(&saver, "one");
    fs::remove_file(home.path().join(&names(home.path())[0])).unwrap();
    assert_eq!(saver.end().saved, None);
    assert_eq!(names(home.path()), [""; 0]);
}

#[test]
fn what_cannot_be_saved_is_said_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    fs::write(&folder, "").unwrap();
    let (saver, _notes) = saver(&folder);
    say(&saver, "one");
    assert!(saver.end().warnings()[0].contains("not saved"));
}

#[test]
fn a_chat_that_is_written_anew_is_told_also_where_the_rest_fails() {
    let home = tempfile::tempdir().unwrap();
    let (saver, mut notes) = saver(home.path());
    say(&saver, "one");
    fs::remove_file(home.path().join(&names(home.path())[0])).unwrap();
    saver.sent(&Command::Send {
        // Its line is longer than a line may be.
        text: "\0".repeat(MAX_LINE / 6),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    let mut news = || match notes.blocking_recv() {
        Some(Note::News(news)) => news,
        other => panic!("{other:?}"),
    };
    let anew = news();
    let path = home.path().join(&names(home.path())[0]);
    assert_eq!(anew, News::WrittenAnew(path));
    assert!(matches!(news(), News::Trouble(_)));
    assert_eq!(turns(home.path()), ["one"]);
}

#[test]
fn what_was_not_kept_is_not_said_to_be_there() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    fs::write(&folder, "").unwrap();
    let (saver, mut notes) = saver(&folder);
    say(&saver, "one");
    saver.sent(&Command::Send {
        text: "x".repeat(MAX_WAITING),
        cancel: Cancel::new(),
        pasted: Vec::new(),
    });
    let mut news = || match notes.blocking_recv() {
        Some(Note::News(news)) => news.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(news().contains("cannot be saved"));
    fs::remove_file(&folder).unwrap();
    let again = news();
    assert!(
        again.contains("works again") && again.contains("is missing"),
        "{again}"
    );
    assert!(!again.contains("nothing"), "{again}");
    assert_eq!(turns(&folder), ["one"]);
    assert!(saver.end().unsaved.is_some());
}

#[test]
fn a_chat_whose_file_was_changed_last_is_whole_at_the_end() {
    let home = tempfile::tempdir().unwrap();
    let (first, mut notes) = saver(home.path());
    say(&first, "one");
    let path = home.path().join(&names(home.path())[0]);
    fs::write(&path, "").unwrap();
    first.ask(Request::Save(None));
    let Some(Note::News(News::WrittenAnew(anew))) = notes.blocking_recv() else {
        panic!("not told")
    };
    fs::write(&anew, "").unwrap();
    let ended = first.end();
    let (id, path) = ended.saved.unwrap();
    assert_eq!((ended.anew, ended.unsaved), (vec![path], None));
    let (told, flaws) = Folder::at(home.path()).read(&id).unwrap();
    assert_eq!((told.turns[0].user.as_str(), flaws.len()), ("one", 0));
}

#[test]
fn a_panic_saves_what_there_is() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions");
    let (saver, _notes) = saver(&folder);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        saver.sent(&Command::Send {
            text: "asked".to_owned(),
            cancel: Cancel::new(),
            pasted: Vec::new(),
        });
        panic!("on purpose; unwinding drops {:p}", &saver);
    }));
    assert!(panicked.is_err());
    let chats = Folder::at(&folder);
    let (told, _) = chats.read(&chats.ids().unwrap()[0]).unwrap();
    assert_eq!(told.unanswered_text(), Some("asked"));
}

#[test]
fn a_chat_is_opened_named_and_gone_on_with() {
    let home = tempfile::tempdir().unwrap();
    let (first, _notes) = saver(home.path());
    say(&first, "one");
    let (id, _) = first.end().saved.unwrap();
    let (saver, mut notes) = saver(home.path());
    let mut ask = |request| {
        saver.ask(request);
        notes.blocking_recv().unwrap()
    };
    let Note::Opened(opened) = ask(Request::Open("last".to_owned())) else {
        panic!()
    };
    assert_eq!(
        (opened.id, opened.conversation.turns.len()),
        (id.clone(), 1)
    );
    let mut refused = |text: &str, expect: &str| {
        let Note::Refused(why) = ask(Request::Open(text.to_owned())) else {
            panic!()
        };
        assert!(why.contains(expect), "{why}");
    };
    refused("last", "no other saved chat");
    refused(id.as_str(), "already");
    let Note::Listed(Ok(others)) = ask(Request::List) else {
        panic!()
    };
    assert!(others.is_empty());
    let Note::Done(told) = ask(Request::Save(Some("named".to_owned()))) else {
        panic!()
    };
    assert!(
        told.starts_with(&format!("saved as named: {id}, in ")),
        "{told}"
    );
    let file = home.path().join("out.md");
    let Note::Done(again) = ask(Request::Save(None)) else {
        panic!()
    };
    assert_eq!(again, told);
    let export = Request::Export {
        file: Some(file.to_str().unwrap().to_owned()),
        title: "one".to_owned(),
        said: "\n## You\n\n\u{1b}one\n".to_owned(),
    };
    let Note::Done(_) = ask(export.clone()) else {
        panic!()
    };
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with(&format!("# named\n\n{id} · 20")), "{text}");
    assert!(text.ends_with("\n\n## You\n\n␛one\n"), "{text}");
    let Note::Refused(why) = ask(export) else {
        panic!()
    };
    assert!(why.contains("is there already"), "{why}");
    say(&saver, "two");
    saver.end();
    assert_eq!(turns(home.path()), ["one", "two"]);
}
