//! Commands typed into the input: one table, which is also the help.

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slash {
    /// Drafts with the named strategy.
    Mode(String),
    /// Starts a new conversation.
    New,
    /// Marks accepted tokens, or stops marking them.
    ShowTokens,
    /// Panel on or off.
    Panel,
    /// Saves the chat now, under a name if one is given.
    Save(Option<String>),
    /// Goes on with the named chat, or shows those that are saved.
    Resume(Option<String>),
    /// Writes the chat to a file.
    Export(Option<String>),
    /// Shows the keys.
    Help,
    /// Quits.
    Quit,
}

/// How a command is typed and what it does, in the order of the help.
pub const COMMANDS: &[(&str, &str)] = &[
    ("/mode NAME", "use this strategy"),
    ("/new", "start a new chat"),
    ("/show tokens", "underline accepted"),
    ("/panel", "panel on or off"),
    ("/save NAME", "name this chat"),
    ("/resume", "open a saved chat"),
    ("/export FILE", "write as Markdown"),
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
    Some(match words[..] {
        ["/mode"] => Ok(Slash::Mode(String::new())),
        ["/mode", name] => Ok(Slash::Mode(name.to_owned())),
        ["/new"] => Ok(Slash::New),
        ["/show", "tokens"] => Ok(Slash::ShowTokens),
        ["/panel"] => Ok(Slash::Panel),
        ["/save", ..] => Ok(Slash::Save(rest(line, "/save"))),
        ["/resume", ..] => Ok(Slash::Resume(rest(line, "/resume"))),
        ["/export", ..] => Ok(Slash::Export(rest(line, "/export"))),
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

/// What stands after a command, spaces inside it included.
fn rest(line: &str, command: &str) -> Option<String> {
    let rest = line.strip_prefix(command)?.trim();
    (!rest.is_empty()).then(|| rest.to_owned())
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
        check("/save", Slash::Save(None));
        check("/save  two words ", Slash::Save(Some("two words".into())));
        check("/resume 2026", Slash::Resume(Some("2026".into())));
        check(
            "/export ~/my chat.md",
            Slash::Export(Some("~/my chat.md".into())),
        );
        assert_eq!(parse("hello /quit"), None);
        assert_eq!(parse("/new\nline"), None);
        for wrong in ["/", "/nwe", "/show", "/mode a b", "/new now"] {
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
            assert!(parse(typed).unwrap().is_ok(), "{typed}");
        }
    }
}
