//! What a frame costs on the way to the terminal: nothing when nothing changed, little for a token, and an
//! answer at speed fits a slow line. docs/terminal.md has the table that this prints.

use std::num::NonZeroU16;

use ratatui::style::{Color, Modifier};
use speck::app::Msg;
use speck::engine::protocol::FinishReason;
use speck::model::registry::SMOLLM2_135M_DRAFT;
use speck::model::tokenizer::{Specials, TextStream, Tokenizer};
use speck::ui::{ColorDepth, Theme};

use crate::pictures::STATES;
use crate::recorder::Recorder;
use crate::user::{CODE, User};

const SIZE: (u16, u16) = (120, 40);
/// Over SSH; a frame every 50 ms.
const FRAMES_PER_SECOND: usize = 20;
const TOKENS_PER_FRAME: usize = 60 / FRAMES_PER_SECOND;
/// Bytes of a frame that shows one more token, at most.
const ONE_TOKEN: usize = 300;
/// Bytes of a second of an answer at 60 tokens/s, at most: the median of all seconds.
const SECOND: usize = 12_000;
const PROSE: &str = "Speculative decoding lets a small model draft several tokens that a large one then verifies in a single pass, so that the text is always the large model's own. Whether that is faster depends on the machine: on how much a pass over several tokens costs more than a pass over one, and on how often the two models agree.\n\n";
const WIDE: &str = "投機的 デコードは、 小さな モデルが 次の トークンを 下書きし、 大きな モデルが 一度の 計算で まとめて 検証する 方法です。 速くなるとは 限りません。 👍🏽 한국어도 됩니다.\n\n";

fn themes() -> [(&'static str, Theme); 2] {
    [("terminal", ColorDepth::Ansi16), ("dark", ColorDepth::Rgb)]
        .map(|(name, depth)| (name, Theme::load(name, depth).unwrap()))
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    for (name, state) in STATES {
        let user = state(SIZE);
        let mut recorder = Recorder::new(SIZE, &themes()[0].1);
        assert_eq!(
            recorder.draw(&user).len(),
            1,
            "{name}: a frame is one write"
        );
        assert!(recorder.draw(&user).is_empty(), "{name}: an idle frame");
    }
}

#[test]
fn a_token_costs_little() {
    for (theme, values) in themes() {
        let mut user = User::ready(SIZE);
        user.keys("q<Enter>");
        user.stream(&PROSE[..100], "plain", &[0]);
        user.wait(1000);
        let mut recorder = Recorder::new(SIZE, &values);
        recorder.draw(&user);
        // Two tokens that come before the panel's numbers are due again.
        user.stream(" a", "plain", &[0]);
        recorder.draw(&user);
        user.stream(" token", "plain", &[0]);
        let writes = recorder.draw(&user);
        let [frame] = &writes[..] else {
            panic!("{} writes", writes.len())
        };
        println!("{theme}: a frame of one token has {} bytes", frame.len());
        assert!(frame.len() < ONE_TOKEN, "{}", frame.escape_ascii());
        let before = user.app.wake_at();
        user.keys("k");
        let key = recorder.draw(&user).concat();
        println!("{theme}: a frame of one key has {} bytes", key.len());
        assert!(key.len() < ONE_TOKEN, "{}", key.escape_ascii());
        assert_eq!(user.app.wake_at(), before);
    }
}

/// The text of each token, as the default pair has them; characters that a token cuts come with its last.
fn tokens(text: &str) -> Vec<String> {
    let tokenizer = Tokenizer::from_gguf(&SMOLLM2_135M_DRAFT.open().unwrap()).unwrap();
    let mut text_of = TextStream::new();
    let ids = tokenizer.encode(text, Specials::AsText).unwrap();
    ids.iter()
        .map(|id| text_of.push(tokenizer.bytes(*id)))
        .collect()
}

/// Streams `text` at 60 tokens/s and 20 frames/s; gives the bytes of each frame.
fn frames(text: &str, theme: &Theme) -> Vec<usize> {
    let mut user = User::ready(SIZE);
    user.keys("Write a lot.<Enter>");
    let mut recorder = Recorder::new(SIZE, theme);
    recorder.draw(&user);
    tokens(text)
        .chunks(TOKENS_PER_FRAME)
        .map(|tokens| {
            user.stream(&tokens.concat(), "draft", &[5]);
            user.wait(8);
            user.update(Msg::Tick);
            let writes = recorder.draw(&user);
            assert!(writes.len() <= 1, "{} writes in a frame", writes.len());
            writes.concat().len()
        })
        .collect()
}

fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn an_answer_at_speed_fits_a_slow_line() {
    let code = format!("{CODE}\n\n");
    println!(
        "| theme | text | frame, median | frame, largest | second, median | second, largest |"
    );
    for (theme, values) in themes() {
        for (name, text) in [("prose", PROSE), ("code", &code), ("CJK", WIDE)] {
            let frames = frames(&text.repeat(12_000 / text.chars().count()), &values);
            let seconds: Vec<usize> = frames
                .chunks_exact(FRAMES_PER_SECOND)
                .map(|second| second.iter().sum())
                .collect();
            assert!(seconds.len() > 20, "{} seconds", seconds.len());
            println!(
                "| {theme} | {name} | {} | {} | {} | {} |",
                median(frames.clone()),
                frames.iter().max().unwrap(),
                median(seconds.clone()),
                seconds.iter().max().unwrap(),
            );
            // 24-bit colours, and a background that erasing might not keep, cost more.
            let bound = if theme == "terminal" { SECOND } else { 20_000 };
            assert!(median(seconds) < bound, "{theme}, {name}");
        }
    }
}

#[test]
fn the_end_of_an_answer_is_one_write() {
    let mut user = User::ready(SIZE);
    user.keys("q<Enter>");
    user.stream(CODE, "draft", &[2]);
    let mut recorder = Recorder::new(SIZE, &themes()[0].1);
    recorder.draw(&user);
    user.finish(FinishReason::EndOfTurn);
    assert_eq!(recorder.draw(&user).len(), 1);
    assert!(recorder.draw(&user).is_empty());
}

/// Frame after frame, a terminal that gets nothing but the changes shows what was drawn.
#[test]
fn the_terminal_shows_what_was_drawn() {
    let size = (60, 16);
    for (theme, values) in themes() {
        let mut recorder = Recorder::new(size, &values);
        let mut terminal = vt100::Parser::new(whole(size.1), whole(size.0), 0);
        let states = STATES.iter().chain(STATES.iter().rev());
        for (name, state) in states {
            let user = state(size);
            terminal.process(&recorder.draw(&user).concat());
            let (buffer, _) = user.buffer(&values);
            // The emulator has its own idea of the width of emoji that are joined.
            let joined = |y: u16| (0..size.0).any(|x| buffer[(x, y)].symbol().chars().count() > 1);
            let rows = (0..size.1).filter(|y| !joined(*y));
            for (x, y) in rows.flat_map(|y| (0..size.0).map(move |x| (x, y))) {
                let (drawn, shown) = (&buffer[(x, y)], terminal.screen().cell(y, x).unwrap());
                if shown.is_wide_continuation() {
                    continue;
                }
                let text = if shown.has_contents() {
                    shown.contents()
                } else {
                    " "
                };
                let place = format!("{theme}: {name} at {x}, {y}");
                assert_eq!(text, drawn.symbol(), "{place}");
                let underlined = drawn.modifier.contains(Modifier::UNDERLINED);
                assert_eq!(shown.underline(), underlined, "{place}");
                assert_eq!(shown.bgcolor(), colour(drawn.bg), "{place}");
                if text != " " {
                    // The emulator keeps one of bold and dim.
                    if !drawn.modifier.contains(Modifier::DIM) {
                        let bold = drawn.modifier.contains(Modifier::BOLD);
                        assert_eq!(shown.bold(), bold, "{place}");
                    }
                    assert_eq!(shown.fgcolor(), colour(drawn.fg), "{place}");
                }
            }
        }
    }
}

fn whole(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a terminal has rows and columns")
}

fn colour(drawn: Color) -> vt100::Color {
    match drawn {
        Color::Reset => vt100::Color::Default,
        Color::Rgb(red, green, blue) => vt100::Color::Rgb(red, green, blue),
        Color::Indexed(index) => vt100::Color::Idx(index),
        named => {
            let ansi = [
                Color::Black,
                Color::Red,
                Color::Green,
                Color::Yellow,
                Color::Blue,
                Color::Magenta,
                Color::Cyan,
                Color::Gray,
                Color::DarkGray,
                Color::LightRed,
                Color::LightGreen,
                Color::LightYellow,
                Color::LightBlue,
                Color::LightMagenta,
                Color::LightCyan,
                Color::White,
            ];
            let index = ansi.iter().position(|name| *name == named).unwrap();
            vt100::Color::Idx(index as u8)
        }
    }
}
