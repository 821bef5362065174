//! What `/stats` tells: the numbers of this answer and of all answers, in words.
//!
//! All of them are from [`crate::stats`]; what was not measured is `—`. **One clock for every speed**, the
//! decode clock, so that a row never contradicts another or the panel.

use std::time::Duration;

use crate::stats::{Stats, Tally, Totals};

/// Stands for what was not measured.
const UNKNOWN: &str = "—";
/// What the speeds leave out.
const CLOCK: &str = "Speeds leave out each answer's first pass: in it the draft reads the prompt.";

/// The report, in lines.
pub(super) fn report(stats: &Stats) -> String {
    let session = stats.session();
    if session.all.all.passes == 0 {
        return "No passes yet: the numbers come with the first answer.".to_owned();
    }
    let mut lines = Vec::new();
    let answer = stats.tally();
    if answer.all.passes > 0 {
        lines.push(format!("this answer: {}", counts(&answer.all)));
        lines.extend(details(answer));
    }
    lines.push(format!("all answers: {}", counts(&session.all.all)));
    lines.extend(details(&session.all));
    for (strategy, tally) in &session.by_strategy {
        lines.push(format!("{strategy}: {}", counts(&tally.all)));
        lines.push(format!("  {}", speed(&tally.decode)));
    }
    lines.push(CLOCK.to_owned());
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

fn speed(decode: &Totals) -> String {
    let speed_up = decode.speed_up().map(|factor| format!("{factor:.2}x"));
    format!(
        "{} tok/s, speed-up {}",
        number(decode.tokens_per_second(), 1),
        speed_up.unwrap_or(UNKNOWN.to_owned())
    )
}

fn details(Tally { all, decode }: &Tally) -> [String; 2] {
    let accepted = all.acceptance().map(|share| share * 100.0);
    [
        format!(
            "  {}; {} % of {} verified accepted",
            speed(decode),
            number(accepted, 0),
            all.verified
        ),
        format!(
            "  draft {}, verify {}, other {}",
            time(all.draft_time),
            time(all.verify_time),
            time(all.other_time)
        ),
    ]
}

/// A count with its noun.
pub fn plural(n: usize, one: &str, many: &str) -> String {
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
        // The draft reads the prompt.
        stats.push(&round("draft", 3, 970));
        for _ in 0..9 {
            stats.push(&round("draft", 3, 10));
        }
        assert_eq!(
            report(&stats),
            format!(
                "this answer: 40 tokens in 10 passes, 4.00 per pass\n  \
                 100.0 tok/s, speed-up 3.00x; 75 % of 40 verified accepted\n  \
                 draft 1.1 s, verify 300 ms, other 0 ms\n\
                 all answers: 41 tokens in 11 passes, 3.73 per pass\n  \
                 100.0 tok/s, speed-up 3.00x; 75 % of 40 verified accepted\n  \
                 draft 1.1 s, verify 330 ms, other 0 ms\n\
                 plain: 1 token in 1 pass, 1.00 per pass\n  \
                 — tok/s, speed-up —\n\
                 draft: 40 tokens in 10 passes, 4.00 per pass\n  \
                 100.0 tok/s, speed-up 3.00x\n\
                 {CLOCK}"
            )
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
