//! What front ends and engine say to each other → records. Pure: it is given the time.

use std::ops::Range;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::record::{self, Reason, Record, Turn};
use crate::engine::protocol::{Command, Event, Finished, ModelRef};
use crate::stats::Stats;

/// How often a part of the answer is recorded while it is being written.
pub const PARTIAL_PERIOD: Duration = Duration::from_secs(2);

/// What is to be done with the log.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Append this.
    Write(Record),
    /// The next record begins another chat.
    Begin,
}

/// When something happened: by the clock that measures, and by the one that people read.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// For how long something took.
    pub instant: Instant,
    /// For the records.
    pub time: Timestamp,
}

impl Now {
    /// Now.
    pub fn read() -> Self {
        Self {
            instant: Instant::now(),
            time: Timestamp::now(),
        }
    }
}

/// Follows a chat.
pub struct Recorder {
    /// The system prompt in force.
    system: Option<String>,
    /// The model that answers, by the name it is shown with.
    model: String,
    /// What the loaded models are called.
    models: Option<ModelRef>,
    asked: Option<Asked>,
    /// Whether the chat has messages; before, a system prompt stands in its header.
    begun: bool,
    stats: Stats,
}

/// A message whose answer has not ended.
struct Asked {
    user: String,
    pasted: Vec<Range<usize>>,
    answer: String,
    /// Bytes of the answer that are recorded, and since when.
    recorded: usize,
    since: Instant,
    strategies: Vec<&'static str>,
}

impl Recorder {
    /// Before the first message, with the target model as it was asked for.
    pub fn new(model: String, system: Option<String>) -> Self {
        Self {
            system,
            model,
            models: None,
            asked: None,
            begun: false,
            stats: Stats::default(),
        }
    }

    /// Another chat goes on, with this system prompt: nothing has been said in it yet.
    pub fn open(&mut self, system: Option<String>) {
        self.system = system;
        self.asked = None;
        self.begun = false;
    }

    /// The system prompt in force.
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// What the models are called that answer now; `None` before any is loaded.
    pub fn models(&self) -> Option<&ModelRef> {
        self.models.as_ref()
    }

    /// A front end sends this to the engine.
    pub fn sent(&mut self, command: &Command, now: Now) -> Option<Step> {
        match command {
            Command::Send { text, pasted, .. } => {
                self.begun = true;
                self.stats.begin_answer();
                self.asked = Some(Asked {
                    user: text.clone(),
                    pasted: pasted.clone(),
                    answer: String::new(),
                    recorded: 0,
                    since: now.instant,
                    strategies: Vec::new(),
                });
                Some(Step::Write(Record::Asked {
                    time: now.time,
                    text: text.clone(),
                    pasted: pasted.clone(),
                }))
            }
            Command::Reset => {
                self.asked = None;
                self.begun = false;
                Some(Step::Begin)
            }
            Command::SetSystem(system) => self.instructed(system.as_deref()),
            Command::Set(options) => self.instructed(options.system.as_deref()),
            Command::Restore { .. } => {
                self.asked = None;
                self.begun = true;
                None
            }
            Command::Rewind { all, .. } => Some(Step::Write(Record::Rewound { turns: *all })),
            Command::SetStrategy(_) | Command::MakeRoom { .. } | Command::Load { .. } => None,
        }
    }

    fn instructed(&mut self, system: Option<&str>) -> Option<Step> {
        if self.system.as_deref() == system {
            return None;
        }
        self.system = system.map(str::to_owned);
        let text = self.system.clone();
        self.begun.then_some(Step::Write(Record::System { text }))
    }

    /// The engine says this.
    pub fn heard(&mut self, event: &Event, now: Now) -> Option<Step> {
        match event {
            Event::Ready(ready) => {
                if self.model != ready.target {
                    // What was measured on other models means nothing here.
                    self.stats = Stats::default();
                }
                self.model.clone_from(&ready.target);
                self.models = Some(ready.models.clone());
                None
            }
            Event::Baseline(baseline) => {
                self.stats.set_baseline(*baseline);
                None
            }
            Event::Round(round) => {
                self.stats.push(round);
                let asked = self.asked.as_mut()?;
                asked.answer += &round.text();
                if !asked.strategies.contains(&round.strategy) {
                    asked.strategies.push(round.strategy);
                }
                let due = now.instant >= asked.since + PARTIAL_PERIOD;
                if due { self.rest(now.instant) } else { None }
            }
            // Whoever was asked to make room and need not says so too.
            Event::Dropped { turns } => {
                (*turns > 0).then_some(Step::Write(Record::Dropped { turns: *turns }))
            }
            Event::Finished(finished) => {
                let asked = self.asked.take()?;
                Some(Step::Write(self.ended(asked, finished, now.time)))
            }
            Event::Failed(failure) => {
                self.asked.take()?;
                Some(Step::Write(Record::Failed {
                    message: failure.message.clone(),
                }))
            }
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::NotLoaded(_)
            | Event::Options(_)
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Prefill { .. } => None,
        }
    }

    /// What of the answer is not recorded yet.
    pub fn rest(&mut self, now: Instant) -> Option<Step> {
        let asked = self.asked.as_mut()?;
        let text = asked.answer[asked.recorded..].to_owned();
        let model = (asked.recorded == 0).then(|| self.model.clone());
        asked.recorded = asked.answer.len();
        asked.since = now;
        (!text.is_empty()).then_some(Step::Write(Record::Partial { text, model }))
    }

    fn ended(&self, asked: Asked, finished: &Finished, time: Timestamp) -> Record {
        if finished.answer_tokens == 0 {
            // The engine has forgotten the message.
            return Record::Failed {
                message: "stopped before the answer began".to_owned(),
            };
        }
        let totals = self.stats.answer();
        let strategies = asked.strategies.iter().map(|&name| name.to_owned());
        Record::Turn(Box::new(Turn {
            time,
            user: asked.user,
            pasted: asked.pasted,
            answer: asked.answer + &finished.rest,
            reason: Reason::from(finished.reason),
            model: self.model.clone(),
            seed: finished.sampling.map(|sampling| sampling.seed),
            stats: record::Stats {
                prompt_tokens: finished.prompt_tokens,
                answer_tokens: finished.answer_tokens,
                strategies: strategies.collect(),
                passes: totals.passes,
                drafted: totals.drafted,
                accepted: totals.accepted,
                prefill_us: finished.prefill_time.as_micros() as u64,
                decode_us: totals.wall().as_micros() as u64,
                tokens_per_pass: totals.tokens_per_pass(),
                tokens_per_second: self.stats.decode().tokens_per_second(),
                speed_up: self.stats.decode().speed_up(),
            },
        }))
    }
}
