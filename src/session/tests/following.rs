//! What front ends and engine say → records → the conversation.

use std::time::{Duration, Instant};

use super::*;
use crate::cancel::Cancel;
use crate::engine::protocol::{
    Command, Event, Failure, FinishReason, Finished, Piece, Role, Round,
};
use crate::session::Conversation;
use crate::session::recorder::{Now, Recorder, Step};

/// Someone who chats, with a clock that the test winds.
struct Chat {
    recorder: Recorder,
    now: Now,
    steps: Vec<Step>,
}

impl Chat {
    fn new() -> Self {
        Self {
            recorder: Recorder::new("scripted".to_owned(), None),
            now: Now {
                instant: Instant::now(),
                time: time(),
            },
            steps: Vec::new(),
        }
    }

    fn send(&mut self, text: &str) {
        let command = Command::Send {
            text: text.to_owned(),
            cancel: Cancel::new(),
            pasted: Vec::new(),
        };
        self.steps.extend(self.recorder.sent(&command, self.now));
    }

    fn hear(&mut self, event: &Event) {
        self.steps.extend(self.recorder.heard(event, self.now));
    }

    /// A round that writes `text` and takes `ms`.
    fn round(&mut self, text: &str, ms: u64) {
        self.now.instant += Duration::from_millis(ms);
        self.hear(&Event::Round(Round {
            strategy: "plain",
            n_drafted: 0,
            n_verified: 0,
            n_accepted: 0,
            n_emitted: 1,
            draft_time: Duration::ZERO,
            verify_time: Duration::from_millis(ms),
            other_time: Duration::ZERO,
            pieces: vec![Piece {
                text: text.to_owned(),
                drafter: None,
            }],
            context_used: 10,
            note: None,
            explanation: None,
        }));
    }

    fn finish(&mut self, answer_tokens: usize, reason: FinishReason, rest: &str) {
        self.hear(&Event::Finished(Finished {
            reason,
            prompt_tokens: 5,
            reused_tokens: 0,
            prefill_time: Duration::from_micros(1500),
            answer_tokens,
            rest: rest.to_owned(),
            sampling: None,
        }));
    }

    fn records(&self) -> Vec<Record> {
        let written = self.steps.iter().filter_map(|step| match step {
            Step::Write(record) => Some(record.clone()),
            Step::Begin => None,
        });
        written.collect()
    }

    fn conversation(&self) -> Conversation {
        Conversation::new(std::iter::once(header()).chain(self.records())).unwrap()
    }
}

/// What was said, as `user|answer`, an unanswered message as `user?`.
fn said(told: &Conversation) -> Vec<String> {
    let turns = told.turns.iter();
    let turns = turns.map(|turn| format!("{}|{}", turn.user, turn.answer));
    let unanswered = told.unanswered_text().map(|text| format!("{text}?"));
    turns.chain(unanswered).collect()
}

#[test]
fn a_turn_is_recorded_whole_at_its_end() {
    let mut chat = Chat::new();
    chat.send("Hi");
    chat.round("Hel", 40);
    chat.round("lo", 60);
    chat.finish(3, FinishReason::MaxTokens, "!");
    let records = chat.records();
    assert_eq!(records.len(), 2, "{records:?}");
    let Record::Turn(turn) = &records[1] else {
        panic!("{records:?}")
    };
    assert_eq!((turn.user.as_str(), turn.answer.as_str()), ("Hi", "Hello!"));
    assert_eq!(turn.reason, Reason::MaxTokens);
    let stats = &turn.stats;
    assert_eq!(
        (stats.prompt_tokens, stats.answer_tokens, stats.passes),
        (5, 3, 2)
    );
    assert_eq!((stats.prefill_us, stats.decode_us), (1500, 100_000));
    assert_eq!(stats.strategies, ["plain"]);
}

#[test]
fn a_long_answer_is_recorded_in_parts_every_two_seconds() {
    let mut chat = Chat::new();
    chat.send("Hi");
    for word in ["a", "b", "c", "d", "e"] {
        chat.round(word, 900);
    }
    let part = |text: &str, model: Option<&str>| Record::Partial {
        text: text.to_owned(),
        model: model.map(str::to_owned),
    };
    assert_eq!(chat.records()[1..], [part("abc", Some("scripted"))]);
    chat.steps.extend(chat.recorder.rest(chat.now.instant));
    assert_eq!(chat.records()[2..], [part("de", None)]);
    assert_eq!(chat.recorder.rest(chat.now.instant), None);
    assert_eq!(said(&chat.conversation()), ["Hi|abcde"]);
    assert_eq!(chat.conversation().turns[0].reason, Reason::Interrupted);
}

#[test]
fn what_the_engine_forgets_is_no_part_of_the_conversation() {
    let mut chat = Chat::new();
    chat.send("one");
    chat.round("two", 10);
    chat.finish(1, FinishReason::Stopped, "");
    chat.send("stopped at once");
    chat.finish(0, FinishReason::Stopped, "");
    chat.send("fails");
    chat.round("par", 10);
    chat.hear(&Event::Failed(Failure {
        message: "no".to_owned(),
        fatal: false,
    }));
    assert_eq!(said(&chat.conversation()), ["one|two"]);
    chat.send("last");
    assert_eq!(said(&chat.conversation()), ["one|two", "last?"]);
}

#[test]
fn a_new_conversation_begins_another_chat() {
    let mut chat = Chat::new();
    chat.steps
        .extend(chat.recorder.sent(&Command::Reset, chat.now));
    assert_eq!(chat.steps, [Step::Begin]);
}

#[test]
fn a_restored_conversation_brings_its_system_prompt() {
    let told = Conversation::new(sample()).unwrap();
    let turns = told.messages();
    assert_eq!(turns.len(), 2, "without what was dropped");
    let turns = Conversation {
        dropped: 0,
        ..told.clone()
    }
    .messages();
    let roles: Vec<Role> = turns.iter().map(|turn| turn.role).collect();
    let expect = [Role::User, Role::Assistant, Role::User, Role::Assistant];
    assert_eq!(roles, expect);
    // As it was written, whatever it is.
    assert_eq!(turns[0].text, "Hi \u{1b}[31m\0\n\"quoted\" 日本語");
    assert_eq!(turns[1].text, "Hello!\r\n");
    let mut recorder = Recorder::new(String::new(), None);
    let now = Chat::new().now;
    let system = told.settings.system.clone();
    for command in [Command::SetSystem(system), Command::Restore { turns }] {
        assert_eq!(recorder.sent(&command, now), None);
    }
    assert_eq!(recorder.system(), Some("Be brief."));
    recorder.sent(&Command::SetSystem(None), now);
    assert_eq!(recorder.system(), None);
}

#[test]
fn another_system_prompt_is_recorded_once_the_chat_has_begun() {
    let mut recorder = Recorder::new(String::new(), None);
    let now = Chat::new().now;
    let mut check = |command: Command, expect: Option<Option<&str>>| {
        let step = recorder.sent(&command, now);
        let text = expect.map(|text| text.map(str::to_owned));
        assert_eq!(step, text.map(|text| Step::Write(Record::System { text })));
    };
    let system = |text: &str| Command::SetSystem(Some(text.to_owned()));
    check(system("a"), None);
    check(Command::Restore { turns: Vec::new() }, None);
    check(system("a"), None);
    check(system("b"), Some(Some("b")));
    check(Command::SetSystem(None), Some(None));
}

#[test]
fn the_log_keeps_what_the_whole_chat_keeps() {
    let Chat {
        mut recorder, now, ..
    } = Chat::new();
    // The engine has forgotten three turns to make room; the log has them.
    let step = recorder.sent(&Command::Rewind { turns: 2, all: 5 }, now);
    assert_eq!(step, Some(Step::Write(Record::Rewound { turns: 5 })));
}

#[test]
fn what_was_dropped_stays_dropped() {
    let check = |records: &[Record], read: &[&str], dropped| {
        let told = Conversation::new(std::iter::once(header()).chain(records.iter().cloned()));
        let told = told.unwrap();
        let messages = told.messages();
        let users = messages.iter().filter(|turn| turn.role == Role::User);
        let users: Vec<&str> = users.map(|turn| turn.text.as_str()).collect();
        assert_eq!(
            (users, told.dropped),
            (read.to_vec(), dropped),
            "{records:?}"
        );
    };
    let drop = |turns| Record::Dropped { turns };
    let rewound = |turns| Record::Rewound { turns };
    let three = [turn("a", "1"), turn("b", "2"), turn("c", "3")];
    let and = |more: &[Record]| [&three[..], more].concat();
    check(&three, &["a", "b", "c"], 0);
    check(&and(&[drop(1)]), &["b", "c"], 1);
    check(&and(&[asked("d"), drop(2), turn("d", "4")]), &["c", "d"], 2);
    check(&and(&[drop(1), drop(1)]), &["c"], 2);
    check(&and(&[drop(2), rewound(1), turn("e", "5")]), &["e"], 1);
    check(&and(&[drop(2), rewound(0), turn("e", "5")]), &["e"], 0);
    check(&and(&[drop(usize::MAX), drop(usize::MAX)]), &[], 3);
}

#[test]
fn dropping_is_recorded_where_something_went() {
    let check = |turns, expect: Option<Record>| {
        let mut chat = Chat::new();
        chat.hear(&Event::Dropped { turns });
        assert_eq!(chat.records(), Vec::from_iter(expect));
    };
    check(0, None);
    check(2, Some(Record::Dropped { turns: 2 }));
}

#[test]
fn an_interrupted_answer_names_the_model_that_wrote_it() {
    let check = |records: &[Record], expect: &str| {
        let told = Conversation::new(std::iter::once(header()).chain(records.iter().cloned()));
        assert_eq!(told.unwrap().turns.last().unwrap().model, expect);
    };
    let part = |model: Option<&str>| Record::Partial {
        text: "b".to_owned(),
        model: model.map(str::to_owned),
    };
    let told = part(Some("Qwen3 0.6B"));
    check(&[asked("a"), told.clone()], "Qwen3 0.6B");
    check(&[asked("a"), told.clone(), part(None)], "Qwen3 0.6B");
    check(&[turn("x", "y"), asked("a"), told], "Qwen3 0.6B");
    // As older versions wrote it.
    check(&[asked("a"), part(None)], "scripted");
}

#[test]
fn an_answer_that_another_run_left_unfinished_is_kept() {
    let check = |records: &[Record], expect: &[&str]| {
        let told = Conversation::new(std::iter::once(header()).chain(records.iter().cloned()));
        assert_eq!(said(&told.unwrap()), expect, "{records:?}");
    };
    let resumed = || Record::Resumed(settings());
    check(&[], &[]);
    check(&[asked("a"), partial("b"), resumed()], &["a|b"]);
    check(&[asked("a"), partial("b"), asked("c")], &["a|b", "c?"]);
    check(&[asked("a"), resumed(), asked("c"), partial("d")], &["c|d"]);
    check(&[asked("a"), partial("b"), turn("a", "bc")], &["a|bc"]);
    check(&[partial("b"), resumed()], &[]);
    let rewound = |turns| Record::Rewound { turns };
    let two = || [turn("a", "b"), turn("c", "d")];
    check(
        &[&two()[..], &[rewound(1), turn("e", "f")]].concat(),
        &["a|b", "e|f"],
    );
    check(&[&two()[..], &[rewound(9)]].concat(), &["a|b", "c|d"]);
    assert_eq!(Conversation::new([asked("a")]), None);
}
