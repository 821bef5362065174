//! What the saver's thread does: records into files, and what cannot be written kept until it can.
//!
//! **A record is let go of when it is on the disk, and not before.** What waits is bounded; what would
//! go beyond that is not kept, and said to be lost.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use jiff::Timestamp;
use tokio::sync::mpsc::UnboundedSender;

use super::book::Book;
use super::log::Flaw;
use super::record::{Record, Settings};
use super::recorder::{Now, Recorder, Step};
use super::{Ended, Folder, Id, News, Note, Opened, Request, SessionFile, export};
use crate::clean::clean;
use crate::engine::protocol::{Command, Event, ModelRef};

/// What a saver needs to know.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Where saved chats are, if there is such a place.
    pub folder: Option<Folder>,
    /// Whether what is said is saved; lists, opening and exports work without.
    pub save: bool,
    /// How this run is set up.
    pub settings: Settings,
}

impl Setup {
    /// Opens a saved chat to go on with it. Where nothing is saved its file is only read: it stays as it is, and
    /// another speck may have it open.
    pub fn open(&self, folder: &Folder, id: Id) -> anyhow::Result<(Option<SessionFile>, Opened)> {
        let (file, conversation, repaired) = if self.save {
            let (file, conversation, repaired) = folder.open(&id)?;
            (Some(file), conversation, repaired)
        } else {
            let read = folder.read(&id);
            let (conversation, mut flaws) =
                read.with_context(|| format!("cannot read the saved chat {id}"))?;
            flaws.retain(Flaw::is_damage);
            let damaged = format!("Not all of it is here: {}.", Flaw::list(&flaws));
            (None, conversation, (!flaws.is_empty()).then_some(damaged))
        };
        let opened = Opened {
            id,
            conversation,
            repaired,
        };
        Ok((file, opened))
    }
}

/// Bytes of text that wait to be written at most.
pub const MAX_WAITING: usize = 64 << 20;

pub(super) struct Writer {
    setup: Setup,
    recorder: Recorder,
    /// Chats with something to write, then the chat of now.
    books: Vec<Book>,
    /// What the user called the chat of now.
    name: Option<String>,
    /// When it began.
    begun: Option<Timestamp>,
    /// The chat that was written or opened last.
    saved: Option<(Id, PathBuf)>,
    /// Whether trouble was told, and not its end.
    told: bool,
    /// Whether something was not kept, and that was not told.
    lost: bool,
    notes: UnboundedSender<Note>,
}

impl Writer {
    pub fn new(setup: Setup, notes: UnboundedSender<Note>) -> Self {
        let settings = &setup.settings;
        let recorder = Recorder::new(settings.model.clone(), settings.system.clone());
        Self {
            recorder,
            setup,
            books: vec![Book::default()],
            name: None,
            begun: None,
            saved: None,
            told: false,
            lost: false,
            notes,
        }
    }

    /// Goes on with a chat, in its file if that is open to be written.
    pub fn go_on(&mut self, file: Option<SessionFile>, opened: &Opened) {
        let told = &opened.conversation;
        self.begin();
        self.recorder.open(told.settings.system.clone());
        self.name.clone_from(&told.name);
        self.begun = Some(told.begun);
        if let Some(file) = file {
            self.saved = Some((opened.id.clone(), file.path().to_owned()));
            *self.now() = Book::of(opened.id.clone(), file);
        }
    }

    pub fn sent(&mut self, command: &Command) {
        let step = self.recorder.sent(command, Now::read());
        self.take(step);
    }

    pub fn heard(&mut self, event: &Event) {
        let step = self.recorder.heard(event, Now::read());
        self.take(step);
    }

    fn take(&mut self, step: Option<Step>) {
        match step {
            Some(Step::Begin) => self.begin(),
            Some(Step::Write(record)) if self.setup.save => self.write(record),
            Some(Step::Write(_)) | None => {}
        }
    }

    /// The next record is another chat's.
    fn begin(&mut self) {
        self.write_waiting();
        self.books.retain(Book::is_behind);
        self.books.push(Book::default());
        self.name = None;
        self.begun = None;
    }

    fn write(&mut self, record: Record) {
        let mut settings = Settings {
            time: Timestamp::now(),
            system: self.recorder.system().map(str::to_owned),
            ..self.setup.settings.clone()
        };
        if let Some(ModelRef { target, draft }) = self.recorder.models() {
            settings.model.clone_from(target);
            settings.draft.clone_from(draft);
        }
        self.begun.get_or_insert(settings.time);
        if let Record::Name { name } = &record {
            self.name = Some(name.clone());
        }
        self.now().push(record, settings);
        let waiting: usize = self.books.iter().map(Book::n_bytes).sum();
        if waiting > MAX_WAITING {
            self.lost = true;
            self.now().lose();
        }
        self.write_waiting();
    }

    /// Tries to write what waits, oldest first.
    pub fn write_waiting(&mut self) {
        self.write_and_tell(Book::is_behind);
    }

    fn write_and_tell(&mut self, which: impl Fn(&Book) -> bool) {
        for path in self.write_books(which) {
            self.tell(Note::News(News::WrittenAnew(path)));
        }
        if let Some(why) = self.trouble()
            && !std::mem::replace(&mut self.told, true)
        {
            self.tell(Note::News(News::Trouble(why)));
        }
    }

    fn trouble(&self) -> Option<String> {
        let why = self.books.iter().find_map(Book::trouble);
        why.map(str::to_owned)
    }

    /// Tries to write some of the chats, oldest first; gives the files of those that were written anew.
    fn write_books(&mut self, which: impl Fn(&Book) -> bool) -> Vec<PathBuf> {
        let mut anew = Vec::new();
        for book in self.books.iter_mut().filter(|book| which(book)) {
            let written = book.write(self.setup.folder.as_ref());
            let moved = book.take_anew();
            if written || moved.is_some() {
                self.saved = book.place();
            }
            anew.extend(moved);
        }
        // A chat that was left is closed, for others to open, or this program again.
        let mut after = self.books.len();
        self.books.retain(|book| {
            after -= 1;
            after == 0 || book.is_behind()
        });
        anew
    }

    /// Nothing is left to be taken. `held_up`: it was told that the disk did not answer.
    pub fn caught_up(&mut self, held_up: bool) {
        self.told |= held_up;
        if self.trouble().is_none() && std::mem::take(&mut self.told) {
            let lost = std::mem::take(&mut self.lost);
            self.tell(Note::News(News::SavesAgain { lost }));
        }
    }

    /// Whether something is to be written.
    pub fn is_behind(&self) -> bool {
        self.books.iter().any(Book::is_behind)
    }

    pub fn ask(&mut self, request: Request) {
        let note = match request {
            Request::List => self.list(),
            Request::Open(text) => match self.open(&text) {
                Ok(opened) => Note::Opened(Box::new(opened)),
                Err(error) => Note::Refused(format!("{error:#}")),
            },
            Request::Save(name) => match self.save(name) {
                Ok(told) => Note::Done(told),
                Err(why) => Note::Refused(why),
            },
            Request::Export { file, title, said } => {
                match self.export(file.as_deref(), &title, &said) {
                    Ok(path) => Note::Done(format!("written to {}", path.display())),
                    Err(error) => Note::Refused(format!("{error:#}")),
                }
            }
        };
        self.tell(note);
    }

    fn list(&self) -> Note {
        let Some(folder) = &self.setup.folder else {
            return Note::Listed(Err(NO_HOME.to_owned()));
        };
        Note::Listed(match folder.list() {
            Ok(mut entries) => {
                entries.retain(|entry| self.id() != Some(&entry.id));
                Ok(entries)
            }
            Err(error) => Err(format!("{error:#}")),
        })
    }

    fn open(&mut self, text: &str) -> anyhow::Result<Opened> {
        let folder = self.setup.folder.clone();
        let folder = folder.context(NO_HOME)?;
        let id = folder.find_from(text, self.id())?;
        anyhow::ensure!(self.id() != Some(&id), "this chat is {id} already");
        let (file, opened) = self.setup.open(&folder, id)?;
        self.go_on(file, &opened);
        Ok(opened)
    }

    fn export(&self, file: Option<&str>, title: &str, said: &str) -> anyhow::Result<PathBuf> {
        let name = self.name.as_deref().map(export::one_line);
        let known = self.id().zip(self.begun);
        let about = known.map(|(id, begun)| export::about(id, begun));
        let title = name.as_deref().unwrap_or(title);
        let text = export::document(title, about.as_deref(), said);
        export::write(file, self.id(), &clean(&text))
    }

    fn save(&mut self, name: Option<String>) -> Result<String, String> {
        if !self.setup.save {
            return Err("saving is off (--no-save): /export writes what was said".to_owned());
        }
        if self.books.last().is_some_and(Book::is_unused) {
            return Err("nothing was said yet; what is said will be saved by itself".to_owned());
        }
        let rest = self.recorder.rest(Instant::now());
        self.take(rest);
        if let Some(name) = name {
            self.write(Record::Name { name });
        }
        // Its file may have been taken away or changed.
        self.write_and_tell(|_| true);
        match (self.now().trouble().map(str::to_owned), self.id()) {
            (None, Some(id)) => {
                let file = self.setup.folder.as_ref().map(|folder| folder.file(id));
                let place = file.map_or(String::new(), |file| format!(", in {}", file.display()));
                let named = self.name.as_ref().map(|name| format!(" as {name}"));
                let named = named.unwrap_or_default();
                Ok(format!("saved{named}: {id}{place}"))
            }
            (Some(why), _) => Err(format!("it cannot be saved now: {why}")),
            (None, None) => Err("it cannot be saved now".to_owned()),
        }
    }

    /// Writes what there is of an answer, and all that waits; closes all files.
    pub fn end(mut self) -> Ended {
        let rest = self.recorder.rest(Instant::now());
        self.take(rest);
        // One that was deleted since stays so; one that was changed is put right.
        let is_there = |book: &Book| book.place().is_some_and(|(_, path)| path.exists());
        let anew = self.write_books(|book| book.is_behind() || is_there(book));
        let is_whole = self.now().is_as_written();
        Ended {
            // It may have been deleted since, or changed and not put right.
            saved: self
                .saved
                .clone()
                .filter(|(_, path)| is_whole && path.exists()),
            unsaved: self.trouble(),
            lost: self.books.iter().any(Book::has_lost),
            anew,
        }
    }

    fn now(&mut self) -> &mut Book {
        self.books
            .last_mut()
            .expect("begins with a book, and ends none without another")
    }

    /// The id of the chat of now, once it has a file.
    fn id(&self) -> Option<&Id> {
        self.books.last().and_then(Book::id)
    }

    fn tell(&self, note: Note) {
        // A front end that has gone needs no news.
        let _ = self.notes.send(note);
    }
}

const NO_HOME: &str = "there is no home folder to save chats in: set XDG_DATA_HOME to a folder";
