//! What the engine's thread does: one command after the other, and rounds until an answer ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tokio::sync::mpsc::UnboundedSender;

use super::answer_text::AnswerText;
use super::baseline::{IDLE_PASSES, Meter};
use super::conversation::Conversation;
use super::pair::{Fixed, Pair};
use super::protocol::{
    Command, Event, Failure, FinishReason, Finished, Inbox, ModelRef, Next, Round, SamplingInfo,
};
use super::{Settings, panic_message};
use crate::cancel::Cancel;
use crate::config::options::Options;
use crate::decoding;
use crate::model::PassError;
use crate::model::pair::Loaded;

/// The least room for an answer that a prompt must leave.
const LEAST_ANSWER: usize = 16;

/// How long timing may hold up a first message that is already there.
const QUICK: Duration = Duration::from_millis(100);

/// Models that are to take the place of those that are loaded.
pub(super) struct Request {
    pub models: ModelRef,
    pub cancel: Cancel,
}

/// What stays when models go.
pub(super) struct State<'a> {
    fixed: Fixed,
    strategy: &'static str,
    /// Where calibrations are kept, if anywhere.
    cache: Option<PathBuf>,
    conversation: Conversation,
    inbox: &'a Inbox,
    waiting: Vec<Command>,
    outbox: &'a UnboundedSender<Event>,
}

impl<'a> State<'a> {
    /// Before the first message.
    pub fn new(settings: Settings, inbox: &'a Inbox, outbox: &'a UnboundedSender<Event>) -> Self {
        let fixed = Fixed::new(settings.options);
        Self {
            conversation: Conversation::new(fixed.options.system.clone()),
            fixed,
            strategy: settings.strategy,
            cache: settings.cache,
            inbox,
            waiting: Vec::new(),
            outbox,
        }
    }

    /// Goes on with these models, and tells of them.
    pub fn go_on(self, loaded: Loaded) -> Worker<'a> {
        let (pair, ready) = Pair::new(loaded, self.strategy, &self.fixed, self.cache.clone());
        let worker = Worker {
            pair,
            fixed: self.fixed,
            cache: self.cache,
            conversation: self.conversation,
            meter: Meter::default(),
            meter_due: true,
            meter_warm: false,
            inbox: self.inbox,
            waiting: self.waiting,
            outbox: self.outbox,
        };
        worker.tell(Event::Ready(ready));
        worker
    }
}

pub(super) struct Worker<'a> {
    pair: Pair,
    fixed: Fixed,
    cache: Option<PathBuf>,
    conversation: Conversation,
    meter: Meter,
    /// Whether plain decoding is still to be timed at this context.
    meter_due: bool,
    /// Whether the pass that warms up is over.
    meter_warm: bool,
    inbox: &'a Inbox,
    /// Commands that came during an answer and wait for its end.
    waiting: Vec<Command>,
    outbox: &'a UnboundedSender<Event>,
}

impl<'a> Worker<'a> {
    /// What stays without the models.
    pub fn let_go(self) -> State<'a> {
        State {
            fixed: self.fixed,
            strategy: self.pair.decoder.strategy(),
            cache: self.cache,
            conversation: self.conversation,
            inbox: self.inbox,
            waiting: self.waiting,
            outbox: self.outbox,
        }
    }

    /// What the models are called.
    pub fn models(&self) -> &ModelRef {
        &self.pair.names
    }

    /// Bytes that the models need.
    pub fn memory(&self) -> u64 {
        self.pair.memory
    }

    /// The line to the front end.
    pub fn outbox(&self) -> &'a UnboundedSender<Event> {
        self.outbox
    }

    /// Obeys commands until other models are asked for, or nobody is left to give any.
    pub fn work(&mut self) -> Option<Request> {
        self.time_plain_if_quick();
        while let Some(command) = self.next_command() {
            match command {
                Command::Send { text, cancel, .. } => self.send(text, &cancel),
                Command::SetStrategy(name) => self.set_strategy(name),
                Command::Reset => self.forget(Conversation::clear),
                Command::Rewind { turns, .. } => self.forget(|it| it.rewind(turns)),
                Command::SetSystem(system) => self.set(Options {
                    system,
                    ..self.fixed.options.clone()
                }),
                Command::Restore { turns } => self.forget(|it| it.restore(turns)),
                Command::MakeRoom { text } => self.make_room(&text),
                Command::Set(options) => self.set(options),
                Command::Load { models, cancel } => return Some(Request { models, cancel }),
            }
        }
        None
    }

    /// The next command; while none is there, passes are timed as far as that is due.
    fn next_command(&mut self) -> Option<Command> {
        if !self.waiting.is_empty() {
            return Some(self.waiting.remove(0));
        }
        while self.meter_due || self.pair.calibrator.is_due() {
            match self.inbox.poll() {
                Next::Command(command) => return Some(command),
                Next::Closed => return None,
                Next::Idle(cancel) if self.meter_due => self.time_plain_pass(&cancel),
                Next::Idle(cancel) => self.pair.calibrate(&cancel),
            }
        }
        self.inbox.wait().ok()
    }

    /// Times plain decoding before the first answer where that keeps nobody waiting.
    fn time_plain_if_quick(&mut self) {
        let started = Instant::now();
        while self.meter_due && started.elapsed() < QUICK {
            self.time_plain_pass(&Cancel::new());
        }
    }

    fn time_plain_pass(&mut self, cancel: &Cancel) {
        let timed = catch_unwind(AssertUnwindSafe(|| self.pair.decoder.time_pass(1, cancel)));
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
            let context = self.pair.decoder.committed().len();
            if let Some(baseline) = self.meter.report(context) {
                self.tell(Event::Baseline(baseline));
            }
        }
    }

    fn send(&mut self, text: String, cancel: &Cancel) {
        let failed = |message| {
            Event::Failed(Failure {
                message,
                fatal: false,
            })
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| self.answer(&text, cancel)));
        let event = match outcome {
            Ok(Ok((finished, answer))) => {
                if finished.answer_tokens > 0 {
                    self.conversation.push(text, answer);
                }
                Event::Finished(finished)
            }
            Ok(Err(error)) => failed(format!("{error:#}")),
            Err(panic) => {
                self.pair.decoder.reset();
                failed(panic_message(panic.as_ref()))
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
        self.pair.calibrator.restart();
    }

    /// Answers `question`: how it ended, and the text.
    fn answer(&mut self, question: &str, cancel: &Cancel) -> Result<(Finished, String)> {
        let pair = &self.pair;
        let messages = self.conversation.prompt(question);
        let prompt = pair.template.prompt(&messages, &pair.tokenizer)?;
        let capacity = self.pair.decoder.capacity();
        if prompt.len() + LEAST_ANSWER > capacity {
            bail!(
                "the conversation has {} tokens with this message, and the context holds {capacity}, \
                 {LEAST_ANSWER} of them kept for the answer: {}",
                prompt.len(),
                self.way_out(question)
            );
        }
        let outbox = self.outbox;
        let prefill = self
            .pair
            .decoder
            .begin(&prompt, cancel, &mut |done, total| {
                let _ = outbox.send(Event::Prefill { done, total });
            });
        let mut finished = Finished {
            reason: FinishReason::Stopped,
            prompt_tokens: prompt.len(),
            reused_tokens: 0,
            prefill_time: Duration::ZERO,
            answer_tokens: 0,
            rest: String::new(),
            sampling: SamplingInfo::of(&self.fixed.options),
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
        let mut text = AnswerText::new(
            Arc::clone(&self.pair.tokenizer),
            &self.fixed.options.sampling.stop,
        );
        let mut answer = String::new();
        finished.reason = loop {
            self.obey_between_rounds();
            let room = capacity - self.pair.decoder.committed().len();
            let budget = room.min(self.fixed.options.max_tokens - finished.answer_tokens);
            if budget == 0 {
                break if room == 0 {
                    FinishReason::ContextFull
                } else {
                    FinishReason::MaxTokens
                };
            }
            let stop = &mut |token| text.push(token);
            let round = match self.pair.decoder.round_until(budget, cancel, stop) {
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

    /// What helps where a prompt does not fit.
    fn way_out(&self, question: &str) -> &'static str {
        if self.superfluous(question).is_some_and(|turns| turns > 0) {
            "on the screen and in line mode, /drop takes the oldest turns away and sends it again; /new starts anew; or shorten \
             it, or raise --context where the model allows more"
        } else {
            "shorten it, or raise --context where the model allows more"
        }
    }

    /// Swaps strategies now; anything else waits for the end of the answer.
    fn obey_between_rounds(&mut self) {
        while let Next::Command(command) = self.inbox.poll() {
            match command {
                Command::SetStrategy(name) => self.set_strategy(name),
                Command::Send { .. }
                | Command::Reset
                | Command::Rewind { .. }
                | Command::SetSystem(_)
                | Command::Restore { .. }
                | Command::MakeRoom { .. }
                | Command::Load { .. }
                | Command::Set(_) => self.waiting.push(command),
            }
        }
    }

    fn set_strategy(&mut self, name: &'static str) {
        if self.pair.decoder.set_strategy(name) {
            self.tell(Event::Strategy(name));
        } else {
            self.tell(Event::StrategyRefused(name));
        }
    }

    /// Changes what stands of the conversation. The cache keeps what the next prompt has in common with it.
    fn forget(&mut self, change: impl FnOnce(&mut Conversation)) {
        change(&mut self.conversation);
        if self.conversation.turns() == 0 {
            self.pair.decoder.reset();
        }
        self.restart_meter();
    }

    /// Forgets the oldest turns, so that `text` fits with room for an answer.
    fn make_room(&mut self, text: &str) {
        let turns = self.superfluous(text).unwrap_or(0);
        if turns > 0 {
            self.forget(|it| it.forget_oldest(turns));
        }
        self.tell(Event::Dropped { turns });
    }

    /// How many of the oldest turns must go: as few as leave room enough for an answer to `text`, or all where
    /// that is still little. `None` where `text` does not fit at all, or cannot be read.
    fn superfluous(&self, text: &str) -> Option<usize> {
        let capacity = self.pair.decoder.capacity();
        let room = |n| {
            let messages = self.conversation.prompt_without(n, text);
            let prompt = self.pair.template.prompt(&messages, &self.pair.tokenizer);
            capacity.checked_sub(prompt.ok()?.len())
        };
        let little = |&n: &usize| room(n).is_none_or(|room| room < capacity / 4);
        let all = self.conversation.turns();
        // From the newest back: to read a prompt many times too long would take seconds.
        let mut kept = 1;
        while kept < all && !little(&(all - kept)) {
            kept *= 2;
        }
        let first = all.saturating_sub(kept);
        let turns: Vec<usize> = (first..all).collect();
        let n = first + turns.partition_point(little);
        room(n).filter(|&room| room >= LEAST_ANSWER).map(|_| n)
    }

    fn set(&mut self, options: Options) {
        let fixed = Fixed::new(options);
        self.pair.set(&self.fixed, &fixed);
        self.conversation.set_system(fixed.options.system.clone());
        self.tell(Event::Options(fixed.options.clone()));
        self.fixed = fixed;
        self.restart_meter();
    }

    /// A round without a draft is a timing of plain decoding; an answer's first pass is not typical.
    fn meter_round(&mut self, round: &decoding::Round, first: bool) {
        if first || !round.drafted.is_empty() {
            return;
        }
        self.meter.push(round.verify_time + round.other_time);
        if let Some(baseline) = self.meter.report_due(self.pair.decoder.committed().len()) {
            self.tell(Event::Baseline(baseline));
        }
    }

    fn publish(&self, round: &decoding::Round, text: &mut AnswerText) -> Round {
        // Where drafting failed, what was chosen is not what was done.
        let failed = round.draft_error.is_some();
        let explanation = (!failed).then(|| self.pair.decoder.explanation()).flatten();
        let drafter = explanation
            .as_ref()
            .map_or(round.strategy, |chosen| chosen.drafter);
        Round {
            note: round.draft_error.clone(),
            pieces: text.take_round(round.n_accepted, drafter),
            context_used: self.pair.decoder.committed().len(),
            explanation: explanation.map(Arc::new),
            ..round.counts()
        }
    }

    pub fn tell(&self, event: Event) {
        // A front end that has gone needs no news: the closed inbox ends the work.
        let _ = self.outbox.send(event);
    }
}
