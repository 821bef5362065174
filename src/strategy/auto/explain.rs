//! What was chosen and why, for people.

use std::collections::BTreeMap;

use super::Choice;
use super::choose::{BETTER, Because, DraftedBy, MAX_DRAFT};
use super::cost::Costs;
use super::ledger::Ledger;
use crate::engine::protocol::{Alternative, Explanation};
use crate::measure;

/// Explains `choice`; `acceptance` is the draft model's lately, if there is one.
pub(super) fn explain(
    choice: &Choice,
    acceptance: Option<f64>,
    costs: &Costs,
    ledger: &Ledger,
) -> Explanation {
    let alternatives = choice.offers.iter().filter_map(|offer| {
        let best = offer.best(costs, f64::INFINITY)?;
        Some(Alternative {
            drafter: offer.drafter.name(),
            length: best.length,
            expected: best.rate,
            acceptance: *offer.chances.first()?,
        })
    });
    let drafter = choice.plan.drafter.filter(|_| choice.drafted > 0);
    Explanation {
        reason: reason(choice, acceptance, costs),
        drafter: drafter.map_or("plain", DraftedBy::name),
        length: choice.drafted,
        expected: drafter.map_or(1.0, |_| choice.plan.rate),
        alternatives: alternatives.collect(),
        balance: ledger.balance(),
        affordable: ledger.affordable(),
        curve: (1..=MAX_DRAFT + 1)
            .map(|rows| costs.measured_pass(rows))
            .collect(),
        step: acceptance.map(|_| costs.step()),
        plain_ms: costs.plain_ms(),
    }
}

fn reason(choice: &Choice, acceptance: Option<f64>, costs: &Costs) -> String {
    let plan = &choice.plan;
    match (plan.drafter, plan.because) {
        (Some(DraftedBy::Model), _) if choice.drafted == 0 => {
            "plain: the draft model is not sure enough here".to_owned()
        }
        (Some(drafter), _) => {
            let (name, rate) = (drafter.name(), plan.rate);
            format!("{name} {}: {rate:.1}x expected", choice.drafted)
        }
        (None, Because::Anchor) => "plain: to time a plain pass".to_owned(),
        (None, Because::FirstToken) => "plain: the first token waits for nothing".to_owned(),
        (None, Because::NotAffordable(drafter)) => {
            let name = drafter.name();
            let left = choice.affordable.max(0.0);
            format!("plain: a wrong {name} would cost more than the {left:.1} passes to spare")
        }
        (None, Because::Best) => match (acceptance, needed(costs)) {
            (None, _) => "plain: nothing to draft from".to_owned(),
            (Some(has), None) => format!("plain: draft cannot pay here, has {has:.2}"),
            (Some(has), Some(needs)) if has > needs => match model_rate(choice, costs) {
                Some(rate) if rate >= BETTER => {
                    format!("plain: draft {rate:.2}x expected, if it lasts")
                }
                Some(rate) => format!("plain: draft only {rate:.2}x expected"),
                None => "plain: no room for a draft".to_owned(),
            },
            (Some(has), Some(needs)) => {
                format!("plain: draft needs a > {needs:.2}, has {has:.2}")
            }
        },
    }
}

/// What the draft model is expected to bring at its best length.
fn model_rate(choice: &Choice, costs: &Costs) -> Option<f64> {
    let mut offers = choice.offers.iter();
    let offer = offers.find(|offer| offer.drafter == DraftedBy::Model)?;
    Some(offer.best(costs, f64::INFINITY)?.rate)
}

/// The acceptance above which drafting with the model pays at some length.
fn needed(costs: &Costs) -> Option<f64> {
    let curve: BTreeMap<_, _> = (1..=MAX_DRAFT + 1).map(|n| (n, costs.pass(n))).collect();
    let lengths = [1, 2, 4, 8, MAX_DRAFT].into_iter();
    lengths
        .filter_map(|length| measure::break_even(&curve, costs.step(), length))
        .min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::super::choose::{Offer, Plan};
    use super::super::cost::Calibration;
    use super::super::ledger::BUDGET;
    use super::*;

    #[test]
    fn the_reason_says_what_would_have_to_be_otherwise() {
        let check = |drafter, because, acceptance, chance, expect: &str| {
            let costs = Costs::calibrated(&Calibration {
                target_ms: [(1, 10.0), (2, 10.0), (32, 40.0)].into(),
                draft_ms: [(1, 4.0)].into(),
            });
            let chances = vec![chance; 4];
            let choice = Choice {
                plan: Plan {
                    drafter,
                    length: 3,
                    rate: 1.77,
                    because,
                },
                offers: vec![Offer {
                    drafter: DraftedBy::Model,
                    chances,
                    step: 0.4,
                    catch_up: 0.0,
                    horizon: 1.0,
                }],
                drafted: 3,
                affordable: 0.84,
            };
            let explanation = explain(&choice, acceptance, &costs, &Ledger::new(BUDGET));
            assert_eq!(explanation.reason, expect);
            assert_eq!(explanation.alternatives.len(), 1);
            assert_eq!(explanation.curve.len(), 17);
        };
        let lookup = Some(DraftedBy::Lookup);
        let not_affordable = Because::NotAffordable(DraftedBy::Model);
        check(lookup, Because::Best, None, 0.5, "lookup 3: 1.8x expected");
        check(
            None,
            Because::Best,
            None,
            0.5,
            "plain: nothing to draft from",
        );
        check(
            None,
            Because::Best,
            Some(0.6),
            0.5,
            "plain: draft 1.07x expected, if it lasts",
        );
        check(
            None,
            Because::Best,
            Some(0.6),
            0.42,
            "plain: draft only 1.01x expected",
        );
        check(
            None,
            Because::Best,
            Some(0.31),
            0.5,
            "plain: draft needs a > 0.40, has 0.31",
        );
        check(
            None,
            not_affordable,
            Some(0.9),
            0.5,
            "plain: a wrong draft would cost more than the 0.8 passes to spare",
        );
        check(
            None,
            Because::Anchor,
            None,
            0.5,
            "plain: to time a plain pass",
        );
    }
}
