//! The saver's thread, and the line to it.
//!
//! Nobody who draws or reads keys waits for a disk: front ends only send. [`Saver::settle`] waits until
//! what was sent is on the disk, and dropping the saver, also in a panic, writes what there is.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::writer::{Setup, Writer};
use super::{Ended, News, Note, Opened, Request, SessionFile};
use crate::engine::protocol::{Command, Event, Round};

/// How often a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How long the end of the program waits for the disk.
const END: Duration = Duration::from_secs(2);
/// What is told once the thread has panicked.
const GONE: &str = "a bug in speck: saving has ended, and what is said from now on is not saved";

/// What the thread is told.
enum Job {
    Sent(Command),
    Heard(Event),
    Ask(Request),
    Settle(SyncSender<()>),
    End(SyncSender<Ended>),
}

/// Jobs that wait before it is told that the disk does not answer: those of some ten seconds of an answer. So
/// many are there only where the thread is held up, as it is by a disk that sleeps or a share that is gone.
const MANY: usize = 500;

/// What waits for the thread.
#[derive(Default)]
struct Queue {
    waiting: AtomicUsize,
    /// Whether it was told that much waits.
    told: AtomicBool,
}

/// A front end's end of the line to the saver's thread.
pub struct Saver {
    /// Until the thread is told to end.
    to: Option<Sender<Job>>,
    queue: Arc<Queue>,
    notes: UnboundedSender<Note>,
}

impl Saver {
    /// Starts the thread, which goes on with a chat if one was opened ([`Setup::open`]). It tells its news to
    /// `notes`.
    pub fn start(
        setup: Setup,
        opened: Option<(Option<SessionFile>, &Opened)>,
        notes: UnboundedSender<Note>,
    ) -> io::Result<Self> {
        let (to, jobs) = mpsc::channel();
        let queue = Arc::new(Queue::default());
        let this = Self {
            to: Some(to),
            queue: Arc::clone(&queue),
            notes: notes.clone(),
        };
        let mut writer = Writer::new(setup, notes.clone());
        if let Some((file, opened)) = opened {
            writer.go_on(file, opened);
        }
        thread::Builder::new()
            .name("saver".into())
            .spawn(move || serve(&jobs, &notes, || work(writer, &jobs, &queue)))?;
        Ok(this)
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
            | Event::NotLoaded(_)
            | Event::Options(_)
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Prefill { .. } => {}
            // What is not saved need not wait for the disk.
            Event::Round(round) => self.tell(Job::Heard(Event::Round(Round {
                note: None,
                explanation: None,
                ..round.clone()
            }))),
            Event::Ready(_)
            | Event::Baseline(_)
            | Event::Dropped { .. }
            | Event::Finished(_)
            | Event::Failed(_) => self.tell(Job::Heard(event.clone())),
        }
    }

    /// Asks for something; the answer is a [`Note`].
    pub fn ask(&self, request: Request) {
        self.tell(Job::Ask(request));
    }

    /// Waits until all that was told is on the disk, or cannot be, for at most `limit`. News if the disk has not
    /// answered by then and that was not told yet.
    pub fn settle(&self, limit: Duration) -> Option<News> {
        let (settled, wait) = mpsc::sync_channel(1);
        self.tell(Job::Settle(settled));
        match wait.recv_timeout(limit) {
            Err(RecvTimeoutError::Timeout) => self.held_up(),
            // Its end is told by itself.
            Ok(()) | Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Writes what there is and ends the thread: what became of the chat.
    pub fn end(mut self) -> Ended {
        self.close()
    }

    /// Ends the thread, once: the disk is not waited for again.
    fn close(&mut self) -> Ended {
        let Some(to) = self.to.take() else {
            return Ended::default();
        };
        let (ended, wait) = mpsc::sync_channel(1);
        // A thread that has ended lets go of this, and is noticed below.
        let _ = to.send(Job::End(ended));
        match wait.recv_timeout(END) {
            Ok(ended) => ended,
            Err(RecvTimeoutError::Disconnected) => Ended::failed(GONE),
            Err(RecvTimeoutError::Timeout) => {
                Ended::failed(&format!("the disk did not answer within {END:?}"))
            }
        }
    }

    /// What is to be told of a disk that does not answer, once.
    fn held_up(&self) -> Option<News> {
        let told = self.queue.told.swap(true, Ordering::Relaxed);
        if self.queue.waiting.load(Ordering::Relaxed) == 0 {
            // It has answered just now, and nobody would tell.
            self.queue.told.store(told, Ordering::Relaxed);
            return None;
        }
        (!told).then(|| News::Trouble("the disk does not answer".to_owned()))
    }

    fn tell(&self, job: Job) {
        let waiting = self.queue.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= MANY
            && let Some(news) = self.held_up()
        {
            // A front end that has gone needs no news.
            let _ = self.notes.send(Note::News(news));
        }
        if let Some(to) = &self.to {
            // The thread ends after this end of the line.
            let _ = to.send(job);
        }
    }
}

impl Drop for Saver {
    fn drop(&mut self) {
        self.close();
    }
}

/// Does the `work` of all jobs; should it panic, answers the rest, so that nobody waits for ever.
fn serve(jobs: &Receiver<Job>, notes: &UnboundedSender<Note>, work: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(work)).is_ok() {
        return;
    }
    // A front end that has gone needs no news.
    let refuse = || drop(notes.send(Note::Refused(GONE.to_owned())));
    // Also the answer to what was asked for just then.
    refuse();
    for job in jobs {
        match job {
            Job::Ask(_) => refuse(),
            Job::End(ended) => return drop(ended.try_send(Ended::failed(GONE))),
            Job::Sent(_) | Job::Heard(_) | Job::Settle(_) => {}
        }
    }
}

/// Does jobs in order until one says to end.
fn work(mut writer: Writer, jobs: &Receiver<Job>, queue: &Queue) {
    loop {
        let job = if writer.is_behind() {
            match jobs.recv_timeout(RETRY) {
                Err(RecvTimeoutError::Timeout) => {
                    writer.write_waiting();
                    if queue.waiting.load(Ordering::Relaxed) == 0 {
                        writer.caught_up(false);
                    }
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
        if queue.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
            writer.caught_up(queue.told.swap(false, Ordering::Relaxed));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use std::time::Instant;

    use super::*;
    use crate::session::record::Settings;

    fn saver(notes: UnboundedSender<Note>) -> (Saver, Receiver<Job>) {
        let (to, jobs) = mpsc::channel();
        let saver = Saver {
            to: Some(to),
            queue: Arc::default(),
            notes,
        };
        (saver, jobs)
    }

    #[test]
    fn a_disk_that_does_not_answer_is_waited_for_once() {
        let (saver, _jobs) = saver(unbounded_channel().0);
        let begun = Instant::now();
        assert!(saver.end().unsaved.unwrap().contains("did not answer"));
        let waited = begun.elapsed();
        assert!(waited < 2 * END, "{waited:?}");
    }

    #[test]
    fn a_thread_that_has_ended_has_not_saved() {
        let (saver, jobs) = saver(unbounded_channel().0);
        drop(jobs);
        assert_eq!(saver.end(), Ended::failed(GONE));
    }

    #[test]
    fn after_a_panic_all_that_is_asked_is_answered() {
        let (notes, mut told) = unbounded_channel();
        let (saver, jobs) = saver(notes.clone());
        saver.ask(Request::List);
        saver.ask(Request::Save(None));
        thread::scope(|scope| {
            scope.spawn(move || {
                serve(&jobs, &notes, || {
                    jobs.recv().unwrap();
                    panic!("on purpose");
                });
            });
            saver.settle(Duration::from_secs(20));
            assert_eq!(saver.end(), Ended::failed(GONE));
        });
        for _ in 0..2 {
            assert!(matches!(told.try_recv(), Ok(Note::Refused(why)) if why == GONE));
        }
        assert!(told.try_recv().is_err());
    }

    #[test]
    fn a_disk_that_does_not_answer_is_told_and_its_end() {
        let (notes, mut told) = unbounded_channel();
        let (saver, jobs) = saver(notes.clone());
        let baseline = Event::Baseline(crate::engine::protocol::Baseline {
            per_token: Duration::from_millis(1),
            context: 1,
        });
        for _ in 0..MANY {
            saver.heard(&baseline);
        }
        assert!(told.try_recv().is_err());
        for _ in 0..MANY {
            saver.heard(&baseline);
        }
        let news = |note| match note {
            Ok(Note::News(news)) => news.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(news(told.try_recv()).contains("the disk does not answer"));
        assert!(told.try_recv().is_err(), "told once");
        saver.ask(Request::Save(None));
        let (ended, _wait) = mpsc::sync_channel(1);
        saver.to.as_ref().unwrap().send(Job::End(ended)).unwrap();
        let setup = Setup {
            folder: None,
            save: true,
            settings: Settings {
                time: jiff::Timestamp::UNIX_EPOCH,
                model: String::new(),
                draft: String::new(),
                system: None,
                sampling: serde_json::Value::Null,
            },
        };
        work(Writer::new(setup, notes), &jobs, &saver.queue);
        assert!(
            matches!(told.try_recv(), Ok(Note::Refused(_))),
            "the last job first"
        );
        assert!(news(told.try_recv()).contains("nothing is missing"));
        assert!(told.try_recv().is_err());
    }
}
