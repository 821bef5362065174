//! What is done outside the state, and what came of it: pastes, the editor, copying, themes.

use crate::app::block::Kind;
use crate::app::{App, Effect, copy, report};

impl App {
    /// Takes a paste into the input.
    pub(super) fn paste(&mut self, text: &str) {
        if let Err(why) = self.input.paste(text) {
            self.refuse(&why);
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

    /// Copies what `argument` asks for.
    pub(super) fn copy(&self, argument: &str) -> Result<Vec<Effect>, String> {
        copy::find(&self.transcript, argument).map(|copy| vec![Effect::Copy(copy)])
    }

    /// Changes the theme, or lists all.
    pub(super) fn change_theme(&mut self, name: String) -> Vec<Effect> {
        if !name.is_empty() {
            return vec![Effect::SetTheme(name)];
        }
        let all = self
            .themes()
            .map(|(name, now)| format!("{name}{}", if now { " (now)" } else { "" }));
        let text = format!("Themes: {}.", all.collect::<Vec<_>>().join(", "));
        self.tell(Kind::Notice, &text);
        Vec::new()
    }

    /// The screen has another theme, or why not.
    pub(super) fn themed(&mut self, name: String, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.say(format!("theme {name}"));
                self.theme = name;
            }
            Err(why) => self.refuse_command(&format!("/theme {name}"), &why),
        }
    }

    /// The themes that can be chosen, with the one of now.
    pub fn themes(&self) -> impl Iterator<Item = (&str, bool)> {
        let now = |name: &String| *name == self.theme;
        self.themes
            .iter()
            .map(move |name| (name.as_str(), now(name)))
    }

    /// Tells the numbers of answer and session.
    pub(super) fn tell_stats(&mut self) {
        let text = report::report(&self.latest.stats);
        self.tell(Kind::Notice, &text);
    }

    /// Says in the conversation what came of an effect.
    pub(super) fn told(&mut self, result: &Result<String, String>) {
        match result {
            Ok(what) => self.tell(Kind::Notice, what),
            Err(why) => self.tell(Kind::Error, why),
        }
    }
}
