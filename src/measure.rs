//! What passes cost on this machine, and what speculation is worth by that.
//!
//! In comes a loaded pair, out come [`Costs`]: medians of passes over 1 to 32 rows, timed in rotation, as
//! a round of decoding pays for them: the pass and the choice of a token in each row.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use serde::{Serialize, Serializer};
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate};

use crate::cancel::Cancel;
use crate::cpu::{Isa, read_bandwidth};
use crate::model::pair::Pair;
use crate::model::{Model, PassError, Token, argmax};

/// Tokens in the cache while passes are timed.
const PREFIX: usize = 128;
/// Tokens of the prompt that is timed.
const PROMPT: usize = 512;
/// Passes of each size at most.
const ROUNDS: usize = 9;
/// Time after which no further round begins.
const BUDGET: Duration = Duration::from_secs(20);

/// Context that a measured model needs.
pub const CONTEXT: usize = 1024;
/// Sizes of the passes of a target that are timed.
pub const ROWS: [usize; 17] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32];
/// Sizes of the passes of a draft that are timed: 1 drafts a token, the others read what it missed.
pub const DRAFT_ROWS: [usize; 5] = [1, 2, 4, 8, 16];
/// Draft lengths whose worth is told; each needs the cost of one row more.
pub const DRAFT_LENGTHS: [usize; 6] = [1, 2, 3, 4, 6, 8];

/// What was measured of a pair. As JSON it is what `speck measure --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct Costs {
    /// Where the models compute.
    pub device: &'static str,
    /// Threads, on a CPU.
    pub threads: Option<usize>,
    /// The CPU engine's instruction set, where it computes.
    pub isa: Option<&'static str>,
    /// The target's costs.
    pub target: TargetCosts,
    /// The draft's, or why there is none.
    #[serde(serialize_with = "draft_or_null")]
    pub draft: Result<DraftCosts, String>,
    /// What this machine reads from memory with as many threads; on a GPU not measured.
    pub bandwidth_gb_s: Option<f64>,
    /// By draft length: the share of drafted tokens that must be accepted; none where all is too few.
    pub break_even: BTreeMap<usize, Option<f64>>,
    /// Bytes of memory that the process held with the models in use.
    #[serde(skip)]
    pub memory: Option<u64>,
}

/// What a target's passes cost.
#[derive(Clone, Debug, Serialize)]
pub struct TargetCosts {
    /// The model's name.
    pub name: String,
    /// Bytes of weights that a pass reads.
    pub bytes: u64,
    /// Milliseconds of a pass, by the tokens that it checks.
    pub verify_ms: BTreeMap<usize, f64>,
    /// Tokens of a prompt read in a second.
    pub prefill_tok_s: f64,
}

/// What a draft's passes cost.
#[derive(Clone, Debug, Serialize)]
pub struct DraftCosts {
    /// The model's name.
    pub name: String,
    /// Milliseconds of a step, which drafts one token.
    pub step_ms: f64,
    /// Milliseconds of a pass, by the tokens that it reads.
    pub pass_ms: BTreeMap<usize, f64>,
}

fn draft_or_null<S: Serializer>(
    draft: &Result<DraftCosts, String>,
    to: S,
) -> Result<S::Ok, S::Error> {
    draft.as_ref().ok().serialize(to)
}

impl Costs {
    /// Measures a pair. `progress` is told what is being measured, steps done, and of how many.
    pub fn of(
        pair: &mut Pair,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str, usize, usize),
    ) -> Result<Self> {
        let Pair {
            target,
            draft,
            device,
            identity: _,
            memory: _,
            notes: _,
        } = pair;
        progress("measuring: reading a prompt", 0, 1);
        let prefill_tok_s =
            prefill_speed(target.as_mut(), cancel).map_err(PassError::into_error)?;
        let mut time = |model: &mut dyn Model, rows: &[usize], what: &str| {
            pass_costs(model, rows, cancel, &mut |done, total| {
                progress(what, done, total);
            })
            .map_err(PassError::into_error)
        };
        let verify_ms = time(target.as_mut(), &ROWS, "measuring the target")?;
        let draft = match draft {
            Err(why) => Err(why.clone()),
            Ok(model) => {
                let pass_ms = time(model.as_mut(), &DRAFT_ROWS, "measuring the draft")?;
                Ok(DraftCosts {
                    name: model.name().to_owned(),
                    step_ms: pass_ms[&1],
                    pass_ms,
                })
            }
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
            .map(|k| (k, break_even(&verify_ms, step_ms, k)))
            .collect();
        Ok(Self {
            device: device.name,
            threads: device.n_threads,
            isa: device.isa,
            target: TargetCosts {
                name: target.name().to_owned(),
                bytes: target.pass_bytes(),
                verify_ms,
                prefill_tok_s,
            },
            draft,
            bandwidth_gb_s,
            break_even,
            memory,
        })
    }
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

/// Times the reading of a prompt: the median of up to three, in tokens a second. An error where the
/// model's context is too short.
pub fn prefill_speed(model: &mut dyn Model, cancel: &Cancel) -> Result<f64, PassError> {
    let prompt = tokens(model, PROMPT)?;
    let started = Instant::now();
    let mut ms = Vec::new();
    while ms.is_empty() || (ms.len() < 3 && started.elapsed() < BUDGET / 4) {
        model.truncate(0);
        ms.push(timed(|| model.prefill(&prompt, cancel, &mut |_| {}))?);
    }
    Ok(PROMPT as f64 * 1000.0 / median(ms))
}

/// Times passes over each number of `rows`: median milliseconds. `progress` is told rounds done, of how
/// many. An error where the model's context is too short.
pub fn pass_costs(
    model: &mut dyn Model,
    rows: &[usize],
    cancel: &Cancel,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<BTreeMap<usize, f64>, PassError> {
    progress(0, ROUNDS);
    let most = rows.iter().copied().max().unwrap_or(0);
    let text = tokens(model, PREFIX + most)?;
    model.truncate(0);
    model.prefill(&text[..PREFIX], cancel, &mut |_| {})?;
    let mut pass_ms: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    let started = Instant::now();
    for round in 0..ROUNDS {
        if round > 0 && started.elapsed() > BUDGET {
            break;
        }
        for &n in rows {
            let ms = timed(|| {
                let logits = model.forward(&text[PREFIX..PREFIX + n], cancel)?;
                for row in 0..n {
                    std::hint::black_box(argmax(logits.row(row)));
                }
                Ok(())
            })?;
            model.truncate(PREFIX);
            pass_ms.entry(n).or_default().push(ms);
        }
        progress(round + 1, ROUNDS);
    }
    progress(ROUNDS, ROUNDS);
    Ok(pass_ms.into_iter().map(|(n, ms)| (n, median(ms))).collect())
}

/// The share of drafted tokens that must be accepted, each on its own, for drafting `length` tokens to
/// be as fast as not drafting; `None` where even all is not enough. `costs` are milliseconds of passes by
/// rows, and hold 1 and `length + 1`.
///
/// A round costs `length` steps of `step_ms` and a pass over `length + 1` rows, and emits
/// 1 + a + a² + … tokens (Leviathan et al. 2023, arXiv 2211.17192).
pub fn break_even(costs: &BTreeMap<usize, f64>, step_ms: f64, length: usize) -> Option<f64> {
    let needed = (length as f64 * step_ms + costs[&(length + 1)]) / costs[&1];
    let emitted = |a: f64| (0..=length).map(|i| a.powi(i as i32)).sum::<f64>();
    if needed > emitted(1.0) {
        return None;
    }
    if needed <= 1.0 {
        return Some(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while high - low > 1e-6 {
        let middle = f64::midpoint(low, high);
        if emitted(middle) < needed {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// Some tokens that the model knows, all different for a while; an error where they do not fit.
fn tokens(model: &dyn Model, n: usize) -> Result<Vec<Token>, PassError> {
    if n > model.capacity() {
        let capacity = model.capacity();
        return Err(anyhow!(
            "measuring needs a context of {n} tokens, and here it holds {capacity}: raise --context or \
             model.context, or take a model that allows more"
        )
        .into());
    }
    Ok((0..n)
        .map(|i| ((i * 7919 + 17) % model.n_logits()) as Token)
        .collect())
}

fn timed(work: impl FnOnce() -> Result<(), PassError>) -> Result<f64, PassError> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_secs_f64() * 1000.0)
}

/// The middle one, or the lower of the two in the middle; there is at least one.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::scripted::{ScriptedModel, Step};

    #[test]
    fn drafting_breaks_even_where_a_round_costs_what_its_tokens_do() {
        let check = |pass_2: f64, step: f64, expect: Option<f64>| {
            let costs = BTreeMap::from([(1, 10.0), (2, pass_2)]);
            let got = break_even(&costs, step, 1);
            let close = match (got, expect) {
                (Some(got), Some(expect)) => (got - expect).abs() < 1e-5,
                (got, expect) => got == expect,
            };
            assert!(close, "{pass_2} {step}: {got:?}");
        };
        check(10.0, 0.0, Some(0.0));
        check(12.0, 0.0, Some(0.2));
        check(12.0, 3.0, Some(0.5));
        check(20.0, 0.0, Some(1.0));
        check(20.0, 1.0, None);
        // Two drafted tokens: 1 + a + a² = 1.75.
        let costs = BTreeMap::from([(1, 4.0), (3, 5.0)]);
        assert!((break_even(&costs, 1.0, 2).unwrap() - 0.5).abs() < 1e-5);
    }

    #[test]
    fn passes_are_timed_and_the_cache_is_left_as_short_as_it_was() {
        let pass = Duration::from_millis(2);
        let mut model =
            ScriptedModel::new("scripted", 8, CONTEXT, |_| Step::Write(1)).with_pass_time(pass);
        let mut seen = Vec::new();
        let costs = pass_costs(&mut model, &[1, 4], &Cancel::new(), &mut |done, total| {
            seen.push((done, total));
        })
        .unwrap();
        assert_eq!(costs.keys().copied().collect::<Vec<_>>(), [1, 4]);
        assert!(costs.values().all(|&ms| ms >= 2.0), "{costs:?}");
        assert_eq!(model.len(), PREFIX);
        assert_eq!(seen.first(), Some(&(0, ROUNDS)));
        assert_eq!(seen.last(), Some(&(ROUNDS, ROUNDS)));
        // Eight chunks of a prompt take as long as eight passes at least.
        let speed = prefill_speed(&mut model, &Cancel::new()).unwrap();
        assert!(speed > 0.0 && speed <= 512.0 / 8.0 / 0.002, "{speed}");
    }

    #[test]
    fn every_draft_length_has_its_cost() {
        assert!(DRAFT_LENGTHS.iter().all(|k| ROWS.contains(&(k + 1))));
    }

    #[test]
    fn a_context_that_is_too_short_is_an_error_that_says_so() {
        let mut model = ScriptedModel::new("scripted", 8, 150, |_| Step::Write(1));
        let error = pass_costs(&mut model, &ROWS, &Cancel::new(), &mut |_, _| {}).unwrap_err();
        assert!(
            error.to_string().contains("a context of 160 tokens"),
            "{error}"
        );
        assert!(prefill_speed(&mut model, &Cancel::new()).is_err());
    }

    #[test]
    fn a_measurement_can_be_cancelled() {
        let mut model = ScriptedModel::new("scripted", 8, CONTEXT, |_| Step::Write(1));
        let cancel = Cancel::new();
        cancel.cancel();
        let result = pass_costs(&mut model, &[1], &cancel, &mut |_, _| {});
        assert!(matches!(result, Err(PassError::Cancelled(_))));
    }
}
