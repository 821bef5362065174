//! A saver: what is on the disk when, and what is told, where the disk fails, files go away and chats go on.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::cancel::Cancel;
use crate::engine::protocol::{Command, Event, FinishReason, Finished};
use crate::session::record::MAX_LINE;
use crate::session::writer::MAX_WAITING;
use crate::session::{Folder, Id, News, Note, Request, Saver, Setup};

const SOON: Duration = Duration::from_secs(20);

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

/// What the end says of a chat in which something was not kept, and of the `next` that is begun after it.
fn check_lost(next: bool) {
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
    if next {
        saver.sent(&Command::Reset);
        say(&saver, "two");
    }
    let ended = saver.end();
    assert_eq!((&ended.unsaved, ended.lost), (&None, !next));
    let told = ended.warnings().concat();
    assert_eq!(told.contains("64 MiB waited is missing"), !next, "{told}");
}

#[test]
fn what_was_not_kept_is_not_said_to_be_there() {
    check_lost(false);
    check_lost(true);
}

#[test]
fn a_chat_that_was_left_is_closed_once_it_is_written() {
    let home = tempfile::tempdir().unwrap();
    let folder = Folder::at(home.path().join("sessions"));
    fs::write(folder.path(), "").unwrap();
    let (saver, mut notes) = saver(folder.path());
    say(&saver, "one");
    saver.sent(&Command::Reset);
    saver.settle(SOON);
    let Some(Note::News(News::Trouble(_))) = notes.blocking_recv() else {
        panic!("not told")
    };
    fs::remove_file(folder.path()).unwrap();
    say(&saver, "two");
    let Some(Note::News(News::SavesAgain { lost: false })) = notes.blocking_recv() else {
        panic!("not told")
    };
    let ids = folder.ids().unwrap().into_iter();
    let left = ids.filter(|id| folder.read(id).unwrap().0.first_words() == "one");
    let left: Vec<Id> = left.collect();
    saver.ask(Request::Open(left[0].to_string()));
    let note = notes.blocking_recv();
    assert!(matches!(note, Some(Note::Opened(_))), "{note:?}");
}

#[test]
fn a_chat_is_saved_whatever_waits_of_another() {
    let home = tempfile::tempdir().unwrap();
    let (saver, mut notes) = saver(home.path());
    say(&saver, "one");
    // Neither the chat nor nothing stands in its place.
    let path = home.path().join(&names(home.path())[0]);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    say(&saver, "more");
    let Some(Note::News(News::Trouble(_))) = notes.blocking_recv() else {
        panic!("not told")
    };
    saver.sent(&Command::Reset);
    say(&saver, "two");
    saver.ask(Request::Save(None));
    let note = notes.blocking_recv();
    assert!(matches!(note, Some(Note::Done(_))), "{note:?}");
    let ended = saver.end();
    assert!(ended.unsaved.is_some(), "the other is not");
    assert_ne!(ended.saved.unwrap().1, path);
}

#[test]
fn to_open_a_chat_writes_nothing_to_it() {
    let home = tempfile::tempdir().unwrap();
    let (saver, mut notes) = saver(home.path());
    say(&saver, "one");
    let other = Settings {
        system: Some("Rhyme.".to_owned()),
        ..settings()
    };
    let other = Record::Header(Header {
        version: VERSION,
        settings: other,
    });
    let other = bytes(&[other, turn("a", "b")]);
    let path = home.path().join("other.jsonl");
    fs::write(&path, &other).unwrap();
    saver.ask(Request::Open("other".to_owned()));
    let Some(Note::Opened(opened)) = notes.blocking_recv() else {
        panic!("not opened")
    };
    opened
        .commands()
        .iter()
        .for_each(|command| saver.sent(command));
    saver.settle(SOON);
    assert_eq!(fs::read(&path).unwrap(), other);
    saver.sent(&Command::SetSystem(None));
    say(&saver, "more");
    saver.end();
    let (_, records, _) = crate::session::SessionFile::open(&path).unwrap();
    assert_eq!(records[3], Record::System { text: None }, "{records:?}");
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
