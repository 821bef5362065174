//! One message → the next state, and what to do.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEventKind};

use crate::app::block::{Answer, AnswerState, Kind};
use crate::app::control::ENDED;
use crate::app::conversation::Conversation;
use crate::app::geometry::PanelArea;
use crate::app::input::Edit;
use crate::app::keymap::{Action, action};
use crate::app::overlay::Overlay;
use crate::app::scroll::Scroll;
use crate::app::slash::{self, Command as Row, Parsed, Slash};
use crate::app::typed::Typed;
use crate::app::{App, Asked, Effect, Msg, Phase, QUIT_WITHIN, Shown, pasted};
use crate::cancel::Cancel;
use crate::engine::protocol::Command;

/// Lines of the last page that stay in view when scrolling by a page.
const PAGE_OVERLAP: isize = 2;

impl App {
    /// Takes a message that came at `now` and says what to do.
    pub fn update(&mut self, msg: Msg, now: Instant) -> Vec<Effect> {
        self.now = self.now.max(now);
        self.said.clear();
        self.expire();
        let named_theme = self.names_theme();
        let mut effects = match msg {
            Msg::Key(key) if key.kind == KeyEventKind::Release => Vec::new(),
            Msg::Key(key)
                if self.q_quits() && key.code == KeyCode::Char('q') && key.modifiers.is_empty() =>
            {
                vec![Effect::Quit]
            }
            Msg::Key(key) => match action(key) {
                Some(action) => self.act(action),
                None => Vec::new(),
            },
            Msg::Paste(text) => {
                self.notice = None;
                self.quit_until = None;
                self.take_paste(&text);
                Vec::new()
            }
            Msg::Resize(width, height) => {
                self.size = (width, height);
                Vec::new()
            }
            Msg::Engine(event) => {
                self.hear(event);
                Vec::new()
            }
            Msg::Edited(result) => {
                self.quit_until = None;
                self.edited(result);
                Vec::new()
            }
            Msg::Themed(name, result) => {
                self.themed(name, result);
                Vec::new()
            }
            Msg::Told(result) => {
                self.told(&result);
                Vec::new()
            }
            Msg::Themes(names) => {
                self.themes = names;
                Vec::new()
            }
            Msg::Line(line) => {
                self.input.set(&line);
                let effects = self.submit();
                // Nobody can change it.
                self.input.take();
                effects
            }
            Msg::Highlighted(highlighted) => {
                self.transcript.highlighted(&highlighted);
                Vec::new()
            }
            Msg::Models(entries) => {
                self.models_listed(entries);
                Vec::new()
            }
            Msg::Session(note) => self.hear_of_saving(note),
            Msg::Tick => Vec::new(),
        };
        self.expire_notice();
        self.refresh_find();
        self.settle();
        // First: nothing is done after an effect that quits.
        effects.splice(
            0..0,
            self.input.take_fresh().into_iter().map(Effect::Remember),
        );
        effects.extend(
            self.transcript
                .take_jobs()
                .into_iter()
                .map(Effect::Highlight),
        );
        // Files may have come and gone since the last time.
        if self.names_theme() && !named_theme {
            effects.push(Effect::ListThemes);
        }
        effects
    }

    /// Lets go of what has had its time.
    fn expire(&mut self) {
        if self.quit_until.is_some_and(|until| until <= self.now) {
            self.quit_until = None;
        }
        if self.notice_until().is_some_and(|until| until <= self.now) {
            self.notice = None;
        }
        if self.stale {
            self.refresh(false);
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        let quit_asked = self.quit_until.take().is_some();
        self.notice = None;
        if let Some(effects) = self.act_in_overlay(action) {
            return effects;
        }
        if let Some(effects) = self.act_in_popup(action) {
            return effects;
        }
        match action {
            Action::Find => self.open_find(""),
            Action::Send => return self.enter(),
            Action::Complete => {}
            Action::SearchHistory => self.search_history(),
            Action::OpenEditor => return self.open_editor(),
            Action::NextStrategy => return self.next_strategy(),
            Action::Interrupt => return self.interrupt(quit_asked),
            Action::Escape => self.escape(),
            Action::EndOfInput if self.input.is_empty() => return self.quit(),
            Action::EndOfInput => self.input.edit(Edit::Delete),
            Action::Up => self.vertical(-1),
            Action::Down => self.vertical(1),
            Action::LineUp => self.scroll_by(-1),
            Action::LineDown => self.scroll_by(1),
            Action::PageUp => self.scroll_by(-self.page()),
            Action::PageDown => self.scroll_by(self.page()),
            Action::Home if self.input.is_empty() => self.scroll_by(isize::MIN),
            Action::Home => self.input.edit(Edit::LineStart),
            Action::End if self.input.at_line_end() => self.scroll.to_end(),
            Action::End => self.input.edit(Edit::LineEnd),
            Action::HistoryBack => self.input.recall(true),
            Action::HistoryForward => self.input.recall(false),
            Action::TogglePanel => self.toggle_panel(),
            Action::Redraw => return vec![Effect::ClearScreen],
            Action::Suspend => return vec![Effect::Suspend],
            Action::Help if self.input.is_empty() => self.open(Overlay::Help(0)),
            Action::Help => self.input.edit(Edit::Insert('?')),
            Action::Edit(edit) => self.input.edit(edit),
        }
        Vec::new()
    }

    fn enter(&mut self) -> Vec<Effect> {
        if self.input.continue_line() {
            return Vec::new();
        }
        self.submit()
    }

    /// Sends what is typed, or runs it.
    fn submit(&mut self) -> Vec<Effect> {
        let text = self.input.text();
        if text.trim().is_empty() {
            return Vec::new();
        }
        match slash::parse(&text) {
            Parsed::Command(command, name) => self.run_or_refuse(command, name),
            Parsed::Wrong(why) => {
                self.refuse(&why);
                Vec::new()
            }
            Parsed::Message(text) => self.send(&text),
        }
    }

    /// Runs a command. One that cannot be done stays in the input, and the status bar says why.
    fn run_or_refuse(&mut self, command: Slash, name: &str) -> Vec<Effect> {
        let draft = self.input.put_aside();
        match self.run(command, name) {
            Ok(effects) => {
                self.input.remember(draft.typed());
                effects
            }
            Err(why) => {
                self.input.take_back(draft);
                self.refuse(&why);
                Vec::new()
            }
        }
    }

    fn send(&mut self, text: &str) -> Vec<Effect> {
        if self.is_dead() {
            self.refuse(ENDED);
            return Vec::new();
        }
        if let Some(asked) = &self.asked {
            let why = match (asked.cancel.is_cancelled(), &self.phase) {
                (true, Phase::Ready | Phase::Dead) => {
                    "the answer is being stopped: then Enter sends this"
                }
                (true, Phase::Starting | Phase::Fetching(_) | Phase::Loading(_)) => {
                    "the message before is stopped once the model is there: then Enter sends this"
                }
                (false, Phase::Ready | Phase::Dead) => {
                    "an answer is being written: Ctrl-C stops it, then Enter sends this"
                }
                (false, Phase::Starting | Phase::Fetching(_) | Phase::Loading(_)) => {
                    "a message waits for the model already: once it is answered, Enter sends this"
                }
            };
            self.refuse(why);
            return Vec::new();
        }
        let mut typed = self.input.take();
        // It was typed with one `/` more.
        if text.len() < typed.whole().len() {
            typed.remove_first();
        }
        self.ask(typed)
    }

    /// Shows a message and asks the engine for an answer to it.
    pub(super) fn ask(&mut self, typed: Typed) -> Vec<Effect> {
        let cancel = Cancel::new();
        let text = typed.whole();
        let pasted = pasted::ranges(&typed);
        let question = self.transcript.push(Kind::User, &typed.shown());
        self.conversation.ask(question, typed);
        let state = match self.phase {
            Phase::Ready | Phase::Dead => AnswerState::Sent,
            Phase::Starting | Phase::Fetching(_) | Phase::Loading(_) => AnswerState::Waiting,
        };
        let model = self.ready.as_ref().map(|ready| ready.target.clone());
        let block = self
            .transcript
            .push(Kind::Assistant(Answer { model, state }), "");
        self.asked = Some(Asked {
            cancel: cancel.clone(),
            block,
            strategies: Vec::new(),
        });
        self.latest.stats.begin_answer();
        self.latest.note = None;
        self.refresh(true);
        self.scroll.to_end();
        vec![Effect::Engine(Command::Send {
            text,
            cancel,
            pasted,
        })]
    }

    /// Runs a command, which has left the input; an error says in a phrase why it cannot be done.
    fn run(&mut self, command: Slash, name: &str) -> Result<Vec<Effect>, String> {
        if Row::named(name).is_some_and(|row| !row.while_answering) {
            self.must_wait(&format!("/{name}"))?;
        }
        if matches!(command, Slash::Model(_) | Slash::Reload) {
            self.must_not_load(&format!("/{name}"))?;
        }
        match command {
            Slash::Mode(name) => return self.mode(&name),
            Slash::Retry => return self.retry(),
            Slash::Edit(n) => return self.edit_numbered(&n),
            Slash::Model(None) => return Ok(self.pick_model()),
            Slash::Model(Some(target)) => return Ok(self.load_model(target)),
            Slash::Reload => return Ok(self.reload()),
            Slash::Drop => return self.drop_oldest(),
            Slash::System(text) => return self.system(&text),
            Slash::Set(change) => return self.set(&change),
            Slash::New => {
                self.clear_conversation();
                self.say("a new conversation");
                return Ok(vec![Effect::Engine(Command::Reset)]);
            }
            Slash::Show(what) if what != "tokens" => {
                return Err(format!("/show takes `tokens`, not `{what}`"));
            }
            Slash::Show(_) => {
                self.show_tokens = !self.show_tokens;
                self.say(if self.show_tokens {
                    "accepted tokens are marked"
                } else {
                    "tokens are not marked"
                });
            }
            Slash::Copy(argument) => return self.copy(&argument),
            Slash::Theme(name) => return Ok(self.change_theme(name)),
            Slash::Stats => self.tell_stats(),
            Slash::Find(text) => self.open_find(&text),
            Slash::Markdown => {
                let markdown = self.toggle_markdown();
                self.say(if markdown {
                    "answers are shown as Markdown"
                } else {
                    "answers are shown as the model wrote them"
                });
            }
            Slash::Panel => self.toggle_panel(),
            Slash::Save(name) => return Ok(self.save(name)),
            Slash::Resume(id) => return self.resume(id),
            Slash::Export(file) => return self.export(file),
            Slash::Help => self.open(Overlay::Help(0)),
            Slash::Quit => return Ok(self.quit()),
        }
        Ok(Vec::new())
    }

    /// Shows an empty conversation, with numbers that are not another's: only what is measured of the machine (plain
    /// decoding) and the totals of all answers stay.
    pub(super) fn clear_conversation(&mut self) {
        self.transcript.clear();
        self.conversation = Conversation::default();
        self.scroll = Scroll::default();
        self.clear_numbers();
    }

    /// Shows the numbers of no answer.
    pub(super) fn clear_numbers(&mut self) {
        self.latest.stats.begin_answer();
        self.latest.stats.clear_window();
        self.latest = Shown {
            stats: self.latest.stats.clone(),
            ..Shown::default()
        };
        self.refresh(true);
    }

    fn interrupt(&mut self, quit_asked: bool) -> Vec<Effect> {
        if quit_asked || self.is_dead() && self.input.is_empty() {
            return self.quit();
        }
        if self.stop() {
            return Vec::new();
        }
        if !self.input.is_empty() {
            self.input.take();
            return Vec::new();
        }
        self.quit_until = Some(self.now + QUIT_WITHIN);
        Vec::new()
    }

    fn escape(&mut self) {
        if !self.stop() {
            self.scroll.to_end();
        }
    }

    /// Stops the answer; `false` when there is none, or it was asked to stop already.
    fn stop(&mut self) -> bool {
        let Some(asked) = self.asked.as_ref().filter(|it| !it.cancel.is_cancelled()) else {
            return self.stop_loading();
        };
        asked.cancel.cancel();
        if let Some(answer) = self.transcript.answer_mut(asked.block) {
            answer.state = AnswerState::Stopping;
        }
        true
    }

    fn quit(&mut self) -> Vec<Effect> {
        if let Some(asked) = &self.asked {
            asked.cancel.cancel();
        }
        if let Some(load) = &self.load {
            load.cancel.cancel();
        }
        vec![Effect::Quit]
    }

    /// Whether a theme is about to be chosen.
    fn names_theme(&self) -> bool {
        let typed = self.input.command_line();
        let name = typed.and_then(|typed| typed[1..].split_whitespace().next());
        let command = name.and_then(Row::meant_by);
        command.is_some_and(|command| command.name == "theme")
    }

    fn toggle_panel(&mut self) {
        self.panel = !self.panel;
        if self.panel && self.own_geometry().panel == PanelArea::Hidden {
            self.say("the panel is on, but this terminal is too small for it");
        }
    }

    fn vertical(&mut self, by: isize) {
        let width = self.own_geometry().input_width();
        if self.input.lines(width).lines.len() > 1 {
            self.input.move_row(by, width);
        } else {
            self.scroll_by(by);
        }
    }

    pub(super) fn scroll_by(&mut self, lines: isize) {
        self.render_above(lines.min(0).unsigned_abs());
        let height = self.own_geometry().transcript.height.into();
        self.scroll.by(lines, self.transcript.len(), height);
    }

    pub(super) fn page(&self) -> isize {
        let height = isize::try_from(self.own_geometry().transcript.height).unwrap_or(1);
        (height - PAGE_OVERLAP).max(1)
    }

    /// Whether `q` quits: the engine has ended, and nothing is typed or looked for that it would be part of.
    fn q_quits(&self) -> bool {
        self.is_dead() && self.input.is_empty() && !self.overlay.is_open()
    }

    pub(super) fn is_dead(&self) -> bool {
        match self.phase {
            Phase::Dead => true,
            Phase::Starting | Phase::Fetching(_) | Phase::Loading(_) | Phase::Ready => false,
        }
    }
}
