//! The lines of standard input, read by a thread that ends with the process.

use std::io::{self, BufRead, Read};
use std::thread;

use anyhow::{Context, bail};
use tokio::sync::mpsc::{Receiver, channel};

/// The longest line that is read, in bytes.
const LONGEST_LINE: u64 = 8 << 20;

/// Starts to read. After an error there is no more.
pub(super) fn lines_of_stdin() -> Receiver<anyhow::Result<String>> {
    let (sender, receiver) = channel(1);
    thread::spawn(move || {
        loop {
            let line = read_line().transpose();
            let Some(line) = line else { return };
            let failed = line.is_err();
            if sender.blocking_send(line).is_err() || failed {
                return;
            }
        }
    });
    receiver
}

fn read_line() -> anyhow::Result<Option<String>> {
    let mut line = Vec::new();
    let input = io::stdin().lock();
    let read = input
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .context("cannot read standard input")?;
    if read as u64 == LONGEST_LINE {
        bail!("a line of standard input is longer than {LONGEST_LINE} bytes");
    }
    let line = String::from_utf8(line).context("standard input is not UTF-8 text")?;
    Ok((read > 0).then_some(line))
}
