//! `speck measure`: what passes cost on this machine, and what speculation is worth by that.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use serde::{Serialize, Serializer};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};

use super::settings;
use crate::cancel::Cancel;
use crate::clean::clean;
use crate::cli::MeasureArgs;
use crate::cpu::{Isa, read_bandwidth};
use crate::measure::{self, DRAFT_LENGTHS, ROWS, break_even, pass_costs, prefill_speed};
use crate::model::load::{self, LoadSettings, Pair, load, load_shape};
use crate::model::{Model, PassError, shape};
use crate::terminal::progress::Progress;
use crate::terminal::{Exit, cancel_on_interrupt, stdout};

/// What was measured.
#[derive(Debug, Serialize)]
struct Report {
    device: &'static str,
    threads: Option<usize>,
    isa: Option<&'static str>,
    target: Target,
    #[serde(serialize_with = "draft_or_null")]
    draft: Result<Draft, String>,
    /// What this machine reads from memory with as many threads; on a GPU not measured.
    bandwidth_gb_s: Option<f64>,
    /// By draft length: the share of drafted tokens that must be accepted; none where all is too few.
    break_even: BTreeMap<usize, Option<f64>>,
    #[serde(skip)]
    memory: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Target {
    name: String,
    /// Of weights that a pass reads.
    bytes: u64,
    verify_ms: BTreeMap<usize, f64>,
    prefill_tok_s: f64,
}

#[derive(Debug, Serialize)]
struct Draft {
    name: String,
    step_ms: f64,
}

fn draft_or_null<S: Serializer>(draft: &Result<Draft, String>, to: S) -> Result<S::Ok, S::Error> {
    draft.as_ref().ok().serialize(to)
}

/// Runs the command.
pub fn run(args: &MeasureArgs) -> Result<Exit> {
    let cancel = cancel_on_interrupt()?;
    let mut shown = Progress::default();
    let report = measure(args, &cancel, &mut shown);
    shown.clear();
    let report = report?;
    let out = if args.json {
        serde_json::to_string(&report)? + "\n"
    } else {
        report.text()
    };
    stdout::write(&out)?;
    Ok(Exit::Done)
}

fn measure(args: &MeasureArgs, cancel: &Cancel, shown: &mut Progress) -> Result<Report> {
    let Pair {
        mut target,
        draft,
        device,
        notes,
    } = load_pair(args, cancel, shown)?;
    shown.clear();
    for note in notes {
        eprintln!("speck: {}", clean(&note));
    }
    shown.count("measuring: reading a prompt", 0, 1);
    let prefill_tok_s = prefill_speed(target.as_mut(), cancel).map_err(PassError::into_error)?;
    let mut time = |model: &mut dyn Model, rows: &[usize], what: &str| {
        let title = format!("measuring the {what}");
        pass_costs(model, rows, cancel, &mut |done, total| {
            shown.count(&title, done, total);
        })
        .map_err(PassError::into_error)
    };
    let pass_ms = time(target.as_mut(), &ROWS, "target")?;
    let draft = match draft {
        Err(why) => Err(why),
        Ok(mut model) => Ok(Draft {
            name: model.name().to_owned(),
            step_ms: time(model.as_mut(), &[1], "draft")?[&1],
        }),
    };
    let memory = resident_memory();
    let bandwidth_gb_s = match (device.name, device.n_threads) {
        ("cpu", Some(n_threads)) => {
            let isa = Isa::choose()?.unwrap_or(Isa::Scalar);
            Some(read_bandwidth(isa, n_threads, cancel)?)
        }
        _ => None,
    };
    let step_ms = draft.as_ref().map_or(0.0, |draft| draft.step_ms);
    let break_even = DRAFT_LENGTHS
        .into_iter()
        .map(|k| (k, break_even(&pass_ms, step_ms, k)))
        .collect();
    Ok(Report {
        device: device.name,
        threads: device.n_threads,
        isa: device.isa,
        target: Target {
            name: target.name().to_owned(),
            bytes: target.pass_bytes(),
            verify_ms: pass_ms,
            prefill_tok_s,
        },
        draft,
        bandwidth_gb_s,
        break_even,
        memory,
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

/// Bytes of memory that this process holds, as far as the system tells.
fn resident_memory() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    let own = sysinfo::get_current_pid().ok()?;
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[own]),
        true,
        ProcessRefreshKind::nothing().with_memory(),
    );
    Some(system.process(own)?.memory())
}

impl Report {
    /// The report for people.
    fn text(&self) -> String {
        let mut out = String::new();
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        let Target {
            name,
            bytes,
            verify_ms,
            prefill_tok_s,
        } = &self.target;
        write!(out, "{} on {}", clean(name), self.device)?;
        if let Some(threads) = self.threads {
            write!(out, ", {threads} threads")?;
        }
        if let Some(isa) = self.isa {
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
            match self.bandwidth_gb_s {
                Some(limit) => writeln!(
                    out,
                    ", {:.0} % of the {limit:.1} that this machine reads",
                    100.0 * speed / limit
                )?,
                None => writeln!(out)?,
            }
        }
        writeln!(
            out,
            "a prompt is read at {prefill_tok_s:.0} tokens a second"
        )?;
        if let Some(memory) = self.memory {
            writeln!(
                out,
                "memory: {:.0} MB with {} and a context of {} tokens",
                memory as f64 / 1e6,
                if self.draft.is_ok() {
                    "both models"
                } else {
                    "the model"
                },
                measure::CONTEXT
            )?;
        }

        writeln!(
            out,
            "\ntokens checked in a pass     ms   passes of one token   tokens/s if all are right"
        )?;
        for (rows, ms) in verify_ms {
            writeln!(
                out,
                "{rows:>24} {ms:>6.1} {:>21.2} {:>27.0}",
                ms / one,
                *rows as f64 * 1000.0 / ms
            )?;
        }

        match &self.draft {
            Ok(Draft { name, step_ms }) => writeln!(
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
        for (length, share) in &self.break_even {
            match share {
                Some(share) => writeln!(out, "{length:>12}   {:.0} %", share * 100.0)?,
                None => writeln!(out, "{length:>12}   never")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_was_measured() {
        let report = Report {
            device: "cpu",
            threads: Some(2),
            isa: Some("scalar"),
            target: Target {
                name: "a \u{1b}[31mmodel".to_owned(),
                bytes: 80_000_000,
                verify_ms: BTreeMap::from([(1, 8.0), (2, 10.0)]),
                prefill_tok_s: 500.0,
            },
            draft: Ok(Draft {
                name: "drafter".to_owned(),
                step_ms: 2.0,
            }),
            bandwidth_gb_s: Some(20.0),
            break_even: BTreeMap::from([(1, Some(0.5)), (2, None)]),
            memory: Some(123_400_000),
        };
        let text = report.text();
        for part in [
            "10.0 GB/s, 50 % of the 20.0 that",
            "memory: 123 MB with both",
            "1.25",
            "2.00 ms, 0.25 passes",
            "50 %\n",
            "never",
        ] {
            assert!(text.contains(part), "{part:?} in\n{text}");
        }
        assert!(!text.contains('\u{1b}'));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["target"]["verify_ms"]["2"], 10.0);
        assert_eq!(json["break_even"]["2"], serde_json::Value::Null);
        assert!(json.get("memory").is_none());
    }
}
