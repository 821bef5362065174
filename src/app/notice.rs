//! What the app says: blocks in the conversation, which stay, and notices in the status bar, which do not.
//!
//! **A block is sentences, with a capital and a full stop; a notice is a phrase without either.** A notice on
//! what was done goes by itself; why something typed was not done stays until the next key, and what was
//! typed stays in the input.

use std::time::{Duration, Instant};

use crate::app::block::Kind;
use crate::app::wrap::cut;
use crate::app::{App, Phase, Said};
use crate::clean::clean;
use crate::session::export::sentence;

/// How long a notice on what was done stands in the status bar.
const NOTICE_TIME: Duration = Duration::from_secs(4);
/// Columns of a notice at most: what was typed may be part of it.
const MOST_COLUMNS: usize = 400;

/// What the status bar tells for a moment.
#[derive(Debug)]
pub(super) struct Notice {
    text: String,
    /// When it goes; `None`: with the next key.
    until: Option<Instant>,
    /// What it goes with, too: after that it would not be true.
    passes_with: Option<Passing>,
}

#[derive(Clone, Copy, Debug)]
enum Passing {
    Answer,
    Loading,
}

/// How notices begin that are true as long as an answer is asked for, or models are being loaded.
const PASSING: [(&str, Passing); 7] = [
    ("an answer is being written", Passing::Answer),
    ("the answer is being stopped", Passing::Answer),
    ("a message waits for the model", Passing::Answer),
    ("the message before is stopped once", Passing::Answer),
    ("models are being loaded", Passing::Loading),
    ("the strategies are known once", Passing::Loading),
    ("this is known once the models", Passing::Loading),
];

impl App {
    /// What the status bar tells for a moment.
    pub fn notice(&self) -> Option<&str> {
        match (&self.quit_until, &self.notice) {
            (Some(_), _) => Some("press Ctrl-C again to quit"),
            (None, Some(notice)) => Some(&notice.text),
            (None, None) => None,
        }
    }

    /// Whether that is why something typed was not done.
    pub fn is_refusal(&self) -> bool {
        let refusal = |notice: &Notice| notice.until.is_none();
        self.quit_until.is_none() && self.notice.as_ref().is_some_and(refusal)
    }

    /// Whether it asks for another Ctrl-C.
    pub fn asks_to_quit(&self) -> bool {
        self.quit_until.is_some()
    }

    /// What the last message made it say, in the conversation or in the status bar.
    pub fn said(&self) -> &[Said] {
        &self.said
    }

    /// Lets go of a notice about what has passed.
    pub(super) fn expire_notice(&mut self) {
        let is_over = |passing| match (passing, &self.phase) {
            (Passing::Answer, _) => self.asked.is_none(),
            (Passing::Loading, Phase::Ready | Phase::Dead) => true,
            (Passing::Loading, Phase::Starting | Phase::Fetching(_) | Phase::Loading(_)) => false,
        };
        self.notice
            .take_if(|notice| notice.passes_with.is_some_and(is_over));
    }

    /// When the notice goes by itself.
    pub(super) fn notice_until(&self) -> Option<Instant> {
        self.notice.as_ref()?.until
    }

    /// Tells in the status bar what was done, in a phrase.
    pub(super) fn say(&mut self, text: impl AsRef<str>) {
        self.notify(text.as_ref(), Some(self.now + NOTICE_TIME));
    }

    /// Tells in the status bar why something typed was not done, in a phrase.
    pub(super) fn refuse(&mut self, why: &str) {
        // It would lie over the message.
        self.close_popup();
        self.notify(why, None);
    }

    /// The same of a command that has left the input, and comes back to be corrected.
    pub(super) fn refuse_command(&mut self, command: &str, why: &str) {
        if self.input.is_empty() {
            self.input.set(command);
            self.settle_popup();
        }
        self.refuse(why);
    }

    fn notify(&mut self, text: &str, until: Option<Instant>) {
        let text = cut(&clean(text).replace(['\n', '\t'], " "), MOST_COLUMNS);
        self.said.push(Said {
            text: text.clone(),
            is_error: until.is_none(),
        });
        let begin = PASSING.iter().find(|(begin, _)| text.starts_with(begin));
        self.notice = Some(Notice {
            passes_with: begin.map(|(_, passing)| *passing),
            text,
            until,
        });
    }

    /// Adds a block to the conversation and brings it into view. What failed becomes a sentence.
    pub(super) fn tell(&mut self, kind: Kind, text: &str) {
        let is_error = kind == Kind::Error;
        let text = match kind {
            Kind::Error => whole_sentence(text),
            Kind::User | Kind::Assistant(_) | Kind::Notice => text.to_owned(),
        };
        self.transcript.push(kind, &text);
        self.said.push(Said { text, is_error });
        self.scroll.to_end();
    }
}

/// The text, cleaned, with a capital and a full stop.
pub(super) fn whole_sentence(text: &str) -> String {
    let text = clean(text);
    let text = sentence(text.trim_end());
    let stop = if text.ends_with(['.', '!', '?', '…', ':']) {
        ""
    } else {
        "."
    };
    text + stop
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_told_in_sentences() {
        let check = |text, expect| assert_eq!(whole_sentence(text), expect);
        check(
            "cannot open it: no such file",
            "Cannot open it: no such file.",
        );
        check("It broke.\nBadly.\n", "It broke.\nBadly.");
        check("Really?", "Really?");
        check("so\r", "So␍.");
        check("", ".");
    }
}
