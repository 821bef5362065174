//! The program: reads the command line, runs a command, tells how it ended.

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use speck::cancel::Cancelled;
use speck::clean::clean;
use speck::cli::Cli;
use speck::commands::{self, UsageError};
use speck::config::ConfigError;
use speck::terminal::stdout::ReaderGone;
use speck::terminal::{Exit, guard};

fn main() -> ExitCode {
    guard::install_panic_hook();
    let exit = match Cli::try_parse() {
        Ok(cli) => commands::run(cli).unwrap_or_else(|error| tell(&error)),
        Err(error) if error.use_stderr() => {
            // It quotes the command line, which a script may have made of anything.
            write!(std::io::stderr(), "{}", clean(&error.render().to_string())).ok();
            Exit::Usage
        }
        Err(help) => help.exit(),
    };
    exit.into()
}

/// Tells an error on standard error.
fn tell(error: &anyhow::Error) -> Exit {
    if error.is::<ReaderGone>() {
        return Exit::ReaderGone;
    }
    if error.chain().any(<dyn Error>::is::<Cancelled>) {
        return Exit::Interrupted;
    }
    // Whoever closed standard error does not want to be told.
    writeln!(std::io::stderr(), "speck: {}", clean(&format!("{error:#}"))).ok();
    if error.is::<UsageError>() || error.is::<ConfigError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}
