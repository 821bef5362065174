//! What passes cost: the target's curve over rows and the draft model's step, in plain passes.
//!
//! In come a calibration and the measured times of rounds, out come costs where one plain pass over one
//! row is 1. Heat, other programs and a longer context slow all passes alike: that is one scale, which
//! follows fast. The ratios between passes belong to the machine and follow slowly.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::guess::SCORED_ROWS;
use crate::measure;

/// Rows of the longest pass that has a ratio of its own; beyond, the curve goes on straight.
const ROWS: usize = 32;
/// How far one sample moves the scale.
const SCALE_GAIN: f64 = 0.2;
/// How far one sample moves a ratio that was calibrated.
const RATIO_GAIN: f64 = 0.05;
/// The most that one sample counts for: a pass that was interrupted tells nothing of the next.
const CLAMP: f64 = 0.25;
/// The same where nothing was calibrated and a sample is all there is.
const GUESS_CLAMP: f64 = 1.0;
/// Samples after which a ratio is no longer a guess.
const KNOWN: f64 = 3.0;
/// Passes over several rows in a row after which the scale rests on their ratios alone.
const UNANCHORED: usize = 8;
/// How far a plain pass after those moves the split between scale and ratios.
const ANCHOR_GAIN: f64 = 0.3;
/// The most that the time of reading many tokens counts for beside what was expected.
const READING_CLAMP: f64 = 0.5;
/// How far it moves what is expected.
const READING_GAIN: f64 = 0.3;
/// Ratio by which a row more is expected to cost where nothing was calibrated.
const GUESSED_SLOPE: f64 = 0.1;
/// Draft step against a plain pass where nothing was calibrated.
const GUESSED_STEP: f64 = 0.2;

/// Passes that were timed on this machine, as [`crate::measure::pass_costs`] gives them: the same models,
/// device, threads and build make it valid again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Milliseconds of a pass of the target by rows.
    pub target_ms: BTreeMap<usize, f64>,
    /// Milliseconds of a pass of the draft model by rows; empty where there is none.
    pub draft_ms: BTreeMap<usize, f64>,
}

impl From<&measure::Costs> for Calibration {
    fn from(costs: &measure::Costs) -> Self {
        let draft = costs.draft.as_ref();
        Self {
            target_ms: costs.target.verify_ms.clone(),
            draft_ms: draft.map_or_else(|_| BTreeMap::new(), |draft| draft.pass_ms.clone()),
        }
    }
}

/// What passes cost against a pass over one row.
#[derive(Clone, Debug)]
struct Curve {
    ratios: [f64; ROWS],
    /// Samples of each, counted up to where they no longer matter; none where it is a guess.
    weight: [f64; ROWS],
}

impl Curve {
    fn guess() -> Self {
        Self {
            ratios: std::array::from_fn(|i| 1.0 + GUESSED_SLOPE * i as f64),
            weight: [0.0; ROWS],
        }
    }

    /// The curve through measured points, straight between them; a guess without one for a single row.
    fn measured(ms: &BTreeMap<usize, f64>) -> Self {
        let points: Vec<(f64, f64)> = ms
            .iter()
            .filter(|&(&rows, &ms)| rows > 0 && ms.is_finite() && ms > 0.0)
            .map(|(&rows, &ms)| (rows as f64, ms))
            .collect();
        let (Some(&(first, plain)), true) = (points.first(), points.len() > 1) else {
            return Self::guess();
        };
        if first > 1.0 {
            return Self::guess();
        }
        let at = |rows: f64| {
            let next = points.iter().position(|&(x, _)| x >= rows);
            let right = next.unwrap_or(points.len() - 1).max(1);
            let ((x0, y0), (x1, y1)) = (points[right - 1], points[right]);
            (y0 + (y1 - y0) * (rows - x0) / (x1 - x0)).max(plain)
        };
        Self {
            ratios: std::array::from_fn(|i| at((i + 1) as f64) / plain),
            weight: [1.0 / RATIO_GAIN; ROWS],
        }
    }

    /// The ratio of a pass over `rows`, at least 1.
    fn ratio(&self, rows: usize) -> f64 {
        if rows <= ROWS {
            return self.ratios[rows.max(1) - 1];
        }
        let slope = (self.ratios[ROWS - 1] - self.ratios[ROWS / 2 - 1]) / (ROWS / 2) as f64;
        self.ratios[ROWS - 1] + slope.max(0.0) * (rows - ROWS) as f64
    }

    /// Whether the ratio of `rows` rests on measurement.
    fn is_known(&self, rows: usize) -> bool {
        rows == 1
            || self
                .weight
                .get(rows - 1)
                .is_none_or(|&weight| weight >= KNOWN)
    }

    /// Moves the ratio of `rows` by `error`, its relative error; where it was a guess, what is known of its
    /// excess over one row moves the other guesses too.
    fn learn(&mut self, rows: usize, error: f64) {
        if rows <= 1 || rows > ROWS {
            return;
        }
        let i = rows - 1;
        let gain = (1.0 / (self.weight[i] + 1.0)).max(RATIO_GAIN);
        let before = self.ratios[i];
        let after = (before * (1.0 + gain * error)).max(1.0);
        if self.weight[i] < KNOWN && before > 1.0 {
            let factor = (after - 1.0) / (before - 1.0);
            for (ratio, weight) in self.ratios.iter_mut().zip(&self.weight) {
                if *weight == 0.0 {
                    *ratio = 1.0 + (*ratio - 1.0) * factor;
                }
            }
        }
        self.ratios[i] = after;
        self.weight[i] += 1.0;
    }
}

/// The costs of this machine now.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    /// Milliseconds of a plain pass now; `None` before the first.
    plain_ms: Option<f64>,
    target: Curve,
    draft: Curve,
    /// A draft step against a plain pass.
    step: f64,
    step_weight: f64,
    /// What reading many tokens takes against what the draft model's curve says of it.
    reading: f64,
    /// Passes since the last plain one.
    since_plain: usize,
}

impl Costs {
    /// What is expected of a machine that nobody has measured.
    pub fn guess() -> Self {
        Self {
            plain_ms: None,
            target: Curve::guess(),
            draft: Curve::guess(),
            step: GUESSED_STEP,
            step_weight: 0.0,
            reading: 1.0,
            since_plain: 0,
        }
    }

    /// What was measured.
    pub fn calibrated(calibration: &Calibration) -> Self {
        let plain_ms = calibration.target_ms.get(&1).copied();
        let step_ms = calibration.draft_ms.get(&1).copied();
        let target = Curve::measured(&calibration.target_ms);
        let draft = if calibration.draft_ms.len() > 1 {
            Curve::measured(&calibration.draft_ms)
        } else {
            target.clone()
        };
        let measured = plain_ms.zip(step_ms).map(|(plain, step)| step / plain);
        let (step, step_weight) = match measured {
            Some(step) if step.is_finite() && step > 0.0 => (step, 1.0 / RATIO_GAIN),
            Some(_) | None => (GUESSED_STEP, 0.0),
        };
        Self {
            plain_ms: plain_ms.filter(|ms| ms.is_finite() && *ms > 0.0),
            target,
            draft,
            step,
            step_weight,
            reading: 1.0,
            since_plain: 0,
        }
    }

    /// Milliseconds of a plain pass now, once one was timed.
    pub fn plain_ms(&self) -> Option<f64> {
        self.plain_ms
    }

    /// A pass of the target over `rows`, in plain passes.
    pub fn pass(&self, rows: usize) -> f64 {
        self.target.ratio(rows)
    }

    /// The same, where it is no longer a guess.
    pub fn measured_pass(&self, rows: usize) -> Option<f64> {
        let measured = self.plain_ms.is_some() && self.target.is_known(rows);
        measured.then(|| self.pass(rows))
    }

    /// A step of the draft model, in plain passes.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// A pass of the draft model over `rows`, in plain passes.
    pub fn draft_pass(&self, rows: usize) -> f64 {
        let reading = if rows > SCORED_ROWS {
            self.reading
        } else {
            1.0
        };
        self.step * self.draft.ratio(rows) * reading
    }

    /// Passes of the target since the last plain one.
    pub fn since_plain(&self) -> usize {
        self.since_plain
    }

    /// Takes the time of a pass of the target over `rows`.
    pub fn observe_pass(&mut self, rows: usize, ms: f64) {
        let rested = self.since_plain >= UNANCHORED;
        self.since_plain = if rows == 1 { 0 } else { self.since_plain + 1 };
        if !ms.is_finite() || ms <= 0.0 {
            return;
        }
        let Some(plain_ms) = self.plain_ms else {
            self.plain_ms = Some(ms / self.pass(rows));
            return;
        };
        let whole = ms / (plain_ms * self.pass(rows)) - 1.0;
        let error = whole.clamp(-CLAMP, CLAMP);
        if rows == 1 && rested {
            self.anchor(error);
            return;
        }
        if !self.target.is_known(rows) {
            self.target.learn(rows, whole.clamp(-CLAMP, GUESS_CLAMP));
            return;
        }
        self.plain_ms = Some(plain_ms * (1.0 + SCALE_GAIN * error));
        // Beyond the clamp it is not the pass that has changed but the machine.
        if whole.abs() <= CLAMP {
            self.target.learn(rows, error);
        }
    }

    /// A plain pass at last: what passes over several rows cost is known by itself, so what does not fit is
    /// the split between scale and ratios.
    fn anchor(&mut self, error: f64) {
        let shift = 1.0 + ANCHOR_GAIN * error;
        self.plain_ms = self.plain_ms.map(|ms| ms * shift);
        for ratio in &mut self.target.ratios[1..] {
            *ratio = (*ratio / shift).max(1.0);
        }
        self.step /= shift;
    }

    /// Takes the time of passes of the draft model of which the first read many tokens, as
    /// [`Self::observe_draft`] does, and says what they cost in plain passes.
    ///
    /// It is one sample for each answer, and may come from a machine that was busy just then: it counts as far
    /// as it is within half of what was expected, or one bad moment would forbid drafting for an answer.
    pub fn observe_reading(&mut self, passes: &[usize], ms: f64, rows: usize, pass_ms: f64) -> f64 {
        let expected: f64 = passes.iter().map(|&rows| self.draft_pass(rows)).sum();
        let measured = ms / pass_ms * self.pass(rows) / expected - 1.0;
        if !measured.is_finite() {
            return expected;
        }
        let error = measured.clamp(-READING_CLAMP, READING_CLAMP);
        self.reading *= 1.0 + READING_GAIN * error;
        expected * (1.0 + error)
    }

    /// Takes the time of the draft model's passes over each of `passes` rows, against the `pass_ms` of the
    /// target over `rows` in the same round: whatever slows the machine slows both.
    pub fn observe_draft(&mut self, passes: &[usize], ms: f64, rows: usize, pass_ms: f64) {
        let units: f64 = passes.iter().map(|&rows| self.draft_pass(rows)).sum();
        let measured = ms / pass_ms * self.pass(rows);
        if units <= 0.0 || !measured.is_finite() || measured <= 0.0 {
            return;
        }
        let known = self.step_weight >= KNOWN;
        let most = if known { CLAMP } else { GUESS_CLAMP };
        let error = (measured / units - 1.0).clamp(-most.min(0.9), most);
        let gain = (1.0 / (self.step_weight + 1.0)).max(RATIO_GAIN);
        self.step *= 1.0 + gain * error;
        self.step_weight += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(target: &[(usize, f64)], step: f64) -> Calibration {
        Calibration {
            target_ms: target.iter().copied().collect(),
            draft_ms: BTreeMap::from([(1, step)]),
        }
    }

    fn near(got: f64, expect: f64, within: f64) {
        assert!((got - expect).abs() <= within, "{got} instead of {expect}");
    }

    #[test]
    fn costs_are_straight_between_measured_points_and_beyond() {
        let costs = Costs::calibrated(&calibration(&[(1, 10.0), (4, 13.0), (32, 69.0)], 1.0));
        let check = |rows, expect| near(costs.pass(rows), expect, 1e-9);
        check(1, 1.0);
        check(2, 1.1);
        check(4, 1.3);
        check(16, 3.7);
        check(32, 6.9);
        check(64, 13.3);
        near(costs.step(), 0.1, 1e-9);
        near(costs.draft_pass(4), 0.13, 1e-9);
    }

    #[test]
    fn a_calibration_that_says_nothing_is_a_guess() {
        for target in [
            &[][..],
            &[(4, 3.0)],
            &[(1, 0.0), (2, f64::NAN)],
            &[(1, 5.0)],
        ] {
            let costs = Costs::calibrated(&calibration(target, f64::NAN));
            near(costs.pass(6), 1.5, 1e-9);
            near(costs.step(), GUESSED_STEP, 1e-9);
        }
    }

    #[test]
    fn a_stall_moves_the_scale_by_a_twentieth_and_the_ratios_by_next_to_nothing() {
        let mut costs = Costs::calibrated(&calibration(&[(1, 10.0), (4, 14.0)], 1.0));
        costs.observe_pass(4, 14.0 * 50.0);
        near(costs.plain_ms().unwrap(), 10.5, 1e-9);
        near(costs.pass(4), 1.4, 0.02);
    }

    #[test]
    fn load_is_followed_by_the_scale() {
        let mut costs = Costs::calibrated(&calibration(&[(1, 10.0), (4, 14.0)], 1.0));
        for _ in 0..30 {
            costs.observe_pass(4, 28.0);
            costs.observe_draft(&[1, 1, 1], 6.0, 4, 28.0);
        }
        near(costs.plain_ms().unwrap(), 20.0, 3.0);
        near(costs.pass(4), 1.4, 0.1);
        near(costs.step(), 0.1, 0.015);
    }

    #[test]
    fn a_wrong_ratio_is_found_out_by_plain_passes_between() {
        let mut costs = Costs::calibrated(&calibration(&[(1, 10.0), (4, 14.0)], 1.0));
        for pass in 0..600 {
            let plain = pass % 16 == 0;
            costs.observe_pass(if plain { 1 } else { 4 }, if plain { 10.0 } else { 21.0 });
        }
        near(costs.pass(4), 2.1, 0.2);
        near(costs.plain_ms().unwrap(), 10.0, 1.0);
    }

    #[test]
    fn a_guessed_curve_learns_its_height_from_few_passes() {
        let mut costs = Costs::guess();
        costs.observe_pass(1, 10.0);
        for _ in 0..3 {
            costs.observe_pass(2, 34.0);
        }
        assert!(costs.pass(2) > 2.5 && costs.pass(8) > 5.0, "{costs:?}");
        near(costs.plain_ms().unwrap(), 10.0, 2.0);
    }

    #[test]
    fn the_time_of_reading_counts_within_half_of_what_was_expected_and_is_learnt() {
        let fresh = || Costs::calibrated(&calibration(&[(1, 10.0), (4, 13.0), (32, 69.0)], 1.0));
        let expected = fresh().draft_pass(100);
        let check = |slow: f64, load: f64, factor: f64| {
            let spent =
                fresh().observe_reading(&[100], 10.0 * expected * slow * load, 1, 10.0 * load);
            near(spent / expected, factor, 1e-9);
        };
        check(1.0, 1.0, 1.0);
        check(1.2, 1.0, 1.2);
        check(1.2, 5.0, 1.2);
        check(9.0, 1.0, 1.5);
        check(0.1, 1.0, 0.5);
        check(f64::NAN, 1.0, 1.0);
        let mut costs = fresh();
        for _ in 0..20 {
            costs.observe_reading(&[100], 30.0 * expected, 1, 10.0);
        }
        near(costs.draft_pass(100) / expected, 3.0, 0.1);
        near(costs.draft_pass(4), fresh().draft_pass(4), 1e-9);
    }

    #[test]
    fn times_that_are_none_change_nothing() {
        let mut costs = Costs::calibrated(&calibration(&[(1, 10.0), (4, 14.0)], 1.0));
        for ms in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            costs.observe_pass(4, ms);
            costs.observe_draft(&[1], ms, 4, 14.0);
            costs.observe_draft(&[1], 1.0, 4, ms);
        }
        near(costs.plain_ms().unwrap(), 10.0, 1e-9);
        near(costs.pass(4), 1.4, 1e-9);
        near(costs.step(), 0.1, 1e-9);
    }

    #[test]
    fn a_calibration_survives_the_disk() {
        let before = calibration(&[(1, 10.0), (4, 14.0)], 1.0);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Calibration>(&text).unwrap(), before);
    }
}
