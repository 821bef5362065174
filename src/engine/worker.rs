//! What the engine's thread does: one command after the other, and rounds until an answer ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::sync::mpsc::UnboundedSender;

use super::answer_text::AnswerText;
use super::baseline::{IDLE_PASSES, Meter};
use super::calibration::Calibrator;
use super::calibration_cache::{CalibrationCache, Key};
use super::protocol::{
    Command, Event, Failure, FinishReason, Finished, Inbox, Next, Ready, Round, SamplingInfo,
    StrategyInfo, Turn,
};
use super::{Settings, panic_message};
use crate::cancel::Cancel;
use crate::decoding::{self, Decoder};
use crate::model::PassError;
use crate::model::chat_template::{ChatTemplate, Message, Role};
use crate::model::load::Loaded;
use crate::model::tokenizer::Tokenizer;
use crate::strategy::{self, Drafter, Parts};

/// The least room for an answer that a prompt must leave.
const LEAST_ANSWER: usize = 16;

/// How long timing may hold up a first message that is already there.
const QUICK: Duration = Duration::from_millis(100);

pub(super) struct Worker<'a> {
    decoder: Decoder,
    tokenizer: Arc<Tokenizer>,
    template: ChatTemplate,
    max_tokens: usize,
    stop: Vec<String>,
    sampling: Option<SamplingInfo>,
    /// The system prompt, if any, then turns of user and assistant.
    conversation: Vec<Message>,
    meter: Meter,
    /// Whether plain decoding is still to be timed at this context.
    meter_due: bool,
    /// Whether the pass that warms up is over.
    meter_warm: bool,
    calibrator: Calibrator,
    /// Where the calibration goes, if anywhere.
    calibrations: Option<CalibrationCache>,
    inbox: &'a Inbox,
    /// Commands that came during an answer and wait for its end.
    waiting: Vec<Command>,
    outbox: &'a UnboundedSender<Event>,
}

impl<'a> Worker<'a> {
    /// Builds the strategies and reports what there is.
    pub fn new(
        loaded: Loaded,
        settings: Settings,
        inbox: &'a Inbox,
        outbox: &'a UnboundedSender<Event>,
    ) -> Self {
        let Loaded {
            pair,
            tokenizer,
            template,
        } = loaded;
        let target_name = pair.target.name().to_owned();
        let draft_name = pair
            .draft
            .as_ref()
            .ok()
            .map(|draft| draft.name().to_owned());
        let ends = tokenizer.end_of_turn().to_vec();
        let draft = pair
            .draft
            .map(|model| Drafter::new(model, settings.sampling));
        let calibrations = settings.cache.zip(pair.identity).map(|(folder, models)| {
            let key = Key::new(models, &pair.device, settings.sampling.is_greedy());
            CalibrationCache::new(folder, key)
        });
        let calibration = calibrations.as_ref().and_then(CalibrationCache::load);
        let calibrator = Calibrator::new(draft.clone().ok(), calibration.is_none());
        let (strategies, missing) = strategy::build_all(&Parts {
            draft,
            draft_length: settings.draft_length,
            ends: ends.clone(),
            calibration,
        });
        let mut notes = pair.notes;
        notes.extend(
            missing
                .iter()
                .filter(|(name, _)| strategy::find(name).is_some_and(|entry| entry.cycled))
                .map(|(name, why)| format!("{name} cannot run: {why}")),
        );
        let mut decoder =
            Decoder::new(pair.target, strategies, ends).with_sampling(settings.sampling);
        if !decoder.set_strategy(settings.strategy) {
            notes.push(format!(
                "drafting with {} instead of {}",
                decoder.strategy(),
                settings.strategy
            ));
        }
        let worker = Self {
            tokenizer,
            template,
            max_tokens: settings.max_tokens,
            stop: settings.stop,
            sampling: (!settings.sampling.is_greedy()).then_some(SamplingInfo {
                temperature: settings.sampling.temperature,
                seed: settings.sampling.seed,
            }),
            conversation: settings
                .system
                .map(|content| Message {
                    role: Role::System,
                    content,
                })
                .into_iter()
                .collect(),
            meter: Meter::default(),
            meter_due: true,
            meter_warm: false,
            calibrator,
            calibrations,
            inbox,
            waiting: Vec::new(),
            outbox,
            decoder,
        };
        worker.tell(Event::Ready(Ready {
            target: target_name,
            draft: draft_name,
            device: pair.device.to_string(),
            context_limit: worker.decoder.capacity(),
            strategies: worker
                .decoder
                .strategies()
                .filter_map(strategy::find)
                .map(|entry| StrategyInfo {
                    name: entry.name,
                    summary: entry.summary,
                    cycled: entry.cycled,
                })
                .collect(),
            strategy: worker.decoder.strategy(),
            sampling: worker.sampling,
            notes,
        }));
        worker
    }

    /// Obeys commands until there is nobody left to give any.
    pub fn work(&mut self) {
        self.time_plain_if_quick();
        while let Some(command) = self.next_command() {
            match command {
                Command::Send { text, cancel } => self.send(text, &cancel),
                Command::SetStrategy(name) => self.set_strategy(name),
                Command::Reset => self.reset(),
                Command::Restore(turns) => self.restore(turns),
            }
        }
    }

    /// The next command; while none is there, passes are timed as far as that is due.
    fn next_command(&mut self) -> Option<Command> {
        if !self.waiting.is_empty() {
            return Some(self.waiting.remove(0));
        }
        while self.meter_due || self.calibrator.is_due() {
            match self.inbox.poll() {
                Next::Command(command) => return Some(command),
                Next::Closed => return None,
                Next::Idle(cancel) if self.meter_due => self.time_plain_pass(&cancel),
                Next::Idle(cancel) => self.calibrate(&cancel),
            }
        }
        self.inbox.wait().ok()
    }

    /// Times the next pass of the calibration; the last one is followed by its use.
    fn calibrate(&mut self, cancel: &Cancel) {
        let Some(calibration) = self.calibrator.time_pass(&mut self.decoder, cancel) else {
            return;
        };
        self.decoder.calibrate(&calibration);
        if let Some(calibrations) = &self.calibrations {
            calibrations.store(&calibration);
        }
    }

    /// Times plain decoding before the first answer where that keeps nobody waiting.
    fn time_plain_if_quick(&mut self) {
        let started = Instant::now();
        while self.meter_due && started.elapsed() < QUICK {
            self.time_plain_pass(&Cancel::new());
        }
    }

    fn time_plain_pass(&mut self, cancel: &Cancel) {
        let timed = catch_unwind(AssertUnwindSafe(|| self.decoder.time_pass(1, cancel)));
        let time = match timed {
            Ok(Ok(Some(time))) => time,
            Ok(Err(PassError::Cancelled(_))) => return,
            Ok(Ok(None) | Err(PassError::Failed(_))) | Err(_) => {
                self.meter_due = false;
                return;
            }
        };
        // The first pass after a pause warms up.
        if std::mem::replace(&mut self.meter_warm, true) {
            self.meter.push(time);
        }
        if self.meter.len() >= IDLE_PASSES {
            self.meter_due = false;
            let context = self.decoder.committed().len();
            if let Some(baseline) = self.meter.report(context) {
                self.tell(Event::Baseline(baseline));
            }
        }
    }

    fn send(&mut self, text: String, cancel: &Cancel) {
        self.conversation.push(Message {
            role: Role::User,
            content: text,
        });
        let turn = self.conversation.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.answer(cancel)));
        let event = match outcome {
            Ok(Ok((finished, answer))) => {
                if finished.answer_tokens == 0 {
                    self.conversation.truncate(turn - 1);
                } else {
                    self.conversation.push(Message {
                        role: Role::Assistant,
                        content: answer,
                    });
                }
                Event::Finished(finished)
            }
            Ok(Err(error)) => {
                self.conversation.truncate(turn - 1);
                Event::Failed(Failure {
                    message: format!("{error:#}"),
                    fatal: false,
                })
            }
            Err(panic) => {
                self.conversation.truncate(turn - 1);
                self.decoder.reset();
                let message = panic_message(panic.as_ref());
                Event::Failed(Failure {
                    message,
                    fatal: false,
                })
            }
        };
        self.restart_meter();
        self.tell(event);
    }

    /// The context has changed: what plain decoding costs there is to be timed.
    fn restart_meter(&mut self) {
        self.meter.restart();
        self.meter_due = true;
        self.meter_warm = false;
        self.calibrator.restart();
    }

    /// Answers the last message of the conversation: how it ended, and the text.
    fn answer(&mut self, cancel: &Cancel) -> Result<(Finished, String)> {
        let prompt = self.template.prompt(&self.conversation, &self.tokenizer)?;
        let capacity = self.decoder.capacity();
        if prompt.len() + LEAST_ANSWER > capacity {
            bail!(
                "the conversation has {} tokens and the context holds {capacity}, with {LEAST_ANSWER} \
                 kept for the answer: shorten the message, start anew with /new, or raise --context \
                 where the model allows more",
                prompt.len()
            );
        }
        let outbox = self.outbox;
        let prefill = self.decoder.begin(&prompt, cancel, &mut |done, total| {
            let _ = outbox.send(Event::Prefill { done, total });
        });
        let mut finished = Finished {
            reason: FinishReason::Stopped,
            prompt_tokens: prompt.len(),
            reused_tokens: 0,
            prefill_time: Duration::ZERO,
            answer_tokens: 0,
            rest: String::new(),
            sampling: self.sampling,
        };
        match prefill {
            Ok(prefill) => {
                finished.reused_tokens = prefill.reused;
                finished.prefill_time = prefill.time;
            }
            Err(PassError::Cancelled(_)) => return Ok((finished, String::new())),
            Err(PassError::Failed(error)) => {
                return Err(error).context("reading the prompt failed");
            }
        }

        self.meter.restart();
        let mut text = AnswerText::new(Arc::clone(&self.tokenizer), &self.stop);
        let mut answer = String::new();
        finished.reason = loop {
            self.obey_between_rounds();
            let room = capacity - self.decoder.committed().len();
            let budget = room.min(self.max_tokens - finished.answer_tokens);
            if budget == 0 {
                break if room == 0 {
                    FinishReason::ContextFull
                } else {
                    FinishReason::MaxTokens
                };
            }
            let stop = &mut |token| text.push(token);
            let round = match self.decoder.round_until(budget, cancel, stop) {
                Ok(round) => round,
                Err(PassError::Cancelled(_)) => break FinishReason::Stopped,
                Err(PassError::Failed(error)) => return Err(error).context("the answer broke off"),
            };
            self.meter_round(&round, finished.answer_tokens == 0);
            finished.answer_tokens += round.emitted.len();
            let ended = round.ended;
            let published = self.publish(&round, &mut text);
            answer += &published.text();
            self.tell(Event::Round(published));
            if text.stopped() {
                break FinishReason::StopString;
            }
            if ended {
                break FinishReason::EndOfTurn;
            }
        };
        finished.rest = text.finish(finished.reason == FinishReason::EndOfTurn);
        answer += &finished.rest;
        Ok((finished, answer))
    }

    /// Swaps strategies now; anything else waits for the end of the answer.
    fn obey_between_rounds(&mut self) {
        while let Next::Command(command) = self.inbox.poll() {
            match command {
                Command::SetStrategy(name) => self.set_strategy(name),
                Command::Send { .. } | Command::Reset | Command::Restore(_) => {
                    self.waiting.push(command);
                }
            }
        }
    }

    fn set_strategy(&mut self, name: &'static str) {
        if self.decoder.set_strategy(name) {
            self.tell(Event::Strategy(name));
        } else {
            let message = format!("the strategy {name} cannot run here");
            self.tell(Event::Failed(Failure {
                message,
                fatal: false,
            }));
        }
    }

    fn reset(&mut self) {
        self.conversation
            .retain(|message| message.role == Role::System);
        self.decoder.reset();
        self.restart_meter();
    }

    fn restore(&mut self, turns: Vec<Turn>) {
        self.conversation = turns.into_iter().map(Message::from).collect();
        self.decoder.reset();
        self.restart_meter();
    }

    /// A round without a draft is a timing of plain decoding; an answer's first pass is not typical.
    fn meter_round(&mut self, round: &decoding::Round, first: bool) {
        if first || !round.drafted.is_empty() {
            return;
        }
        self.meter.push(round.verify_time + round.other_time);
        if let Some(baseline) = self.meter.report_due(self.decoder.committed().len()) {
            self.tell(Event::Baseline(baseline));
        }
    }

    fn publish(&self, round: &decoding::Round, text: &mut AnswerText) -> Round {
        // Where drafting failed, what was chosen is not what was done.
        let failed = round.draft_error.is_some();
        let explanation = (!failed).then(|| self.decoder.explanation()).flatten();
        let drafter = explanation
            .as_ref()
            .map_or(round.strategy, |chosen| chosen.drafter);
        Round {
            note: round.draft_error.clone(),
            pieces: text.take_round(round.n_accepted, drafter),
            context_used: self.decoder.committed().len(),
            explanation: explanation.map(Arc::new),
            ..round.counts()
        }
    }

    fn tell(&self, event: Event) {
        // A front end that has gone needs no news: the closed inbox ends the work.
        let _ = self.outbox.send(event);
    }
}
