//! Reads the terminal on a thread of its own.
//!
//! A thread, because macOS cannot wait for a terminal in the way that the runtime waits for files. It ends
//! when the reader is dropped, so that an editor's keys are the editor's.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use filedescriptor::{POLLIN, poll, pollfd};
use rustix::io::{Errno, retry_on_intr};
use rustix::stdio::stdin;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::terminal::guard::terminal_is_there;

/// Reads that wait for the loop; then the terminal waits.
const WAITING: usize = 16;
/// The longest read, in bytes.
const LONGEST: usize = 64 << 10;
/// How long a read of nothing from a terminal that is there makes the thread wait: another program may have
/// set such modes.
const PAUSE: Duration = Duration::from_millis(50);
/// How long the end of the thread is waited for.
const ENDS: Duration = Duration::from_millis(100);

/// What was read, and when.
pub type TimedRead = (Instant, Vec<u8>);

/// Reads standard input, a terminal in raw mode, until it is dropped.
pub struct Reader {
    reads: Receiver<io::Result<TimedRead>>,
    /// Closed to end the thread.
    wake: Option<PipeWriter>,
    /// Disconnected when the thread has ended.
    ended: mpsc::Receiver<()>,
}

impl Reader {
    /// Starts to read.
    pub fn start() -> io::Result<Self> {
        let (woken, wake) = io::pipe()?;
        let (send, reads) = channel(WAITING);
        let (ending, ended) = mpsc::channel::<()>();
        thread::Builder::new().name("keys".into()).spawn(move || {
            let _ending = ending;
            read_until(&woken, &send);
        })?;
        Ok(Self {
            reads,
            wake: Some(wake),
            ended,
        })
    }

    /// The next bytes; an error, or `None`, when there will be no more.
    pub async fn next(&mut self) -> Option<io::Result<TimedRead>> {
        self.reads.recv().await
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reads.close();
        self.wake = None;
        // It may be that the thread waits for bytes that another program took.
        self.ended.recv_timeout(ENDS).ok();
    }
}

/// Sends what is read until `woken` is closed on the other side, or there is no more.
fn read_until(woken: &PipeReader, send: &Sender<io::Result<TimedRead>>) {
    let mut buffer = vec![0; LONGEST];
    loop {
        let read = match read(woken, &mut buffer) {
            Ok(Some(0)) if terminal_is_there() => {
                thread::sleep(PAUSE);
                continue;
            }
            Ok(Some(0) | None) => return,
            Ok(Some(length)) => Ok((Instant::now(), buffer[..length].to_vec())),
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if send.blocking_send(read).is_err() || is_last {
            return;
        }
    }
}

/// Waits for bytes of the terminal and reads them; `None` when `woken` is closed on the other side.
fn read(woken: &PipeReader, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let watch = |file: BorrowedFd<'_>| pollfd {
        fd: file.as_raw_fd(),
        events: POLLIN,
        revents: 0,
    };
    loop {
        let mut watched = [watch(woken.as_fd()), watch(stdin())];
        match poll(&mut watched, None) {
            Ok(_) => {}
            Err(filedescriptor::Error::Poll(error) | filedescriptor::Error::Io(error))
                if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(io::Error::other(error)),
        }
        let [woken, input] = watched.map(|watched| watched.revents != 0);
        if woken {
            return Ok(None);
        }
        if input {
            match retry_on_intr(|| rustix::io::read(stdin(), &mut *buffer)) {
                // Another program has left the terminal in a mode that does not wait.
                Err(Errno::AGAIN) => {}
                read => return Ok(Some(read?)),
            }
        }
    }
}
