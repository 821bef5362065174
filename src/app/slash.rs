//! Commands typed into the input: one table. The parser, the help, the popup that completes and, by a
//! test, docs/terminal.md follow from it.
//!
//! A command is a line that starts with `/`. A line that starts with `//` is a message that starts with
//! `/`, and a text of several lines is always a message.

use crate::app::App;
use crate::app::likeness::{best, likeness};
use crate::app::wrap::cut;

/// Columns of what was typed that are told when it is no command.
const MOST_TOLD: usize = 30;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slash {
    /// Drafts with the named strategy; lists them when the name is empty.
    Mode(String),
    /// Starts a new conversation.
    New,
    /// Goes on with another model, or shows those to choose from.
    Model(Option<String>),
    /// Loads the same models again.
    Reload,
    /// Answers the last message again.
    Retry,
    /// Puts a message back into the input: which one, counted from the end, from 1.
    Edit(String),
    /// Sends the message again that did not fit, without the oldest turns.
    Drop,
    /// Shows the system prompt, or sets it to this; `off` removes it.
    System(String),
    /// Lists the options of answers, or sets one: its name and value.
    Set(String),
    /// Marks accepted tokens (`tokens`), or stops marking them.
    Show(String),
    /// Copies the last answer, the Nth last (a number) or its last code block (`code`).
    Copy(String),
    /// Changes the theme; lists all when the name is empty.
    Theme(String),
    /// Tells the numbers of answer and session.
    Stats,
    /// Looks for a text in the conversation.
    Find(String),
    /// Shows answers as Markdown, or as the model wrote them.
    Markdown,
    /// Saves the chat now, under a name if one is given.
    Save(Option<String>),
    /// Goes on with the named chat, or shows those that are saved.
    Resume(Option<String>),
    /// Writes the chat to a file.
    Export(Option<String>),
    /// Panel on or off.
    Panel,
    /// Shows the keys.
    Help,
    /// Quits.
    Quit,
}

/// A row of the table.
pub struct Command {
    /// Its name, without the `/`.
    pub name: &'static str,
    /// What may follow the name.
    pub argument: Argument,
    /// What it does, in one line of at most 22 columns.
    pub help: &'static str,
    /// Whether it works while an answer is written.
    pub while_answering: bool,
    /// Whether it works in line mode, where there is no screen.
    pub in_lines: bool,
    /// Reads the argument, which is empty where none was given.
    pub read: fn(String) -> Slash,
    /// What the argument can be, best first; nothing where anything goes.
    pub choices: fn(&App) -> Vec<Choice>,
}

/// What may follow a command's name. The text stands for it in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// Nothing.
    None,
    /// One that can be left out.
    Optional(&'static str),
    /// One that must be there.
    Required(&'static str),
}

/// Something that an argument can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is typed.
    pub value: String,
    /// What it means, in a few words.
    pub help: String,
    /// Whether more must follow before the command can run.
    pub more: bool,
}

impl Choice {
    /// A choice that completes the command.
    pub fn new(value: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            help: help.into(),
            more: false,
        }
    }
}

/// All commands, in the order of the help.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "mode",
        argument: Argument::Optional("NAME"),
        help: "use this strategy",
        while_answering: true,
        in_lines: true,
        read: Slash::Mode,
        choices: strategies,
    },
    Command {
        name: "model",
        argument: Argument::Optional("REF"),
        help: "change the model",
        while_answering: true,
        in_lines: false,
        read: |reference| Slash::Model(given(reference)),
        choices: nothing,
    },
    Command {
        name: "new",
        argument: Argument::None,
        help: "start a new chat",
        while_answering: false,
        in_lines: true,
        read: |_| Slash::New,
        choices: nothing,
    },
    Command {
        name: "retry",
        argument: Argument::None,
        help: "answer again",
        while_answering: false,
        in_lines: true,
        read: |_| Slash::Retry,
        choices: nothing,
    },
    Command {
        name: "edit",
        argument: Argument::Optional("N"),
        help: "edit a message",
        while_answering: false,
        in_lines: false,
        read: Slash::Edit,
        choices: nothing,
    },
    Command {
        name: "drop",
        argument: Argument::None,
        help: "make room, resend",
        while_answering: false,
        in_lines: true,
        read: |_| Slash::Drop,
        choices: nothing,
    },
    Command {
        name: "system",
        argument: Argument::Optional("TEXT"),
        help: "system prompt, or off",
        while_answering: true,
        in_lines: true,
        read: Slash::System,
        choices: |_| vec![Choice::new("off", "leave it to the template")],
    },
    Command {
        name: "set",
        argument: Argument::Optional("NAME X"),
        help: "temperature, …",
        while_answering: true,
        in_lines: true,
        read: Slash::Set,
        choices: options,
    },
    Command {
        name: "show",
        argument: Argument::Required("tokens"),
        help: "mark who drafted",
        while_answering: true,
        in_lines: false,
        read: Slash::Show,
        choices: |_| vec![Choice::new("tokens", "mark who drafted, or not")],
    },
    Command {
        name: "find",
        argument: Argument::Optional("TEXT"),
        help: "find in the chat",
        while_answering: true,
        in_lines: false,
        read: Slash::Find,
        choices: nothing,
    },
    Command {
        name: "markdown",
        argument: Argument::None,
        help: "Markdown on or off",
        while_answering: true,
        in_lines: false,
        read: |_| Slash::Markdown,
        choices: nothing,
    },
    Command {
        name: "copy",
        argument: Argument::Optional("N|code"),
        help: "copy an answer",
        while_answering: true,
        in_lines: true,
        read: Slash::Copy,
        choices: |_| {
            vec![
                Choice::new("code", "the last code block"),
                Choice::new("1", "the last answer"),
                Choice::new("2", "the one before"),
            ]
        },
    },
    Command {
        name: "stats",
        argument: Argument::None,
        help: "numbers of the session",
        while_answering: true,
        in_lines: true,
        read: |_| Slash::Stats,
        choices: nothing,
    },
    Command {
        name: "theme",
        argument: Argument::Optional("NAME"),
        help: "colours of the screen",
        while_answering: true,
        in_lines: false,
        read: Slash::Theme,
        choices: themes,
    },
    Command {
        name: "reload",
        argument: Argument::None,
        help: "load models again",
        while_answering: true,
        in_lines: false,
        read: |_| Slash::Reload,
        choices: nothing,
    },
    Command {
        name: "panel",
        argument: Argument::None,
        help: "panel on or off",
        while_answering: true,
        in_lines: false,
        read: |_| Slash::Panel,
        choices: nothing,
    },
    Command {
        name: "save",
        argument: Argument::Optional("NAME"),
        help: "name this chat",
        while_answering: true,
        in_lines: true,
        read: |name| Slash::Save(given(name)),
        choices: nothing,
    },
    Command {
        name: "resume",
        argument: Argument::Optional("ID"),
        help: "open a saved chat",
        while_answering: false,
        in_lines: true,
        read: |id| Slash::Resume(given(id)),
        choices: nothing,
    },
    Command {
        name: "export",
        argument: Argument::Optional("FILE"),
        help: "write as Markdown",
        while_answering: true,
        in_lines: true,
        read: |file| Slash::Export(given(file)),
        choices: nothing,
    },
    Command {
        name: "help",
        argument: Argument::None,
        help: "this help",
        while_answering: true,
        in_lines: true,
        read: |_| Slash::Help,
        choices: nothing,
    },
    Command {
        name: "quit",
        argument: Argument::None,
        help: "quit",
        while_answering: true,
        in_lines: true,
        read: |_| Slash::Quit,
        choices: nothing,
    },
];

fn given(argument: String) -> Option<String> {
    Some(argument).filter(|argument| !argument.is_empty())
}

fn nothing(_: &App) -> Vec<Choice> {
    Vec::new()
}

fn themes(app: &App) -> Vec<Choice> {
    app.themes()
        .map(|(name, now)| Choice::new(name, if now { "now" } else { "" }))
        .collect()
}

fn options(app: &App) -> Vec<Choice> {
    let options = app.next_options().unwrap_or_default();
    options
        .list()
        .map(|(name, value)| Choice {
            more: true,
            ..Choice::new(name, format!("now {value}"))
        })
        .collect()
}

fn strategies(app: &App) -> Vec<Choice> {
    let known = app.ready().into_iter().flat_map(|ready| &ready.strategies);
    known
        .map(|strategy| Choice::new(strategy.name, strategy.summary))
        .collect()
}

impl Command {
    /// The command with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// The command that can be meant: of this name, or the only one that begins so; `exit` is `quit`.
    pub fn meant_by(typed: &str) -> Option<&'static Self> {
        if typed.eq_ignore_ascii_case("exit") {
            return Self::named("quit");
        }
        let (found, is_certain) = best(COMMANDS, typed, |command| command.name);
        found.first().copied().filter(|_| is_certain)
    }

    /// How it is typed: `/mode NAME`; what can be left out stands in brackets.
    pub fn usage(&self) -> String {
        match self.argument {
            Argument::None => format!("/{}", self.name),
            Argument::Optional(argument) => format!("/{} [{argument}]", self.name),
            Argument::Required(argument) => format!("/{} {argument}", self.name),
        }
    }
}

/// What a text is.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A message for the model.
    Message(String),
    /// A command, and the row it stands in.
    Command(Slash, &'static str),
    /// A command that there is not, or without what it needs: what to do, in a phrase.
    Wrong(String),
}

/// Whether a text is meant as a command.
pub fn is_command(text: &str) -> bool {
    text.starts_with('/') && !text.starts_with("//") && !text.trim_end().contains('\n')
}

/// Reads what was typed.
pub fn parse(text: &str) -> Parsed {
    let line = text.trim_end();
    if !is_command(text) {
        let escaped = text.starts_with("//") && !line.contains('\n');
        return Parsed::Message(text[usize::from(escaped)..].to_owned());
    }
    let typed = &line[1..];
    let (name, argument) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    let argument = argument.trim();
    let Some(command) = Command::meant_by(name) else {
        return Parsed::Wrong(unknown(name));
    };
    let usage = command.usage();
    match (command.argument, argument.is_empty()) {
        (Argument::None, false) => Parsed::Wrong(format!("nothing can follow {usage}")),
        (Argument::Required(_), true) => Parsed::Wrong(format!("/{name} needs more: {usage}")),
        (Argument::None, true) | (Argument::Optional(_), _) | (Argument::Required(_), false) => {
            Parsed::Command((command.read)(argument.to_owned()), command.name)
        }
    }
}

/// That there is no such command, and those that may be meant.
fn unknown(name: &str) -> String {
    if name.is_empty() {
        return "/ begins a command: /help lists all".to_owned();
    }
    let lower = name.to_lowercase();
    let begun: Vec<String> = COMMANDS
        .iter()
        .filter(|command| command.name.starts_with(&lower))
        .map(|command| format!("/{}", command.name))
        .collect();
    let meant = if begun.is_empty() {
        nearest(name).map(Command::usage)
    } else {
        Some(begun.join(" or "))
    };
    let meant = meant.map_or(String::new(), |meant| format!(" did you mean {meant}?"));
    let name = cut(name, MOST_TOLD);
    format!("no command `/{name}`:{meant} /help lists all, // sends it as a message")
}

/// The command with the nearest name, by typing errors or by its letters, if one is near.
fn nearest(name: &str) -> Option<&'static Command> {
    let mistyped = COMMANDS
        .iter()
        .map(|command| (strsim::damerau_levenshtein(command.name, name), command))
        .filter(|(distance, command)| *distance <= command.name.len().min(name.len()) / 2)
        .min_by_key(|(distance, command)| (*distance, command.name.len().abs_diff(name.len())));
    let mistyped = mistyped.map(|(_, command)| command);
    mistyped.or_else(|| {
        let like = COMMANDS
            .iter()
            .filter_map(|it| Some((likeness(it.name, name)?, it)));
        like.min_by_key(|(likeness, _)| *likeness).map(|(_, it)| it)
    })
}

#[cfg(test)]
mod tests;
