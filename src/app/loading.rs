//! Other models for the conversation: `/model`, `/reload`, and what becomes of them.

use crate::app::block::{AnswerState, Kind};
use crate::app::control::ChatSystem;
use crate::app::notice::whole_sentence;
use crate::app::picker::Picker;
use crate::app::{App, Effect, Phase, Shown};
use crate::cancel::Cancel;
use crate::engine::protocol::{Command, ModelRef, NotLoaded};

/// Models that were asked for and are not there yet.
#[derive(Debug)]
pub(super) struct LoadAsked {
    pub cancel: Cancel,
}

impl App {
    /// Opens the picker; what there is comes with [`super::Msg::Models`].
    pub(super) fn pick_model(&mut self) -> Vec<Effect> {
        self.open(Picker::default());
        vec![Effect::ListModels]
    }

    /// Loads the target of this name with the draft that fits it.
    pub(super) fn load_model(&mut self, target: String) -> Vec<Effect> {
        self.load(Some(ModelRef {
            target,
            draft: "auto".to_owned(),
        }))
    }

    /// Loads the same models again.
    pub(super) fn reload(&mut self) -> Vec<Effect> {
        self.load(self.ready.as_ref().map(|ready| ready.models.clone()))
    }

    /// Why `command` cannot load models now, where it cannot.
    pub(super) fn must_not_load(&self, command: &str) -> Result<(), String> {
        match (&self.phase, &self.asked) {
            (Phase::Ready, Some(_)) => self.must_wait(command),
            (Phase::Ready, None) | (Phase::Dead, _) => Ok(()),
            (Phase::Starting | Phase::Fetching(_) | Phase::Loading(_), _) => Err(match self.load {
                Some(_) => "models are being loaded: Esc stops that",
                None => "models are being loaded: wait until they are there",
            }
            .to_owned()),
        }
    }

    /// Loads `models`, or those that the program was started for: in the running engine, or in a new one where
    /// that has ended, which is then told all that the old one knew.
    fn load(&mut self, models: Option<ModelRef>) -> Vec<Effect> {
        let was_dead = self.is_dead();
        self.phase = Phase::Starting;
        if let (false, Some(models)) = (was_dead, &models) {
            let cancel = Cancel::new();
            self.load = Some(LoadAsked {
                cancel: cancel.clone(),
            });
            let models = models.clone();
            return vec![Effect::Engine(Command::Load { models, cancel })];
        }
        let options = self.next_options();
        self.wanted_options = None;
        let turns = self.conversation.turns();
        let mut effects = vec![Effect::Restart(models)];
        if let (None, Some(ChatSystem(system))) = (&options, &self.chat_system) {
            effects.push(Effect::Engine(Command::SetSystem(system.clone())));
        }
        if !turns.is_empty() {
            effects.push(Effect::Engine(Command::Restore { turns }));
        }
        effects.extend(options.map(|options| self.want_options(options)));
        let strategy = self.strategy.map(Command::SetStrategy);
        effects.extend(strategy.map(Effect::Engine));
        effects
    }

    /// Whether other models are being loaded, which can be stopped.
    pub fn changing_models(&self) -> bool {
        self.load.is_some()
    }

    /// Stops the loading of other models; `false` when there is none, or it was asked to stop already.
    pub(super) fn stop_loading(&mut self) -> bool {
        let Some(load) = self.load.as_ref().filter(|it| !it.cancel.is_cancelled()) else {
            return false;
        };
        load.cancel.cancel();
        self.say("the models from before stay");
        true
    }

    /// `models` are there. Where they are others, numbers that were measured on the old ones mean nothing.
    pub(super) fn models_changed(&mut self, models: &ModelRef) {
        let asked = self.load.take().is_some();
        let others = self.ready.as_ref().is_some_and(|it| it.models != *models);
        if !asked && !others {
            return;
        }
        self.strategy = None;
        self.latest = Shown::default();
        self.baseline_at = None;
        self.refresh(true);
        if !self.conversation.turns().is_empty() {
            self.tell(
                Kind::Notice,
                "The conversation is kept: the model reads it with the next message.",
            );
        }
    }

    /// Other models are not there: the old ones go on.
    pub(super) fn not_loaded(&mut self, why: &NotLoaded) {
        self.load = None;
        self.phase = Phase::Ready;
        match why {
            NotLoaded::Stopped => self.say("loading was stopped: the models from before go on"),
            NotLoaded::Failed(why) => {
                let text = format!("{}\nThe models from before go on.", whole_sentence(why));
                self.tell(Kind::Error, &text);
            }
        }
        if let Some(asked) = &self.asked
            && let Some(answer) = self.transcript.answer_mut(asked.block)
            && answer.state == AnswerState::Waiting
        {
            answer.state = AnswerState::Sent;
        }
    }
}
