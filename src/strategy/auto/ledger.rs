//! Never slower: a ledger of passes saved and spent, and the gate that it keeps.
//!
//! In come rounds in units of a plain pass, out comes whether the worst of a next step is affordable. With
//! S passes saved in N tokens, a step that may lose L is allowed if S - L >= -2 % of N + 1, or of
//! [`GRACE`] where that is more: **an answer loses at most 2 % of plain decoding's time, or two passes**.

/// The share of plain decoding's time that may be lost.
pub(super) const BUDGET: f64 = 0.02;
/// Tokens that the budget is for at least. By the 2 % alone a draft model could not be tried before an
/// answer is half over.
const GRACE: usize = 100;

/// What an answer has won against plain decoding.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    budget: f64,
    saved: f64,
    emitted: usize,
}

impl Ledger {
    /// An empty ledger that lets `budget` of plain decoding's time be lost.
    pub fn new(budget: f64) -> Self {
        Self {
            budget,
            saved: 0.0,
            emitted: 0,
        }
    }

    /// Starts an answer. What the last one won is its own; what it lost beyond its tokens' budget stays
    /// owed, so that many short answers together lose no more than a long one.
    pub fn begin_answer(&mut self) {
        let owed = self.saved + self.budget * self.emitted as f64;
        self.saved = owed.min(0.0);
        self.emitted = 0;
    }

    /// Plain passes that may be lost now.
    pub fn affordable(&self) -> f64 {
        self.saved + self.budget * (self.emitted + 1).max(GRACE) as f64
    }

    /// The share of an answer's budget that is lost, from 0 to 1.
    pub fn strain(&self) -> f64 {
        let whole = self.budget * (self.emitted + 1).max(GRACE) as f64;
        if whole.is_finite() {
            (-self.saved / whole).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// Whether losing `loss` plain passes is affordable.
    pub fn allows(&self, loss: f64) -> bool {
        loss <= self.affordable()
    }

    /// Enters a round that emitted `emitted` tokens for what `spent` plain passes cost.
    pub fn settle(&mut self, emitted: usize, spent: f64) {
        self.saved += emitted as f64 - spent;
        self.emitted += emitted;
    }

    /// Plain passes won (or, below 0, lost) in this answer.
    pub fn balance(&self) -> f64 {
        self.saved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_lost_is_two_percent_and_what_was_won() {
        let check = |rounds: &[(usize, f64)], expect: f64| {
            let mut ledger = Ledger::new(BUDGET);
            for &(emitted, spent) in rounds {
                ledger.settle(emitted, spent);
            }
            assert!((ledger.affordable() - expect).abs() < 1e-9, "{ledger:?}");
            assert!(ledger.allows(expect - 1e-6) && !ledger.allows(expect + 1e-6));
        };
        check(&[], 2.0);
        check(&[(1, 2.0)], 1.0);
        check(&[(3, 1.0)], 4.0);
        check(&[(99, 99.0)], 2.0);
        check(&[(199, 200.5)], 2.5);
    }

    #[test]
    fn the_strain_is_the_share_of_the_budget_that_is_lost() {
        let check = |budget: f64, emitted: usize, spent: f64, expect: f64| {
            let mut ledger = Ledger::new(budget);
            ledger.settle(emitted, spent);
            assert!((ledger.strain() - expect).abs() < 1e-9, "{ledger:?}");
        };
        check(BUDGET, 0, 0.0, 0.0);
        check(BUDGET, 5, 1.0, 0.0);
        check(BUDGET, 5, 6.0, 0.5);
        check(BUDGET, 5, 17.0, 1.0);
        check(BUDGET, 199, 201.0, 0.5);
        check(f64::INFINITY, 5, 6.0, 0.0);
    }

    #[test]
    fn an_answer_inherits_debts_and_no_riches() {
        let check = |emitted: usize, spent: f64, expect: f64| {
            let mut ledger = Ledger::new(BUDGET);
            ledger.settle(emitted, spent);
            ledger.begin_answer();
            assert!((ledger.balance() - expect).abs() < 1e-9, "{ledger:?}");
            assert!(
                (ledger.affordable() - 2.0 - expect).abs() < 1e-9,
                "{ledger:?}"
            );
        };
        check(50, 20.0, 0.0);
        check(50, 51.0, 0.0);
        check(50, 51.2, -0.2);
    }
}
