//! How likely the next drafted token is accepted, by what is known before it is verified.
//!
//! Every drafter has one question that sorts its guesses: prompt lookup, how long its match is and where
//! it lies; the draft model, how often in a row it was right, and its own probability; the recycling table,
//! how often in a row it saw the same. After each accepted token the match or the run is one longer, so
//! the chances of a whole draft follow from the bins of its first token and those after it.

/// Outcomes after which an old one counts half.
const HALF_LIFE: f64 = 40.0;
/// Outcomes that a prior counts for.
const PRIOR_WEIGHT: f64 = 3.0;

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
        let keep = 0.5f64.powf(1.0 / HALF_LIFE);
        self.hits = self.hits * keep + f64::from(u8::from(hit));
        self.total = self.total * keep + 1.0;
    }

    /// The chance of a hit, above 0 and below 1.
    pub fn rate(&self) -> f64 {
        (self.hits + self.prior * PRIOR_WEIGHT) / (self.total + PRIOR_WEIGHT)
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

/// Chances by a length that grows with every hit: of a match or of a run of hits.
#[derive(Clone, Debug)]
pub(super) struct Growing([Bin; LENGTHS]);

impl Growing {
    /// For a match of a text with itself.
    pub fn matches() -> Self {
        Self([0.0, 0.2, 0.4, 0.5, 0.65, 0.75, 0.85].map(Bin::new))
    }

    /// For a run of a draft model's hits.
    pub fn runs() -> Self {
        Self([0.55, 0.6, 0.6, 0.65, 0.7, 0.75, 0.8].map(Bin::new))
    }

    /// For a continuation that was the same this often in a row.
    pub fn repeats() -> Self {
        Self([0.0, 0.15, 0.35, 0.5, 0.6, 0.7, 0.75].map(Bin::new))
    }

    /// Takes the outcome of a guess at `length`.
    pub fn record(&mut self, length: usize, hit: bool) {
        self.0[length_class(length)].record(hit);
    }

    /// The chance of a guess at `length`.
    pub fn rate(&self, length: usize) -> f64 {
        self.0[length_class(length)].rate()
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
        self.0[Self::class(confidence)].record(hit);
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
        for bins in [Growing::matches(), Growing::runs(), Growing::repeats()] {
            let rates: Vec<_> = (0..12).map(|length| bins.rate(length)).collect();
            assert!(rates.is_sorted(), "{rates:?}");
        }
        let bins = ByConfidence::new();
        let rates: Vec<_> = (0..=20).map(|i| bins.rate(i as f32 / 20.0)).collect();
        assert!(rates.is_sorted(), "{rates:?}");
        assert!(bins.rate(f32::NAN).is_finite());
    }

    #[test]
    fn an_outcome_counts_for_its_class_alone() {
        let mut bins = Growing::matches();
        let before = bins.rate(3);
        (0..50).for_each(|_| bins.record(5, false));
        assert!(bins.rate(4) < 0.1);
        assert!((bins.rate(3) - before).abs() < 1e-12);
    }
}
