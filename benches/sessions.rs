//! What saved chats cost: `cargo bench --bench sessions`. Times depend on the disk and what it is told to
//! sync; `TMPDIR` chooses the disk.

use std::fs;

use divan::{Bencher, black_box};
use jiff::Timestamp;
use speck::session::record::{Header, Reason, Record, Settings, Stats, Turn, VERSION, encode};
use speck::session::{Folder, Id};

fn main() {
    divan::main();
}

/// A turn of about 1.3 kB of text.
fn turn() -> Record {
    Record::Turn(Box::new(Turn {
        time: Timestamp::now(),
        user: "Why is the sky blue, and why is it red in the evening? ".repeat(3),
        pasted: Vec::new(),
        answer: "Light of short waves is scattered more than light of long ones. ".repeat(18),
        reason: Reason::EndOfTurn,
        model: "SmolLM2-135M-Instruct".to_owned(),
        seed: None,
        stats: Stats::default(),
    }))
}

fn header() -> Record {
    let settings = Settings {
        time: Timestamp::now(),
        model: "smollm2-135m".to_owned(),
        draft: "auto".to_owned(),
        system: None,
        sampling: serde_json::Value::Null,
    };
    Record::Header(Header {
        version: VERSION,
        settings,
    })
}

/// A chat of `n` turns, as bytes.
fn chat(n: usize) -> Vec<u8> {
    let records = std::iter::once(header()).chain((0..n).map(|_| turn()));
    let lines = records
        .zip(0..)
        .filter_map(|(record, seq)| encode(seq, &record));
    lines.collect::<Vec<_>>().concat()
}

fn id(text: &str) -> Id {
    Id::parse(text).expect("letters and digits")
}

/// Appends a turn; with `sync`, until it is on the disk.
#[divan::bench(args = [false, true])]
fn append(bencher: Bencher, sync: bool) {
    let home = tempfile::tempdir().expect("a folder");
    let folder = Folder::at(home.path());
    let mut file = folder.create(&id("a"), &[header()]).expect("a file");
    let turn = [turn()];
    bencher.bench_local(|| file.append(&turn, sync).expect("room on the disk"));
}

/// Opens a chat of so many turns to go on with it.
#[divan::bench(args = [10, 1000, 10_000], sample_count = 20, sample_size = 1)]
fn open(bencher: Bencher, n: usize) {
    let home = tempfile::tempdir().expect("a folder");
    let folder = Folder::at(home.path());
    fs::write(folder.file(&id("a")), chat(n)).expect("room on the disk");
    bencher.bench_local(|| black_box(folder.open(&id("a")).expect("it is whole").1));
}

/// Lists 1,000 chats of so many turns.
#[divan::bench(args = [3, 30], sample_count = 5, sample_size = 1)]
fn list_1000(bencher: Bencher, n: usize) {
    let home = tempfile::tempdir().expect("a folder");
    let folder = Folder::at(home.path());
    let chat = chat(n);
    for number in 0..1000 {
        let path = folder.file(&id(&format!("chat-{number}")));
        fs::write(path, &chat).expect("room on the disk");
    }
    bencher.bench_local(|| black_box(folder.list().expect("they can be read").len()));
}
