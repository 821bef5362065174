//! Every size, any sequence of messages, and very long chats.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use proptest::prelude::*;
use speck::app::Msg;
use speck::engine::protocol::{Baseline, Event, FinishReason, Finished, Piece, Round};
use speck::ui::{ColorDepth, Theme};

use crate::models::picking;
use crate::pictures::STATES;
use crate::saved::listed;
use crate::states::State;
use crate::user::{CODE, User, failure, fetch, loading, ready};

/// Users in every state, with more that stands over it.
fn users() -> Vec<(String, User)> {
    type Act = fn(&mut User);
    let over: [(&str, Act); 5] = [
        ("as it is", |_| {}),
        ("help", |user| user.keys("<C-c><C-c>?")),
        ("input", |user| {
            user.keys("<PgUp>long input\\<Enter>with 日本語 lines<C-j>and more");
        }),
        ("find", |user| user.keys("<C-f>a")),
        ("error", |user| {
            user.hear(failure("It broke.\nBadly.", true));
        }),
    ];
    let lists: [(&str, State); 2] = [("picker", picking), ("saved chats", listed)];
    let states = STATES.iter().chain(&lists).flat_map(|(name, state)| {
        over.iter().map(move |(what, act)| {
            let mut user = state((80, 24));
            act(&mut user);
            (format!("{name}, {what}"), user)
        })
    });
    states.collect()
}

fn sizes() -> impl Iterator<Item = (u16, u16)> {
    (1..=200).flat_map(|width| (1..=60).map(move |height| (width, height)))
}

fn draw_at(user: &mut User, size: (u16, u16), theme: &Theme) {
    user.size = size;
    // A frame may be drawn before the app hears of the new size.
    draw(user, theme);
    user.update(Msg::Resize(size.0, size.1));
    draw(user, theme);
}

/// The cursor stands inside the frame, if it is to be seen.
fn draw(user: &User, theme: &Theme) {
    let (buffer, cursor) = user.buffer(theme);
    let inside = cursor.is_none_or(|cursor| buffer.area.contains(cursor));
    assert!(inside, "{cursor:?} in {:?}", user.size);
}

/// What stands over the conversation, at every size at which something is left out of it.
#[test]
fn the_cursor_is_inside_the_frame() {
    let theme = Theme::load("terminal", ColorDepth::Ansi16).unwrap();
    let over: [(&str, State); 9] = [
        ("nothing", User::ready),
        ("picker", |size| typed(picking(size), "abc 日本語")),
        ("saved chats", |size| typed(listed(size), "abc 日本語")),
        ("input", |size| {
            typed(
                User::ready(size),
                "a long input with 日本語 <C-j>lines<C-j>more",
            )
        }),
        ("help", |size| typed(User::ready(size), "?")),
        ("find", |size| {
            typed(User::ready(size), "<C-f>nothing of that")
        }),
        ("search", |size| {
            typed(User::ready(size), "a<C-c><C-r>not there at all")
        }),
        ("commands", |size| typed(User::ready(size), "/mo")),
        ("refusal", |size| {
            typed(User::ready(size), "/nothing<Enter>")
        }),
    ];
    for (name, state) in over {
        let mut user = state((80, 24));
        for size in (1..=44).flat_map(|width| (1..=14).map(move |height| (width, height))) {
            println!("{name} at {size:?}");
            draw_at(&mut user, size, &theme);
        }
    }
}

fn typed(mut user: User, keys: &str) -> User {
    user.keys(keys);
    user
}

/// Each size with one of the states, each state with sizes of all kinds.
#[test]
fn every_size_is_drawn() {
    let theme = Theme::load("terminal", ColorDepth::Ansi16).unwrap();
    let mut users = users();
    let n_users = users.len();
    for size in sizes() {
        let (_, user) = &mut users[usize::from(size.0 + size.1) % n_users];
        draw_at(user, size, &theme);
    }
}

#[test]
#[ignore = "long: scripts/soak.sh"]
fn soak_every_state_is_drawn_at_every_size() {
    let theme = Theme::load("terminal", ColorDepth::Ansi16).unwrap();
    let mut n_frames = 0;
    for (name, mut user) in users() {
        for size in sizes() {
            draw_at(&mut user, size, &theme);
            n_frames += 2;
        }
        println!("{name}: {n_frames} frames");
    }
}

fn key() -> impl Strategy<Value = Msg> {
    let code = prop_oneof![
        any::<char>().prop_map(KeyCode::Char),
        prop::sample::select("?/q\\acdjklnptuwyz".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        prop::sample::select(vec![
            KeyCode::Enter,
            KeyCode::Esc,
            KeyCode::BackTab,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::Left,
            KeyCode::Right,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::PageUp,
            KeyCode::PageDown,
            KeyCode::Backspace,
            KeyCode::Delete,
        ]),
    ];
    let modifiers = prop::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::CONTROL,
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
    ]);
    (code, modifiers).prop_map(|(code, modifiers)| Msg::Key(KeyEvent::new(code, modifiers)))
}

fn round() -> impl Strategy<Value = Event> {
    let counts = (0_usize..9, 0_usize..9, 0_usize..9, any::<u32>());
    let pieces = prop::collection::vec((any::<String>(), any::<bool>()), 0..4);
    let name = prop::sample::select(vec!["plain", "draft", "lookup", "new"]);
    (counts, pieces, name, prop::option::of(any::<String>())).prop_map(
        |((drafted, accepted, emitted, time), pieces, strategy, note)| {
            Event::Round(Round {
                strategy,
                n_drafted: drafted,
                n_verified: drafted,
                n_accepted: accepted.min(drafted),
                n_emitted: emitted,
                draft_time: Duration::from_micros(time.into()),
                verify_time: Duration::from_micros((time / 3).into()),
                other_time: Duration::from_micros((time / 7).into()),
                pieces: pieces
                    .into_iter()
                    .map(|(text, drafted)| Piece {
                        text,
                        drafter: drafted.then_some(strategy),
                    })
                    .collect(),
                context_used: time as usize,
                note,
                explanation: None,
            })
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let reason = prop::sample::select(vec![
        FinishReason::EndOfTurn,
        FinishReason::MaxTokens,
        FinishReason::ContextFull,
        FinishReason::Stopped,
    ]);
    prop_oneof![
        8 => round(),
        1 => (any::<u64>(), any::<Option<u64>>()).prop_map(|(done, total)| fetch(done, total)),
        1 => any::<u64>().prop_map(loading),
        1 => Just(ready()),
        1 => (any::<u32>(), any::<usize>())
            .prop_map(|(ns, context)| Event::Baseline(Baseline { per_token: Duration::from_nanos(ns.into()), context })),
        1 => prop::sample::select(vec!["plain", "draft", "lookup"]).prop_map(Event::Strategy),
        1 => (any::<usize>(), any::<usize>()).prop_map(|(done, total)| Event::Prefill { done, total }),
        1 => (reason, any::<usize>()).prop_map(|(reason, tokens)| Event::Finished(Finished {
            reason,
            prompt_tokens: tokens,
            reused_tokens: 0,
            prefill_time: Duration::from_millis(1),
            answer_tokens: tokens,
            rest: "the\u{1b}[2J end".to_owned(),
            sampling: None,
        })),
        1 => any::<String>().prop_map(|message| failure(&message, false)),
    ]
}

fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        12 => key(),
        6 => event().prop_map(Msg::Engine),
        1 => any::<String>().prop_map(Msg::Paste),
        1 => (0_u16..200, 0_u16..60).prop_map(|(width, height)| Msg::Resize(width, height)),
        1 => Just(Msg::Tick),
        1 => any::<String>().prop_map(|message| Msg::Engine(failure(&message, true))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics(
        msgs in prop::collection::vec((msg(), 0_u64..2000), 0..60),
        size in (1_u16..200, 1_u16..60),
        start_ready in any::<bool>(),
    ) {
        let theme = Theme::load("dark", ColorDepth::Ansi256).unwrap();
        let mut user = if start_ready { User::ready((80, 24)) } else { User::new((80, 24)) };
        user.keys("hello<Enter>");
        user.size = size;
        for (msg, ms) in msgs {
            user.wait(ms);
            user.update(msg);
            let (buffer, _) = user.buffer(&theme);
            for cell in buffer.content() {
                prop_assert!(!cell.symbol().contains(char::is_control), "{:?}", cell.symbol());
            }
        }
    }
}

/// Prints what an update and a draw cost; the bounds are far above what they should be.
#[test]
fn a_long_chat_is_quick() {
    let theme = Theme::load("terminal", ColorDepth::Ansi16).unwrap();
    let mut user = User::ready((120, 40));
    for turn in 0..10_000 {
        user.keys("hi<Enter>");
        user.hear(Event::Round(Round {
            strategy: "draft",
            n_drafted: 4,
            n_verified: 4,
            n_accepted: 4,
            n_emitted: 5,
            draft_time: Duration::from_millis(10),
            verify_time: Duration::from_millis(30),
            other_time: Duration::ZERO,
            pieces: vec![Piece {
                text: format!("{turn} {CODE}"),
                drafter: (turn % 2 == 0).then_some("draft"),
            }],
            context_used: 10,
            note: None,
            explanation: None,
        }));
        user.finish(FinishReason::EndOfTurn);
    }
    user.keys("hi<Enter>");
    let start = Instant::now();
    user.stream(CODE, "draft", &[0]);
    let update = start.elapsed() / CODE.split([' ', '\n']).count() as u32;

    let draws = 50;
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
    let start = Instant::now();
    for _ in 0..draws {
        terminal
            .draw(|frame| speck::ui::draw(&user.app, &theme, frame))
            .unwrap();
    }
    let draw = start.elapsed() / draws;

    user.keys("<PgUp>");
    let start = Instant::now();
    user.update(Msg::Resize(100, 40));
    let resize = start.elapsed();
    println!("10,000 turns: update {update:?}, draw {draw:?}, resize {resize:?}");
    assert!(update < Duration::from_millis(200), "update {update:?}");
    assert!(draw < Duration::from_millis(400), "draw {draw:?}");
    assert!(resize < Duration::from_secs(10), "resize {resize:?}");
}
