//! Keys and events → effects, input and what the screen says.

use speck::app::Msg;
use speck::engine::protocol::{Event, FinishReason};

use crate::user::{CODE, User, failure, fetch, ready};

pub const SIZE: (u16, u16) = (100, 30);

/// A user with models loaded types `keys`.
#[track_caller]
pub fn check(keys: &str, effects: &[&str], input: &str) {
    let mut user = User::ready(SIZE);
    user.keys(keys);
    assert_eq!(user.effects, effects, "effects of {keys}");
    assert_eq!(user.app.input().text(), input, "input after {keys}");
}

#[test]
fn sending_and_typing() {
    check("hello<Enter>", &["send hello"], "");
    check("<Enter>", &[], "");
    check("  <Enter>", &[], "  ");
    check("a<C-j>b<Enter>", &["send a\nb"], "");
    check("a\\<Enter>b<Enter>", &["send a\nb"], "");
    check("a<S-Enter>b", &[], "a\nb");
    check("what?", &[], "what?");
    check("?", &[], "");
    check("first<Enter><C-p>", &["send first"], "first");
    check("first<Enter>sec<C-p><C-n>", &["send first"], "sec");
}

#[test]
fn quitting() {
    check("<C-d>", &["quit"], "");
    check("ab<Home><C-d>", &[], "b");
    check("<C-c><C-c>", &["quit"], "");
    check("<C-c>x<C-c><C-c>", &[], "");
    check("text<C-c>", &[], "");
    check("text<C-c><C-p>", &[], "text");
    check("text<C-c><C-c><C-c>", &["quit"], "");
    check("/quit<Enter>", &["quit"], "");
}

#[test]
fn other_keys() {
    check("<C-l><C-z>", &["clear", "suspend"], "");
    check("?q", &[], "");
    check("?x", &[], "x");
    check("?<Esc>a", &[], "a");
}

/// The help scrolls with every key that scrolls, and only what it names closes it.
#[test]
fn keys_in_the_help() {
    let after = |keys: &str| {
        let mut user = User::ready((80, 12));
        user.keys(keys);
        (user.app.help(), user.app.input().text())
    };
    let (end, _) = after(
        &"?".chars()
            .chain(" ".repeat(20).chars())
            .collect::<String>(),
    );
    assert!(end.is_some_and(|line| line > 20), "{end:?}");
    let page = after("? ").0;
    let check = |keys: &str, line: Option<usize>, input: &str| {
        assert_eq!(after(keys), (line, input.to_owned()), "{keys}");
    };
    check("?<End>", end, "");
    check("?<End><Down><PgDn>", end, "");
    check("?<End><Home>", Some(0), "");
    check("?<Down><C-n><S-Down><Up>", Some(2), "");
    check("?<C-n><C-p><C-p>", Some(0), "");
    check("?<PgDn>", page, "");
    check("?<PgDn><PgUp>", Some(0), "");
    for key in ["<Esc>", "?", "q", "<Enter>", "<C-c>", "<C-d>"] {
        check(&format!("?{key}"), None, "");
    }
    check("?x", None, "x");
    for key in [
        "Tab",
        "S-Tab",
        "C-r",
        "C-f",
        "C-t",
        "C-l",
        "C-z",
        "C-w",
        "C-u",
        "C-k",
        "C-y",
        "C-_",
        "C-a",
        "C-e",
        "C-j",
        "C-g",
        "Left",
        "Backspace",
    ] {
        check(&format!("?<Down><{key}>"), Some(1), "");
    }
}

/// What is being typed is there again, with the cursor where it was, whatever is done over it.
#[test]
fn what_stands_over_the_chat_changes_no_message() {
    let harmless = [
        "Home",
        "End",
        "Up",
        "Down",
        "Left",
        "PgUp",
        "PgDn",
        "S-Up",
        "C-a",
        "C-e",
        "C-b",
        "C-w",
        "C-u",
        "C-k",
        "C-y",
        "C-_",
        "C-j",
        "C-g",
        "C-t",
        "C-l",
        "C-n",
        "C-p",
        "Backspace",
    ];
    for (before, open) in [
        ("kept", "<C-f>"),
        ("kept", "<C-r>"),
        ("kept", "<C-r>other<C-f>"),
        ("", "/find a<Enter>"),
        ("", "/model<Enter>"),
        ("", "/resume<Enter>"),
    ] {
        for key in harmless {
            let mut user = User::ready(SIZE);
            user.keys(&format!("gone<C-w>{before}{open}<{key}>x?<Esc>!"));
            let expect = format!("{before}!");
            assert_eq!(user.app.input().text(), expect, "{open} {key}");
        }
    }
}

#[test]
fn what_is_typed_while_a_chat_opens_is_kept() {
    let mut user = User::ready(SIZE);
    user.keys("/resume last<Enter>hello<Left><Enter><Backspace>");
    user.update(Msg::Paste(" pasted ".to_owned()));
    assert_eq!(user.app.input().text(), "hel pasted o");
    assert_eq!(user.effects, ["Open(\"last\")"]);
}

#[test]
fn strategies() {
    check("<S-Tab>", &["strategy lookup"], "");
    check(
        "<S-Tab><S-Tab><S-Tab>",
        &["strategy lookup", "strategy plain", "strategy draft"],
        "",
    );
    check("/mode plain<Enter>", &["strategy plain"], "");
    check("/mode  lookup <Enter>", &["strategy lookup"], "");
    check(
        "/mode lookup-transformers <Enter><S-Tab>",
        &["strategy lookup-transformers", "strategy plain"],
        "",
    );
    check("/mode fast<Enter>", &[], "/mode fast");
    check("/mode<Enter>", &[], "");
}

#[test]
fn commands() {
    check("/new<Enter>", &["reset"], "");
    check("/nwe<Enter>", &[], "/nwe");
    check("/show tokens<Enter>", &[], "");
    check("/panel<Enter>", &[], "");
    check(
        "a<Enter>/mode plain<Enter>",
        &["send a", "strategy plain"],
        "",
    );
    check("a<Enter>/new<Enter>", &["send a"], "/new");
}

#[track_caller]
pub fn says(user: &User, text: &str) {
    let picture = user.picture();
    assert!(picture.contains(text), "{text:?} is not in\n{picture}");
}

#[track_caller]
pub fn says_not(user: &User, text: &str) {
    let picture = user.picture();
    assert!(!picture.contains(text), "{text:?} is in\n{picture}");
}

#[test]
fn the_quit_hint_expires() {
    let mut user = User::ready(SIZE);
    user.keys("<C-c>");
    says(&user, "press Ctrl-C again to quit");
    user.wait(1600);
    says_not(&user, "press Ctrl-C again to quit");
    user.keys("<C-c>");
    assert!(user.effects.is_empty());
}

#[test]
fn unknown_commands_and_strategies_list_the_known_ones() {
    let mut user = User::ready(SIZE);
    user.keys("/nwe<Enter>");
    says(&user, "no command `/nwe`");
    says(&user, "did you mean /new?");
    user.keys("<C-c>/mode fast<Enter>");
    says(&user, "there is no strategy `fast` here");
    says(&user, "here: plain, draft (now),");
}

#[test]
fn a_swap_is_pending_until_it_is_confirmed() {
    let pending = "◆ draft → ≡ lookup…";
    let mut user = User::ready(SIZE);
    user.keys("hello<Enter>");
    user.stream("one two three ", "draft", &[0]);
    user.keys("<S-Tab>");
    says(&user, pending);
    user.stream("four ", "draft", &[0]);
    says(&user, pending);
    user.hear(Event::Strategy("lookup"));
    says_not(&user, "→");
    says(&user, "≡ lookup");
    user.keys("<S-Tab>");
    says(&user, "≡ lookup → ○ plain…");
    user.stream("five ", "plain", &[0]);
    says_not(&user, "…  ");
    says(&user, "○ plain");
}

#[test]
fn an_answer_is_stopped_by_its_own_request() {
    for stop in ["<C-c>", "<Esc>"] {
        let mut user = User::ready(SIZE);
        user.keys("one<Enter>");
        user.stream("some text ", "draft", &[1]);
        user.keys(&format!("typed{stop}"));
        assert!(user.cancels[0].is_cancelled());
        assert_eq!(
            user.app.input().text(),
            "typed",
            "the first {stop} only stops"
        );
        says(&user, "■ stopping…");
        user.stream("late ", "draft", &[0]);
        says(&user, "■ stopping…");
        user.finish(FinishReason::Stopped);
        says(&user, "■ stopped");
        says(&user, "some text late");
        user.keys("<Enter>");
        assert_eq!(user.effects, ["send one", "send typed"]);
        assert!(!user.cancels[1].is_cancelled());
    }
}

#[test]
fn enter_during_an_answer_keeps_the_text_and_says_why() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>two<Enter>");
    assert_eq!(user.effects, ["send one"]);
    assert_eq!(user.app.input().text(), "two");
    says(&user, "an answer is being written");
    user.finish(FinishReason::EndOfTurn);
    user.keys("<Enter>");
    assert_eq!(user.effects, ["send one", "send two"]);
}

#[test]
fn a_message_sent_early_waits_in_view() {
    let mut user = User::new(SIZE);
    user.hear(fetch(1, None));
    user.keys("early<Enter>");
    assert_eq!(user.effects, ["send early"]);
    says(&user, "… waiting");
    user.keys("<S-Tab>");
    says(&user, "once the models are loaded");
    user.hear(ready());
    says_not(&user, "… waiting");
    says(&user, "SmolLM2-135M-Instruct");
    user.hear(Event::Prefill { done: 3, total: 10 });
    says(&user, "reading the prompt  3/10");
}

#[test]
fn a_message_that_failed_can_be_sent_again() {
    let mut user = User::ready(SIZE);
    user.keys("too long<Enter>");
    user.hear(failure("It does not fit.", false));
    // A command must find the input empty.
    assert_eq!(user.app.input().text(), "");
    says(&user, "/retry sends the message again");
    user.keys("<C-p>");
    assert_eq!(user.app.input().text(), "too long");
    says(&user, "✗ failed");
    says(&user, "It does not fit.");
    user.keys("<C-c>again<Enter>other");
    user.hear(failure("It does not fit.", false));
    assert_eq!(
        user.app.input().text(),
        "other",
        "what is being typed is kept"
    );
}

#[test]
fn a_fatal_failure_says_what_to_do() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>");
    user.hear(failure("The engine panicked.", true));
    says(&user, "The engine panicked.");
    says(&user, "q quit");
    user.keys("q");
    user.keys("<C-c>");
    assert_eq!(user.effects, ["send one", "quit", "quit"]);
}

#[test]
fn finishing_never_moves_the_view() {
    for keys in ["", "<PgUp>"] {
        for reason in [
            FinishReason::EndOfTurn,
            FinishReason::MaxTokens,
            FinishReason::ContextFull,
            FinishReason::Stopped,
        ] {
            let mut user = User::ready((100, 14));
            user.keys("hello<Enter>");
            user.stream(CODE, "draft", &[2]);
            user.keys(keys);
            let text = |user: &User| {
                let lines = user.picture();
                lines
                    .lines()
                    .take(9)
                    .map(|line| line[..20.min(line.len())].to_owned())
                    .collect::<Vec<_>>()
            };
            let before = text(&user);
            user.finish(reason);
            assert_eq!(text(&user), before);
        }
    }
}

#[test]
fn new_lines_below_are_counted_until_the_end_is_seen() {
    let mut user = User::ready((80, 24));
    user.keys("hello<Enter>");
    user.stream(&"line\n".repeat(30), "draft", &[2]);
    user.keys("<Up><Up><Up>");
    says(&user, "↓ 3 lines below");
    user.stream(&"line\n".repeat(7), "draft", &[2]);
    says(&user, "↓ 7 new lines");
    user.keys("<End>");
    says_not(&user, "↓");
    user.keys("<Up><Up><Up><Up><Up>");
    says(&user, "↓ 5 lines below");
    user.keys("<Esc><Esc>");
    says_not(&user, "↓");
}

#[test]
fn arrows_move_in_a_long_input() {
    let mut user = User::ready(SIZE);
    user.keys("one<C-j>two<Up>X");
    assert_eq!(user.app.input().text(), "oneX\ntwo");
}

#[test]
fn a_paste_is_neither_keys_nor_a_command() {
    let mut user = User::ready(SIZE);
    user.update(Msg::Paste("?/quit\r\n\x1b[31mq".to_owned()));
    assert!(user.effects.is_empty());
    assert_eq!(user.app.input().text(), "?/quit\n\x1b[31mq");
    says(&user, "␛[31mq");
    user.keys("<Enter>");
    assert_eq!(user.effects, ["send ?/quit\n\x1b[31mq"]);
}

#[test]
fn panel_numbers_change_four_times_a_second_and_end_exact() {
    let mut user = User::ready(SIZE);
    user.keys("hello<Enter>");
    let ctx = |user: &User| user.app.shown().context_used;
    user.stream("a ", "draft", &[0]);
    assert_eq!(ctx(&user), Some(413), "the first round is shown at once");
    let mut seen = vec![];
    for i in 0..25 {
        let words = "b ".repeat(i + 2);
        user.stream(&words, "plain", &[i + 1]);
        seen.push(ctx(&user));
    }
    seen.dedup();
    // 25 rounds of 42 ms are 1050 ms: at most five refreshes, and one for the strategy's change.
    assert!((4..=6).contains(&seen.len()), "{seen:?}");
    user.finish(FinishReason::EndOfTurn);
    assert_eq!(ctx(&user), Some(412 + 26));
}

#[test]
fn an_idle_screen_is_woken_rarely() {
    let mut user = User::ready(SIZE);
    user.keys("hello<Enter>");
    user.stream(CODE, "draft", &[2]);
    user.finish(FinishReason::EndOfTurn);
    user.wait(3_600_000);
    let mut wakes = 0;
    let end = user.now + std::time::Duration::from_secs(3600);
    while let Some(at) = user.app.wake_at().filter(|at| *at <= end) {
        user.now = at;
        user.update(Msg::Tick);
        wakes += 1;
    }
    assert_eq!(wakes, 1, "the age of the baseline, once an hour");
    user.keys("<C-t>");
    assert_eq!(user.app.wake_at(), None, "nothing changes without a panel");
}

#[test]
fn without_a_measurement_there_is_a_dash() {
    let mut user = User::new(SIZE);
    user.hear(ready());
    says(&user, "—  plain not measured yet");
    says(&user, "context   —/8192");
    user.keys("hello<Enter>");
    user.stream("one two three four five six ", "draft", &[2]);
    user.wait(300);
    says(&user, "—  plain not measured yet");
    says_not(&user, "x plain");
}
