//! Saved chats on the screen: the list, opening one, and what is told of saving.

use insta::assert_snapshot;
use jiff::Timestamp;
use speck::app::Msg;
use speck::engine::protocol::FinishReason;
use speck::session::record::{Header, Record, Settings, Turn, VERSION};
use speck::session::{Conversation, Entry, Id, News, Note, Opened, folder::Summary};

use crate::user::{User, failure, ready};

const SIZE: (u16, u16) = (100, 30);
const SIZES: [(u16, u16); 4] = [(160, 50), (80, 24), (40, 12), (20, 5)];

fn entry(id: &str, [when, brief]: [&str; 2], turns: usize, title: &str) -> Entry {
    Entry {
        id: Id::parse(id).unwrap(),
        updated: Timestamp::UNIX_EPOCH,
        when: when.to_owned(),
        brief: brief.to_owned(),
        summary: Ok(Summary {
            name: None,
            first_words: title.to_owned(),
            turns,
            model: "SmolLM2-135M".to_owned(),
            damaged: None,
        }),
    }
}

fn entries() -> Vec<Entry> {
    let mut bad = entry("20261101-0800-bad", ["2026-11-01 08:00", "1 Nov"], 0, "");
    bad.summary = Err("it is empty".to_owned());
    vec![
        entry(
            "20261130-1432-k3f",
            ["2026-11-30 14:32", "14:32"],
            3,
            "Write is_palindrome(s) with a docstring and a test for it",
        ),
        entry(
            "20261129-0910-abc",
            ["2026-11-29 09:10", "29 Nov"],
            12,
            "日本語 \u{1b}[31m\nexplain \u{202e} TCP",
        ),
        entry(
            "20261128-2300-xyz",
            ["2026-11-28 23:00", "28 Nov"],
            1,
            "Why is the sky blue?",
        ),
        bad,
    ]
}

pub fn listed(size: (u16, u16)) -> User {
    let mut user = User::ready(size);
    user.keys("/resume<Enter>");
    user.update(Msg::Session(Note::Listed(Ok(entries()))));
    user
}

pub fn opened(unanswered: Option<&str>, model: &str) -> Note {
    let turn = serde_json::json!({
        "time": "2026-11-30T14:32:00Z", "user": "Why is the \u{1b}sky blue?", "answer": "Because of **light**.",
        "reason": "end_of_turn", "model": model, "seed": null,
        "stats": { "answer_tokens": 6, "tokens_per_second": 47.5, "tokens_per_pass": 2.0, "speed_up": 1.5 },
    });
    let turn: Turn = serde_json::from_value(turn).unwrap();
    let asked = unanswered.map(|text| Record::Asked {
        time: Timestamp::UNIX_EPOCH,
        text: text.to_owned(),
        pasted: Vec::new(),
    });
    let turn = Record::Turn(Box::new(turn));
    opened_with([turn].into_iter().chain(asked).collect())
}

fn opened_with(records: Vec<Record>) -> Note {
    let time = Timestamp::UNIX_EPOCH;
    let header = Header {
        version: VERSION,
        settings: Settings {
            time,
            model: "smollm2-135m".to_owned(),
            draft: "auto".to_owned(),
            system: None,
            sampling: serde_json::Value::Null,
        },
    };
    let records = [Record::Header(header)].into_iter().chain(records);
    let conversation = Conversation::new(records).unwrap();
    Note::Opened(Box::new(Opened {
        id: Id::parse("20261130-1432-k3f").unwrap(),
        conversation,
        repaired: None,
    }))
}

#[test]
fn the_list_at_every_size() {
    for size in SIZES {
        let name = format!("list_{}x{}", size.0, size.1);
        assert_snapshot!(name, listed(size).picture());
    }
}

#[test]
fn an_export_holds_the_whole_of_a_long_paste() {
    let mut user = User::ready(SIZE);
    let lines: Vec<String> = (1..=30).map(|i| format!("line {i}")).collect();
    user.update(Msg::Paste(lines.join("\n")));
    user.keys("<Enter>");
    user.stream("Thirty.", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    user.effects.clear();
    user.keys("/export<Enter>");
    let exported = user.effects.concat();
    assert!(exported.contains(r"line 29\nline 30\n"), "{exported}");
}

#[test]
fn a_chat_that_goes_on() {
    let mut user = User::ready(SIZE);
    user.update(Msg::Session(opened(Some("And at night?"), "Qwen3-0.6B")));
    assert_eq!(
        user.effects,
        [
            "set ",
            "restore Why is the \u{1b}sky blue? | Because of **light**."
        ]
    );
    assert_eq!(user.app.input().text(), "And at night?");
    assert_snapshot!("opened_100x30", user.picture());
    let mut user = User::new(SIZE);
    user.update(Msg::Session(opened(None, "Qwen3-0.6B")));
    says_not(&user, "This chat was with");
    user.hear(ready());
    says(&user, "This chat was with Qwen3-0.6B; it goes on with");
}

/// A chat of one turn, as it is saved: its message is long and was pasted after `Read: `.
fn long_paste() -> (String, Turn) {
    let lines: Vec<String> = (1..=30).map(|i| format!("line {i}")).collect();
    let pasted = lines.join("\n");
    let turn = serde_json::json!({
        "time": "2026-11-30T14:32:00Z", "user": format!("Read: {pasted}"), "answer": "Thirty.",
        "pasted": [{ "start": 6, "end": 6 + pasted.len() }],
        "reason": "end_of_turn", "model": "m", "seed": null, "stats": {},
    });
    (pasted, serde_json::from_value(turn).unwrap())
}

#[test]
fn a_long_paste_stays_folded() {
    let (pasted, turn) = long_paste();
    let folded = "[26 more of 30 pasted lines]";
    let check = |user: &mut User| {
        let whole = format!("send Read: {pasted}");
        for keys in ["/retry<Enter>", "/edit<Enter><Enter>"] {
            user.effects.clear();
            user.keys(keys);
            user.stream("Thirty.", "plain", &[0]);
            user.finish(FinishReason::EndOfTurn);
            assert!(user.effects.contains(&whole), "{keys}: {:?}", user.effects);
            let [question, _] = user.app.transcript().blocks() else {
                panic!("{keys}")
            };
            assert!(
                question.text().ends_with(folded),
                "{keys}: {}",
                question.text()
            );
        }
        user.keys("/edit<Enter>");
        says(user, "Read: [pasted 30 lines]");
    };
    let mut user = User::ready(SIZE);
    user.keys("Read: ");
    user.update(Msg::Paste(pasted.clone()));
    user.keys("<Enter>");
    user.stream("Thirty.", "plain", &[0]);
    user.finish(FinishReason::EndOfTurn);
    check(&mut user);
    let mut user = User::ready(SIZE);
    user.update(Msg::Session(opened_with(vec![Record::Turn(Box::new(
        turn,
    ))])));
    says(&user, folded);
    check(&mut user);
}

#[test]
fn a_long_paste_without_an_answer_stays_folded() {
    let (pasted, turn) = long_paste();
    let mut user = User::ready(SIZE);
    user.update(Msg::Session(opened_with(vec![Record::Asked {
        time: Timestamp::UNIX_EPOCH,
        text: turn.user.clone(),
        pasted: turn.pasted,
    }])));
    says(&user, "Read: [pasted 30 lines]");
    user.keys("<Enter>");
    let whole = format!("send Read: {pasted}");
    assert_eq!(user.effects.last(), Some(&whole));
}

#[test]
fn a_chat_that_goes_on_shows_where_the_dropped_part_ends() {
    let (_, turn) = long_paste();
    let turn = |user: &str| {
        Record::Turn(Box::new(Turn {
            user: user.to_owned(),
            pasted: Vec::new(),
            ..turn.clone()
        }))
    };
    let mut user = User::ready(SIZE);
    let records = vec![
        turn("one"),
        turn("two"),
        Record::Dropped { turns: 1 },
        turn("three"),
    ];
    user.update(Msg::Session(opened_with(records)));
    assert_eq!(user.effects[1], "restore two | Thirty. | three | Thirty.");
    let kinds: Vec<&str> = user
        .app
        .transcript()
        .blocks()
        .iter()
        .map(speck::app::block::Block::text)
        .collect();
    assert!(
        kinds[2].starts_with("↑ The turn above is no longer part"),
        "{kinds:?}"
    );
    assert_eq!(kinds[3], "two");
    // What is taken back then leaves the log right: all turns count.
    user.effects.clear();
    user.keys("/retry<Enter>");
    assert_eq!(user.effects, ["rewind to 1 of 2", "send three"]);
}

#[test]
fn a_long_chat_opens_at_its_end_and_is_there_from_its_beginning() {
    const TURNS: usize = 1000;
    let (_, turn) = long_paste();
    let turns = (0..TURNS).map(|i| {
        Record::Turn(Box::new(Turn {
            user: format!("question {i}"),
            pasted: Vec::new(),
            answer: format!("Answer **{i}**:\n\n- one\n- two\n\n```\ncode {i}\n```\n"),
            ..turn.clone()
        }))
    });
    let note = opened_with(turns.chain([Record::Dropped { turns: 3 }]).collect());
    let open = || {
        let mut user = User::ready(SIZE);
        user.update(Msg::Session(note.clone()));
        user
    };
    let user = open();
    says(&user, "question 999");
    let rendered = |user: &User| {
        let blocks = user.app.transcript().blocks();
        blocks
            .iter()
            .filter(|block| block.rendered_bytes() > 0)
            .count()
    };
    assert!(
        rendered(&user) < 100,
        "{} of {}",
        rendered(&user),
        2 * TURNS
    );
    // The same as where all of it has its lines.
    for keys in [
        "<PgUp>",
        &"<PgUp>".repeat(40),
        "<Home>",
        "<Home><PgDn>",
        "<C-f>question 500",
        "<C-f>answer 7<Enter><Enter>",
        &format!("{}/retry<Enter>", "<PgUp>".repeat(9)),
        "/edit 990<Enter>",
        "/new<Enter>",
    ] {
        let (mut lazy, mut whole) = (open(), open());
        whole.keys("<Home><End>");
        assert_eq!(rendered(&whole), whole.app.transcript().blocks().len());
        lazy.keys(keys);
        whole.keys(keys);
        assert_eq!(lazy.picture(), whole.picture(), "{keys}");
    }
    let mut user = open();
    user.update(Msg::Resize(60, 20));
    user.keys("<Home>");
    assert!(user.app.scroll().top == 0 && user.picture().contains("question 0"));
}

#[test]
fn a_chat_that_was_written_anew_is_told() {
    let mut user = User::ready(SIZE);
    user.update(Msg::Session(Note::News(News::WrittenAnew(
        "/tmp/\u{1b}x.jsonl".into(),
    ))));
    says(&user, "was gone or changed: all of it is");
    says(&user, "/tmp/␛x.jsonl");
}

/// Opens the list, types `keys`.
#[track_caller]
fn check(keys: &str, effects: &[&str]) {
    let mut user = listed(SIZE);
    user.effects.clear();
    user.keys(keys);
    assert_eq!(user.effects, effects, "effects of {keys}");
}

#[test]
fn a_chat_is_picked() {
    check("<Enter>", &["Open(\"20261130-1432-k3f\")"]);
    check("<Down><Enter>", &["Open(\"20261129-0910-abc\")"]);
    check("<Down><Down><Up><Enter>", &["Open(\"20261129-0910-abc\")"]);
    check("<C-n><C-n><Enter>", &["Open(\"20261128-2300-xyz\")"]);
    check("<End><Enter>", &["Open(\"20261101-0800-bad\")"]);
    check("<End><Home><Up><Enter>", &["Open(\"20261130-1432-k3f\")"]);
    check("sky<Enter>", &["Open(\"20261128-2300-xyz\")"]);
    check("EXPLAIN tcp<Enter>", &["Open(\"20261129-0910-abc\")"]);
    check("skyx<Backspace><Enter>", &["Open(\"20261128-2300-xyz\")"]);
    check("nothing like it<Enter>", &[]);
    check("blue?<Enter>", &["Open(\"20261128-2300-xyz\")"]);
    check("<Enter><Enter><Down>x", &["Open(\"20261130-1432-k3f\")"]);
    check("<Esc>hi<Enter>", &["send hi"]);
    check("<C-c>hi<Enter>", &["send hi"]);
}

#[track_caller]
fn says(user: &User, text: &str) {
    let picture = user.picture();
    assert!(picture.contains(text), "{text:?} is not in\n{picture}");
}

#[track_caller]
fn says_not(user: &User, text: &str) {
    let picture = user.picture();
    assert!(!picture.contains(text), "{text:?} is in\n{picture}");
}

#[test]
fn the_list_says_what_it_waits_for() {
    let mut user = User::ready(SIZE);
    user.keys("/resume<Enter>");
    assert_eq!(user.effects, ["List"]);
    says(&user, "… reading");
    user.update(Msg::Session(Note::Listed(Ok(Vec::new()))));
    says(&user, "There is no other saved chat yet");
    let mut user = listed(SIZE);
    user.keys("zzz");
    says(&user, "0 of 4");
    says(&user, "No chat has all of these words");
    let mut user = listed(SIZE);
    user.keys("<Enter>");
    says(&user, "… opening");
    user.update(Msg::Session(Note::Refused(
        "this chat is open in another speck".into(),
    )));
    says(&user, "This chat is open in another speck");
}

#[test]
fn commands_ask_the_one_who_saves() {
    let mut user = User::ready(SIZE);
    user.keys("/resume 2026<Enter>");
    assert_eq!(user.effects, ["Open(\"2026\")"]);
    let mut user = User::ready(SIZE);
    user.keys("/save my chat<Enter>/save<Enter>/export<Enter>");
    assert_eq!(user.effects, ["Save(Some(\"my chat\"))", "Save(None)"]);
    says(&user, "nothing was said yet");
    let mut user = User::ready(SIZE);
    user.keys("hi<Enter>/resume<Enter>");
    assert_eq!(user.effects, ["send hi"]);
    says(&user, "then /resume works");
    let mut user = User::ready(SIZE);
    user.hear(failure("no", true));
    user.keys("/resume<Enter>");
    assert!(user.effects.is_empty());
}

#[test]
fn an_export_holds_what_was_said() {
    let mut user = User::ready(SIZE);
    user.keys("one<Enter>");
    user.stream("two three", "draft", &[1]);
    user.finish(FinishReason::MaxTokens);
    user.keys("fails<Enter>");
    user.hear(failure("no", false));
    user.keys("<C-c>stopped<Enter>");
    user.finish_empty();
    user.keys("<C-c>four<Enter>");
    user.stream("five", "draft", &[1]);
    user.effects.clear();
    user.keys("/export out.md<Enter>");
    let said = "\n## You\n\none\n\n## SmolLM2-135M-Instruct\n\ntwo three\n\n*(the token limit was reached)*\n\n\
                ## You\n\nfour\n\n## SmolLM2-135M-Instruct\n\nfive\n\n*(not finished)*\n";
    let expect = format!("Export {{ file: Some(\"out.md\"), title: \"one\", said: {said:?} }}");
    assert_eq!(user.effects, [expect]);
}

#[test]
fn trouble_with_saving_is_told_and_its_end() {
    let mut user = User::ready(SIZE);
    user.update(Msg::Session(Note::News(News::Trouble(
        "No space left on device".into(),
    ))));
    says(&user, "This chat cannot be saved: No space left on device");
    user.update(Msg::Session(Note::News(News::SavesAgain { lost: false })));
    says(&user, "Saving works again: nothing is missing.");
    user.keys("hi<Enter>");
    assert_eq!(user.effects, ["send hi"]);
}

/// A list of many chats keeps the marked one in view.
#[test]
fn a_long_list_scrolls() {
    let mut user = User::ready((80, 24));
    user.keys("/resume<Enter>");
    let many = |i| {
        entry(
            &format!("id-{i}"),
            ["2026-11-30 14:32", "14:32"],
            i,
            &format!("chat number {i}"),
        )
    };
    user.update(Msg::Session(Note::Listed(Ok((0..200).map(many).collect()))));
    for at in [0, 5, 19, 20, 57] {
        user.keys("<Home>");
        user.keys(&"<Down>".repeat(at));
        says(&user, &format!("turns  chat number {at} "));
    }
    user.keys("<End>");
    says(&user, "chat number 199");
}
