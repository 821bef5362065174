//! One line of statistics: after an answer, and after the session.

use crate::engine::protocol::Baseline;
use crate::stats::Totals;

/// The line for `totals`; `None` when nothing was decoded. Rates that were not measured are left out.
pub fn line(totals: &Totals, baseline: Option<Baseline>) -> Option<String> {
    (totals.passes > 0).then(|| {
        let tokens = match totals.emitted {
            1 => "1 token".to_owned(),
            n => format!("{n} tokens"),
        };
        let measured = [
            totals
                .tokens_per_second()
                .map(|rate| format!("{rate:.1} tok/s")),
            totals
                .tokens_per_pass()
                .map(|rate| format!("{rate:.2} per pass")),
            totals
                .acceptance()
                .map(|share| format!("{:.0} % of drafts accepted", share * 100.0)),
            totals
                .speed_up(baseline)
                .map(|factor| format!("{factor:.2}x plain decoding")),
        ];
        let parts = std::iter::once(tokens).chain(measured.into_iter().flatten());
        parts.collect::<Vec<_>>().join(" · ")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_what_was_measured_is_told() {
        let mut totals = Totals::default();
        assert_eq!(line(&totals, None), None);
        totals.passes = 10;
        totals.emitted = 25;
        totals.verify_time = Duration::from_secs(2);
        assert_eq!(
            line(&totals, None).unwrap(),
            "25 tokens · 12.5 tok/s · 2.50 per pass"
        );
        totals.verified = 20;
        totals.accepted = 15;
        let baseline = Baseline {
            per_token: Duration::from_millis(100),
            context: 0,
        };
        let all = "25 tokens · 12.5 tok/s · 2.50 per pass · 75 % of drafts accepted · 1.25x plain decoding";
        assert_eq!(line(&totals, Some(baseline)).unwrap(), all);
    }
}
