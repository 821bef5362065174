//! Bytes → the records of a saved chat, as far as they are whole.
//!
//! **What comes out was written so, without a gap**: reading ends at the first line that is not as it was
//! written, and says which and why. Only a damaged beginning is passed over, so that the loss of the header
//! is not that of the chat: what stands after it is read, under a header that is made up, and this is told.

use std::io::{self, BufRead, Read};

use jiff::Timestamp;

use super::record::{self, Header, MAX_LINE, Record, Settings, VERSION};

/// The largest file that is read or written, in bytes.
pub const MAX_FILE: u64 = 512 << 20;

/// What a file holds.
#[derive(Debug)]
pub struct Log {
    /// The records, the header first.
    pub records: Vec<Record>,
    /// The number of the next record.
    pub next: u64,
    /// Bytes up to the end of the last record.
    pub good: u64,
    /// What is not as it was written, in order: at most the beginning, and why reading ended before the end
    /// of the file.
    pub flaws: Vec<Flaw>,
}

/// What is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// So many records at the beginning cannot be read, the header among them.
    #[error("{}", headless(*.0))]
    Headless(u64),
    /// The last line has no end: the program was killed, or the disk full, while it was written.
    #[error("its last record was not written to the end")]
    Torn,
    /// The last record is whole, but the end of its line is missing.
    #[error("the end of its last line is missing")]
    Unended,
    /// The line of this number, from 1, is not as it was written.
    #[error("it is damaged from line {0} on ({1})")]
    Damaged(usize, String),
}

impl Flaw {
    /// Whether something was changed or taken away. A last line that is not whole may be one that another speck is
    /// writing just now.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Headless(_) | Self::Damaged(..) => true,
            Self::Torn | Self::Unended => false,
        }
    }

    /// What is told of several.
    pub fn list(flaws: &[Self]) -> String {
        let told: Vec<String> = flaws.iter().map(Self::to_string).collect();
        told.join("; ")
    }
}

/// Why a file is no saved chat.
#[derive(Debug, thiserror::Error)]
pub enum NoChat {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is not even a first line.
    #[error("it is empty")]
    Empty,
    /// Its first line is no header.
    #[error("it does not begin as a saved chat of speck does")]
    NoHeader,
    /// A later speck wrote it.
    #[error("it has format {0}, and this speck knows {VERSION}: use the speck that wrote it")]
    Version(u32),
    /// More than [`MAX_FILE`] bytes.
    #[error("it is larger than {} MiB", MAX_FILE >> 20)]
    TooLarge,
}

/// Reads a log to its end or its first flaw behind the beginning.
pub fn read(mut from: impl BufRead) -> Result<Log, NoChat> {
    let mut log = Log {
        records: Vec::new(),
        next: 0,
        good: 0,
        flaws: Vec::new(),
    };
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let n_read = from
            .by_ref()
            .take(MAX_LINE as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if n_read == 0 {
            break;
        }
        if log.good + n_read as u64 > MAX_FILE {
            return Err(NoChat::TooLarge);
        }
        if log.next == 0 && take(&line, 0, number).is_err() {
            let Some(seq) = first_whole(&line)? else {
                log.good += n_read as u64;
                continue;
            };
            log.next = seq;
            log.flaws.push(Flaw::Headless(seq));
        }
        let (record, length, flaw) = match take(&line, log.next, number) {
            Ok(taken) => taken,
            Err(flaw) => {
                log.flaws.push(flaw);
                break;
            }
        };
        log.next += 1;
        log.good += length as u64;
        log.records.extend(record);
        if let Some(flaw) = flaw {
            log.flaws.push(flaw);
            break;
        }
    }
    match (log.next, log.good) {
        (0, 0) => return Err(NoChat::Empty),
        (0, _) => return Err(NoChat::NoHeader),
        (_, _) => {}
    }
    if let Some(Flaw::Headless(_)) = log.flaws.first() {
        log.records.insert(0, made_up(&log.records));
    }
    Ok(log)
}

/// The number of a line that stands where a header should, if it is a whole record that is not the first.
fn first_whole(line: &[u8]) -> Result<Option<u64>, NoChat> {
    if let Some(version) = record::version(line.trim_ascii_end())
        && version != VERSION
    {
        return Err(NoChat::Version(version));
    }
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(NoChat::NoHeader);
    };
    // A record takes more than a byte.
    Ok(record::number(line).filter(|seq| (1..MAX_FILE).contains(seq)))
}

/// A header for records without one: what it would tell is not known.
fn made_up(records: &[Record]) -> Record {
    let time = records.iter().find_map(|record| match record {
        Record::Header(Header { settings, .. }) | Record::Resumed(settings) => Some(settings.time),
        Record::Asked { time, .. } => Some(*time),
        Record::Turn(turn) => Some(turn.time),
        Record::Partial { .. }
        | Record::Failed { .. }
        | Record::Rewound { .. }
        | Record::Dropped { .. }
        | Record::System { .. }
        | Record::Name { .. } => None,
    });
    Record::Header(Header {
        version: VERSION,
        settings: Settings {
            time: time.unwrap_or(Timestamp::UNIX_EPOCH),
            model: "unknown".to_owned(),
            draft: "auto".to_owned(),
            system: None,
            sampling: serde_json::Value::Null,
        },
    })
}

/// What is told of a beginning of so many records that cannot be read.
fn headless(n: u64) -> String {
    let header = "how the chat was set up is missing, its system prompt too";
    match n {
        1 => format!("its first line is damaged: {header}"),
        n => format!("its first {n} records are damaged: what was said there is missing; {header}"),
    }
}

/// The record of number `seq` in line `number` (from 1), if it is of a known kind, its length in bytes, and
/// what is odd about the line's end.
fn take(
    line: &[u8],
    seq: u64,
    number: usize,
) -> Result<(Option<Record>, usize, Option<Flaw>), Flaw> {
    let damaged = |why: String| Flaw::Damaged(number, why);
    let place = |record: Option<Record>| match (&record, seq) {
        (Some(Record::Header(header)), 0) if header.version == VERSION => Ok(record),
        (Some(Record::Header(_)), _) => Err("a header stands there".to_owned()),
        (_, 0) => Err("it is no header".to_owned()),
        (_, _) => Ok(record),
    };
    let decode = |bytes: &[u8]| record::decode(bytes, seq).and_then(place);
    let Some(whole) = line.strip_suffix(b"\n") else {
        if line.len() > MAX_LINE {
            return Err(damaged(format!("it is longer than {} MiB", MAX_LINE >> 20)));
        }
        if let Ok(record) = decode(line) {
            return Ok((record, line.len(), Some(Flaw::Unended)));
        }
        // Perhaps only what should end it is wrong.
        let (_, but_last) = line.split_last().ok_or(Flaw::Torn)?;
        let record = decode(but_last).map_err(|_| Flaw::Torn)?;
        let why = damaged("its end is wrong".to_owned());
        return Ok((record, but_last.len(), Some(why)));
    };
    let record = decode(whole).map_err(damaged)?;
    Ok((record, line.len(), None))
}
