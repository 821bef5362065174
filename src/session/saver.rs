//! The saver's thread, and the line to it.
//!
//! Nobody who draws or reads keys waits for a disk: front ends only send. [`Saver::settle`] waits until
//! what was sent is on the disk, and dropping the saver, also in a panic, writes what there is.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::record::Settings;
use super::writer::Writer;
use super::{Ended, Folder, Id, Note, Request, SessionFile};
use crate::engine::protocol::{Command, Event};

/// How often a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How long the end of the program waits for the disk.
const END: Duration = Duration::from_secs(2);

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

/// What the thread is told.
enum Job {
    Sent(Command),
    Heard(Event),
    Ask(Request),
    Settle(SyncSender<()>),
    End(SyncSender<Ended>),
}

/// A front end's end of the line to the saver's thread.
pub struct Saver {
    to: Sender<Job>,
}

/// Ends saving from another thread, when the one that has the [`Saver`] cannot.
#[derive(Clone)]
pub struct Closer {
    to: Sender<Job>,
}

impl Saver {
    /// Starts the thread, which goes on with a chat if one is `open`. It tells its news to `notes`.
    pub fn start(
        setup: Setup,
        open: Option<(Id, SessionFile)>,
        notes: UnboundedSender<Note>,
    ) -> io::Result<Self> {
        let (to, jobs) = mpsc::channel();
        thread::Builder::new().name("saver".into()).spawn(move || {
            let mut writer = Writer::new(setup, notes);
            if let Some((id, file)) = open {
                writer.go_on(id, file);
            }
            work(&mut writer, &jobs);
        })?;
        Ok(Self { to })
    }

    /// The front end sends this to the engine. To be told before that is done.
    pub fn sent(&self, command: &Command) {
        self.tell(Job::Sent(command.clone()));
    }

    /// The engine says this.
    pub fn heard(&self, event: &Event) {
        match event {
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_)
            | Event::Options(_)
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Prefill { .. } => {}
            Event::Ready(_)
            | Event::Baseline(_)
            | Event::Round(_)
            | Event::Finished(_)
            | Event::Failed(_) => self.tell(Job::Heard(event.clone())),
        }
    }

    /// Asks for something; the answer is a [`Note`].
    pub fn ask(&self, request: Request) {
        self.tell(Job::Ask(request));
    }

    /// Waits until all that was told is on the disk, or cannot be, for at most `limit`.
    pub fn settle(&self, limit: Duration) {
        let (settled, wait) = mpsc::sync_channel(1);
        self.tell(Job::Settle(settled));
        // Late or never: a note says why.
        let _ = wait.recv_timeout(limit);
    }

    /// Writes what there is and ends the thread: what became of the chat.
    pub fn end(self) -> Ended {
        self.closer().close(END)
    }

    /// A way to end saving from another thread.
    pub fn closer(&self) -> Closer {
        Closer {
            to: self.to.clone(),
        }
    }

    fn tell(&self, job: Job) {
        // A thread that has ended has closed its files, and the program is about to end.
        let _ = self.to.send(job);
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.closer().close(END);
    }
}

impl Closer {
    /// Writes what there is, waiting for at most `limit`.
    pub fn close(&self, limit: Duration) -> Ended {
        let (ended, wait) = mpsc::sync_channel(1);
        if self.to.send(Job::End(ended)).is_err() {
            return Ended::default();
        }
        match wait.recv_timeout(limit) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Disconnected) => Ended::default(),
            Err(RecvTimeoutError::Timeout) => Ended {
                unsaved: Some(format!("the disk did not answer within {limit:?}")),
                saved: None,
            },
        }
    }
}

/// Does jobs in order until one says to end.
fn work(writer: &mut Writer, jobs: &Receiver<Job>) {
    loop {
        let job = if writer.is_behind() {
            match jobs.recv_timeout(RETRY) {
                Err(RecvTimeoutError::Timeout) => {
                    writer.write_waiting();
                    continue;
                }
                job => job.ok(),
            }
        } else {
            jobs.recv().ok()
        };
        match job {
            Some(Job::Sent(command)) => writer.sent(&command),
            Some(Job::Heard(event)) => writer.heard(&event),
            Some(Job::Ask(request)) => writer.ask(request),
            // Whoever asked may have given up waiting.
            Some(Job::Settle(settled)) => drop(settled.try_send(())),
            Some(Job::End(ended)) => return drop(ended.try_send(writer.end())),
            None => return drop(writer.end()),
        }
    }
}
