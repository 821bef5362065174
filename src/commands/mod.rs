//! What `speck` does for each command of the command line.

pub mod chat;
pub mod config;
pub mod models;
pub mod settings;
pub mod template;
pub mod tokenize;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, bail};
use clap::CommandFactory;

use crate::cancel::Cancel;
use crate::cli::{Cli, Command};
use crate::engine::protocol::Event;
use crate::model::gguf::GgufFile;
use crate::model::load::{self, Progress};
use crate::model::registry::Reference;
use crate::terminal::{self, Exit, stdout};

/// The most that is read of a text that the user hands over, in bytes.
const MAX_TEXT: u64 = 8 << 20;

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
        Some(Command::Models(args)) => models::run(&args),
        Some(Command::Config(args)) => config::run(args.action),
        Some(Command::Tokenize(args)) => tokenize::run(&args),
        Some(Command::Template(args)) => template::run(&args),
    }
}

/// The file of a model, fetched if need be, with progress on standard error.
fn open_model(reference: &Reference, offline: bool) -> anyhow::Result<GgufFile> {
    let mut shown = terminal::progress::Progress::default();
    let file = load::open(reference, offline, &Cancel::new(), &mut |progress| {
        shown.show(&match progress {
            Progress::Fetch(fetch) => Event::Fetch(fetch),
            Progress::Loading(loading) => Event::Loading(loading),
        });
    });
    shown.clear();
    file
}

/// All of standard input, which must be UTF-8 text.
fn read_stdin() -> anyhow::Result<String> {
    read_text(io::stdin().lock()).context("cannot read standard input")
}

/// All of a file, which must be UTF-8 text.
fn read_file(path: &Path) -> anyhow::Result<String> {
    let read = File::open(path).map_err(anyhow::Error::from).and_then(read_text);
    read.with_context(|| format!("cannot read {}", path.display()))
}

fn read_text(from: impl Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        bail!("it is longer than {MAX_TEXT} bytes");
    }
    String::from_utf8(bytes).context("it is not UTF-8 text")
}
