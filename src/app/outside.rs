//! What is done outside the state, and what came of it: pastes, the editor, copying, themes.

use crate::app::block::Kind;
use crate::app::{App, Effect};

impl App {
    /// Takes a paste: into the input, or of one line into what is searched for.
    pub(super) fn paste(&mut self, text: &str) {
        let text = if self.searching() {
            text.lines().next().unwrap_or_default()
        } else {
            text
        };
        if let Err(why) = self.input.paste(text) {
            self.say(why);
        }
    }

    /// Opens the message in an editor.
    pub(super) fn open_editor(&mut self) -> Vec<Effect> {
        vec![Effect::Edit(self.input.text())]
    }

    /// Takes the text from the editor, or says why there is none.
    pub(super) fn edited(&mut self, result: Result<String, String>) {
        match result {
            // Pastes stay as they are where nothing was changed.
            Ok(text) if text == self.input.text() => {}
            Ok(text) => self.input.set(&text),
            Err(why) => self.tell(Kind::Error, &why),
        }
    }

    /// Gives back a message that was not answered, unless another is being typed.
    pub(super) fn give_back(&mut self, text: &str) {
        if self.input.is_empty() && !self.searching() {
            self.input.set(text);
        }
    }

    /// Says in the conversation what came of an effect.
    pub(super) fn told(&mut self, result: &Result<String, String>) {
        match result {
            Ok(what) => self.tell(Kind::Notice, what),
            Err(why) => self.tell(Kind::Error, why),
        }
    }
}
