//! The picker of `/model`: what can be loaded.

use crate::app::filtered::{Asked, Filtered, Searched};
use crate::app::keymap::Action;
use crate::app::{App, Effect};
use crate::clean::clean;
use crate::engine::protocol::ModelEntry;

/// The open picker.
pub type Picker = Filtered<ModelEntry>;

impl Searched for ModelEntry {
    fn text(&self) -> String {
        format!("{} {} {}", self.title, self.reference, self.about)
    }
}

impl App {
    /// What the picker can show; the choice starts at the model that is loaded.
    pub(super) fn models_listed(&mut self, entries: Vec<ModelEntry>) {
        let current = self.ready.as_ref().map(|ready| &ready.models.target);
        let cleaned = |entry: ModelEntry| ModelEntry {
            title: clean(&entry.title).into_owned(),
            about: clean(&entry.about).into_owned(),
            unfit: entry.unfit.map(|why| clean(&why).into_owned()),
            ..entry
        };
        if let Some(picker) = self.overlay.picker_mut() {
            let place = |entry: &ModelEntry| Some(&entry.reference) == current;
            let selected = entries.iter().position(place).unwrap_or(0);
            picker.fill(entries.into_iter().map(cleaned).collect(), selected);
        }
    }

    /// What a key does while the picker is open; `None` where it does what it does elsewhere.
    pub(super) fn act_in_picker(&mut self, action: Action) -> Option<Vec<Effect>> {
        let page = self.page();
        let picker = self.overlay.picker_mut()?;
        match picker.act(action, page) {
            Asked::Nothing => {}
            Asked::Take => return Some(self.pick()),
            Asked::Close => self.close(),
            Asked::Elsewhere => return None,
        }
        Some(Vec::new())
    }

    /// Takes the choice, if it can be loaded.
    fn pick(&mut self) -> Vec<Effect> {
        let Some(entry) = self.picker().and_then(Picker::choice) else {
            return Vec::new();
        };
        if let Some(why) = entry.unfit.clone() {
            self.refuse(&why);
            return Vec::new();
        }
        let reference = entry.reference.clone();
        self.close();
        match self.must_not_load("/model") {
            Ok(()) => self.load_model(reference),
            Err(why) => {
                self.refuse(&why);
                Vec::new()
            }
        }
    }
}
