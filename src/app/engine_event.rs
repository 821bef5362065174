//! What the engine says → state.

use std::sync::Arc;

use crate::app::block::{AnswerState, Kind, Summary};
use crate::app::notice::whole_sentence;
use crate::app::{App, Fetching, Phase};
use crate::clean::clean;
use crate::engine::protocol::{
    Baseline, Event, Explanation, Failure, Fetch, Finished, Loading, Piece, Ready, Round,
};

/// A rate of fetching is told after this long; before, it would jump.
const RATE_AFTER_SECONDS: f64 = 0.5;

impl App {
    pub(super) fn hear(&mut self, event: Event) {
        match event {
            Event::Fetch(fetch) => self.fetching(&fetch),
            Event::Loading(loading) => {
                let what = clean(&loading.what).into_owned();
                self.phase = Phase::Loading(Loading { what, ..loading });
            }
            Event::Ready(ready) => self.loaded(ready),
            Event::Baseline(baseline) => self.measured(baseline),
            Event::Strategy(name) => self.drafts_with(name),
            Event::StrategyRefused(name) => {
                if self.wanted == Some(name) {
                    self.wanted = None;
                }
                self.say(format!("{name} cannot run with these models"));
            }
            Event::Options(options) => self.options_set(options),
            Event::Dropped { turns: 0 } => {
                self.refuse("dropping turns does not help: this message alone does not fit");
            }
            Event::Dropped { turns } => self.dropped(turns),
            Event::NotLoaded(why) => self.not_loaded(&why),
            Event::Prefill { done, total } => {
                self.set_answer_state(AnswerState::Prefill { done, total });
            }
            Event::Round(round) => self.landed(&round),
            Event::Finished(finished) => self.finished(finished),
            Event::Failed(failure) => self.failed(&failure),
        }
    }

    fn fetching(&mut self, fetch: &Fetch) {
        let fetch = Fetch {
            what: clean(&fetch.what).into_owned(),
            how: clean(&fetch.how).into_owned(),
            done: fetch.done,
            total: fetch.total,
        };
        let (since, from) = match &self.phase {
            Phase::Fetching(before)
                if before.fetch.what == fetch.what
                    && before.fetch.how == fetch.how
                    && before.fetch.done <= fetch.done =>
            {
                (before.since, before.from)
            }
            Phase::Fetching(_)
            | Phase::Starting
            | Phase::Loading(_)
            | Phase::Ready
            | Phase::Dead => (self.now, fetch.done),
        };
        let seconds = self.now.saturating_duration_since(since).as_secs_f64();
        let rate = (seconds >= RATE_AFTER_SECONDS).then(|| (fetch.done - from) as f64 / seconds);
        self.phase = Phase::Fetching(Fetching {
            fetch,
            rate,
            since,
            from,
        });
    }

    fn loaded(&mut self, ready: Ready) {
        self.models_changed(&ready.models);
        self.phase = Phase::Ready;
        let ready = Ready {
            target: clean(&ready.target).into_owned(),
            draft: ready.draft.map(|name| clean(&name).into_owned()),
            device: clean(&ready.device).into_owned(),
            ..ready
        };
        for note in &ready.notes {
            self.transcript.push(Kind::Notice, note);
        }
        if let Some(asked) = &self.asked
            && let Some(answer) = self.transcript.answer_mut(asked.block)
        {
            answer.model = Some(ready.target.clone());
            if answer.state == AnswerState::Waiting {
                answer.state = AnswerState::Sent;
            }
        }
        self.drafts_with(ready.strategy);
        self.ready = Some(ready);
        self.tell_other_model();
    }

    fn measured(&mut self, baseline: Baseline) {
        self.latest.stats.set_baseline(baseline);
        self.baseline_at = Some(self.now);
        self.refresh(false);
    }

    /// The engine drafts with `name` now.
    fn drafts_with(&mut self, name: &'static str) {
        if self.wanted == Some(name) {
            self.wanted = None;
        }
        if self.strategy != Some(name) {
            self.strategy = Some(name);
            self.latest.stats.clear_window();
            self.latest.note = None;
            self.latest.choice = None;
            self.refresh(true);
        }
    }

    fn landed(&mut self, round: &Round) {
        let Some(asked) = &mut self.asked else { return };
        if !asked.strategies.contains(&round.strategy) {
            asked.strategies.push(round.strategy);
        }
        self.transcript.append(asked.block, &round.pieces);
        self.conversation.write(&round.pieces);
        self.set_answer_state(AnswerState::Writing);
        self.drafts_with(round.strategy);
        self.latest.stats.push(round);
        self.latest.context_used = Some(round.context_used);
        self.latest.note = round.note.as_deref().map(|note| clean(note).into_owned());
        self.latest.choice = round.explanation.as_deref().map(cleaned);
        let first = self.latest.stats.answer().passes == 1;
        self.refresh(first);
    }

    fn finished(&mut self, finished: Finished) {
        if let Some(asked) = &self.asked
            && !finished.rest.is_empty()
        {
            let rest = Piece {
                text: finished.rest,
                drafter: None,
            };
            self.conversation.write(std::slice::from_ref(&rest));
            self.transcript.append(asked.block, &[rest]);
        }
        self.refresh(true);
        let stats = &self.latest.stats;
        let summary = Summary {
            reason: finished.reason,
            strategies: self
                .asked
                .as_ref()
                .map(|asked| asked.strategies.clone())
                .unwrap_or_default(),
            tokens: finished.answer_tokens,
            tokens_per_pass: stats.answer().tokens_per_pass(),
            tokens_per_second: stats.decode().tokens_per_second(),
            speed_up: stats.decode().speed_up(),
            prefill_time: finished.prefill_time,
            drafters: stats.answer().drafters(),
        };
        self.end_answer(AnswerState::Ended(summary));
        self.conversation.end(finished.answer_tokens > 0);
        self.asked = None;
    }

    fn failed(&mut self, failure: &Failure) {
        self.refresh(true);
        self.end_answer(AnswerState::Failed);
        self.conversation.end(false);
        let asked = self.asked.take();
        self.transcript
            .push(Kind::Error, &whole_sentence(&failure.message));
        if failure.fatal {
            self.phase = Phase::Dead;
            self.load = None;
            self.transcript
                .push(Kind::Notice, "The engine has ended. /reload starts it again and keeps the conversation, /model takes \
                 another model, q quits.");
            return;
        }
        if asked.is_some() {
            self.say("/retry sends the message again, Ctrl-P brings it back");
        }
    }

    /// A state on the way; a stop that was asked for stays in view until the answer ends.
    fn set_answer_state(&mut self, state: AnswerState) {
        if let Some(asked) = &self.asked
            && !asked.cancel.is_cancelled()
            && let Some(answer) = self.transcript.answer_mut(asked.block)
        {
            answer.state = state;
        }
    }

    fn end_answer(&mut self, state: AnswerState) {
        if let Some(asked) = &self.asked {
            if let Some(answer) = self.transcript.answer_mut(asked.block) {
                answer.state = state;
            }
            self.transcript.finish(asked.block);
        }
    }
}

fn cleaned(chosen: &Explanation) -> Arc<Explanation> {
    Arc::new(Explanation {
        reason: clean(&chosen.reason).into_owned(),
        ..chosen.clone()
    })
}
