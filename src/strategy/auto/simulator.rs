//! A machine, an answer and a draft model in numbers, on which the real strategies run by a virtual clock.
//!
//! The machine says what passes cost, the text says what the target writes and what the draft model would
//! guess at each of its tokens. Both are functions of a seed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::guess::{Guess, Guesser, SCORED_ROWS};
use super::*;
use crate::strategy::{Lookup, LookupRule, common_prefix};

/// A token that no text holds.
const WRONG: Token = 9_999_999;
/// Milliseconds of a plain pass of all simulated machines.
pub const PLAIN_MS: f64 = 50.0;

/// Numbers that look random (splitmix64; Steele et al. 2014).
pub struct Random(pub u64);

impl Random {
    /// The next number from 0 to below 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next number from 0 to below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }
}

/// What passes cost, in plain passes.
#[derive(Clone)]
pub struct Machine {
    /// Of the target: by rows, and by tokens of the answer so far.
    pub pass: fn(usize, usize) -> f64,
    /// Of the draft model over one row.
    pub step: f64,
    /// By how much everything is slower at this millisecond of the answer, and in this pass of the target.
    pub load: fn(f64, Option<usize>) -> f64,
    /// How far a pass strays from its cost, at most.
    pub noise: f64,
}

impl Machine {
    /// A machine with nothing else to do, whose passes take by rows what `pass` says.
    pub fn quiet(pass: fn(usize, usize) -> f64, step: f64) -> Self {
        Self {
            pass,
            step,
            load: |_, _| 1.0,
            noise: 0.03,
        }
    }

    /// What measuring it gives.
    pub fn calibration(&self) -> Calibration {
        let rows = crate::measure::ROWS.iter();
        let target_ms = rows.map(|&n| (n, PLAIN_MS * (self.pass)(n, 0)));
        Calibration {
            target_ms: target_ms.collect(),
            draft_ms: [(1, PLAIN_MS * self.step)].into(),
        }
    }
}

/// An answer: what the target writes, and what the draft model would guess.
#[derive(Clone, Default)]
pub struct Text {
    /// The prompt and the answer.
    pub tokens: Vec<Token>,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// The draft model's guess at each token of the answer.
    pub guesses: Vec<Guess>,
}

/// A stretch of an answer.
#[derive(Clone, Copy)]
pub struct Stretch {
    pub length: usize,
    /// The chance that the draft model guesses a token right.
    pub draft: f64,
    /// The chance that the answer begins to copy an earlier place, and how many tokens it then copies on
    /// average.
    pub copy: (f64, f64),
    /// The share of other tokens that are common words.
    pub common: f64,
}

impl Text {
    /// A prompt of `prompt` tokens, then an answer in `stretches`.
    pub fn new(prompt: usize, stretches: &[Stretch], seed: u64) -> Self {
        let mut random = Random(seed);
        let mut text = Self {
            prompt,
            ..Self::default()
        };
        while text.tokens.len() < prompt {
            let token = text.word(0.3, &mut random);
            text.tokens.push(token);
        }
        for stretch in stretches {
            text.write(stretch, &mut random);
        }
        text
    }

    fn word(&self, common: f64, random: &mut Random) -> Token {
        if random.next() < common {
            (random.next().powi(2) * 60.0) as Token
        } else {
            1000 + self.tokens.len() as Token
        }
    }

    fn write(&mut self, stretch: &Stretch, random: &mut Random) {
        let mut copied: Option<usize> = None;
        for _ in 0..stretch.length {
            copied = match copied {
                Some(from) if random.next() < 1.0 - 1.0 / stretch.copy.1 => Some(from + 1),
                Some(_) | None => {
                    let starts = random.next() < stretch.copy.0;
                    starts.then(|| random.below(self.prompt.max(1)))
                }
            };
            let token = match copied {
                Some(from) => self.tokens[from],
                None => self.word(stretch.common, random),
            };
            self.tokens.push(token);
            let hit = random.next() < stretch.draft;
            let doubt = random.next();
            self.guesses.push(Guess {
                token: if hit { token } else { WRONG },
                confidence: if hit {
                    1.0 - 0.6 * doubt * doubt
                } else {
                    0.1 + 0.75 * doubt
                } as f32,
            });
        }
    }

    /// What the draft model guesses after `before`.
    fn guess(&self, before: &[Token]) -> Guess {
        let position = before.len();
        let on_track = before == &self.tokens[..position.min(self.tokens.len())];
        match position.checked_sub(self.prompt) {
            Some(i) if on_track && i < self.guesses.len() => self.guesses[i],
            Some(_) | None => Guess {
                token: WRONG,
                confidence: Random(position as u64).next() as f32,
            },
        }
    }
}

/// Time that has gone by, and passes that were made.
#[derive(Default)]
struct Clock {
    ms: f64,
    passes: usize,
}

/// A machine that writes a text.
#[derive(Clone)]
pub struct World {
    pub machine: Machine,
    pub text: Arc<Text>,
    clock: Arc<Mutex<Clock>>,
}

impl World {
    /// At time 0.
    pub fn new(machine: &Machine, text: &Arc<Text>) -> Self {
        Self {
            machine: machine.clone(),
            text: Arc::clone(text),
            clock: Arc::default(),
        }
    }

    /// Lets `passes` plain passes' worth of time go by, in a pass of the target or not.
    fn spend(&self, passes: f64, target: bool) {
        let clock = &mut *self.clock.lock().unwrap();
        let stray = Random(clock.passes as u64 ^ clock.ms.to_bits()).next() * 2.0 - 1.0;
        let pass = target.then_some(clock.passes);
        let load = (self.machine.load)(clock.ms, pass);
        clock.passes += usize::from(target);
        clock.ms += PLAIN_MS * passes * load * (1.0 + self.machine.noise * stray);
    }

    fn now(&self) -> f64 {
        self.clock.lock().unwrap().ms
    }

    /// The draft model of this world; `warm` if it has read the prompt.
    pub fn guesser(&self, warm: bool) -> Scripted {
        let read = if warm { self.text.prompt - 1 } else { 0 };
        Scripted {
            world: self.clone(),
            cached: self.text.tokens[..read].to_vec(),
        }
    }

    /// `auto` in this world, with `budget` in its ledger.
    pub fn auto(&self, warm: bool, budget: f64) -> Auto {
        let guesser = Box::new(self.guesser(warm));
        let costs = Costs::calibrated(&self.machine.calibration());
        Auto::with(Some(guesser), costs, Ledger::new(budget), vec![])
    }

    /// Runs a strategy to the end of the answer.
    pub fn run(&self, strategy: &mut dyn Strategy) -> Outcome {
        let text = &self.text.tokens;
        let mut len = self.text.prompt;
        let mut outcome = Outcome::default();
        strategy.begin(&text[..len]);
        while len < text.len() {
            let started = self.now();
            let limit = text.len() - len - 1;
            let drafted = strategy.draft(&text[..len], limit, &Cancel::new()).unwrap();
            assert!(drafted.len() <= limit);
            let verifying = self.now();
            let rows = drafted.len() + 1;
            self.spend((self.machine.pass)(rows, len - self.text.prompt), true);
            let ended = self.now();
            let n_emitted = common_prefix(&drafted, &text[len..]) + 1;
            len += n_emitted;
            let time = |ms: f64| Duration::from_secs_f64(ms / 1e3);
            strategy.accept(&Feedback {
                committed: &text[..len],
                n_emitted,
                n_drafted: drafted.len(),
                draft_time: time(verifying - started),
                verify_time: time(ended - verifying),
                other_time: Duration::ZERO,
                idle: Duration::ZERO,
            });
            outcome.rounds.push(Round {
                at: started,
                emitted: n_emitted,
                drafted: drafted.len(),
                explanation: strategy.explanation(),
            });
        }
        outcome.ms = self.now();
        outcome
    }
}

/// What became of an answer.
#[derive(Default)]
pub struct Outcome {
    pub ms: f64,
    pub rounds: Vec<Round>,
}

/// One round of it.
pub struct Round {
    /// Milliseconds since the answer began.
    pub at: f64,
    pub emitted: usize,
    pub drafted: usize,
    pub explanation: Option<Explanation>,
}

impl Outcome {
    /// Tokens of the answer.
    pub fn tokens(&self) -> usize {
        self.rounds.iter().map(|round| round.emitted).sum()
    }

    /// Tokens per pass.
    pub fn tokens_per_pass(&self) -> f64 {
        self.tokens() as f64 / self.rounds.len() as f64
    }
}

/// The draft model of a world.
pub struct Scripted {
    world: World,
    cached: Vec<Token>,
}

impl Guesser for Scripted {
    fn capacity(&self) -> usize {
        1 << 20
    }

    fn lag(&self, committed: &[Token]) -> usize {
        committed.len() - common_prefix(&self.cached, &committed[..committed.len() - 1])
    }

    fn forget(&mut self) {
        self.cached.clear();
    }

    fn guess(
        &mut self,
        committed: &[Token],
        length: usize,
        _: &Cancel,
        goes_on: &mut dyn FnMut(&[Guess]) -> bool,
    ) -> Result<(), PassError> {
        let lag = self.lag(committed);
        let machine = &self.world.machine;
        let answered = committed.len() - self.world.text.prompt;
        self.world
            .spend(machine.step * (machine.pass)(lag, answered), false);
        self.cached = committed.to_vec();
        let first = committed.len() + 1 - lag.min(SCORED_ROWS);
        let read = (first..=committed.len()).map(|end| &committed[..end]);
        let mut guesses: Vec<_> = read.map(|before| self.world.text.guess(before)).collect();
        for made in 1.. {
            if !goes_on(&guesses) || made == length {
                break;
            }
            self.cached.push(guesses[guesses.len() - 1].token);
            self.world.spend(self.world.machine.step, false);
            guesses = vec![self.world.text.guess(&self.cached)];
        }
        Ok(())
    }
}

/// Always drafts the same number of tokens with the draft model.
pub struct FixedDraft {
    pub guesser: Scripted,
    pub length: usize,
}

impl Strategy for FixedDraft {
    fn name(&self) -> &'static str {
        "draft"
    }

    fn begin(&mut self, _: &[Token]) {}

    fn draft(
        &mut self,
        committed: &[Token],
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Vec<Token>, PassError> {
        let mut drafted = Vec::new();
        let length = self.length.min(limit);
        if length > 0 {
            self.guesser
                .guess(committed, length, cancel, &mut |guesses| {
                    drafted.extend(guesses.last().map(|guess| guess.token));
                    true
                })?;
        }
        Ok(drafted)
    }
}

/// A strategy that does the same always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fixed {
    Plain,
    Draft(usize),
    Lookup(LookupRule),
}

impl Fixed {
    /// Those that `auto` is compared with.
    pub const ALL: [Self; 12] = [
        Self::Plain,
        Self::Draft(1),
        Self::Draft(2),
        Self::Draft(3),
        Self::Draft(4),
        Self::Draft(6),
        Self::Draft(8),
        Self::Draft(12),
        Self::Draft(16),
        Self::Draft(20),
        Self::Lookup(LookupRule::Longest),
        Self::Lookup(LookupRule::TRANSFORMERS),
    ];

    /// Runs it in a world at time 0.
    pub fn run(self, world: &World, warm: bool) -> Outcome {
        let guesser = world.guesser(warm);
        match self {
            Self::Plain => world.run(&mut crate::strategy::Plain),
            Self::Draft(length) => world.run(&mut FixedDraft { guesser, length }),
            Self::Lookup(rule) => world.run(&mut Lookup::new("lookup", rule, vec![])),
        }
    }
}
