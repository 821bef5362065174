//! `speck chat`: the screen, the line mode, or one answer.

use std::env;
use std::io::{self, IsTerminal};

use anyhow::Context;

use crate::app::AppSettings;
use crate::cli::ChatArgs;
use crate::config::Loaded;
use crate::engine;
use crate::engine::protocol::ModelEntry;
use crate::model::fetch::Environment;
use crate::model::inventory;
use crate::model::registry::Reference;
use crate::session::{Opened, SessionFile, Setup};
use crate::terminal::oneshot::{self, Format};
use crate::terminal::saving::Saving;
use crate::terminal::{self, Exit, Host, ScreenSettings, history_file, lines};

use super::settings::Settings;
use super::{UsageError, read_stdin};

/// Runs the chat in the form that fits where its input and output are.
pub fn run(args: &ChatArgs) -> anyhow::Result<Exit> {
    let settings = Settings::new(Loaded::from_user()?, args)?;
    let surroundings = Surroundings {
        stdin: io::stdin().is_terminal(),
        stdout: io::stdout().is_terminal(),
        dumb: env::var("TERM").is_ok_and(|term| term == "dumb"),
    };
    let form = form(args, surroundings);
    let question = match form {
        Form::Answer => Some(question(args.prompt.as_deref(), surroundings.stdin)?),
        Form::Lines | Form::Screen => None,
    };
    let mut setup = settings.session;
    if form == Form::Answer {
        setup.save = args.session.saves_one_answer();
    }
    let system = args.system.as_deref();
    let resumed = args.session.resume.as_ref();
    let resumed = resumed
        .map(|text| resume(&setup, text, system))
        .transpose()?;
    let saving = Saving::start(setup, resumed)?;
    let load = settings.load.clone();
    let (target, context) = (load.target.clone(), load.context);
    let start = move |models| engine::start(load.clone(), models, settings.engine.clone());
    match question {
        Some(question) => {
            let format = if args.json {
                Format::Json
            } else {
                Format::Text
            };
            oneshot::answer(start(None), saving, question, format)
        }
        None if form == Form::Lines => lines::chat(start(None), saving),
        None => {
            let history = history_file::path().filter(|_| settings.history);
            let typed = history.as_deref().map(history_file::load).transpose();
            let notes = typed.as_ref().err().map(|error| format!("{error:#}"));
            let app = AppSettings {
                panel: settings.panel,
                history: typed.unwrap_or_default().unwrap_or_default(),
                notes: notes.into_iter().collect(),
                theme: settings.theme_name,
                themes: settings.themes.names(),
                ..AppSettings::default()
            };
            let screen = ScreenSettings {
                theme: settings.theme,
                themes: settings.themes,
                // Whoever wants no trace of a chat wants none of what is typed in it.
                history: history.filter(|_| !args.session.no_save),
            };
            let host = Host::new(start, move || models(&target, context));
            terminal::run(host, saving, app, screen)
        }
    }
}

/// Opens the saved chat that `text` names, for `system` instead of its own system prompt, if given.
fn resume(
    setup: &Setup,
    text: &str,
    system: Option<&str>,
) -> anyhow::Result<(Option<SessionFile>, Opened)> {
    let folder = setup
        .folder
        .as_ref()
        .context("there is no home folder: set XDG_DATA_HOME")?;
    let id = folder.find(text)?;
    let (file, mut opened) = setup.open(folder, id)?;
    if let Some(system) = system {
        let system = (!system.is_empty()).then(|| system.to_owned());
        opened.conversation.settings.system = system;
    }
    Ok((file, opened))
}

/// What the picker can show.
fn models(target: &Reference, context: usize) -> Vec<ModelEntry> {
    Environment::from_process()
        .map(|environment| inventory::list(&environment, target, context))
        .unwrap_or_default()
}

/// The forms of a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Answer,
    Lines,
    Screen,
}

/// Whether input and output are terminals, and whether that one knows no control sequences.
#[derive(Clone, Copy, Debug)]
struct Surroundings {
    stdin: bool,
    stdout: bool,
    dumb: bool,
}

fn form(args: &ChatArgs, surroundings: Surroundings) -> Form {
    let Surroundings {
        stdin,
        stdout,
        dumb,
    } = surroundings;
    if args.json || args.prompt.is_some() {
        Form::Answer
    } else if args.no_tui {
        Form::Lines
    } else if !stdin {
        Form::Answer
    } else if !stdout || dumb {
        Form::Lines
    } else {
        Form::Screen
    }
}

/// The question: the argument, then, after a blank line, what was piped in.
fn question(argument: Option<&str>, stdin_is_terminal: bool) -> anyhow::Result<String> {
    let piped = if stdin_is_terminal {
        String::new()
    } else {
        read_stdin().map_err(|error| UsageError(format!("{error:#}")))?
    };
    let parts = [
        argument.unwrap_or_default(),
        piped.trim_end_matches(['\r', '\n']),
    ];
    let question = parts
        .into_iter()
        .filter(|part| !part.trim().is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    if question.is_empty() {
        let why =
            "no question: give one as an argument or on standard input (see speck chat --help)";
        return Err(UsageError(why.into()).into());
    }
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_from_arguments_and_surroundings() {
        let here = Surroundings {
            stdin: true,
            stdout: true,
            dumb: false,
        };
        let check = |args: ChatArgs, surroundings, expect| {
            assert_eq!(form(&args, surroundings), expect, "{args:?}");
        };
        let plain = ChatArgs::default;
        check(plain(), here, Form::Screen);
        check(plain(), Surroundings { dumb: true, ..here }, Form::Lines);
        check(
            plain(),
            Surroundings {
                stdout: false,
                ..here
            },
            Form::Lines,
        );
        check(
            plain(),
            Surroundings {
                stdin: false,
                ..here
            },
            Form::Answer,
        );
        check(
            ChatArgs {
                no_tui: true,
                ..plain()
            },
            here,
            Form::Lines,
        );
        check(
            ChatArgs {
                no_tui: true,
                ..plain()
            },
            Surroundings {
                stdin: false,
                ..here
            },
            Form::Lines,
        );
        check(
            ChatArgs {
                prompt: Some("Hi".into()),
                ..plain()
            },
            here,
            Form::Answer,
        );
        check(
            ChatArgs {
                json: true,
                ..plain()
            },
            here,
            Form::Answer,
        );
    }
}
