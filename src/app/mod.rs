//! The screen's state as plain data.
//!
//! [`Msg`]s come in with the time, [`Effect`]s go out; [`crate::ui::draw`] shows the state. Nothing
//! here reads a clock, a terminal or a channel, so every behaviour is a test by data.
//! **Text from outside is cleaned when it comes in**; what is sent to the engine stays as typed.

pub mod block;
pub mod conversation;
pub mod copy;
pub mod draft;
pub mod filtered;
pub mod find;
pub mod geometry;
pub mod help;
pub mod highlight;
pub mod history;
pub mod input;
pub mod keymap;
pub mod layer;
mod likeness;
pub mod markdown;
pub mod overlay;
pub mod picker;
pub mod popup;
pub mod report;
pub mod saved;
pub mod scroll;
pub mod search;
pub mod slash;
pub mod transcript;
pub mod typed;
pub mod wrap;

mod control;
mod engine_event;
mod loading;
mod message;
mod notice;
mod outside;
mod pasted;
mod strategies;
mod update;

pub use message::{AppSettings, Effect, Msg, Said};

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use crate::app::block::{Kind, View};
use crate::app::control::{ChatSystem, WantedOptions};
use crate::app::conversation::Conversation;
use crate::app::geometry::{Geometry, PanelArea};
use crate::app::input::{Edit, Input};
use crate::app::loading::LoadAsked;
use crate::app::notice::Notice;
use crate::app::overlay::Overlay;
use crate::app::popup::PopupState;
use crate::app::saved::SaverAsked;
use crate::app::scroll::Scroll;
use crate::app::transcript::Transcript;
use crate::cancel::Cancel;
use crate::engine::protocol::{Explanation, Fetch, Loading, Ready};
use crate::stats::Stats;

/// The panel's numbers change at most this often.
const PANEL_PERIOD: Duration = Duration::from_millis(250);
/// What `auto` chose is shown for at least this long, so that it can be read.
const CHOICE_PERIOD: Duration = Duration::from_secs(1);
/// A second Ctrl-C within this time quits.
const QUIT_WITHIN: Duration = Duration::from_millis(1500);
/// Blocks of a long conversation that get their lines at once, when the view comes near.
const RENDERED_AT_ONCE: usize = 32;

/// How far the engine is.
#[derive(Clone, Debug)]
pub enum Phase {
    /// Nothing heard yet.
    Starting,
    /// A file is being fetched.
    Fetching(Fetching),
    /// A model is being loaded.
    Loading(Loading),
    /// Models are loaded.
    Ready,
    /// The engine has ended.
    Dead,
}

/// Progress of fetching, with what its rate is measured from.
#[derive(Clone, Debug)]
pub struct Fetching {
    /// The engine's latest word.
    pub fetch: Fetch,
    /// Bytes per second since the first word about this file.
    pub rate: Option<f64>,
    since: Instant,
    from: u64,
}

/// The numbers that the panel shows: those of the last refresh.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Rates.
    pub stats: Stats,
    /// Tokens of prompt and answer.
    pub context_used: Option<usize>,
    /// Why the last round fell back to plain decoding.
    pub note: Option<String>,
    /// What `auto` chose for one of the latest rounds, and why.
    pub choice: Option<Arc<Explanation>>,
}

/// The answer that was asked for and has not ended.
#[derive(Debug)]
struct Asked {
    cancel: Cancel,
    /// Its block of the transcript.
    block: usize,
    strategies: Vec<&'static str>,
}

/// The screen's state.
#[derive(Debug)]
pub struct App {
    size: (u16, u16),
    now: Instant,
    phase: Phase,
    ready: Option<Ready>,
    transcript: Transcript,
    scroll: Scroll,
    input: Input,
    popup: PopupState,
    overlay: Overlay,
    conversation: Conversation,
    asked: Option<Asked>,
    wanted_options: Option<WantedOptions>,
    chat_system: Option<ChatSystem>,
    load: Option<LoadAsked>,
    /// What drafts, and what was asked to draft next.
    strategy: Option<&'static str>,
    wanted: Option<&'static str>,
    latest: Shown,
    shown: Shown,
    shown_at: Instant,
    /// When the shown choice of `auto` was taken.
    choice_at: Instant,
    stale: bool,
    baseline_at: Option<Instant>,
    panel: bool,
    show_tokens: bool,
    theme: String,
    themes: Vec<String>,
    /// The model that the opened chat was with, until it is known which is loaded.
    was_with: Option<String>,
    notice: Option<Notice>,
    said: Vec<Said>,
    /// What the saver was asked and has not answered yet, oldest first.
    saver_asked: VecDeque<SaverAsked>,
    quit_until: Option<Instant>,
}

impl App {
    /// An app that has heard nothing yet.
    pub fn new(settings: AppSettings, now: Instant) -> Self {
        let mut app = Self {
            size: settings.size,
            now,
            phase: Phase::Starting,
            ready: None,
            transcript: Transcript::new(1),
            scroll: Scroll::default(),
            input: Input::new(settings.history),
            popup: PopupState::default(),
            overlay: Overlay::None,
            conversation: Conversation::default(),
            asked: None,
            wanted_options: None,
            chat_system: None,
            load: None,
            strategy: None,
            wanted: None,
            latest: Shown::default(),
            shown: Shown::default(),
            shown_at: now,
            choice_at: now,
            stale: false,
            baseline_at: None,
            panel: settings.panel,
            show_tokens: settings.show_tokens,
            theme: settings.theme,
            themes: settings.themes,
            was_with: None,
            notice: None,
            said: Vec::new(),
            saver_asked: VecDeque::new(),
            quit_until: None,
        };
        for note in &settings.notes {
            app.transcript.push(Kind::Notice, note);
        }
        app.settle();
        app
    }

    /// How far the engine is.
    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    /// What is loaded.
    pub fn ready(&self) -> Option<&Ready> {
        self.ready.as_ref()
    }

    /// The conversation.
    pub fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The part of it in view.
    pub fn scroll(&self) -> &Scroll {
        &self.scroll
    }

    /// The message being typed.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// The strategy that drafts.
    pub fn strategy(&self) -> Option<&'static str> {
        self.strategy
    }

    /// The strategy that was asked for and has not drafted yet.
    pub fn wanted(&self) -> Option<&'static str> {
        self.wanted
    }

    /// The panel's numbers.
    pub fn shown(&self) -> &Shown {
        &self.shown
    }

    /// How long ago the plain baseline was measured.
    pub fn baseline_age(&self) -> Option<Duration> {
        Some(self.now.saturating_duration_since(self.baseline_at?))
    }

    /// Whether an answer has been asked for and has not ended.
    pub fn answering(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the engine is at work on an answer.
    pub fn is_computing(&self) -> bool {
        self.asked.is_some() && matches!(self.phase, Phase::Ready)
    }

    /// Whether accepted tokens are marked.
    pub fn show_tokens(&self) -> bool {
        self.show_tokens
    }

    /// Where things stand on a screen.
    pub fn geometry(&self, screen: Rect) -> Geometry {
        Geometry::new(screen, self.panel, |width| match self.overlay {
            Overlay::Find(_) => 1,
            Overlay::None
            | Overlay::Help(_)
            | Overlay::Search(_)
            | Overlay::Picker(_)
            | Overlay::Saved(_) => self.input.lines(width).lines.len(),
        })
    }

    /// The next time at which something changes by itself; then a [`Msg::Tick`] is due.
    pub fn wake_at(&self) -> Option<Instant> {
        let age = match (
            self.baseline_age(),
            self.baseline_at,
            self.own_geometry().panel,
        ) {
            (Some(age), Some(at), PanelArea::Side(_) | PanelArea::Strip(_)) => {
                let step = age_step(age);
                Some(at + step * (age.as_secs() / step.as_secs() + 1) as u32)
            }
            (_, _, PanelArea::Hidden) | (None, _, _) | (_, None, _) => None,
        };
        let refresh = self.stale.then(|| self.shown_at + PANEL_PERIOD);
        [age, refresh, self.notice_until(), self.quit_until]
            .into_iter()
            .flatten()
            .min()
    }

    fn own_geometry(&self) -> Geometry {
        self.geometry(Rect::new(0, 0, self.size.0, self.size.1))
    }

    /// Fits lines and view to the screen after a change.
    fn settle(&mut self) {
        self.settle_search();
        self.settle_popup();
        let geometry = self.own_geometry();
        self.set_view(View {
            width: geometry.text_width(),
            ..self.transcript.view()
        });
        let height = geometry.transcript.height.into();
        self.scroll.settle(self.transcript.len(), height);
        // So that the next page is there.
        self.render_above(height);
    }

    /// Renders blocks until `lines` lines stand above the view, or no block is without lines.
    fn render_above(&mut self, lines: usize) {
        while self.scroll.top < lines && self.transcript.unrendered() > 0 {
            self.render_more();
        }
    }

    /// Renders blocks until block `index` has its lines.
    fn render_from(&mut self, index: usize) {
        while index < self.transcript.unrendered() {
            self.render_more();
        }
    }

    fn render_more(&mut self) {
        self.scroll
            .shift(self.transcript.render_more(RENDERED_AT_ONCE));
        let height = self.own_geometry().transcript.height.into();
        self.scroll.settle(self.transcript.len(), height);
    }

    /// Shows the conversation in another way; the place in view stays.
    fn set_view(&mut self, view: View) {
        let anchor = self.transcript.anchor(self.scroll.top);
        if self.transcript.set_view(view) && !self.scroll.follow {
            self.scroll.top = anchor.map_or(0, |anchor| self.transcript.line_of(anchor));
        }
    }

    /// Shows answers as Markdown, or as they came; says which.
    fn toggle_markdown(&mut self) -> bool {
        let view = self.transcript.view();
        let markdown = !view.markdown;
        self.set_view(View { markdown, ..view });
        markdown
    }

    /// Shows the latest numbers, at most once in [`PANEL_PERIOD`], and what `auto` chose, at most once in
    /// [`CHOICE_PERIOD`], unless they are `last`.
    fn refresh(&mut self, last: bool) {
        if !last && self.now < self.shown_at + PANEL_PERIOD {
            self.stale = true;
            return;
        }
        let before = self.shown.choice.take();
        self.shown = self.latest.clone();
        self.shown_at = self.now;
        let held = !last && before.is_some() && self.now < self.choice_at + CHOICE_PERIOD;
        self.stale = held && before != self.latest.choice;
        if held {
            self.shown.choice = before;
        } else {
            self.choice_at = self.now;
        }
    }
}

/// Ages are shown in steps, so that an idle screen rarely changes.
pub fn age_step(age: Duration) -> Duration {
    Duration::from_secs(match age.as_secs() {
        0..60 => 10,
        60..3600 => 60,
        3600.. => 3600,
    })
}
