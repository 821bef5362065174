//! Bytes → the records of a saved chat, as far as they are whole.
//!
//! **What comes out is always a prefix of what was written**: reading ends at the first line that is
//! not as it was written, and says which and why.

use std::io::{self, BufRead, Read};

use super::record::{self, MAX_LINE, Record, VERSION};

/// The largest file that is read or written, in bytes.
pub const MAX_FILE: u64 = 512 << 20;

/// What a file holds.
#[derive(Debug)]
pub struct Log {
    /// The records, the header first.
    pub records: Vec<Record>,
    /// Bytes that they take.
    pub good: u64,
    /// Why reading ended before the end of the file.
    pub flaw: Option<Flaw>,
}

/// Why reading ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
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
    #[error("it is larger than {MAX_FILE} bytes")]
    TooLarge,
}

/// Reads a log to its end or its first flaw.
pub fn read(mut from: impl BufRead) -> Result<Log, NoChat> {
    let mut log = Log {
        records: Vec::new(),
        good: 0,
        flaw: None,
    };
    let mut line = Vec::new();
    loop {
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
        match take(&line, log.records.len()) {
            Ok((record, length, flaw)) => {
                log.records.push(record);
                log.good += length as u64;
                log.flaw = flaw;
            }
            Err(_) if log.records.is_empty() => {
                return Err(match record::version(line.trim_ascii_end()) {
                    Some(version) if version != VERSION => NoChat::Version(version),
                    Some(_) | None => NoChat::NoHeader,
                });
            }
            Err(flaw) => log.flaw = Some(flaw),
        }
        if log.flaw.is_some() {
            break;
        }
    }
    if log.records.is_empty() {
        return Err(NoChat::Empty);
    }
    Ok(log)
}

/// The record of line `index` (from 0), its length in bytes, and what is odd about the line's end.
fn take(line: &[u8], index: usize) -> Result<(Record, usize, Option<Flaw>), Flaw> {
    let damaged = |why: String| Flaw::Damaged(index + 1, why);
    let place = |record: Record| match (&record, index) {
        (Record::Header(header), 0) if header.version == VERSION => Ok(record),
        (Record::Header(_), _) => Err("a header stands there".to_owned()),
        (_, 0) => Err("it is no header".to_owned()),
        (_, _) => Ok(record),
    };
    let decode = |bytes: &[u8]| record::decode(bytes, index as u64).and_then(place);
    let Some(whole) = line.strip_suffix(b"\n") else {
        if line.len() > MAX_LINE {
            return Err(damaged(format!("it is longer than {MAX_LINE} bytes")));
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
