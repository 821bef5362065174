//! What `/stats` tells: the numbers of this answer and of this session, in words.
//!
//! All of them are from [`crate::stats`]; what was not measured is `—`.

use std::time::Duration;

use crate::stats::{Stats, Totals};

/// Stands for what was not measured.
const UNKNOWN: &str = "—";

/// The report, in lines.
pub(super) fn report(stats: &Stats) -> String {
    let session = stats.session();
    if session.all.passes == 0 {
        return "No passes yet: the numbers come with the first answer.".to_owned();
    }
    let mut lines = Vec::new();
    let answer = stats.answer();
    if answer.passes > 0 {
        let speed = speed(stats.decode());
        lines.push(format!("this answer: {}, {speed}", counts(answer)));
        lines.push(format!("  {}", times(answer)));
    }
    lines.push(format!(
        "this session: {}, {}",
        counts(&session.all),
        speed(&session.all)
    ));
    lines.push(format!("  {}", times(&session.all)));
    for (strategy, totals) in &session.by_strategy {
        lines.push(format!(
            "  {strategy}: {}, {}",
            counts(totals),
            speed(totals)
        ));
    }
    lines.join("\n")
}

fn counts(totals: &Totals) -> String {
    format!(
        "{} in {}, {} per pass",
        plural(totals.emitted, "token", "tokens"),
        plural(totals.passes, "pass", "passes"),
        number(totals.tokens_per_pass(), 2)
    )
}

fn speed(totals: &Totals) -> String {
    format!(
        "{} tok/s, {}x plain",
        number(totals.tokens_per_second(), 1),
        number(totals.speed_up(), 2)
    )
}

fn times(totals: &Totals) -> String {
    let accepted = totals.acceptance().map(|share| share * 100.0);
    format!(
        "draft {}, verify {}, other {}; {} % of {} drafted accepted",
        time(totals.draft_time),
        time(totals.verify_time),
        time(totals.other_time),
        number(accepted, 0),
        totals.verified
    )
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or(UNKNOWN.to_owned(), |value| format!("{value:.decimals$}"))
}

fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds < 1.0 => format!("{:.0} ms", seconds * 1e3),
        seconds if seconds < 60.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::protocol::{Baseline, Round};

    fn round(strategy: &'static str, n_accepted: usize, draft_ms: u64) -> Round {
        Round {
            strategy,
            n_drafted: 4 * usize::from(draft_ms > 0),
            n_verified: 4 * usize::from(draft_ms > 0),
            n_accepted,
            n_emitted: n_accepted + 1,
            draft_time: Duration::from_millis(draft_ms),
            verify_time: Duration::from_millis(30),
            other_time: Duration::ZERO,
            pieces: Vec::new(),
            context_used: 0,
            note: None,
            explanation: None,
        }
    }

    #[test]
    fn nothing_is_told_before_something_was_measured() {
        assert!(report(&Stats::default()).starts_with("No passes yet"));
    }

    #[test]
    fn answer_session_and_strategies_are_told() {
        let mut stats = Stats::default();
        stats.push(&round("plain", 0, 0));
        stats.set_baseline(Baseline {
            per_token: Duration::from_millis(30),
            context: 0,
        });
        stats.begin_answer();
        for _ in 0..9 {
            stats.push(&round("draft", 3, 10));
        }
        assert_eq!(
            report(&stats),
            "this answer: 36 tokens in 9 passes, 4.00 per pass, 100.0 tok/s, 3.00x plain\n  \
             draft 90 ms, verify 270 ms, other 0 ms; 75 % of 36 drafted accepted\n\
             this session: 37 tokens in 10 passes, 3.70 per pass, 94.9 tok/s, 3.00x plain\n  \
             draft 90 ms, verify 300 ms, other 0 ms; 75 % of 36 drafted accepted\n  \
             plain: 1 token in 1 pass, 1.00 per pass, 33.3 tok/s, —x plain\n  \
             draft: 36 tokens in 9 passes, 4.00 per pass, 100.0 tok/s, 3.00x plain"
        );
    }

    #[test]
    fn times_are_short() {
        let check = |ms, expect: &str| assert_eq!(time(Duration::from_millis(ms)), expect);
        check(8, "8 ms");
        check(1_240, "1.2 s");
        check(90_000, "1.5 min");
    }
}
