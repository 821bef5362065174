//! Rounds → rates: the one definition of every number on the panel, in the JSON and in the reports.
//!
//! - tokens per pass = emitted tokens / target passes, over all rounds, also those without a draft;
//! - acceptance = accepted / drafted tokens that were verified;
//! - the decode clock starts when the first round of an answer has landed, so reading the prompt is not in it: all
//!   speeds go by it;
//! - speed-up = emitted tokens × plain time per token / wall time, where each round counts with the
//!   baseline that was valid when it landed: while an answer is written over the rolling window, in its
//!   summary over the answer, both without what the decode clock leaves out; never over fewer than
//!   [`MIN_VERDICT_PASSES`] or less than nine tenths of the passes in question, never where nothing was drafted (that is plain decoding beside itself), and
//!   never more than the tokens per pass, which only an outdated baseline could give.
//!
//! A rate without data is `None`, never 0 and never NaN.

use std::collections::VecDeque;
use std::time::Duration;

use crate::engine::protocol::{Baseline, Round};

/// Rounds that the rolling window holds at most.
pub const WINDOW_ROUNDS: usize = 64;
/// Wall time that the rolling window holds at most, unless that is fewer than [`MIN_VERDICT_PASSES`].
pub const WINDOW_TIME: Duration = Duration::from_secs(10);
/// Passes that a speed-up is over at least. One pass emits between one token and a whole draft and one
/// more: over fewer passes the rate tells of a phrase, not of the strategy.
pub const MIN_VERDICT_PASSES: usize = 8;

/// The share of the passes that a speed-up must be over. One over the last few of an answer, because plain decoding was
/// timed late, tells of its end alone.
const MOSTLY: f64 = 0.9;
/// How far a speed-up may lie above the tokens per pass: noise of the two timings.
const NOISE: f64 = 1.05;

/// Counts and times, summed over rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Target passes (rounds).
    pub passes: usize,
    /// Tokens emitted.
    pub emitted: usize,
    /// Tokens drafted.
    pub drafted: usize,
    /// Drafted tokens that were verified.
    pub verified: usize,
    /// Drafted tokens that were accepted.
    pub accepted: usize,
    /// By position in the draft: how often it was verified, how often accepted.
    pub by_position: Vec<Position>,
    /// By who drafted: passes for which `auto` chose. `plain` stands for those without a draft.
    pub by_drafter: Vec<(&'static str, usize)>,
    /// Wall time of drafting.
    pub draft_time: Duration,
    /// Wall time of the target's passes.
    pub verify_time: Duration,
    /// Wall time of the rest of the rounds.
    pub other_time: Duration,
    judged: Judged,
}

/// The rounds that landed when there was a baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Judged {
    passes: usize,
    emitted: usize,
    drafted: usize,
    wall: Duration,
    /// What plain decoding would have taken.
    plain: Duration,
}

/// What became of the drafted tokens at one position of the draft.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Times a token stood here and was verified.
    pub verified: usize,
    /// Times it was accepted.
    pub accepted: usize,
}

impl Position {
    /// Accepted / verified.
    pub fn acceptance(self) -> Option<f64> {
        ratio(self.accepted, self.verified)
    }
}

impl Totals {
    /// Adds a round, which landed when `baseline` was valid.
    pub fn add(&mut self, round: &Round, baseline: Option<Baseline>) {
        if let Some(baseline) = baseline {
            self.judged.passes += 1;
            self.judged.emitted += round.n_emitted;
            self.judged.drafted += round.n_drafted;
            self.judged.wall += round.wall();
            self.judged.plain += baseline.per_token * round.n_emitted as u32;
        }
        if let Some(chosen) = &round.explanation {
            self.count_drafter(chosen.drafter);
        }
        self.passes += 1;
        self.emitted += round.n_emitted;
        self.drafted += round.n_drafted;
        self.verified += round.n_verified;
        self.accepted += round.n_accepted;
        self.draft_time += round.draft_time;
        self.verify_time += round.verify_time;
        self.other_time += round.other_time;
        if self.by_position.len() < round.n_verified {
            self.by_position
                .resize(round.n_verified, Position::default());
        }
        for (i, position) in self.by_position[..round.n_verified].iter_mut().enumerate() {
            position.verified += 1;
            position.accepted += usize::from(i < round.n_accepted);
        }
    }

    fn count_drafter(&mut self, drafter: &'static str) {
        let known = self
            .by_drafter
            .iter_mut()
            .find(|(name, _)| *name == drafter);
        match known {
            Some((_, passes)) => *passes += 1,
            None => self.by_drafter.push((drafter, 1)),
        }
    }

    /// The share of the passes for which `auto` chose in which it let `drafter` draft, 0 to 1.
    pub fn drafter_share(&self, drafter: &str) -> Option<f64> {
        let all = self.by_drafter.iter().map(|(_, passes)| passes).sum();
        let known = self.by_drafter.iter().find(|(name, _)| *name == drafter);
        ratio(known.map_or(0, |(_, passes)| *passes), all)
    }

    /// Who drafted for `auto`, by falling share: `62 % draft, 31 % lookup, 7 % plain`.
    pub fn drafters(&self) -> Option<String> {
        let mut by_drafter = self.by_drafter.clone();
        by_drafter.sort_by_key(|(_, passes)| std::cmp::Reverse(*passes));
        let shares = by_drafter.iter().filter_map(|(name, _)| {
            let share = self.drafter_share(name)?;
            Some(format!("{:.0} % {name}", share * 100.0))
        });
        let shares: Vec<String> = shares.collect();
        (!shares.is_empty()).then(|| shares.join(", "))
    }

    /// Wall time of the rounds.
    pub fn wall(&self) -> Duration {
        self.draft_time + self.verify_time + self.other_time
    }

    /// Emitted tokens per target pass.
    pub fn tokens_per_pass(&self) -> Option<f64> {
        ratio(self.emitted, self.passes)
    }

    /// Accepted / verified.
    pub fn acceptance(&self) -> Option<f64> {
        ratio(self.accepted, self.verified)
    }

    /// Emitted tokens per second of wall time.
    pub fn tokens_per_second(&self) -> Option<f64> {
        let seconds = self.wall().as_secs_f64();
        (seconds > 0.0).then(|| self.emitted as f64 / seconds)
    }

    /// How many times faster than plain decoding the rounds were that landed when there was a baseline;
    /// `None` where nothing was drafted in them, or where they are not most of all rounds.
    pub fn speed_up(&self) -> Option<f64> {
        let Judged {
            passes,
            emitted,
            drafted,
            wall,
            plain,
        } = self.judged;
        let few = passes < MIN_VERDICT_PASSES || (passes as f64) < MOSTLY * self.passes as f64;
        if few || drafted == 0 || plain.is_zero() || wall.is_zero() {
            return None;
        }
        let factor = plain.as_secs_f64() / wall.as_secs_f64();
        (factor <= NOISE * emitted as f64 / passes as f64).then_some(factor)
    }

    /// Milliseconds of drafting per pass.
    pub fn draft_ms(&self) -> Option<f64> {
        self.ms_per_pass(self.draft_time)
    }

    /// Milliseconds of verifying per pass.
    pub fn verify_ms(&self) -> Option<f64> {
        self.ms_per_pass(self.verify_time)
    }

    /// Milliseconds of everything else per pass.
    pub fn other_ms(&self) -> Option<f64> {
        self.ms_per_pass(self.other_time)
    }

    /// The share of the wall time that `part` (one of the three times) takes, 0 to 1.
    pub fn share(&self, part: Duration) -> Option<f64> {
        let wall = self.wall().as_secs_f64();
        (wall > 0.0).then(|| part.as_secs_f64() / wall)
    }

    fn ms_per_pass(&self, time: Duration) -> Option<f64> {
        (self.passes > 0).then(|| time.as_secs_f64() * 1e3 / self.passes as f64)
    }
}

fn ratio(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Rounds, and those of them that the decode clock has timed: **counts are of `all`, rates of `decode`**.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All rounds.
    pub all: Totals,
    /// All but the first of each answer.
    pub decode: Totals,
}

impl Tally {
    /// Adds a round, which is the `first` of its answer or not, and landed when `baseline` was valid.
    fn add(&mut self, round: &Round, first: bool, baseline: Option<Baseline>) {
        self.all.add(round, baseline);
        if !first {
            self.decode.add(round, baseline);
        }
    }
}

/// The numbers of all answers.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// All rounds.
    pub all: Tally,
    /// The rounds by the strategy that drafted, in order of appearance.
    pub by_strategy: Vec<(&'static str, Tally)>,
}

impl Session {
    fn add(&mut self, round: &Round, first: bool, baseline: Option<Baseline>) {
        self.all.add(round, first, baseline);
        let known = self
            .by_strategy
            .iter_mut()
            .find(|(name, _)| *name == round.strategy);
        if let Some((_, tally)) = known {
            tally.add(round, first, baseline);
        } else {
            let mut tally = Tally::default();
            tally.add(round, first, baseline);
            self.by_strategy.push((round.strategy, tally));
        }
    }
}

/// The numbers of the answer that is being written (or was last) and of the rolling window.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    answer: Tally,
    session: Session,
    /// Rounds, whether each was the first of its answer, and the baselines that were valid when they landed.
    window: VecDeque<(Round, bool, Option<Baseline>)>,
    baseline: Option<Baseline>,
}

impl Stats {
    /// Starts an answer. The rolling window and the baseline stay.
    pub fn begin_answer(&mut self) {
        self.answer = Tally::default();
    }

    /// Adds a round of the current answer.
    pub fn push(&mut self, round: &Round) {
        let first = self.answer.all.passes == 0;
        self.answer.add(round, first, self.baseline);
        self.session.add(round, first, self.baseline);
        let round = Round {
            pieces: Vec::new(),
            ..round.clone()
        };
        self.window.push_back((round, first, self.baseline));
        let wall = |window: &VecDeque<(Round, _, _)>| -> Duration {
            window.iter().map(|(round, _, _)| round.wall()).sum()
        };
        while self.window.len() > WINDOW_ROUNDS
            || self.window.len() > MIN_VERDICT_PASSES && wall(&self.window) > WINDOW_TIME
        {
            self.window.pop_front();
        }
    }

    /// Forgets the rolling window: it described another strategy.
    pub fn clear_window(&mut self) {
        self.window.clear();
    }

    /// Takes a newly measured baseline.
    pub fn set_baseline(&mut self, baseline: Baseline) {
        self.baseline = Some(baseline);
    }

    /// Forgets the baseline: it was measured on other models.
    pub fn forget_baseline(&mut self) {
        self.baseline = None;
    }

    /// The cost of plain decoding, if it was measured.
    pub fn baseline(&self) -> Option<Baseline> {
        self.baseline
    }

    /// All rounds of the answer.
    pub fn answer(&self) -> &Totals {
        &self.answer.all
    }

    /// The rounds of the answer, with those that the decode clock has timed.
    pub fn tally(&self) -> &Tally {
        &self.answer
    }

    /// The rounds of all answers.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The rounds of the answer after its first: those that the decode clock has timed.
    pub fn decode(&self) -> &Totals {
        &self.answer.decode
    }

    /// The last [`WINDOW_ROUNDS`] rounds or [`WINDOW_TIME`], whichever is less, but at least
    /// [`MIN_VERDICT_PASSES`] if there are as many.
    pub fn rolling(&self) -> Totals {
        self.rolling_tally().all
    }

    /// Speed-up over the rolling window.
    pub fn speed_up(&self) -> Option<f64> {
        self.rolling_tally().decode.speed_up()
    }

    fn rolling_tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (round, first, baseline) in &self.window {
            tally.add(round, *first, *baseline);
        }
        tally
    }

    /// Tokens emitted by the latest passes, oldest first: the sparkline.
    pub fn recent_emitted(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.window.iter().map(|(round, _, _)| round.n_emitted)
    }
}

#[cfg(test)]
mod tests;
