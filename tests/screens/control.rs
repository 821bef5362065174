//! Taking back, dropping, and setting: what the engine is told, what the screen shows.

use insta::assert_snapshot;
use speck::app::Msg;
use speck::app::block::Kind;
use speck::engine::protocol::{Event, FinishReason};

use crate::keys::{says, says_not};
use crate::user::{CODE, User, failure, options, ready};

const SIZE: (u16, u16) = (100, 30);

/// A user types keys; after each `<Enter>` that asked for an answer it comes: `ok`, or what `answers` says for
/// it: `fail`, `stop` (before its first token), `open` (it does not end).
fn play(keys: &str, answers: &[&str]) -> User {
    let mut user = User::ready(SIZE);
    let mut answers = answers.iter();
    let mut open = false;
    for step in keys.split_inclusive("<Enter>") {
        user.keys(step);
        if open || !user.app.answering() {
            continue;
        }
        match answers.next().copied().unwrap_or("ok") {
            "ok" => {
                user.stream("fine", "plain", &[0]);
                user.finish(FinishReason::EndOfTurn);
            }
            "fail" => user.hear(failure("it broke", false)),
            "stop" => user.finish_empty(),
            "open" => open = true,
            other => panic!("{other}"),
        }
    }
    user
}

/// What the conversation shows of questions and answers, in short.
fn shown(user: &User) -> String {
    let words = user.app.transcript().blocks().iter().map(|block| {
        let text = block.text();
        match block.kind {
            Kind::User => format!("<{text}"),
            Kind::Assistant(_) => format!(">{text}"),
            Kind::Notice => format!("({})", text.split(' ').next().unwrap_or_default()),
            Kind::Error => "!".to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(keys: &str, answers: &[&str], effects: &[&str], conversation: &str, input: &str) {
    let user = play(keys, answers);
    assert_eq!(user.effects, effects, "effects of {keys}");
    assert_eq!(shown(&user), conversation, "after {keys}");
    assert_eq!(user.app.input().text(), input, "input after {keys}");
}

#[test]
fn a_retry_takes_the_last_turn_back_and_sends_it_again() {
    check(
        "a<Enter>b<Enter>/retry<Enter>",
        &[],
        &["send a", "send b", "rewind to 1", "send b"],
        "<a >fine <b >fine",
        "",
    );
    // What failed or was stopped at once is not known to the engine.
    check(
        "a<Enter>b<Enter><C-c>/retry<Enter>",
        &["ok", "fail"],
        &["send a", "send b", "send b"],
        "<a >fine <b >fine",
        "",
    );
    check(
        "a<Enter>/retry<Enter>",
        &["stop"],
        &["send a", "send a"],
        "<a >fine",
        "",
    );
    check("/retry<Enter>", &[], &[], "", "/retry");
    check(
        "a<Enter>/new<Enter>/retry<Enter>",
        &[],
        &["send a", "reset"],
        "",
        "/retry",
    );
}

#[test]
fn an_edit_puts_a_message_back_into_the_input() {
    check(
        "a<Enter>/edit<Enter>!<Enter>",
        &[],
        &["send a", "rewind to 0", "send a!"],
        "<a! >fine",
        "",
    );
    check(
        "a<Enter>b<Enter>c<Enter>/edit 2<Enter>",
        &[],
        &["send a", "send b", "send c", "rewind to 1"],
        "<a >fine",
        "b",
    );
    check(
        "a<Enter>/edit 2<Enter>",
        &[],
        &["send a"],
        "<a >fine",
        "/edit 2",
    );
    check("/edit x<Enter>", &[], &[], "", "/edit x");
}

#[test]
fn nothing_is_taken_back_while_an_answer_is_written() {
    for command in ["/retry", "/edit", "/drop"] {
        let keys = format!("a<Enter>{command}<Enter>");
        check(&keys, &["open"], &["send a"], "<a >", command);
        let user = play(&keys, &["open"]);
        let why = format!("Ctrl-C stops it, then {command} works");
        assert!(user.picture().contains(&why), "{}", user.picture());
    }
    let mut user = User::new(SIZE);
    user.keys("early<Enter>/retry<Enter>");
    assert_eq!(user.effects, ["send early"]);
}

#[test]
fn a_retry_takes_another_seed_where_that_has_a_say() {
    let mut user = play("/set temperature 0.8<Enter>", &[]);
    assert_eq!(user.effects, ["set temperature 0.8"]);
    let mut set = options();
    set.sampling.temperature = 0.8;
    user.hear(Event::Options(set.clone()));
    assert!(user.picture().contains("T 0.8, seed 41"));
    user.effects.clear();
    user.keys("a<Enter>");
    user.stream("fine", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    user.keys("/retry<Enter>");
    let expect = [
        "send a",
        "rewind to 0",
        "set temperature 0.8, seed 42",
        "send a",
    ];
    assert_eq!(user.effects, expect);
    assert!(user.picture().contains("with seed 42 instead of 41"));

    let greedy = play("a<Enter>/retry<Enter>", &["ok", "open"]);
    assert!(greedy.picture().contains("greedy: the same text again"));
}

#[test]
fn options_are_set_listed_and_judged() {
    let check = |keys: &str, effects: &[&str], says: &str| {
        let user = play(keys, &["open"]);
        assert_eq!(user.effects, effects, "{keys}");
        assert!(user.picture().contains(says), "{keys}\n{}", user.picture());
    };
    check("/set<Enter>", &[], "repetition-penalty  1");
    check(
        "/set top-k 40<Enter>",
        &["set top-k 40"],
        "top-k 40 from the next message on",
    );
    // The second is asked for on top of the first, which is not confirmed yet.
    check(
        "/set top-k 40<Enter>/set seed 7<Enter>",
        &["set top-k 40", "set top-k 40, seed 7"],
        "seed 7",
    );
    check(
        "/set top-p 2<Enter>",
        &[],
        "top-p: 2 is not a number from 0 to 1",
    );
    check("/set heat 2<Enter>", &[], "there is nothing called `heat`");
    check(
        "a<Enter>/set seed 7<Enter>",
        &["send a", "set seed 7"],
        "from the next message",
    );
    check("/system<Enter>", &[], "No system prompt is set");
    check(
        "/system Be brief.<Enter>",
        &["set system Be brief."],
        "from the next message",
    );
    check(
        "/system Be brief.<Enter>/system<Enter>",
        &["set system Be brief."],
        "System prompt: Be brief.",
    );
    check(
        "/system Be brief.<Enter>/system off<Enter>/system<Enter>",
        &["set system Be brief.", "set "],
        "No system prompt is set",
    );
    let mut user = User::new(SIZE);
    user.keys("/set seed 7<Enter>");
    assert!(user.effects.is_empty());
    assert!(user.picture().contains("once the models are loaded"));
}

#[test]
fn the_oldest_turns_are_dropped_for_a_message_that_did_not_fit() {
    let mut user = play(
        "a<Enter>b<Enter>long<Enter><C-c>/drop<Enter>",
        &["ok", "ok", "fail", "open"],
    );
    let expect = [
        "send a",
        "send b",
        "send long",
        "make room for long",
        "send long",
    ];
    assert_eq!(user.effects, expect);
    assert_eq!(shown(&user), "<a >fine <b >fine <long >");
    user.hear(Event::Dropped { turns: 1 });
    assert_eq!(shown(&user), "<a >fine (↑) <b >fine <long >");
    user.stream("done", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    assert_eq!(shown(&user), "<a >fine (↑) <b >fine <long >done");
    assert!(user.picture().contains("The turn above is no longer part"));

    // The mark moves with what is dropped next, and stays when all after it is taken back.
    user.keys("more<Enter>");
    user.hear(failure("it does not fit", false));
    user.keys("<C-c>/drop<Enter>");
    user.hear(Event::Dropped { turns: 2 });
    user.finish_empty();
    assert_eq!(shown(&user), "<a >fine <b >fine <long >done (↑) <more >");
    user.effects.clear();
    user.keys("/edit<Enter>");
    assert_eq!(shown(&user), "<a >fine <b >fine <long >done (↑)");
    user.keys("<C-c>/edit 2<Enter>");
    assert_eq!(shown(&user), "<a >fine (↑)");
    // The engine has forgotten them all; the saved chat has not.
    assert_eq!(user.effects, ["rewind to 0 of 1"]);

    check(
        "a<Enter>/drop<Enter>",
        &[],
        &["send a"],
        "<a >fine",
        "/drop",
    );
}

#[test]
fn options_look_tidy() {
    let user = play("a<Enter>/set<Enter>/system Be brief.<Enter>", &[]);
    assert_snapshot!(user.picture());
}

#[test]
fn dropping_nothing_marks_nothing() {
    let mut user = play(
        "a<Enter>long<Enter><C-c>/drop<Enter>",
        &["ok", "fail", "open"],
    );
    user.hear(Event::Dropped { turns: 0 });
    user.hear(failure("it does not fit", false));
    assert_eq!(shown(&user), "<a >fine <long > !");
}

/// The panel's numbers are those of the chat; what plain decoding costs is the machine's, and stays.
#[test]
fn another_chat_starts_the_panel_afresh() {
    type Act = fn(&mut User);
    let acts: [Act; 2] = [
        |user| user.keys("/new<Enter>"),
        |user| {
            let chat = crate::saved::opened(None, "SmolLM2-135M-Instruct");
            user.update(Msg::Session(chat));
        },
    ];
    for act in acts {
        let mut user = User::ready(SIZE);
        user.keys("hello<Enter>");
        user.stream(CODE, "draft", &[3]);
        user.finish(FinishReason::EndOfTurn);
        says(&user, "faster than plain");
        act(&mut user);
        says(&user, "—  no passes yet");
        says(&user, "latest passes");
        says(&user, "accepted  —");
        says(&user, "now   —");
        says(&user, "context   —/8192");
        says(&user, "plain       24.6 tok/s");
        user.keys("/stats<Enter>");
        says(&user, "all answers: ");
        says_not(&user, "this answer: ");
    }
}

#[test]
fn numbers_of_what_was_taken_back_are_not_shown() {
    let mut user = User::ready((120, 40));
    for message in ["a<Enter>", "b<Enter>"] {
        user.keys(message);
        user.stream(CODE, "draft", &[2]);
        user.finish(FinishReason::EndOfTurn);
    }
    says_not(&user, "context   —/8192");
    user.keys("/edit<Enter>");
    says(&user, "context   —/8192");
    says(&user, "per pass    3");
    user.keys("<C-c>/edit<Enter>");
    says(&user, "per pass       —");
    says(&user, "no passes yet");
}

#[test]
fn what_was_refused_because_of_loading_is_not_told_beyond_it() {
    let mut user = User::new((100, 30));
    user.keys("<S-Tab>");
    let why = "the strategies are known once the models are loaded";
    says(&user, why);
    user.hear(ready());
    says_not(&user, why);
}
