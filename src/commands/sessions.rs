//! `speck sessions`: lists, shows, exports and deletes saved chats.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, Result};
use serde_json::json;

use crate::clean::clean;
use crate::cli::session::{SessionsAction, SessionsArgs};
use crate::session::export::{self, one_line};
use crate::session::log::Flaw;
use crate::session::{Entry, Folder, Id, listing};
use crate::terminal::{Exit, columns, fitted, stdout};

use super::UsageError;

/// Does what `args` say.
pub fn run(args: SessionsArgs) -> Result<Exit> {
    let folder = Folder::of_user()
        .context("there is no home folder with saved chats: set XDG_DATA_HOME to a folder")?;
    match args
        .action
        .unwrap_or(SessionsAction::List { json: args.json })
    {
        SessionsAction::List { json: true } => {
            stdout::write_line(&as_json(&folder.list()?)?)?;
        }
        SessionsAction::List { json: false } => {
            let table = listing::table(&folder.list()?);
            stdout::write(&fitted(&table, columns(io::stdout())))?;
        }
        SessionsAction::Show { id } => {
            let id = folder.find(&id)?;
            stdout::write(&markdown(&folder, &id)?)?;
        }
        SessionsAction::Export { id, file } => {
            let id = folder.find(&id)?;
            let text = markdown(&folder, &id)?;
            let path = export::write(Some(&file), Some(&id), &clean(&text))?;
            stdout::write_line(&format!("written to {}", path.display()))?;
        }
        SessionsAction::Delete { id, yes } => {
            let id = folder.find(&id)?;
            if !yes && !is_sure(&folder, &id)? {
                stdout::write_line("nothing is deleted")?;
                return Ok(Exit::Done);
            }
            let deleted = folder.delete(&id);
            deleted.with_context(|| format!("cannot delete the saved chat {id}"))?;
            stdout::write_line(&format!("deleted {id}"))?;
        }
    }
    Ok(Exit::Done)
}

fn markdown(folder: &Folder, id: &Id) -> Result<String> {
    let read = folder.read(id);
    let (told, flaws) = read.with_context(|| format!("cannot read the saved chat {id}"))?;
    if !flaws.is_empty() {
        // Whoever closed standard error does not want to be told.
        let told = format!("speck: not all of {id} is here: {}", Flaw::list(&flaws));
        writeln!(io::stderr(), "{}", clean(&told)).ok();
    }
    Ok(told.markdown(id))
}

fn as_json(entries: &[Entry]) -> Result<String> {
    let entries: Vec<_> = entries
        .iter()
        .map(|entry| match &entry.summary {
            Ok(summary) => json!({
                "id": entry.id,
                "updated": entry.updated,
                "turns": summary.turns,
                "model": summary.model,
                "name": summary.name,
                "first_words": summary.first_words,
                "damaged": summary.damaged,
            }),
            Err(why) => json!({ "id": entry.id, "updated": entry.updated, "error": why }),
        })
        .collect();
    Ok(serde_json::to_string_pretty(&entries)?)
}

/// Asks whether a chat is to be deleted.
fn is_sure(folder: &Folder, id: &Id) -> Result<bool> {
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return Err(
            UsageError("nobody is there to ask: --yes deletes without asking".into()).into(),
        );
    }
    let about = match folder.read(id) {
        Ok((told, _)) => format!(
            "{} {}: {}",
            told.turns.len(),
            if told.turns.len() == 1 {
                "turn"
            } else {
                "turns"
            },
            one_line(told.first_words())
        ),
        Err(error) => format!("it cannot be read: {error:#}"),
    };
    let mut err = io::stderr();
    write!(err, "Delete {id} ({})? [y/N] ", clean(&about))?;
    err.flush()?;
    let mut said = String::new();
    stdin.lock().read_line(&mut said)?;
    Ok(["y", "yes"].contains(&said.trim().to_lowercase().as_str()))
}
