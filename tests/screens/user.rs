//! A user at a screen: types keys, hears what the engine says, sees a picture.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::{Buffer, CellWidth};
use ratatui::layout::Position;
use speck::app::{App, AppSettings, Effect, Msg};
use speck::cancel::Cancel;
use speck::config::options::Options;
use speck::config::sampling::Seed;
use speck::engine::protocol::{
    Baseline, Command, Event, Explanation, Failure, Fetch, FinishReason, Finished, Loading,
    ModelRef, Piece, Ready, Round, StrategyInfo,
};
use speck::terminal::highlight::Highlighter;
use speck::ui::{ColorDepth, Theme, draw};

pub const CODE: &str = "Here is the function:\n\n```python\ndef is_palindrome(s):\n    \"\"\"Return True if s reads the same backwards.\"\"\"\n    s = s.lower()\n    return s == s[::-1]\n```\n\nIt compares the string with its reverse, which Python makes with a slice of step -1. Upper and lower case count as the same.";

pub struct User {
    pub app: App,
    pub now: Instant,
    pub size: (u16, u16),
    /// What the app asked for, in words.
    pub effects: Vec<String>,
    /// What it asked to keep for later runs.
    pub remembered: Vec<String>,
    /// Why the rounds to come fall back to plain decoding.
    pub note: Option<String>,
    /// What the rounds to come were chosen by.
    pub explanation: Option<Arc<Explanation>>,
    /// The requests to stop that came with messages.
    pub cancels: Vec<Cancel>,
    highlighter: Option<Highlighter>,
}

impl User {
    /// At a terminal of this size, with a program that has just started.
    pub fn new(size: (u16, u16)) -> Self {
        let now = Instant::now();
        let app = App::new(
            AppSettings {
                size,
                themes: Theme::names().map(str::to_owned).collect(),
                ..AppSettings::default()
            },
            now,
        );
        Self {
            app,
            now,
            size,
            effects: Vec::new(),
            remembered: Vec::new(),
            note: None,
            explanation: None,
            cancels: Vec::new(),
            highlighter: None,
        }
    }

    /// With models loaded and plain decoding measured.
    pub fn ready(size: (u16, u16)) -> Self {
        let mut user = Self::new(size);
        user.hear(ready());
        user.hear(Event::Baseline(Baseline {
            per_token: Duration::from_micros(40_650),
            context: 32,
        }));
        user.wait(47_000);
        user
    }

    pub fn update(&mut self, msg: Msg) {
        for effect in self.app.update(msg, self.now) {
            self.effects.push(match effect {
                Effect::Engine(Command::Send { text, cancel, .. }) => {
                    self.cancels.push(cancel);
                    format!("send {text}")
                }
                Effect::Engine(Command::SetStrategy(name)) => format!("strategy {name}"),
                Effect::Engine(Command::Reset) => "reset".to_owned(),
                Effect::Remember(typed) => {
                    self.remembered.push(typed.whole());
                    continue;
                }
                Effect::Edit(text) => format!("edit {text}"),
                Effect::Copy(copy) => format!("copy {}: {}", copy.what, copy.text),
                Effect::SetTheme(name) => format!("theme {name}"),
                Effect::Highlight(job) => {
                    let highlighter = self.highlighter.get_or_insert_with(Highlighter::default);
                    let colours = highlighter.highlight(&job);
                    self.app.update(Msg::Highlighted(colours), self.now);
                    continue;
                }
                Effect::Session(request) => format!("{request:?}"),
                Effect::Engine(Command::SetSystem(system)) => {
                    format!("system {}", system.unwrap_or_default())
                }
                Effect::Engine(Command::Rewind { turns, all }) if turns == all => {
                    format!("rewind to {turns}")
                }
                Effect::Engine(Command::Rewind { turns, all }) => {
                    format!("rewind to {turns} of {all}")
                }
                Effect::Engine(Command::Restore { turns }) => {
                    let turns: Vec<_> = turns.into_iter().map(|turn| turn.text).collect();
                    format!("restore {}", turns.join(" | "))
                }
                Effect::Engine(Command::MakeRoom { text }) => format!("make room for {text}"),
                Effect::Engine(Command::Load { models, cancel }) => {
                    self.cancels.push(cancel);
                    format!("load {} {}", models.target, models.draft)
                }
                Effect::Engine(Command::Set(options)) => {
                    let usual = self::options();
                    let changed = options.list().zip(usual.list());
                    let changed = changed.filter(|(now, before)| now != before);
                    let mut words: Vec<_> = changed
                        .map(|((name, value), _)| format!("{name} {value}"))
                        .collect();
                    words.extend(options.system.map(|system| format!("system {system}")));
                    format!("set {}", words.join(", "))
                }
                Effect::Restart(models) => {
                    let models = models.map(|models| format!("{} {}", models.target, models.draft));
                    format!("restart {}", models.unwrap_or_default())
                }
                Effect::ListModels => "list models".to_owned(),
                Effect::ListThemes => "list themes".to_owned(),
                Effect::Quit => "quit".to_owned(),
                Effect::ClearScreen => "clear".to_owned(),
                Effect::Suspend => "suspend".to_owned(),
            });
        }
    }

    pub fn hear(&mut self, event: Event) {
        self.update(Msg::Engine(event));
    }

    /// Types text; keys without a character stand in angle brackets: `<Enter>`, `<C-c>`, `<S-Up>`.
    pub fn keys(&mut self, keys: &str) {
        let mut rest = keys;
        while let Some(c) = rest.chars().next() {
            let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
            let (code, modifiers) = if let Some((name, after)) = named {
                rest = after;
                key(name)
            } else {
                rest = &rest[c.len_utf8()..];
                (KeyCode::Char(c), KeyModifiers::NONE)
            };
            self.update(Msg::Key(KeyEvent::new(code, modifiers)));
        }
    }

    /// Lets time pass; the app is woken whenever it asked for it.
    pub fn wait(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while let Some(at) = self.app.wake_at().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.update(Msg::Tick);
            assert!(
                self.app.wake_at() > Some(at) || self.app.wake_at().is_none(),
                "woken for nothing"
            );
        }
        self.now = end;
    }

    /// Streams `text` in rounds of `n_accepted + 1` words, 40 ms each.
    pub fn stream(&mut self, text: &str, strategy: &'static str, accepted: &[usize]) {
        let mut words = text.split_inclusive([' ', '\n']).peekable();
        let mut rounds = accepted.iter().copied().cycle();
        let mut used = 412;
        while words.peek().is_some() {
            let n_accepted = rounds.next().unwrap_or(0);
            let pieces: Vec<Piece> = words
                .by_ref()
                .take(n_accepted + 1)
                .enumerate()
                .map(|(i, text)| Piece {
                    text: text.to_owned(),
                    drafter: (i < n_accepted).then_some(strategy),
                })
                .collect();
            used += pieces.len();
            let n_drafted = match &self.explanation {
                Some(chosen) => chosen.length,
                None if strategy == "plain" => 0,
                None => 4,
            };
            self.wait(42);
            self.hear(Event::Round(Round {
                strategy,
                n_drafted,
                n_verified: n_drafted,
                n_accepted: n_accepted.min(n_drafted),
                n_emitted: n_accepted + 1,
                draft_time: Duration::from_micros(if n_drafted > 0 { 12_100 } else { 0 }),
                verify_time: Duration::from_micros(29_800),
                other_time: Duration::from_micros(400),
                pieces,
                context_used: used,
                note: self.note.clone(),
                explanation: self.explanation.clone(),
            }));
        }
    }

    pub fn finish(&mut self, reason: FinishReason) {
        self.hear(Event::Finished(Finished {
            reason,
            prompt_tokens: 412,
            reused_tokens: 0,
            prefill_time: Duration::from_millis(830),
            answer_tokens: 57,
            rest: String::new(),
            sampling: None,
        }));
    }

    /// The answer ends before its first token.
    pub fn finish_empty(&mut self) {
        self.hear(Event::Finished(Finished {
            reason: FinishReason::Stopped,
            prompt_tokens: 9,
            reused_tokens: 0,
            prefill_time: Duration::ZERO,
            answer_tokens: 0,
            rest: String::new(),
            sampling: None,
        }));
    }

    /// What is on the screen.
    pub fn buffer(&self, theme: &Theme) -> (Buffer, Option<Position>) {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        let frame = terminal
            .draw(|frame| draw(&self.app, theme, frame))
            .unwrap();
        let buffer = frame.buffer.clone();
        let visible = terminal.backend().cursor_visible();
        (
            buffer,
            visible.then(|| terminal.backend().cursor_position()),
        )
    }

    /// The screen as text, with `▏` where the cursor stands.
    pub fn picture(&self) -> String {
        self.picture_in(&Theme::load("terminal", ColorDepth::Ansi16).unwrap())
    }

    /// The same in a theme, of which only the characters are told.
    pub fn picture_in(&self, theme: &Theme) -> String {
        let (buffer, cursor) = self.buffer(theme);
        let mut picture = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut x = 0;
            while x < buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                let at_cursor = cursor == Some(Position { x, y });
                line.push_str(if at_cursor && symbol == " " {
                    "▏"
                } else {
                    symbol
                });
                x += symbol.cell_width().max(1);
            }
            picture.push_str(line.trim_end());
            picture.push('\n');
        }
        picture
    }
}

fn key(name: &str) -> (KeyCode, KeyModifiers) {
    let (modifiers, name) = match name.split_once('-') {
        Some(("C", name)) => (KeyModifiers::CONTROL, name),
        Some(("S", name)) => (KeyModifiers::SHIFT, name),
        Some((other, _)) => panic!("modifier {other}"),
        None => (KeyModifiers::NONE, name),
    };
    let code = match name {
        "Enter" => KeyCode::Enter,
        "Esc" => KeyCode::Esc,
        "Tab" if modifiers.is_empty() => KeyCode::Tab,
        "Tab" if modifiers == KeyModifiers::SHIFT => KeyCode::BackTab,
        "Backspace" => KeyCode::Backspace,
        "Up" => KeyCode::Up,
        "Down" => KeyCode::Down,
        "Left" => KeyCode::Left,
        "Home" => KeyCode::Home,
        "End" => KeyCode::End,
        "PgUp" => KeyCode::PageUp,
        "PgDn" => KeyCode::PageDown,
        _ => KeyCode::Char(name.chars().next().unwrap()),
    };
    (code, modifiers)
}

/// Greedy, with a seed that was drawn.
pub fn options() -> Options {
    let mut options = Options::default();
    options.sampling.seed = Seed::Fixed(41);
    options
}

pub fn ready() -> Event {
    let strategy = |name, summary| StrategyInfo {
        name,
        summary,
        cycled: name != "lookup-transformers",
    };
    Event::Ready(Ready {
        models: ModelRef {
            target: "smollm2-135m".to_owned(),
            draft: "auto".to_owned(),
        },
        target: "SmolLM2-135M-Instruct".to_owned(),
        draft: Some("smollm2-135m-draft".to_owned()),
        device: "cpu ×2".to_owned(),
        context_limit: 8192,
        strategies: vec![
            strategy("plain", "no drafting"),
            strategy("draft", "a small model drafts"),
            strategy("lookup", "repeats from the context"),
            strategy("lookup-transformers", "as the library does"),
        ],
        strategy: "draft",
        options: Box::new(options()),
        notes: Vec::new(),
        replaced: None,
    })
}

pub fn fetch(done: u64, total: Option<u64>) -> Event {
    let what = "SmolLM2-135M-Instruct.Q4_1.gguf".to_owned();
    Event::Fetch(Fetch {
        what,
        how: "hub".to_owned(),
        done,
        total,
    })
}

pub fn loading(done: u64) -> Event {
    Event::Loading(Loading {
        what: "SmolLM2-135M-Instruct".to_owned(),
        done,
        total: 98_362_432,
    })
}

pub fn failure(message: &str, fatal: bool) -> Event {
    Event::Failed(Failure {
        message: message.to_owned(),
        fatal,
    })
}
