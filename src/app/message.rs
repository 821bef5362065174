//! What comes into the app and what goes out of it.

use crossterm::event::KeyEvent;

use crate::app::copy::Copy;
use crate::app::highlight::{Highlighted, Job};
use crate::app::typed::Typed;
use crate::engine::protocol::{Command, Event, ModelEntry, ModelRef};
use crate::session::{Note, Request};

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key.
    Key(KeyEvent),
    /// Text pasted by the terminal.
    Paste(String),
    /// The terminal has this many columns and rows now.
    Resize(u16, u16),
    /// The engine's word.
    Engine(Event),
    /// The text from the editor, or why there is none.
    Edited(Result<String, String>),
    /// The screen has the theme of this name now, or why not.
    Themed(String, Result<(), String>),
    /// What came of an effect, in words.
    Told(Result<String, String>),
    /// The names of all themes.
    Themes(Vec<String>),
    /// A message or a command that is whole, where there is no input: in line mode.
    Line(String),
    /// Colours of code that an [`Effect::Highlight`] asked for.
    Highlighted(Highlighted),
    /// The word of the one who saves chats.
    Session(Note),
    /// What [`Effect::ListModels`] found.
    Models(Vec<ModelEntry>),
    /// The time that [`super::App::wake_at`] asked for has come.
    Tick,
}

/// What the one who calls [`super::App::update`] must do.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Tell the engine.
    Engine(Command),
    /// Keep what was typed for later runs.
    Remember(Typed),
    /// Open a text in the user's editor; what comes of it is a [`Msg::Edited`].
    Edit(String),
    /// Copy a text; what comes of it is a [`Msg::Told`].
    Copy(Copy),
    /// Show everything in this theme; what comes of it is a [`Msg::Themed`].
    SetTheme(String),
    /// Find out which themes there are; what comes of it is a [`Msg::Themes`].
    ListThemes,
    /// Highlight code; what comes of it is a [`Msg::Highlighted`].
    Highlight(Job),
    /// Ask the one who saves chats.
    Session(Request),
    /// Start another engine with these models, or with those of the start; the old one has ended.
    Restart(Option<ModelRef>),
    /// Find out which models can be loaded.
    ListModels,
    /// Leave.
    Quit,
    /// Draw everything anew.
    ClearScreen,
    /// Restore the terminal and stop until SIGCONT.
    Suspend,
}

/// How the app starts.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Whether the panel is shown.
    pub panel: bool,
    /// Whether accepted tokens are marked.
    pub show_tokens: bool,
    /// Messages of earlier runs, oldest first.
    pub history: Vec<Typed>,
    /// What the user should know, each one line.
    pub notes: Vec<String>,
    /// The theme's name.
    pub theme: String,
    /// The names of all themes.
    pub themes: Vec<String>,
}

impl Default for AppSettings {
    fn default() -> Self {
        Self {
            size: (80, 24),
            panel: true,
            show_tokens: false,
            history: Vec::new(),
            notes: Vec::new(),
            theme: "terminal".to_owned(),
            themes: Vec::new(),
        }
    }
}

/// Something that the app says in words, in the conversation or in the status bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The words; clean them.
    pub text: String,
    /// Whether they tell that something failed.
    pub is_error: bool,
}
