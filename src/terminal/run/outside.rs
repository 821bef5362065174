//! What the loop does outside of the screen: the editor, the clipboard, themes, the history's file, the list of
//! models; and what comes of it.

use std::future::pending;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot::Receiver;

use super::super::editor::Editor;
use super::super::exit::Exit;
use super::super::guard::restore;
use super::super::input::{Reader, TimedRead};
use super::super::{clipboard, history_file};
use super::{Outcome, Screen};
use crate::app::Msg;
use crate::app::copy::Copy;
use crate::engine::protocol::ModelEntry;

impl Screen {
    /// What work on another thread has come to.
    pub(super) fn outcome(&mut self, outcome: Outcome) -> io::Result<Option<Exit>> {
        let told = match outcome {
            Outcome::HistoryFailed(why) => Err(why),
            Outcome::Copied(copied) => {
                if let Some(sequence) = copied.sequence {
                    self.terminal
                        .backend_mut()
                        .write_between_frames(&sequence)?;
                }
                copied.told
            }
        };
        self.update(Msg::Told(told))
    }

    pub(super) fn copy(&self, copy: Copy) {
        let outcome = self.outcome.clone();
        clipboard::copy(copy, true, move |copied| {
            outcome.send(Outcome::Copied(copied)).ok();
        });
    }

    pub(super) fn set_theme(&mut self, name: String) -> io::Result<()> {
        let themed = match self.themes.load(&name) {
            Ok(theme) => {
                self.theme = theme;
                Ok(())
            }
            Err(error) => Err(format!("{error:#}")),
        };
        self.update(Msg::Themed(name, themed)).map(drop)
    }

    pub(super) fn list_themes(&mut self) -> io::Result<()> {
        self.update(Msg::Themes(self.themes.names())).map(drop)
    }

    /// Gives the terminal to the user's editor.
    pub(super) fn edit(&mut self, text: &str) -> io::Result<()> {
        self.reader = None;
        restore();
        match Editor::start(text) {
            Ok(editor) => self.editor = Some(editor),
            Err(why) => {
                self.editor_ended(Err(why))?;
            }
        }
        Ok(())
    }

    /// Takes the terminal again.
    pub(super) fn editor_ended(
        &mut self,
        text: Result<String, String>,
    ) -> io::Result<Option<Exit>> {
        self.editor = None;
        self.edited = Some(Instant::now());
        self.guard.enter_again()?;
        self.reader = Some(Reader::start()?);
        self.terminal.backend_mut().forget();
        self.redraw()?;
        self.update(Msg::Edited(text))
    }
}

pub(super) fn start_history(
    path: PathBuf,
    outcome: UnboundedSender<Outcome>,
) -> history_file::Writer {
    history_file::Writer::start(path, move |why| {
        outcome.send(Outcome::HistoryFailed(why)).ok();
    })
}

/// What the terminal's next read gave; waits for ever while it is not read.
pub(super) async fn next_read(reader: &mut Option<Reader>) -> Option<io::Result<TimedRead>> {
    match reader {
        Some(reader) => reader.next().await,
        None => pending().await,
    }
}

/// What comes of the editor; waits for ever while there is none.
pub(super) async fn edited(editor: &mut Option<Editor>) -> Result<String, String> {
    match editor {
        Some(editor) => editor.ended().await,
        None => pending().await,
    }
}

/// Waits for the list of models; for ever when none was asked for.
pub(super) async fn listed(models: &mut Option<Receiver<Vec<ModelEntry>>>) -> Vec<ModelEntry> {
    match models {
        Some(models) => models.await.unwrap_or_default(),
        None => pending().await,
    }
}
