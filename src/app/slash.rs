//! Commands typed into the input: one table, which is also the help.

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slash {
    /// Drafts with the named strategy.
    Mode(String),
    /// Starts a new conversation.
    New,
    /// Answers the last message again.
    Retry,
    /// Puts a message back into the input: which one, counted from the end, from 1.
    Edit(usize),
    /// Shows the models to choose from.
    Models,
    /// Goes on with another model.
    Model(String),
    /// Loads the same models again.
    Reload,
    /// Sends the message again that did not fit, without the oldest turns.
    Drop,
    /// Shows the system prompt, or sets it to this; `off` removes it.
    System(String),
    /// Lists the options of answers.
    Options,
    /// Sets one of them: its name and value.
    Set(String, String),
    /// Marks accepted tokens, or stops marking them.
    ShowTokens,
    /// Panel on or off.
    Panel,
    /// Shows the keys.
    Help,
    /// Quits.
    Quit,
}

impl Slash {
    /// How it is typed, where it loads models.
    pub fn loads(&self) -> Option<&'static str> {
        match self {
            Self::Models | Self::Model(_) => Some("/model"),
            Self::Reload => Some("/reload"),
            Self::Mode(_)
            | Self::New
            | Self::Retry
            | Self::Edit(_)
            | Self::Drop
            | Self::System(_)
            | Self::Options
            | Self::Set(..)
            | Self::ShowTokens
            | Self::Panel
            | Self::Help
            | Self::Quit => None,
        }
    }

    /// How it is typed, where it only works while no answer is being written.
    pub fn only_between_answers(&self) -> Option<&'static str> {
        match self {
            Self::New => Some("/new"),
            Self::Retry => Some("/retry"),
            Self::Edit(_) => Some("/edit"),
            Self::Drop => Some("/drop"),
            Self::Mode(_)
            | Self::Models
            | Self::Model(_)
            | Self::Reload
            | Self::System(_)
            | Self::Options
            | Self::Set(..)
            | Self::ShowTokens
            | Self::Panel
            | Self::Help
            | Self::Quit => None,
        }
    }
}

/// How a command is typed and what it does, in the order of the help.
pub const COMMANDS: &[(&str, &str)] = &[
    ("/mode NAME", "use this strategy"),
    ("/model [REF]", "change the model"),
    ("/new", "start a new chat"),
    ("/retry", "answer again"),
    ("/edit [N]", "edit a message"),
    ("/drop", "make room, resend"),
    ("/system TEXT", "system prompt, off"),
    ("/set NAME X", "temperature, …"),
    ("/show tokens", "underline accepted"),
    ("/reload", "load models again"),
    ("/panel", "panel on or off"),
    ("/help", "this help"),
    ("/quit", "quit"),
];

/// Reads a command; an error says which there are. `None`: the text is a message.
pub fn parse(text: &str) -> Option<Result<Slash, String>> {
    let line = text.trim_end();
    if !line.starts_with('/') || line.contains('\n') {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let rest = line.split_once(char::is_whitespace).unwrap_or_default();
    let rest = rest.1.trim_start();
    Some(match words[..] {
        ["/mode"] => Ok(Slash::Mode(String::new())),
        ["/mode", name] => Ok(Slash::Mode(name.to_owned())),
        ["/new"] => Ok(Slash::New),
        ["/retry"] => Ok(Slash::Retry),
        ["/edit"] => Ok(Slash::Edit(1)),
        ["/edit", n] => match n.parse() {
            Ok(n) if n > 0 => Ok(Slash::Edit(n)),
            Ok(_) | Err(_) => Err(format!(
                "/edit takes a number: 1, or none, is the last message, 2 the one before. `{n}` is none."
            )),
        },
        ["/model"] => Ok(Slash::Models),
        ["/model", ..] => Ok(Slash::Model(rest.to_owned())),
        ["/reload"] => Ok(Slash::Reload),
        ["/drop"] => Ok(Slash::Drop),
        ["/system", ..] => Ok(Slash::System(rest.to_owned())),
        ["/set"] => Ok(Slash::Options),
        ["/set", name, value] => Ok(Slash::Set(name.to_owned(), value.to_owned())),
        ["/show", "tokens"] => Ok(Slash::ShowTokens),
        ["/panel"] => Ok(Slash::Panel),
        ["/help"] => Ok(Slash::Help),
        ["/quit"] => Ok(Slash::Quit),
        _ => {
            let known: Vec<&str> = COMMANDS.iter().map(|(typed, _)| *typed).collect();
            Err(format!(
                "There is no command `{line}`. There are: {}.",
                known.join(", ")
            ))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read() {
        let check = |text, expect| assert_eq!(parse(text), Some(Ok(expect)), "{text}");
        check("/mode draft", Slash::Mode("draft".to_owned()));
        check("/mode", Slash::Mode(String::new()));
        check("/show tokens ", Slash::ShowTokens);
        check("/quit", Slash::Quit);
        check("/edit", Slash::Edit(1));
        check("/edit 3", Slash::Edit(3));
        check("/system  Be  brief. ", Slash::System("Be  brief.".into()));
        check("/system", Slash::System(String::new()));
        check("/set", Slash::Options);
        check("/set top-k 4", Slash::Set("top-k".into(), "4".into()));
        assert_eq!(parse("hello /quit"), None);
        assert_eq!(parse("/new\nline"), None);
        for wrong in ["/", "/nwe", "/show", "/mode a b", "/new now", "/set seed"] {
            let message = parse(wrong).unwrap().unwrap_err();
            assert!(
                message.contains(wrong) && message.contains("/mode NAME"),
                "{message}"
            );
        }
    }

    #[test]
    fn every_command_of_the_help_is_read() {
        for (typed, _) in COMMANDS {
            let typed = typed.replace(" [N]", " 2").replace(" [REF]", " ./m");
            assert!(parse(&typed).unwrap().is_ok(), "{typed}");
        }
    }
}
