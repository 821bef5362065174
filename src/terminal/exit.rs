//! How the program ends: every exit code, once.

use std::process::ExitCode;

use crate::session::Ended;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Done,
    /// It failed, and said why.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// It did what was asked, but not all of the chat could be saved.
    Unsaved,
    /// The terminal went away (128 + SIGHUP).
    HungUp,
    /// The user interrupted it (128 + SIGINT).
    Interrupted,
    /// Another program asked it to quit (128 + SIGQUIT).
    Quit,
    /// Whoever read standard output has gone (128 + SIGPIPE).
    ReaderGone,
    /// Another program asked it to end (128 + SIGTERM).
    Terminated,
    /// A signal of this number ended it, which nothing else is known of (128 + its number).
    Signalled(u8),
}

impl Exit {
    /// The same at the end of a chat, unless all was well but for its saving.
    #[must_use]
    pub fn once_saved(self, saved: &Ended) -> Self {
        if self == Self::Done && !saved.is_whole() {
            Self::Unsaved
        } else {
            self
        }
    }

    /// The code that the shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unsaved => 3,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Quit => 131,
            Self::ReaderGone => 141,
            Self::Terminated => 143,
            Self::Signalled(number) => 128 + number,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}
