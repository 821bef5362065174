//! Pictures of every state at every class of size, and of the themes' styles.

use std::fmt::Write;

use insta::assert_snapshot;
use ratatui::buffer::Buffer;
use speck::app::Msg;
use speck::config::sampling::Seed;
use speck::engine::protocol::{Event, FinishReason, Finished, Ready};
use speck::ui::{ColorDepth, Theme};

use crate::user::{CODE, User, failure, fetch, loading, ready};

const SIZES: [(u16, u16); 6] = [(160, 50), (120, 40), (80, 24), (60, 16), (40, 12), (20, 5)];
const QUESTION: &str = "Write is_palindrome(s) with a docstring.";
const DRAFTED: &[usize] = &[3, 4, 2, 4, 0, 3];

#[track_caller]
pub fn pictures(name: &str, state: impl Fn((u16, u16)) -> User) {
    for size in SIZES {
        assert_snapshot!(
            format!("{name}_{}x{}", size.0, size.1),
            state(size).picture()
        );
    }
}

fn asked(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys(&format!("{QUESTION}<Enter>"));
    user
}

pub fn streaming(size: (u16, u16)) -> User {
    let mut user = asked(size);
    user.stream(CODE, "draft", DRAFTED);
    user
}

#[test]
fn fetching() {
    pictures("fetching", |size| {
        let mut user = User::new(size);
        user.hear(fetch(10_000_000, Some(98_362_432)));
        user.wait(10_000);
        user.hear(fetch(42_123_456, Some(98_362_432)));
        user
    });
}

#[test]
fn fetching_without_a_total_and_with_a_message_that_waits() {
    pictures("fetching_waiting", |size| {
        let mut user = User::new(size);
        user.keys(&format!("{QUESTION}<Enter>"));
        user.hear(fetch(42_123_456, None));
        user.keys("and then");
        user
    });
}

#[test]
fn loading_a_model() {
    pictures("loading", |size| {
        let mut user = User::new(size);
        user.hear(loading(31_000_000));
        user
    });
}

#[test]
fn empty() {
    pictures("empty", User::ready);
}

#[test]
fn prefill() {
    pictures("prefill", |size| {
        let mut user = asked(size);
        user.hear(Event::Prefill {
            done: 120,
            total: 412,
        });
        user
    });
}

#[test]
fn writing() {
    pictures("streaming", streaming);
}

#[test]
fn swap_pending() {
    pictures("swap_pending", |size| {
        let mut user = streaming(size);
        user.keys("<S-Tab>");
        user
    });
}

#[test]
fn slower_than_plain() {
    pictures("slower", |size| {
        let mut user = asked(size);
        user.hear(Event::Strategy("lookup"));
        user.stream(CODE, "lookup", &[0]);
        user.note = Some("nothing in the context continues the last 3 tokens".to_owned());
        user.stream("So it is.", "lookup", &[2]);
        user.wait(250);
        user
    });
}

#[test]
fn plain_is_not_compared_with_itself() {
    pictures("plain", |size| {
        let mut user = asked(size);
        user.hear(Event::Strategy("plain"));
        user.stream(CODE, "plain", &[0]);
        user.wait(250);
        user
    });
}

#[test]
fn scrolled_up_in_a_long_answer() {
    pictures("scrolled", |size| {
        let mut user = asked(size);
        let paragraphs = |from: usize| {
            let lines = (from..from + 20).map(|i| format!("{i}. A line of a long answer.\n"));
            lines.collect::<Vec<_>>().concat()
        };
        user.stream(&paragraphs(1), "draft", DRAFTED);
        user.keys("<PgUp>");
        user.stream(&paragraphs(21), "draft", DRAFTED);
        user
    });
}

#[test]
fn wide_characters() {
    pictures("wide", |size| {
        let mut user = User::ready(size);
        user.keys("日本語で答えて 👩‍👩‍👧‍👦 e\u{301}<Enter>");
        user.stream(
            "投機的デコードは、小さなモデルが次のトークンを下書きし、大きなモデルが一度の計算でまとめて検証する方法です。速くなるとは限りません。\n👍🏽 👩‍👩‍👧‍👦 🇯🇵 한국어도 됩니다. cafe\u{301}",
            "draft",
            DRAFTED,
        );
        user.keys("入力中の文字列も長くなれば折り返されます。折り返しは文字の幅で決まります。");
        user
    });
}

#[test]
fn error() {
    pictures("error", |size| {
        let mut user = asked(size);
        user.hear(failure(
            "The prompt has 9210 tokens, but the context holds 8192. Start a new conversation with /new, or allow more with --context.",
            false,
        ));
        user
    });
}

#[test]
fn fatal() {
    pictures("fatal", |size| {
        let mut user = User::new(size);
        user.hear(failure(
            "Cannot fetch SmolLM2-135M-Instruct.Q4_1.gguf: the hub cannot be reached and pip is not installed. Download the file by hand and name it with --target.",
            true,
        ));
        user
    });
}

#[test]
fn help() {
    pictures("help", |size| {
        let mut user = User::ready(size);
        user.keys("?");
        user
    });
}

#[test]
fn completing_a_command() {
    pictures("popup", |size| {
        let mut user = streaming(size);
        user.keys("/<Down>");
        user
    });
    let mut user = streaming((80, 24));
    user.keys("/mode l");
    assert_snapshot!("popup_argument", user.picture());
}

#[test]
fn searching_the_history() {
    pictures("history", |size| {
        let mut user = streaming(size);
        user.keys("Explain how the sieve of Eratosthenes finds all primes below a limit.<C-c>");
        user.finish(FinishReason::EndOfTurn);
        user.keys("two<C-j>lines of a palindrome<C-c><C-r>pal");
        user
    });
}

#[test]
fn a_long_paste() {
    pictures("paste", |size| {
        let mut user = User::ready(size);
        user.keys("Sum up ");
        user.update(Msg::Paste("a line\n".repeat(143)));
        user.keys(" in one sentence.");
        user
    });
}

#[test]
fn stopped() {
    pictures("stopped", |size| {
        let mut user = streaming(size);
        user.keys("<C-c>");
        user.finish(FinishReason::Stopped);
        user
    });
}

#[test]
fn finished() {
    pictures("finished", |size| {
        let mut user = streaming(size);
        user.finish(FinishReason::EndOfTurn);
        user.keys("first line<C-j>second line");
        user
    });
}

#[test]
fn about_to_quit_without_a_panel() {
    pictures("quit", |size| {
        let mut user = streaming(size);
        user.finish(FinishReason::EndOfTurn);
        user.keys("<C-t><C-c>");
        user
    });
}

#[test]
fn notes_of_the_engine() {
    pictures("notes", |size| {
        let mut user = User::new(size);
        let Event::Ready(mut ready) = ready() else {
            unreachable!()
        };
        ready.notes = vec!["`draft` cannot run: the draft model's vocabulary differs from the target's at id 4711.".to_owned()];
        user.hear(Event::Ready(ready));
        user
    });
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
        let mut user = streaming((100, 30));
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
    let mut user = streaming((100, 30));
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
    let mut user = streaming((120, 12));
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
