//! Pictures of every state at every class of size, and of the themes' styles.

use std::fmt::Write;

use insta::assert_snapshot;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use speck::app::Msg;
use speck::config::sampling::Seed;
use speck::engine::protocol::{Event, FinishReason, Finished, Ready};
use speck::ui::{ColorDepth, Theme};

use crate::states::{self, State, streaming as writing};
use crate::user::{User, ready};

const SIZES: [(u16, u16); 6] = [(160, 50), (120, 40), (80, 24), (60, 16), (40, 12), (20, 5)];

/// Pictures of a state at every class of size.
#[track_caller]
pub fn pictures(name: &str, state: impl Fn((u16, u16)) -> User) {
    for size in SIZES {
        let name = format!("{name}_{}x{}", size.0, size.1);
        assert_snapshot!(name, state(size).picture());
    }
}

/// Makes [`STATES`], and for each state a test of its pictures.
macro_rules! states {
    ($($name:ident,)*) => {
        /// Every state with its name: their pictures are kept, and they are drawn at every size.
        pub const STATES: &[(&str, State)] = &[$((stringify!($name), states::$name),)*];

        $(
            #[test]
            fn $name() {
                pictures(stringify!($name), states::$name);
            }
        )*
    };
}

// A new state is a function in states.rs and its name here.
states! {
    fetching,
    fetching_waiting,
    loading,
    empty,
    prefill,
    streaming,
    long_answer,
    swap_pending,
    slower,
    plain,
    scrolled,
    wide,
    error,
    fatal,
    help,
    stopped,
    finished,
    quit,
    notes,
    popup,
    history,
    paste,
}

/// With `NO_COLOR`, whatever the theme: no colour in any cell, and every word is still there.
#[test]
fn no_color_leaves_words_and_no_colours() {
    for theme in Theme::names() {
        let theme = Theme::load(theme, ColorDepth::None).unwrap();
        for (name, state) in STATES {
            for size in SIZES {
                let user = state(size);
                let (buffer, _) = user.buffer(&theme);
                let colours = buffer
                    .content()
                    .iter()
                    .flat_map(|cell| [cell.fg, cell.bg])
                    .filter(|colour| *colour != Color::Reset);
                assert_eq!(colours.count(), 0, "{name} at {size:?}");
                assert_eq!(
                    user.picture_in(&theme),
                    user.picture(),
                    "{name} at {size:?}"
                );
            }
        }
    }
}

/// Each row as its runs of equal style, so that a theme can be read.
pub fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut runs: Vec<(String, String)> = Vec::new();
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style =
                format!("{:?} on {:?} {:?}", cell.fg, cell.bg, cell.modifier).replace("NONE", "-");
            match runs.last_mut() {
                Some((last, text)) if *last == style => text.push_str(cell.symbol()),
                _ => runs.push((style, cell.symbol().to_owned())),
            }
        }
        for (style, text) in runs.iter().filter(|(_, text)| !text.trim().is_empty()) {
            writeln!(out, "{y:>2}  {style:<44} {}", text.trim_end()).unwrap();
        }
    }
    out
}

#[test]
fn completing_an_argument() {
    let mut user = writing((80, 24));
    user.keys("/mode l");
    assert_snapshot!("popup_argument", user.picture());
}

#[test]
fn themes() {
    for (name, depth) in [
        ("terminal", ColorDepth::Ansi16),
        ("dark", ColorDepth::Rgb),
        ("dark", ColorDepth::Ansi16),
        ("light", ColorDepth::Rgb),
        ("light", ColorDepth::Ansi256),
        ("light", ColorDepth::Ansi16),
        ("solarized", ColorDepth::Rgb),
        ("solarized", ColorDepth::Ansi16),
        ("high-contrast", ColorDepth::Rgb),
        ("high-contrast", ColorDepth::Ansi16),
        ("mono", ColorDepth::Rgb),
        ("terminal", ColorDepth::None),
        ("dark", ColorDepth::None),
    ] {
        let mut user = writing((100, 30));
        user.keys("/show tokens<Enter><S-Tab>");
        let theme = Theme::load(name, depth).unwrap();
        assert_snapshot!(
            format!("theme_{name}_{depth:?}"),
            styles(&user.buffer(&theme).0)
        );
    }
}

#[test]
fn sampling_is_shown_with_its_seed() {
    let Event::Ready(ready) = ready() else {
        panic!("it is ready")
    };
    let mut options = ready.options.clone();
    options.sampling.temperature = 0.75;
    options.sampling.seed = Seed::Fixed(999_999);
    let mut user = User::new((100, 30));
    user.hear(Event::Ready(Ready { options, ..ready }));
    let shown = "T 0.75, seed 999999";
    let panel = format!("sampling  {shown}");
    assert!(user.picture().contains(&panel), "{}", user.picture());
    user.keys("<C-t>");
    let picture = user.picture();
    assert!(
        picture.contains(shown) && !picture.contains(&panel),
        "{picture}"
    );
}

#[test]
fn text_that_was_held_back_comes_with_the_end() {
    let mut user = writing((100, 30));
    user.hear(Event::Finished(Finished {
        reason: FinishReason::StopString,
        prompt_tokens: 9,
        reused_tokens: 0,
        prefill_time: std::time::Duration::ZERO,
        answer_tokens: 57,
        rest: " And so on.".to_owned(),
        sampling: None,
    }));
    let picture = user.picture();
    assert!(picture.contains("same. And so on."), "{picture}");
    assert!(picture.contains("✓ stop string"), "{picture}");
}

#[test]
fn a_resize_keeps_the_place() {
    let mut user = writing((120, 12));
    user.keys("<S-Up>");
    let first = |user: &User| user.picture().lines().next().unwrap()[..12].to_owned();
    let before = first(&user);
    assert_eq!(before, "   ┌─ py");
    for width in [70, 33, 200] {
        user.size = (width, 12);
        user.update(Msg::Resize(width, 12));
        assert_eq!(first(&user), before);
    }
}
