//! The line mode: a chat without a screen, for `--no-tui`, dumb terminals, screen readers and scripts.
//!
//! One line in is one turn, or a command, which does what it does on the screen ([`App`]); those that are about
//! the screen say so. Ctrl-C stops the answer first, then ends the chat. From a terminal, a line
//! that starts with `/` acts at once, also in the middle of an answer; from a pipe, each line waits for
//! the answer before it.

mod input;

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::select;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::app::slash::{self, COMMANDS, Command as Row, Parsed, Slash};
use crate::app::{App, AppSettings, Effect, Msg};
use crate::cancel::Cancel;
use crate::clean::clean;
use crate::engine::protocol::{Command, Event, Handle, Ready};
use crate::session::{Note, Opened, Request, listing};

use self::input::lines_of_stdin;
use super::clipboard;
use super::columns::{columns, fitted};
use super::exit::Exit;
use super::saving::{Saving, other_model, tell_ended, tell_opened};
use super::signals::{Ending, outlive_file_size_limit};
use super::stdout;
use super::text::{TextOut, tell};

/// How long an answer's end waits for the disk.
const SAVED_WITHIN: Duration = Duration::from_secs(2);

/// Runs the chat until its input ends.
pub fn chat(handle: Handle, saving: Saving) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let (told, copies) = unbounded_channel();
        let mut chat = Chat::new(handle, saving, told);
        let ended = chat.run(copies).await;
        let Chat {
            handle,
            saving,
            out,
            ..
        } = chat;
        let saved = saving.saver.end();
        tell_ended(&saved, |line| out.note(line));
        super::end(handle).await;
        Ok(ended?.once_saved(&saved))
    })
}

struct Chat {
    handle: Handle,
    saving: Saving,
    /// The same state as behind the screen: what commands mean is decided there.
    app: App,
    /// Requests that are not answered.
    requests: usize,
    copied: UnboundedSender<Result<String, String>>,
    /// The model that the opened chat was with, until it is known which is loaded.
    was_with: Option<String>,
    out: TextOut,
    /// Stops the answer that is being written.
    answering: Option<Cancel>,
    input_ended: bool,
    failed: bool,
    /// Whether a person types the input.
    typed: bool,
}

impl Chat {
    fn new(
        handle: Handle,
        saving: Saving,
        copied: UnboundedSender<Result<String, String>>,
    ) -> Self {
        let settings = AppSettings {
            panel: false,
            ..AppSettings::default()
        };
        Self {
            handle,
            saving,
            app: App::new(settings, Instant::now()),
            requests: 0,
            copied,
            was_with: None,
            out: TextOut::new(),
            answering: None,
            input_ended: false,
            failed: false,
            typed: io::stdin().is_terminal(),
        }
    }

    async fn run(
        &mut self,
        mut copies: UnboundedReceiver<Result<String, String>>,
    ) -> anyhow::Result<Exit> {
        outlive_file_size_limit()?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut ending = Ending::listen()?;
        let mut lines = lines_of_stdin();
        if let Some(opened) = self.saving.opened.take() {
            self.restore(opened)?;
        }
        loop {
            let listening = self.is_listening();
            let exit = select! {
                event = self.handle.events.recv() => {
                    self.event(&event.context("the engine ended")?)?;
                    None
                }
                Some(note) = self.saving.notes.recv() => {
                    self.note(note)?;
                    None
                }
                Some(told) = copies.recv() => {
                    self.copied(told);
                    None
                }
                line = lines.recv(), if listening => {
                    self.input_ended = line.is_none();
                    self.line(line.transpose()?.unwrap_or_default().trim())?
                }
                _ = interrupt.recv() => self.interrupt()?,
                exit = ending.next() => Some(exit),
            };
            if let Some(exit) = exit.or_else(|| self.end()) {
                return Ok(exit);
            }
        }
    }

    fn is_listening(&self) -> bool {
        let busy = self.requests > 0 || !self.typed && self.answering.is_some();
        !self.input_ended && self.app.ready().is_some() && !busy
    }

    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        self.saving.saver.heard(event);
        if let Event::Finished(_) = event {
            // Whoever sees the end of an answer may rely on it.
            if let Some(news) = self.saving.saver.settle(SAVED_WITHIN) {
                // Its end is not there yet: a person sees this below what is.
                let line_end = if self.typed { "\n" } else { "" };
                tell(&format!("{line_end}{news}"));
            }
        }
        self.app.update(Msg::Engine(event.clone()), Instant::now());
        self.out.event(event)?;
        match event {
            Event::Ready(ready) => {
                let Ready {
                    target,
                    device,
                    context_limit,
                    strategy,
                    ..
                } = ready;
                self.out.note(&format!(
                    "{target} · {device} · context {context_limit} · {strategy} · /help"
                ));
                self.tell_other_model();
                self.prompt();
            }
            Event::Finished(_) => self.answered(),
            Event::Failed(failure) if failure.fatal => bail!("{}", failure.message),
            Event::Failed(failure) => {
                tell(&failure.message);
                self.failed = true;
                self.answered();
            }
            Event::Dropped { turns: 1 } => tell("the oldest turn was dropped"),
            Event::Dropped { turns } if *turns > 1 => {
                tell(&format!("the {turns} oldest turns were dropped"));
            }
            Event::StrategyRefused(name) => {
                tell(&format!("{name} cannot run with these models"));
                self.failed = true;
            }
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::Baseline(_)
            // There was room.
            | Event::Dropped { .. }
            // What was asked for is known here before the engine confirms it.
            | Event::Strategy(_)
            | Event::Options(_)
            | Event::NotLoaded(_)
            | Event::Prefill { .. }
            | Event::Round(_) => {}
        }
        Ok(())
    }

    fn answered(&mut self) {
        self.answering = None;
        self.prompt();
    }

    fn line(&mut self, line: &str) -> anyhow::Result<Option<Exit>> {
        match slash::parse(line) {
            Parsed::Command(_, name) if !Row::named(name).is_some_and(|row| row.in_lines) => {
                tell(&format!("/{name} needs the full screen"));
                self.failed = true;
            }
            Parsed::Command(Slash::Help, _) => tell(&help()),
            Parsed::Command(Slash::Mode(name), _) => self.mode(&name, line)?,
            Parsed::Message(_) | Parsed::Command(Slash::Resume(_), _)
                if self.answering.is_some() && !line.is_empty() =>
            {
                tell("an answer is being written; Ctrl-C stops it");
            }
            Parsed::Command(Slash::Resume(id), _) => {
                self.ask(id.map_or(Request::List, Request::Open));
            }
            Parsed::Message(_) | Parsed::Command(..) | Parsed::Wrong(_) => {
                let effects = self.update(Msg::Line(line.to_owned()));
                if let Some(exit) = self.act(effects)? {
                    return Ok(Some(exit));
                }
            }
        }
        self.prompt();
        Ok(None)
    }

    /// Tells the app; what it says to that is told, what it asks for is given.
    fn update(&mut self, message: Msg) -> Vec<Effect> {
        let effects = self.app.update(message, Instant::now());
        for said in self.app.said() {
            tell(&said.text);
            self.failed |= said.is_error;
        }
        effects
    }

    /// Does what the app asks for.
    fn act(&mut self, effects: Vec<Effect>) -> anyhow::Result<Option<Exit>> {
        for effect in effects {
            match effect {
                Effect::Engine(command) => {
                    if let Command::Send { cancel, .. } = &command {
                        self.out.begin_answer();
                        self.answering = Some(cancel.clone());
                    }
                    self.send(command)?;
                }
                Effect::Session(request) => self.ask(request),
                Effect::Copy(copy) => {
                    let copied = self.copied.clone();
                    clipboard::copy(copy, false, move |done| drop(copied.send(done.told)));
                    self.requests += 1;
                }
                Effect::Quit => return Ok(Some(self.exit())),
                // The screen's own.
                Effect::Remember(_)
                | Effect::Edit(_)
                | Effect::SetTheme(_)
                | Effect::ListThemes
                | Effect::Highlight(_)
                | Effect::Restart(_)
                | Effect::ListModels
                | Effect::ClearScreen
                | Effect::Suspend => {}
            }
        }
        Ok(None)
    }

    /// What came of copying.
    fn copied(&mut self, told: Result<String, String>) {
        self.failed |= told.is_err();
        tell(&told.unwrap_or_else(|why| why));
        self.requests = self.requests.saturating_sub(1);
        self.prompt();
    }

    fn send(&mut self, command: Command) -> anyhow::Result<()> {
        self.saving.saver.sent(&command);
        Ok(self.handle.commands.send(command)?)
    }

    fn ask(&mut self, request: Request) {
        self.saving.saver.ask(request);
        self.requests += 1;
    }

    /// The word of the one who saves.
    fn note(&mut self, note: Note) -> anyhow::Result<()> {
        match note {
            Note::News(news) => {
                tell(&news.to_string());
                return Ok(());
            }
            Note::Listed(Ok(entries)) if entries.is_empty() => {
                tell("there is no other saved chat yet");
            }
            Note::Listed(Ok(entries)) => {
                let table = fitted(&listing::table(&entries), columns(io::stderr()));
                tell(table.trim_end());
            }
            Note::Listed(Err(why)) => {
                tell(&why);
                self.failed = true;
            }
            Note::Opened(opened) => self.restore(opened)?,
            Note::Done(_) | Note::Refused(_) => {
                let effects = self.update(Msg::Session(note));
                self.act(effects)?;
            }
        }
        self.requests = self.requests.saturating_sub(1);
        self.prompt();
        Ok(())
    }

    /// Goes on with a chat that was opened.
    fn restore(&mut self, opened: Box<Opened>) -> anyhow::Result<()> {
        tell_opened(&opened, |line| self.out.note(line));
        self.was_with = opened
            .conversation
            .turns
            .last()
            .map(|turn| turn.model.clone());
        self.tell_other_model();
        let opened = Msg::Session(Note::Opened(opened));
        let effects = self.app.update(opened, Instant::now());
        self.act(effects).map(drop)
    }

    fn tell_other_model(&mut self) {
        if let Some(ready) = self.app.ready()
            && let Some(was) = self.was_with.take()
            && let Some(told) = other_model(&clean(&was), &ready.target)
        {
            self.out.note(&told);
        }
    }

    /// Changes the strategy, which `line` asks for, or lists all.
    fn mode(&mut self, name: &str, line: &str) -> anyhow::Result<()> {
        let ready = self.app.ready();
        let known = ready.map_or_else(Vec::new, |ready| ready.strategies.clone());
        if let Some(strategy) = known.iter().find(|strategy| strategy.name == name) {
            let name = strategy.name;
            let effects = self.app.update(Msg::Line(line.to_owned()), Instant::now());
            self.act(effects)?;
            tell(&format!("{name} drafts from the next pass on"));
            return Ok(());
        }
        if !name.is_empty() {
            self.update(Msg::Line(line.to_owned()));
        }
        let current = self.app.wanted().or(self.app.strategy());
        for strategy in known {
            let now = if Some(strategy.name) == current {
                "*"
            } else {
                " "
            };
            tell(&format!("{now} {:19} {}", strategy.name, strategy.summary));
        }
        Ok(())
    }

    /// How the chat ended, once its input has and the last answer is there.
    fn end(&self) -> Option<Exit> {
        let ended = self.input_ended && self.answering.is_none() && self.requests == 0;
        ended.then(|| self.exit())
    }

    /// A script is told that something failed; a person has seen it.
    fn exit(&self) -> Exit {
        if self.failed && !self.typed {
            Exit::Failed
        } else {
            Exit::Done
        }
    }

    fn interrupt(&mut self) -> anyhow::Result<Option<Exit>> {
        match &self.answering {
            Some(cancel) if !cancel.is_cancelled() => {
                cancel.cancel();
                Ok(None)
            }
            Some(_) | None => {
                self.out.end_line()?;
                Ok(Some(Exit::Interrupted))
            }
        }
    }

    /// Asks for the next line, where somebody types it.
    fn prompt(&self) {
        let busy = self.answering.is_some() || self.requests > 0;
        if !self.typed || self.input_ended || busy {
            return;
        }
        if io::stdout().is_terminal() {
            stdout::write("> ").ok();
        } else {
            write!(io::stderr(), "> ").ok();
        }
    }
}

/// The commands that there are without a screen.
fn help() -> String {
    let commands = COMMANDS.iter().filter(|command| command.in_lines);
    let lines = commands.map(|command| format!("{:<16}{}\n", command.usage(), command.help));
    let ctrl_c = "Ctrl-C          stop the answer; without one, quit";
    lines.collect::<String>() + ctrl_c
}
