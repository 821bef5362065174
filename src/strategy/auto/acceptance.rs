//! How likely the next drafted token is accepted, by what is known before it is verified.
//!
//! Every drafter has one question that sorts its guesses: prompt lookup, how long its match is and where
//! it lies; the draft model, how often in a row it was right, and its own probability; the recycling table,
//! how often in a row it saw the same. After each accepted token the match or the run is one longer, so
//! the chances of a whole draft follow from the bins of its first token and those after it.

/// Outcomes after which an old one counts half.
const HALF_LIFE: f64 = 40.0;
/// Outcomes of other kinds after which an old one counts half: what the text was like before is no guide.
const FADE: f64 = 200.0;
/// Outcomes that a prior counts for.
const PRIOR_WEIGHT: f64 = 3.0;
/// The same for all guesses of a draft model: some bad luck at first is not what it is worth.
const ALL_WEIGHT: f64 = 10.0;

/// A discounted share of hits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bin {
    hits: f64,
    total: f64,
    prior: f64,
}

impl Bin {
    /// A bin that says `prior` until it has seen more.
    pub const fn new(prior: f64) -> Self {
        Self {
            hits: 0.0,
            total: 0.0,
            prior,
        }
    }

    /// Takes an outcome.
    pub fn record(&mut self, hit: bool) {
        self.keep(0.5f64.powf(1.0 / HALF_LIFE));
        self.hits += f64::from(u8::from(hit));
        self.total += 1.0;
    }

    fn keep(&mut self, share: f64) {
        self.hits *= share;
        self.total *= share;
    }

    /// The chance of a hit, above 0 and below 1.
    pub fn rate(&self) -> f64 {
        self.rate_from(self.prior)
    }

    /// The same if `prior` is what to think of it before anything was seen.
    fn rate_from(&self, prior: f64) -> f64 {
        self.weighed(prior, PRIOR_WEIGHT)
    }

    fn weighed(&self, prior: f64, weight: f64) -> f64 {
        (self.hits + prior * weight) / (self.total + weight)
    }
}

/// The classes 0, 1, 2, 3, 4-5, 6-8 and 9 or more of a length.
const LENGTHS: usize = 7;

fn length_class(length: usize) -> usize {
    match length {
        0..=3 => length,
        4..=5 => 4,
        6..=8 => 5,
        9.. => 6,
    }
}

/// Takes an outcome into one of the bins; the others fade.
fn record<const N: usize>(bins: &mut [Bin; N], class: usize, hit: bool) {
    let share = 0.5f64.powf(1.0 / FADE);
    for bin in bins.iter_mut() {
        bin.keep(share);
    }
    bins[class].record(hit);
}

/// Chances by a length that grows with every hit: of a match or of repeats.
#[derive(Clone, Debug)]
pub(super) struct Growing([Bin; LENGTHS]);

impl Growing {
    /// For a match of a text with itself.
    pub fn matches() -> Self {
        Self([0.0, 0.2, 0.4, 0.5, 0.65, 0.75, 0.85].map(Bin::new))
    }

    /// For a continuation that was the same this often in a row.
    pub fn repeats() -> Self {
        Self([0.0, 0.15, 0.35, 0.5, 0.6, 0.7, 0.75].map(Bin::new))
    }

    /// Takes the outcome of a guess at `length`.
    pub fn record(&mut self, length: usize, hit: bool) {
        record(&mut self.0, length_class(length), hit);
    }

    /// The chance of a guess at `length`.
    pub fn rate(&self, length: usize) -> f64 {
        self.0[length_class(length)].rate()
    }
}

/// Chances of a draft model's guesses by how many in a row were right.
#[derive(Clone, Debug)]
pub(super) struct ByRun {
    all: Bin,
    runs: [Bin; LENGTHS],
}

/// The share of what all guesses lack that longer runs of right ones are expected to have.
const RUN_BONUS: [f64; LENGTHS] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4];

impl ByRun {
    /// Before anything was seen.
    pub fn new() -> Self {
        const ALL: Bin = Bin::new(0.55);
        Self {
            all: ALL,
            runs: [ALL; LENGTHS],
        }
    }

    /// Takes the outcome of a guess after `run` right ones.
    pub fn record(&mut self, run: usize, hit: bool) {
        self.all.record(hit);
        record(&mut self.runs, length_class(run), hit);
    }

    /// The chance of a guess after `run` right ones: where such runs are not known, by all
    /// guesses.
    pub fn rate(&self, run: usize) -> f64 {
        let class = length_class(run);
        let all = self.overall();
        self.runs[class].rate_from(all + (1.0 - all) * RUN_BONUS[class])
    }

    /// The chance of any guess.
    pub fn overall(&self) -> f64 {
        self.all.weighed(self.all.prior, ALL_WEIGHT)
    }
}

/// Upper bounds of the classes of a draft model's probability of its own guess, and what it is worth
/// before anything was seen: small models are about right about themselves.
const CONFIDENCES: [(f32, f64); 8] = [
    (0.2, 0.15),
    (0.35, 0.3),
    (0.5, 0.45),
    (0.65, 0.6),
    (0.8, 0.72),
    (0.9, 0.83),
    (0.97, 0.91),
    (f32::INFINITY, 0.97),
];

/// Chances by a draft model's probability of its own guess.
#[derive(Clone, Debug)]
pub(super) struct ByConfidence([Bin; CONFIDENCES.len()]);

impl ByConfidence {
    /// Before anything was seen.
    pub fn new() -> Self {
        Self(CONFIDENCES.map(|(_, prior)| Bin::new(prior)))
    }

    fn class(confidence: f32) -> usize {
        let found = CONFIDENCES
            .iter()
            .position(|&(below, _)| confidence < below);
        found.unwrap_or(CONFIDENCES.len() - 1)
    }

    /// Takes the outcome of a guess.
    pub fn record(&mut self, confidence: f32, hit: bool) {
        record(&mut self.0, Self::class(confidence), hit);
    }

    /// The chance of a guess.
    pub fn rate(&self, confidence: f32) -> f64 {
        self.0[Self::class(confidence)].rate()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bin_starts_at_its_prior_and_forgets_it() {
        let check = |outcomes: &[(bool, usize)], low: f64, high: f64| {
            let mut bin = Bin::new(0.5);
            for &(hit, times) in outcomes {
                (0..times).for_each(|_| bin.record(hit));
            }
            let rate = bin.rate();
            assert!((low..=high).contains(&rate), "{outcomes:?}: {rate}");
        };
        check(&[], 0.5, 0.5);
        check(&[(true, 1)], 0.6, 0.65);
        check(&[(true, 200)], 0.97, 0.99);
        check(&[(false, 200)], 0.01, 0.03);
        // After one half-life half of what is known is new.
        check(&[(false, 400), (true, 40)], 0.45, 0.55);
        check(&[(true, 400), (false, 200)], 0.0, 0.06);
    }

    #[test]
    fn lengths_fall_into_their_classes() {
        let check = |length, expect| assert_eq!(length_class(length), expect, "{length}");
        for (length, class) in [
            (0, 0),
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 4),
            (5, 4),
            (6, 5),
            (8, 5),
            (9, 6),
        ] {
            check(length, class);
        }
        check(usize::MAX, 6);
    }

    #[test]
    fn longer_matches_and_surer_guesses_are_worth_more_before_anything_was_seen() {
        for bins in [Growing::matches(), Growing::repeats()] {
            let rates: Vec<_> = (0..12).map(|length| bins.rate(length)).collect();
            assert!(rates.is_sorted(), "{rates:?}");
        }
        let bins = ByConfidence::new();
        let rates: Vec<_> = (0..=20).map(|i| bins.rate(i as f32 / 20.0)).collect();
        assert!(rates.is_sorted(), "{rates:?}");
        assert!(bins.rate(f32::NAN).is_finite());
    }

    #[test]
    fn an_outcome_counts_for_its_class_alone_and_others_fade() {
        let mut bins = Growing::matches();
        let prior = bins.rate(3);
        (0..50).for_each(|_| bins.record(3, true));
        let high = bins.rate(3);
        (0..50).for_each(|_| bins.record(5, false));
        assert!(bins.rate(4) < 0.1);
        assert!(high > 0.9 && (0.85..high).contains(&bins.rate(3)));
        (0..4000).for_each(|_| bins.record(5, false));
        assert!((bins.rate(3) - prior).abs() < 0.05);
    }

    #[test]
    fn runs_that_were_not_seen_are_a_little_better_than_all_guesses() {
        let mut chances = ByRun::new();
        (0..100).for_each(|i| chances.record(0, i % 5 == 0));
        assert!((chances.overall()..chances.overall() + 0.3).contains(&chances.rate(7)));
        assert!((0.1..0.35).contains(&chances.overall()));
        (0..100).for_each(|_| chances.record(9, true));
        assert!(chances.rate(20) > 0.9 && chances.rate(0) < 0.5);
    }
}
