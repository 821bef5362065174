//! Saved chats, by data: what a log gives at every cut and every flipped byte, what hostile files give,
//! and what is in a file after it was put right.

mod following;
mod hostile;
mod log;
mod on_disk;
mod saving;

use std::fs;
use std::path::Path;

use jiff::Timestamp;

use super::record::{Header, Reason, Record, Settings, Stats, Turn, VERSION, encode};

fn time() -> Timestamp {
    Timestamp::from_second(1_796_049_127).unwrap()
}

fn settings() -> Settings {
    Settings {
        time: time(),
        model: "scripted".to_owned(),
        draft: "auto".to_owned(),
        system: Some("Be brief.".to_owned()),
        sampling: serde_json::json!({ "temperature": 0.5 }),
    }
}

fn header() -> Record {
    Record::Header(Header {
        version: VERSION,
        settings: settings(),
    })
}

fn asked(text: &str) -> Record {
    Record::Asked {
        time: time(),
        text: text.to_owned(),
        pasted: Vec::new(),
    }
}

pub(super) fn partial(text: &str) -> Record {
    Record::Partial {
        text: text.to_owned(),
        model: Some("Scripted".to_owned()),
    }
}

fn turn(user: &str, answer: &str) -> Record {
    Record::Turn(Box::new(Turn {
        time: time(),
        user: user.to_owned(),
        pasted: Vec::new(),
        answer: answer.to_owned(),
        reason: Reason::EndOfTurn,
        model: "scripted".to_owned(),
        seed: Some(7),
        stats: Stats::default(),
    }))
}

/// A chat with every kind of record.
pub(super) fn sample() -> Vec<Record> {
    vec![
        header(),
        asked("Hi \u{1b}[31m\0\n\"quoted\" 日本語"),
        partial("Hel"),
        turn("Hi \u{1b}[31m\0\n\"quoted\" 日本語", "Hello!\r\n"),
        Record::Name {
            name: "a name".to_owned(),
        },
        Record::Resumed(settings()),
        Record::System {
            text: Some("Be brief.".to_owned()),
        },
        asked("again"),
        Record::Failed {
            message: "no".to_owned(),
        },
        asked("more"),
        Record::Dropped { turns: 1 },
        turn("more", "Yes."),
        Record::Rewound { turns: 2 },
    ]
}

pub(super) fn bytes(records: &[Record]) -> Vec<u8> {
    let lines = records.iter().zip(0..);
    let lines = lines.map(|(record, seq)| encode(seq, record).unwrap());
    lines.collect::<Vec<_>>().concat()
}

/// A line with the right checksum for any content.
fn line_of(content: &str) -> Vec<u8> {
    let crc = crc32fast::hash(content.as_bytes());
    format!("{{\"crc\":\"{crc:08x}\",{content}\n").into_bytes()
}

/// Lines that end in these bytes.
fn n_lines(bytes: &[u8]) -> usize {
    bytes.split(|&byte| byte == b'\n').count() - 1
}

/// The names in a folder, in order.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
