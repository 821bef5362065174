//! Saved chats on the command line: the flags of `chat`, and `speck sessions`.

use clap::{Args, Subcommand};

use crate::config::Session;

const SESSIONS_EXAMPLES: &str = "\
Examples:
  speck sessions                        the saved chats, the latest first
  speck chat --resume last              go on with the latest
  speck sessions show 20261130-1432     read one
  speck sessions --json | jq '.[].id'

Where they are and what is in them: docs/sessions.md";

/// Flags about saving.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Saved chats")]
pub struct SessionArgs {
    /// Go on with a saved chat: the start of its id, or `last`
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
    /// Save this chat, also where only one answer is asked for
    #[arg(long, conflicts_with = "no_save")]
    pub save: bool,
    /// Do not save this chat, nor what is typed in it for Ctrl-P and Ctrl-R [key: session.save]
    #[arg(long)]
    pub no_save: bool,
}

impl SessionArgs {
    /// Puts what the flags say over `config`.
    pub fn override_config(&self, config: &mut Session) {
        config.save = self.save || config.save && !self.no_save;
    }

    /// Whether one answer is saved: it is rarely the beginning of a chat, but may go on with one.
    pub fn saves_one_answer(&self) -> bool {
        self.save || self.resume.is_some() && !self.no_save
    }
}

/// `speck sessions`
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, after_help = SESSIONS_EXAMPLES)]
pub struct SessionsArgs {
    /// What to do; without it, the chats are listed.
    #[command(subcommand)]
    pub action: Option<SessionsAction>,
    /// Print the list as a JSON array
    #[arg(long)]
    pub json: bool,
}

/// What to do with saved chats.
#[derive(Clone, Debug, Subcommand)]
pub enum SessionsAction {
    /// List the chats, as no word at all does.
    List {
        /// As a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print a chat as Markdown.
    Show {
        /// The start of its id, or `last`
        id: String,
    },
    /// Write a chat as Markdown to a new file.
    Export {
        /// The start of its id, or `last`
        id: String,
        /// Where to; a file that is there is not written over
        file: String,
    },
    /// Delete a chat.
    Delete {
        /// The start of its id, or `last`
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}
