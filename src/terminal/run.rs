//! The screen's loop: keys, the engine's events, signals and time in; frames, commands and an exit out.
//!
//! Everything that happens goes through [`App::update`]; what it changed is drawn at the next deadline.
//! **Draws are coalesced and nothing is drawn unless something happened**: however fast events come,
//! at most 30 frames a second are written, 20 over SSH.

mod outside;

use std::collections::VecDeque;
use std::env;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use ratatui::Terminal;
use ratatui::layout::Size;
use tokio::select;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot::Receiver;
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval};

use crate::app::{App, AppSettings, Effect, Msg};
use crate::clock;
use crate::engine::protocol::{Event, Handle, ModelEntry};
use crate::session::{Ended, Note};
use crate::stats::Stats;
use crate::ui::{self, Theme};

use self::outside::{edited, listed, next_read, start_history};
use super::awake::Awake;
use super::clipboard::Copied;
use super::editor::Editor;
use super::exit::Exit;
use super::frame::{FrameBackend, Unbuffered, unbuffered_stdout};
use super::guard::{Guard, restore, terminal_is_there};
use super::highlight::Highlighting;
use super::history_file;
use super::host::Host;
use super::input::{Decoder, Input, Reader};
use super::saving::Saving;
use super::signals::{self, Signal, Signals};
use super::themes::Themes;
use super::{last_resort, stdout, summary, until};

/// Time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Time between two frames over SSH.
const FRAME_REMOTE: Duration = Duration::from_millis(50);
/// Time between two frames when the user did something, who must see it at once; a pasted or held key
/// makes no more frames than this.
const FRAME_OF_INPUT: Duration = Duration::from_millis(8);
/// A Ctrl-C that ends an editor goes to the whole job, and may be heard when the editor has ended.
const AFTER_EDITOR: Duration = Duration::from_millis(500);
/// How often it is checked that the terminal is still there. Input from one that is gone does not
/// always end: it may come as an endless stream of nothing.
const WATCH: Duration = Duration::from_millis(500);

/// Where the screen keeps and finds things.
pub struct ScreenSettings {
    /// How it looks.
    pub theme: Theme,
    /// Where other themes are found.
    pub themes: Themes,
    /// The file of messages typed in earlier runs; `None` where they are not to be kept.
    pub history: Option<PathBuf>,
}

/// Shows the chat until the user leaves, and prints the session's numbers, and where the chat is saved,
/// to the normal screen.
pub fn run(
    host: Host,
    saving: Saving,
    settings: AppSettings,
    here: ScreenSettings,
) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (ended, session, saved) = runtime.block_on(async {
        let mut screen =
            Screen::open(host, saving, settings, here).context("cannot take the terminal")?;
        let ended = screen.run().await;
        // First: whoever sent a signal may not wait for the rest.
        let saved = screen.saving.saver.end();
        restore();
        super::end(screen.engine).await;
        anyhow::Ok((ended, screen.session, saved))
    })?;
    let exit = match ended {
        Ok(exit) => exit,
        // The terminal broke because it is gone: that is no failure of the program.
        Err(_) if !terminal_is_there() => Exit::HungUp,
        Err(error) => {
            // The error is what matters.
            tell_saved(&saved).ok();
            return Err(error);
        }
    };
    match exit {
        Exit::HungUp => return Ok(exit),
        Exit::Done
        | Exit::Failed
        | Exit::Usage
        | Exit::Unsaved
        | Exit::Interrupted
        | Exit::Quit
        | Exit::ReaderGone
        | Exit::Terminated
        | Exit::Signalled(_) => {}
    }
    if let Some(line) = summary::line(&session.stats.session().all) {
        stdout::write_line(&line)?;
    }
    tell_saved(&saved)?;
    match session.fatal {
        Some(message) if exit == Exit::Done => anyhow::bail!(message),
        Some(_) | None => Ok(exit.once_saved(&saved)),
    }
}

/// Says where the chat is, and how to go on with it.
fn tell_saved(saved: &Ended) -> anyhow::Result<()> {
    let lines = saved.warnings().into_iter().chain(saved.place());
    lines
        .into_iter()
        .try_for_each(|line| stdout::write_line(&line))
}

/// What the session amounted to.
#[derive(Default)]
struct Session {
    stats: Stats,
    /// Why the engine ended before the user left.
    fatal: Option<String>,
}

/// What work on another thread has come to.
enum Outcome {
    HistoryFailed(String),
    Copied(Copied),
}

struct Screen {
    app: App,
    theme: Theme,
    themes: Themes,
    host: Host,
    engine: Handle,
    /// The models that are being listed.
    models: Option<Receiver<Vec<ModelEntry>>>,
    awake: Awake,
    engine_runs: bool,
    saving: Saving,
    session: Session,
    highlighting: Highlighting,
    terminal: Terminal<FrameBackend<Unbuffered>>,
    /// Not while an editor has the terminal: it would take its keys.
    reader: Option<Reader>,
    decoder: Decoder,
    /// Keys and pastes that have come, oldest first. Signals and frames go between them.
    inputs: VecDeque<Input>,
    editor: Option<Editor>,
    /// When the last editor ended.
    edited: Option<Instant>,
    history: Option<history_file::Writer>,
    /// What work on other threads has to say to the app.
    outcomes: UnboundedReceiver<Outcome>,
    outcome: UnboundedSender<Outcome>,
    signals: Signals,
    size: Size,
    frame: Duration,
    drawn: Option<Instant>,
    /// What was drawn is out of date; the next frame comes so long after the last.
    changed: Option<Duration>,
    // Last: the terminal is given back after nothing uses it any more.
    guard: Guard,
}

impl Screen {
    fn open(
        host: Host,
        saving: Saving,
        settings: AppSettings,
        here: ScreenSettings,
    ) -> io::Result<Self> {
        // The theme decides about colours, NO_COLOR included; crossterm would drop bold and reverse too.
        crossterm::style::force_color_output(true);
        let remote = ["SSH_CONNECTION", "SSH_TTY"]
            .iter()
            .any(|name| env::var_os(name).is_some());
        let signals = Signals::listen()?;
        last_resort::watch()?;
        let guard = Guard::enter()?;
        let mut terminal = Terminal::new(FrameBackend::new(unbuffered_stdout()?))?;
        let size = terminal.size()?;
        terminal.clear()?;
        let settings = AppSettings {
            size: (size.width, size.height),
            ..settings
        };
        let (outcome, outcomes) = unbounded_channel();
        let history = here
            .history
            .map(|path| start_history(path, outcome.clone()));
        Ok(Self {
            app: App::new(settings, Instant::now()),
            theme: here.theme,
            themes: here.themes,
            engine: host.start(None),
            host,
            models: None,
            awake: Awake::new(),
            engine_runs: true,
            saving,
            session: Session::default(),
            highlighting: Highlighting::default(),
            terminal,
            reader: Some(Reader::start()?),
            decoder: Decoder::new(remote),
            inputs: VecDeque::new(),
            editor: None,
            edited: None,
            history,
            outcomes,
            outcome,
            signals,
            size,
            frame: if remote { FRAME_REMOTE } else { FRAME },
            drawn: None,
            changed: Some(FRAME_OF_INPUT),
            guard,
        })
    }

    async fn run(&mut self) -> anyhow::Result<Exit> {
        let mut watch = interval(WATCH);
        watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
        if let Some(opened) = self.saving.opened.take() {
            self.update(Msg::Session(Note::Opened(opened)))?;
        }
        loop {
            let next_draw = self
                .changed
                .map(|pause| self.drawn.map_or_else(Instant::now, |drawn| drawn + pause));
            let exit = select! {
                biased;
                signal = self.signals.next() => self.signal(signal)?,
                () = until(next_draw) => {
                    self.draw()?;
                    None
                }
                () = yield_now(), if !self.inputs.is_empty() => self.input()?,
                read = next_read(&mut self.reader) => {
                    let (read_at, bytes) = read.context("the terminal's input ended")??;
                    self.inputs.extend(self.decoder.push(&bytes, read_at));
                    None
                }
                () = until(self.decoder.deadline()) => {
                    self.inputs.extend(self.decoder.expire(Instant::now()));
                    None
                }
                text = edited(&mut self.editor) => self.editor_ended(text)?,
                // Not while an editor has the terminal: the clipboard may need it.
                Some(outcome) = self.outcomes.recv(), if self.editor.is_none() => self.outcome(outcome)?,
                event = self.engine.events.recv(), if self.engine_runs => self.engine(event)?,
                Some(highlighted) = self.highlighting.done.recv() => {
                    self.update(Msg::Highlighted(highlighted))?
                }
                Some(note) = self.saving.notes.recv() => self.update(Msg::Session(note))?,
                entries = listed(&mut self.models) => {
                    self.models = None;
                    self.update(Msg::Models(entries))?
                }
                () = until(self.app.wake_at()) => self.update(Msg::Tick)?,
                _ = watch.tick() => (!terminal_is_there()).then_some(Exit::HungUp),
            };
            if let Some(exit) = exit {
                return Ok(exit);
            }
        }
    }

    /// Takes the next key or paste.
    fn input(&mut self) -> io::Result<Option<Exit>> {
        let exit = match self.inputs.pop_front() {
            Some(Input::Key(key)) => self.update(Msg::Key(key)),
            Some(Input::Paste(text)) => self.update(Msg::Paste(text)),
            None => Ok(None),
        };
        if self.editor.is_some() {
            // What was typed after the key that started an editor is not for the message that it has.
            self.inputs.clear();
        }
        exit
    }

    fn engine(&mut self, event: Option<Event>) -> io::Result<Option<Exit>> {
        let Some(event) = event else {
            self.engine_runs = false;
            return Ok(None);
        };
        self.saving.saver.heard(&event);
        match &event {
            Event::Round(round) => self.session.stats.push(round),
            Event::Baseline(baseline) => self.session.stats.set_baseline(*baseline),
            Event::Failed(failure) if failure.fatal => {
                self.session.fatal = Some(failure.message.clone());
            }
            // Other models have another one.
            Event::Ready(_) => self.session.stats.forget_baseline(),
            Event::Finished(_) | Event::Failed(_) => self.session.stats.begin_answer(),
            Event::Fetch(_)
            | Event::Loading(_)
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_)
            | Event::Prefill { .. } => {}
        }
        self.update(Msg::Engine(event))
    }

    fn update(&mut self, msg: Msg) -> io::Result<Option<Exit>> {
        let pause = match msg {
            Msg::Key(_)
            | Msg::Paste(_)
            | Msg::Resize(..)
            | Msg::Edited(_)
            | Msg::Themed(..)
            | Msg::Themes(_)
            | Msg::Line(_)
            | Msg::Told(_)
            // Who stopped an answer waits for this.
            | Msg::Engine(Event::Finished(_)) => FRAME_OF_INPUT,
            Msg::Engine(_) | Msg::Models(_) | Msg::Session(_) | Msg::Highlighted(_) | Msg::Tick => {
                self.frame
            }
        };
        self.changed = Some(self.changed.map_or(pause, |due| due.min(pause)));
        for effect in self.app.update(msg, Instant::now()) {
            match effect {
                Effect::Remember(typed) => {
                    if let Some(history) = &self.history {
                        history.add(typed);
                    }
                }
                Effect::Edit(text) => self.edit(&text)?,
                Effect::Copy(copy) => self.copy(copy),
                Effect::SetTheme(name) => self.set_theme(name)?,
                Effect::ListThemes => self.list_themes()?,
                Effect::Highlight(job) => self.highlighting.ask(job),
                Effect::Engine(command) => {
                    self.saving.saver.sent(&command);
                    // An engine that has ended has said so in its events.
                    drop(self.engine.commands.send(command));
                }
                Effect::Session(request) => self.saving.saver.ask(request),
                Effect::Restart(models) => {
                    self.engine = self.host.start(models);
                    self.engine_runs = true;
                    self.session.fatal = None;
                }
                Effect::ListModels => self.models = Some(self.host.models()),
                Effect::Quit => return Ok(Some(Exit::Done)),
                Effect::ClearScreen => self.redraw()?,
                Effect::Suspend if signals::can_stop() => signals::ask_job_to_stop()?,
                Effect::Suspend => {}
            }
        }
        self.awake.set(self.app.is_computing());
        Ok(None)
    }

    fn signal(&mut self, signal: Signal) -> io::Result<Option<Exit>> {
        let editing = self.editor.is_some();
        let just_edited = self
            .edited
            .is_some_and(|edited| edited.elapsed() < AFTER_EDITOR);
        if signal == Signal::Continue {
            clock::go_on();
        }
        match signal {
            // Meant for the editor, which has the terminal.
            Signal::Interrupt | Signal::Quit if editing || just_edited => {
                last_resort::outlived();
                Ok(None)
            }
            Signal::Continue | Signal::Resize if editing => Ok(None),
            Signal::Interrupt
            | Signal::Terminate
            | Signal::Quit
            | Signal::HangUp
            | Signal::Other(_) => Ok(last_resort::ends(signal)),
            Signal::Stop => {
                if signals::can_stop() {
                    restore();
                    clock::stop();
                    signals::stop()?;
                }
                Ok(None)
            }
            Signal::Continue => {
                self.guard.enter_again()?;
                self.terminal.backend_mut().forget();
                self.redraw()?;
                Ok(None)
            }
            // Also when the size is the old one again: what stood there may be lost.
            Signal::Resize => {
                self.redraw()?;
                Ok(None)
            }
        }
    }

    /// Draws everything anew at the next deadline.
    fn redraw(&mut self) -> io::Result<()> {
        self.changed = Some(FRAME_OF_INPUT);
        self.terminal.clear()
    }

    fn draw(&mut self) -> io::Result<()> {
        if self.guard.is_entered() {
            // Frame and app must agree on the size.
            let size = self.terminal.size()?;
            if size != self.size {
                self.size = size;
                self.update(Msg::Resize(size.width, size.height))?;
            }
            self.terminal
                .draw(|frame| ui::draw(&self.app, &self.theme, frame))?;
        }
        self.changed = None;
        self.drawn = Some(Instant::now());
        Ok(())
    }
}
