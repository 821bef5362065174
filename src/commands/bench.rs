//! `speck bench`: the strategies, side by side, on this machine.

use anyhow::{Context as _, Result, bail};
use sysinfo::{CpuRefreshKind, System};

use super::{UsageError, settings};
use crate::bench::prompts::{self, Prompt};
use crate::bench::{
    Contender, Machine, Plan, Report, Samples, Settings, chart, rows, run as run_plan, table,
};
use crate::cancel::Cancel;
use crate::clean::clean;
use crate::cli::BenchArgs;
use crate::config;
use crate::decoding::Decoder;
use crate::files;
use crate::measure::Costs;
use crate::model::chat_template::{Message, Role};
use crate::model::device::Device;
use crate::model::load::{self, load};
use crate::model::pair::{LoadSettings, Loaded};
use crate::model::{PassError, Token};
use crate::sampling::Sampling;
use crate::strategy::{self, Calibration, Drafter, Parts, Strategy};
use crate::terminal::progress::Progress;
use crate::terminal::{Exit, cancel_on_interrupt, stdout};

const USIZE: &str = "the command line takes no larger number";

/// Runs the command. When it is interrupted it prints what is done.
pub fn run(args: &BenchArgs) -> Result<Exit> {
    let config = config::Loaded::from_user()?.config;
    let prompts = prompts::collect(&args.prompts)
        .map_err(|error| UsageError(format!("--prompts: {error:#}")))?;
    if let Some(path) = &args.svg {
        // Else it would be known only when all is done.
        files::can_replace(path).map_err(|error| {
            let shown = path.display();
            UsageError(format!(
                "--svg: {shown} cannot be written ({error}): name a new file, or one to replace"
            ))
        })?;
    }
    let contenders = Contender::complete(&args.strategies, config.decoding.draft_length);
    let cancel = cancel_on_interrupt()?;
    let mut shown = Progress::default();
    let outcome = measure(args, &config, &prompts, &contenders, &cancel, &mut shown);
    shown.clear();
    let (report, ended) = outcome?;

    let out = if args.format.json {
        serde_json::to_string(&report)? + "\n"
    } else if args.format.csv {
        table::csv(&report)
    } else if args.format.markdown {
        table::markdown(&report)
    } else {
        table::text(&report)
    };
    stdout::write(&out)?;
    if let Some(path) = &args.svg {
        let drawn = chart::svg(&report).context("cannot draw the charts")?;
        files::replace(path, drawn.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match ended {
        Ok(()) => Ok(Exit::Done),
        Err(PassError::Cancelled(_)) => {
            eprintln!("speck: interrupted: this is what was done");
            Ok(Exit::Interrupted)
        }
        Err(PassError::Failed(error)) => Err(error).context("the benchmark broke off"),
    }
}

/// Loads the pair, times its passes and runs everything: the report, and whether the runs came to their
/// end.
fn measure(
    args: &BenchArgs,
    config: &config::Config,
    prompts: &[Prompt],
    contenders: &[Contender],
    cancel: &Cancel,
    shown: &mut Progress,
) -> Result<(Report, Result<(), PassError>)> {
    let tokens = usize::try_from(args.tokens).expect(USIZE);
    let mut loaded = load_models(args, config, cancel, shown)?;
    let system = (!config.chat.system.is_empty()).then(|| config.chat.system.clone());
    let plan_prompts = prompts
        .iter()
        .map(|prompt| tokenize(&loaded, system.as_deref(), prompt, tokens))
        .collect::<Result<_>>()?;
    let cost = Costs::of(&mut loaded.pair, cancel, &mut |what, done, total| {
        shown.count(what, done, total);
    })?;
    shown.clear();

    let pair = loaded.pair;
    let device = pair.device;
    let settings = Settings {
        version: env!("CARGO_PKG_VERSION"),
        target: pair.target.name().to_owned(),
        draft: pair
            .draft
            .as_ref()
            .ok()
            .map(|draft| draft.name().to_owned()),
        context: pair.target.capacity(),
        system,
        runs: usize::try_from(args.runs).expect(USIZE),
        tokens,
        sampling: "greedy",
    };
    let ends = loaded.tokenizer.end_of_turn().to_vec();
    let draft = pair
        .draft
        .map(|model| Drafter::new(model, Sampling::default()));
    let (contenders, strategies) = build(contenders, &draft, &ends, &Calibration::from(&cost));
    let plan = Plan {
        prompts: plan_prompts,
        n_strategies: strategies.len(),
        runs: settings.runs,
        tokens,
    };
    let mut decoder = Decoder::new(pair.target, strategies, ends);
    let mut samples = Samples::new();
    let ended = run_plan(&mut decoder, &plan, &mut samples, cancel, &mut |step| {
        let title = format!(
            "run {} of {}: {}, {}",
            step.run + 1,
            plan.runs,
            prompts[step.prompt].name,
            contenders[step.strategy]
        );
        shown.count(&title, step.done, plan.n_answers());
    });
    shown.clear();

    let names: Vec<String> = prompts.iter().map(|prompt| prompt.name.clone()).collect();
    for (name, samples) in names.iter().zip(&samples) {
        for (contender, samples) in contenders.iter().zip(samples) {
            if let Some(why) = samples
                .iter()
                .find_map(|sample| sample.draft_error.as_ref())
            {
                tell(&format!(
                    "{name}: {contender} did not draft in every round: {why}"
                ));
            }
        }
    }
    let report = Report {
        machine: machine(&device),
        settings,
        runs: rows(&names, &contenders, &samples),
        cost,
    };
    Ok((report, ended))
}

fn load_models(
    args: &BenchArgs,
    config: &config::Config,
    cancel: &Cancel,
    shown: &mut Progress,
) -> Result<Loaded> {
    let context = match args.context {
        Some(context) => usize::try_from(context).expect(USIZE),
        None => config.model.context,
    };
    let settings = LoadSettings {
        target: settings::target(args.target.as_deref())?,
        draft: settings::draft(args.draft.as_deref())?,
        context,
        device: settings::device(args.device)?,
        n_threads: settings::threads(args.threads)?,
        offline: args.offline,
    };
    let mut progress = |progress: load::Progress| shown.show(&progress.into());
    let loaded = load(&settings, cancel, &mut progress)?;
    shown.clear();
    for note in &loaded.pair.notes {
        tell(note);
    }
    Ok(loaded)
}

fn tell(note: &str) {
    eprintln!("speck: {}", clean(note));
}

/// A prompt as the model reads it, with room for the answer.
fn tokenize(
    loaded: &Loaded,
    system: Option<&str>,
    prompt: &Prompt,
    n_answer: usize,
) -> Result<Vec<Token>> {
    let message = |role, content: &str| Message {
        role,
        content: content.to_owned(),
    };
    let messages: Vec<Message> = system
        .map(|system| message(Role::System, system))
        .into_iter()
        .chain([message(Role::User, &prompt.text)])
        .collect();
    let tokens = loaded
        .template
        .prompt(&messages, &loaded.tokenizer)
        .with_context(|| format!("the prompt {}", prompt.name))?;
    let capacity = loaded.pair.target.capacity();
    if tokens.len() + n_answer > capacity {
        bail!(
            "the prompt {} has {} tokens, and {n_answer} more do not fit into the context of {capacity}: \
             lower --tokens, or raise --context where the model allows more",
            prompt.name,
            tokens.len()
        );
    }
    Ok(tokens)
}

/// The contenders that can run, and their strategies; says why others cannot.
fn build(
    contenders: &[Contender],
    draft: &Result<Drafter, String>,
    ends: &[Token],
    calibration: &Calibration,
) -> (Vec<Contender>, Vec<Box<dyn Strategy>>) {
    let mut built = (Vec::new(), Vec::new());
    for contender in contenders {
        let entry = strategy::find(contender.strategy).expect("a contender's name is a strategy's");
        let parts = Parts {
            draft: draft.clone(),
            draft_length: contender.draft_length.unwrap_or(0),
            ends: ends.to_vec(),
            calibration: Some(calibration.clone()),
        };
        match entry.build(&parts) {
            Ok(strategy) => {
                built.0.push(*contender);
                built.1.push(strategy);
            }
            Err(why) => tell(&format!("{contender} cannot run: {why}")),
        }
    }
    built
}

fn machine(device: &Device) -> Machine {
    let mut system = System::new().ok();
    if let Some(system) = &mut system {
        system.refresh_memory();
        system.refresh_cpu_list(CpuRefreshKind::nothing());
    }
    let cpu = system
        .as_ref()
        .and_then(|system| Some(system.cpus().first()?.brand().trim().to_owned()));
    Machine {
        os: std::env::consts::OS,
        arch: std::env::consts::ARCH,
        cpu: cpu.filter(|name| !name.is_empty()),
        cores: std::thread::available_parallelism().ok().map(usize::from),
        memory_bytes: system.as_ref().map(System::total_memory),
        device: device.name,
        threads: device.n_threads,
        isa: device.isa,
    }
}
