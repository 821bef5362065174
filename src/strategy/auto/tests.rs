//! `auto` in the simulator: against every fixed strategy, over many answers of each kind.

mod cases;
mod forget;
mod report;

use std::sync::Arc;

use super::simulator::{Fixed, Machine, Outcome, Stretch, Text, World};
use super::*;

/// A kind of answer on a kind of machine.
struct Kind<'a> {
    machine: Machine,
    prompt: usize,
    stretches: &'a [Stretch],
    /// Whether the draft model has read the prompt.
    warm: bool,
}

/// How `auto` did on many answers of a kind.
struct Summary {
    /// Times as fast as plain decoding, for each answer, ascending.
    speed_ups: Vec<f64>,
    /// All answers' time with each fixed strategy against `auto`'s.
    against: Vec<(Fixed, f64)>,
}

impl Kind<'_> {
    fn world(&self, seed: u64) -> World {
        let text = Text::new(self.prompt, self.stretches, seed);
        World::new(&self.machine, &Arc::new(text))
    }

    fn auto(&self, seed: u64, budget: f64) -> Outcome {
        let world = self.world(seed);
        world.run(&mut world.auto(self.warm, budget))
    }

    fn fixed(&self, seed: u64, fixed: Fixed) -> Outcome {
        fixed.run(&self.world(seed), self.warm)
    }

    fn summary(&self, seeds: u64, budget: f64) -> Summary {
        let autos: Vec<_> = (0..seeds).map(|seed| self.auto(seed, budget).ms).collect();
        let plain = |seed| self.fixed(seed, Fixed::Plain).ms;
        let mut speed_ups: Vec<_> = (0..)
            .zip(&autos)
            .map(|(seed, ms)| plain(seed) / ms)
            .collect();
        speed_ups.sort_by(f64::total_cmp);
        let whole: f64 = autos.iter().sum();
        let against = Fixed::ALL.into_iter().map(|fixed| {
            let ms: f64 = (0..seeds).map(|seed| self.fixed(seed, fixed).ms).sum();
            (fixed, ms / whole)
        });
        Summary {
            speed_ups,
            against: against.collect(),
        }
    }
}

impl Summary {
    /// The speed-up that 99 of 100 answers reach.
    fn low(&self) -> f64 {
        self.speed_ups[self.speed_ups.len() / 100]
    }

    fn median(&self) -> f64 {
        self.speed_ups[self.speed_ups.len() / 2]
    }

    /// The fixed strategy that is best over all answers, and how many times as fast as it `auto` is.
    fn best(&self) -> (Fixed, f64) {
        let best = self.against.iter().min_by(|(_, a), (_, b)| a.total_cmp(b));
        *best.expect("some fixed strategies")
    }
}

/// Rounds of an outcome that drafted, and the tokens they drafted on average.
fn drafted(outcome: &Outcome) -> (usize, f64) {
    let lengths = outcome.rounds.iter().map(|round| round.drafted);
    let (rounds, tokens) = lengths
        .filter(|&length| length > 0)
        .fold((0, 0), |(rounds, tokens), length| {
            (rounds + 1, tokens + length)
        });
    (rounds, tokens as f64 / rounds.max(1) as f64)
}
