//! `speck measure`: what passes cost on this machine, and what speculation is worth by that.

use std::fmt::Write as _;

use anyhow::Result;
use serde::Serialize;

use super::settings;
use crate::cancel::Cancel;
use crate::clean::clean;
use crate::cli::MeasureArgs;
use crate::measure::{self, Costs, DraftCosts, TargetCosts};
use crate::model::load::{self, load, load_shape};
use crate::model::pair::{LoadSettings, Pair};
use crate::model::shape;
use crate::strategy::{Calibration, Choices, Forecast, choices};
use crate::terminal::progress::Progress;
use crate::terminal::{Exit, cancel_on_interrupt, stdout};

/// Chances of a token to be accepted for which it is told what `auto` would choose.
const ACCEPTANCES: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95];

/// What was measured, and what `auto` would do by it. As JSON it is what `--json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    costs: Costs,
    auto: Vec<Choices>,
}

impl Report {
    fn new(costs: Costs) -> Self {
        let calibration = Calibration::from(&costs);
        let auto = ACCEPTANCES.map(|acceptance| choices(&calibration, acceptance));
        Self {
            costs,
            auto: auto.into(),
        }
    }
}

/// Runs the command.
pub fn run(args: &MeasureArgs) -> Result<Exit> {
    let cancel = cancel_on_interrupt()?;
    let mut shown = Progress::default();
    let costs = measure(args, &cancel, &mut shown);
    shown.clear();
    let report = Report::new(costs?);
    let out = if args.json {
        serde_json::to_string(&report)? + "\n"
    } else {
        text(&report)
    };
    stdout::write(&out)?;
    Ok(Exit::Done)
}

fn measure(args: &MeasureArgs, cancel: &Cancel, shown: &mut Progress) -> Result<Costs> {
    let mut pair = load_pair(args, cancel, shown)?;
    shown.clear();
    for note in &pair.notes {
        eprintln!("speck: {}", clean(note));
    }
    Costs::of(&mut pair, cancel, &mut |what, done, total| {
        shown.count(what, done, total);
    })
}

fn load_pair(args: &MeasureArgs, cancel: &Cancel, shown: &mut Progress) -> Result<Pair> {
    let mut progress = |progress: load::Progress| shown.show(&progress.into());
    let device = settings::device(args.device)?;
    let n_threads = settings::threads(args.threads)?;
    if let Some(name) = &args.shape {
        let shape = shape::find(name).expect("the command line takes no other name");
        let context = measure::CONTEXT;
        return load_shape(shape, context, device, n_threads, cancel, &mut progress);
    }
    let settings = LoadSettings {
        target: settings::target(args.target.as_deref())?,
        draft: settings::draft(args.draft.as_deref())?,
        context: measure::CONTEXT,
        device,
        n_threads,
        offline: args.offline,
    };
    Ok(load(&settings, cancel, &mut progress)?.pair)
}

/// The report for people.
fn text(report: &Report) -> String {
    let mut out = String::new();
    let _ = write(&report.costs, &mut out);
    let _ = write_choices(&report.auto, &mut out);
    out
}

fn write(costs: &Costs, out: &mut String) -> std::fmt::Result {
    let TargetCosts {
        name,
        bytes,
        verify_ms,
        prefill_tok_s,
    } = &costs.target;
    write!(out, "{} on {}", clean(name), costs.device)?;
    if let Some(threads) = costs.threads {
        write!(out, ", {threads} threads")?;
    }
    if let Some(isa) = costs.isa {
        write!(out, ", {isa}")?;
    }
    let one = verify_ms[&1];
    writeln!(out, "\n")?;
    if *bytes > 0 {
        let speed = *bytes as f64 / 1e6 / one;
        write!(
            out,
            "a pass reads {:.1} MB of weights: {speed:.1} GB/s",
            *bytes as f64 / 1e6
        )?;
        match costs.bandwidth_gb_s {
            Some(limit) => writeln!(
                out,
                ", {:.0} % of this machine's {limit:.1}",
                100.0 * speed / limit
            )?,
            None => writeln!(out)?,
        }
    }
    writeln!(
        out,
        "a prompt is read at {prefill_tok_s:.0} tokens a second"
    )?;
    if let Some(memory) = costs.memory {
        writeln!(
            out,
            "memory: {:.0} MB with {} and a context of {} tokens",
            memory as f64 / 1e6,
            if costs.draft.is_ok() {
                "both models"
            } else {
                "the model"
            },
            measure::CONTEXT
        )?;
    }

    writeln!(
        out,
        "\ntokens checked in a pass     ms   passes of one token  tokens/s if all are right"
    )?;
    for (rows, ms) in verify_ms {
        writeln!(
            out,
            "{rows:>24} {ms:>6.1} {:>21.2} {:>26.0}",
            ms / one,
            *rows as f64 * 1000.0 / ms
        )?;
    }

    match &costs.draft {
        Ok(DraftCosts { name, step_ms, .. }) => writeln!(
            out,
            "\n{} drafts a token in {step_ms:.2} ms, {:.2} passes of the target",
            clean(name),
            step_ms / one
        )?,
        Err(why) => writeln!(
            out,
            "\nno draft model: {}\nwhat follows is for drafts that cost nothing, as those of lookup",
            clean(why)
        )?,
    }
    writeln!(
        out,
        "\ndraft length   pays if this share of drafted tokens is accepted"
    )?;
    for (length, share) in &costs.break_even {
        match share {
            Some(share) => writeln!(out, "{length:>12}   {:.0} %", share * 100.0)?,
            None => writeln!(out, "{length:>12}   never")?,
        }
    }
    Ok(())
}

fn write_choices(auto: &[Choices], out: &mut String) -> std::fmt::Result {
    let word = |choice: Forecast| match choice.length {
        0 => "plain".to_owned(),
        length => format!("{length} drafted, {:.2}x", choice.speedup),
    };
    writeln!(
        out,
        "\nwhat auto would choose by these costs, and how much faster that is\n\
         share accepted   drafts that cost nothing        draft model"
    )?;
    for choices in auto {
        writeln!(
            out,
            "{:>12.0} %   {:>24} {:>18}",
            choices.acceptance * 100.0,
            word(choices.free),
            choices.draft.map_or_else(|| "—".to_owned(), word)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_report_says_what_was_measured() {
        let report = Report::new(Costs {
            device: "cpu",
            threads: Some(2),
            isa: Some("scalar"),
            target: TargetCosts {
                name: "a \u{1b}[31mmodel".to_owned(),
                bytes: 80_000_000,
                verify_ms: BTreeMap::from([(1, 8.0), (2, 10.0), (17, 40.0)]),
                prefill_tok_s: 500.0,
            },
            draft: Ok(DraftCosts {
                name: "drafter".to_owned(),
                step_ms: 2.0,
                pass_ms: BTreeMap::from([(1, 2.0)]),
            }),
            bandwidth_gb_s: Some(20.0),
            break_even: BTreeMap::from([(1, Some(0.5)), (2, None)]),
            memory: Some(123_400_000),
        });
        let text = text(&report);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        for part in [
            "10.0 GB/s, 50 % of this machine's 20.0",
            "memory: 123 MB with both",
            "1.25",
            "2.00 ms, 0.25 passes",
            "50 %\n",
            "never",
            "          20 %                      plain              plain\n",
            "          95 %           9 drafted, 2.47x   5 drafted, 1.51x\n",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["target"]["verify_ms"]["2"], 10.0);
        assert_eq!(json["break_even"]["2"], serde_json::Value::Null);
        assert!(json.get("memory").is_none());
        let last = &json["auto"][5];
        assert_eq!(
            (&last["acceptance"], &last["free"]["length"]),
            (&0.95.into(), &9.into())
        );
        assert!(
            last["draft"]["speedup"]
                .as_f64()
                .is_some_and(|times| times > 1.0)
        );
    }
}
