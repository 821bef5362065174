//! What `speck` does for each command of the command line.

pub mod bench;
pub mod chat;
pub mod config;
pub mod measure;
pub mod models;
pub mod sessions;
pub mod settings;
pub mod template;
pub mod tokenize;

use std::io;
use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::{Cli, Command, ModelsAction};
use crate::engine::protocol::Event;
use crate::files;
use crate::model::fetch::Environment;
use crate::model::gguf::GgufFile;
use crate::model::load;
use crate::model::registry::Reference;
use crate::terminal::progress::Progress;
use crate::terminal::{Exit, cancel_on_interrupt, stdout};

/// The command line or the configuration is wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Runs a command.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    match cli.command {
        None => {
            stdout::write(&Cli::command().render_help().to_string())?;
            Ok(Exit::Done)
        }
        Some(Command::Chat(args)) => chat::run(&args),
        Some(Command::Bench(args)) => bench::run(&args),
        Some(Command::Measure(args)) => measure::run(&args),
        Some(Command::Models(args)) => run_models(&args.action),
        Some(Command::Sessions(args)) => sessions::run(args),
        Some(Command::Config(args)) => config::run(args.action),
        Some(Command::Tokenize(args)) => tokenize::run(&args),
        Some(Command::Template(args)) => template::run(&args),
    }
}

/// `speck models`
fn run_models(action: &ModelsAction) -> anyhow::Result<Exit> {
    let environment = Environment::from_process()?;
    let cancel = cancel_on_interrupt()?;
    let mut shown = Progress::default();
    let mut progress = |fetch| shown.show(&Event::Fetch(fetch));
    let mut out = Vec::new();
    let done = match action {
        ModelsAction::List => models::list(&environment, &mut out),
        ModelsAction::Pull { reference, offline } => models::pull(
            &environment,
            reference.as_deref(),
            *offline,
            &cancel,
            &mut progress,
            &mut out,
        ),
        ModelsAction::Verify { reference } => models::verify(
            &environment,
            reference.as_deref(),
            &cancel,
            &mut progress,
            &mut out,
        ),
        ModelsAction::Remove { reference } => models::remove(&environment, reference, &mut out),
    };
    shown.clear();
    stdout::write(&String::from_utf8_lossy(&out))?;
    done.map(|()| Exit::Done)
}

/// The file of a model, fetched if need be, with progress on standard error.
fn open_model(reference: &Reference, offline: bool) -> anyhow::Result<GgufFile> {
    let mut shown = Progress::default();
    let file = load::open(
        reference,
        offline,
        &cancel_on_interrupt()?,
        &mut |progress| shown.show(&progress.into()),
    );
    shown.clear();
    file
}

/// All of standard input, which must be UTF-8 text.
fn read_stdin() -> anyhow::Result<String> {
    files::text(io::stdin().lock()).context("cannot read standard input")
}

/// All of a file, which must be UTF-8 text.
fn read_file(path: &Path) -> anyhow::Result<String> {
    files::read_text(path).with_context(|| format!("cannot read {}", path.display()))
}
