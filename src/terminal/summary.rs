//! One line of statistics: after an answer, and after the session. One on sampling: before them.

use crate::app::report::plural;
use crate::app::wrap::text_width;
use crate::engine::protocol::SamplingInfo;
use crate::stats::Tally;

/// The line that says how answers are sampled, and how to have them again.
pub fn sampling(info: SamplingInfo) -> String {
    let SamplingInfo { temperature, seed } = info;
    format!("temperature {temperature} · seed {seed} (--seed {seed} gives the same answers again)")
}

/// A line of more columns is broken.
const WIDEST: usize = 80;

/// The line for `tally`; `None` when nothing was decoded. Rates that were not measured are left out. Where
/// it would be too wide, the shares of `auto` are a line of their own.
pub fn line(Tally { all, decode }: &Tally) -> Option<String> {
    (all.passes > 0).then(|| {
        let tokens = plural(all.emitted, "token", "tokens");
        let measured = [
            decode
                .tokens_per_second()
                .map(|rate| format!("{rate:.1} tok/s")),
            all.tokens_per_pass()
                .map(|rate| format!("{rate:.2} per pass")),
            all.acceptance()
                .map(|share| format!("{:.0} % accepted", share * 100.0)),
            decode
                .speed_up()
                .map(|factor| format!("{factor:.2}x plain")),
        ];
        let parts = std::iter::once(tokens).chain(measured.into_iter().flatten());
        let line = parts.collect::<Vec<_>>().join(" · ");
        match all.drafters().map(|shares| format!("auto: {shares}")) {
            Some(auto) if text_width(&line) + 3 + text_width(&auto) > WIDEST => {
                format!("{line}\n{auto}")
            }
            Some(auto) => format!("{line} · {auto}"),
            None => line,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::protocol::{Baseline, Round};
    use crate::stats::{MIN_VERDICT_PASSES, Stats};

    #[test]
    fn only_what_was_measured_is_told() {
        let round = Round {
            strategy: "draft",
            n_drafted: 2,
            n_verified: 2,
            n_accepted: 1,
            n_emitted: 2,
            draft_time: Duration::ZERO,
            verify_time: Duration::from_millis(160),
            other_time: Duration::ZERO,
            pieces: Vec::new(),
            context_used: 0,
            note: None,
            explanation: None,
        };
        let mut stats = Stats::default();
        let check = |stats: &Stats, expect: Option<&str>| {
            assert_eq!(line(stats.tally()).as_deref(), expect);
        };
        check(&stats, None);
        stats.push(&round);
        check(&stats, Some("2 tokens · 2.00 per pass · 50 % accepted"));
        stats.push(&round);
        check(
            &stats,
            Some("4 tokens · 12.5 tok/s · 2.00 per pass · 50 % accepted"),
        );
        stats.set_baseline(Baseline {
            per_token: Duration::from_millis(100),
            context: 0,
        });
        for _ in 0..=MIN_VERDICT_PASSES {
            stats.push(&round);
        }
        assert!(line(stats.tally()).unwrap().ends_with(" · 1.25x plain"));
    }
}
