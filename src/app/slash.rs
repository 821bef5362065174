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
    /// Looks for a text in the conversation.
    Find(String),
    /// Shows answers as Markdown, or as the model wrote them.
    Markdown,
    /// Panel on or off.
    Panel,
    /// Shows the keys.
    Help,
    /// Quits.
    Quit,
}

/// How a command is typed and what it does, in the order of the help.
pub const COMMANDS: &[(&str, &str)] = &[
    ("/mode NAME", "use this strategy"),
    ("/new", "start a new chat"),
    ("/find TEXT", "find in the chat"),
    ("/show tokens", "mark who drafted"),
    ("/markdown", "Markdown on or off"),
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
    Some(match words[..] {
        ["/mode"] => Ok(Slash::Mode(String::new())),
        ["/mode", name] => Ok(Slash::Mode(name.to_owned())),
        ["/new"] => Ok(Slash::New),
        ["/show", "tokens"] => Ok(Slash::ShowTokens),
        ["/find", ..] => Ok(Slash::Find(line["/find".len()..].trim().to_owned())),
        ["/markdown"] => Ok(Slash::Markdown),
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
        check("/find  two words ", Slash::Find("two words".to_owned()));
        check("/quit", Slash::Quit);
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
