//! The line from a front end to the engine. A command that comes in interrupts what the engine does only
//! because there was none.

use std::sync::mpsc::{self, Receiver, RecvError, SendError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};

use super::Command;
use crate::cancel::Cancel;

/// Stops the engine's pastime, which is a new one each time.
type Pastime = Arc<Mutex<Cancel>>;

fn stop(pastime: &Pastime) {
    let current = pastime.lock().unwrap_or_else(PoisonError::into_inner);
    current.cancel();
}

/// A front end's end. Dropping it ends the engine once that has read all commands.
pub struct Commands {
    sender: Option<Sender<Command>>,
    pastime: Pastime,
}

/// The engine's end.
pub struct Inbox {
    receiver: Receiver<Command>,
    pastime: Pastime,
}

/// What an engine with nothing to obey may do.
pub enum Next {
    /// This was asked for.
    Command(Command),
    /// Nothing was: what is done now is to stop when this says so.
    Idle(Cancel),
    /// Nobody is left to ask for anything.
    Closed,
}

/// A line.
pub fn channel() -> (Commands, Inbox) {
    let (sender, receiver) = mpsc::channel();
    let pastime = Pastime::default();
    let commands = Commands {
        sender: Some(sender),
        pastime: Arc::clone(&pastime),
    };
    (commands, Inbox { receiver, pastime })
}

impl Commands {
    /// Sends a command; an error when the engine has ended.
    pub fn send(&self, command: Command) -> Result<(), SendError<Command>> {
        let sender = self.sender.as_ref().expect("taken in drop only");
        sender.send(command)?;
        stop(&self.pastime);
        Ok(())
    }
}

impl Drop for Commands {
    fn drop(&mut self) {
        self.sender = None;
        stop(&self.pastime);
    }
}

impl Inbox {
    /// The command that is there, if any.
    pub fn poll(&self) -> Next {
        // Before the look: what is sent after it finds the new one.
        let cancel = Cancel::new();
        *self.pastime.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        match self.receiver.try_recv() {
            Ok(command) => Next::Command(command),
            Err(TryRecvError::Empty) => Next::Idle(cancel),
            Err(TryRecvError::Disconnected) => Next::Closed,
        }
    }

    /// Waits for a command; an error when nobody is left to send one.
    pub fn wait(&self) -> Result<Command, RecvError> {
        self.receiver.recv()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(inbox: &Inbox) -> Cancel {
        match inbox.poll() {
            Next::Idle(cancel) => cancel,
            Next::Command(command) => panic!("{command:?}"),
            Next::Closed => panic!("closed"),
        }
    }

    #[test]
    fn a_command_interrupts_what_was_begun_without_one() {
        let (commands, inbox) = channel();
        let first = idle(&inbox);
        assert!(!first.is_cancelled());
        commands.send(Command::Reset).unwrap();
        assert!(first.is_cancelled());
        assert!(matches!(inbox.poll(), Next::Command(Command::Reset)));
        let second = idle(&inbox);
        assert!(!second.is_cancelled());
        drop(commands);
        assert!(second.is_cancelled());
        assert!(matches!(inbox.poll(), Next::Closed));
        assert!(inbox.wait().is_err());
    }

    #[test]
    fn sending_to_an_engine_that_has_ended_is_an_error() {
        let (commands, inbox) = channel();
        drop(inbox);
        assert!(commands.send(Command::Reset).is_err());
    }
}
