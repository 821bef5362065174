//! The file of messages typed in earlier runs: `history.jsonl` in speck's data folder.
//!
//! Each line is one message as JSON. It is read at the start and appended to by a thread of its own, so
//! a slow disk holds nothing up. **Several instances may run**: a line is one append under a lock. A line
//! that cannot be read is skipped; when the file has grown, its newest messages are written anew.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context;

use crate::app::history::MOST_MESSAGES;
use crate::app::typed::Typed;
use crate::files;

use super::data;

/// Bytes of a message that is kept in the file at most.
const MOST_OF_MESSAGE: usize = 64 << 10;
/// Bytes from which the file is written anew; as much is read of it.
const LARGE: u64 = 4 << 20;
/// Bytes that are left then.
const LEFT: usize = 1 << 20;
/// How long the end of the program waits for the last line.
const LAST_LINE: Duration = Duration::from_millis(500);

/// Where the history is; `None` when the user has no home.
pub fn path() -> Option<PathBuf> {
    Some(data::folder()?.join("history.jsonl"))
}

/// The messages of earlier runs, oldest first, as far as they can be read.
pub fn load(path: &Path) -> anyhow::Result<Vec<Typed>> {
    if matches!(path.try_exists(), Ok(false)) {
        return Ok(Vec::new());
    }
    let tell = || format!("cannot read what was typed before, {}", data::tell(path));
    let mut file = files::open(path).with_context(tell)?;
    let lines = newest_lines(&mut file).with_context(tell)?;
    let messages = lines.split(|byte| *byte == b'\n');
    let messages: Vec<Typed> = messages
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect();
    let old = messages.len().saturating_sub(MOST_MESSAGES);
    Ok(messages.into_iter().skip(old).collect())
}

/// The last [`LARGE`] bytes of the file, from the start of a line on.
fn newest_lines(file: &mut File) -> io::Result<Vec<u8>> {
    let skipped = file.metadata()?.len().saturating_sub(LARGE);
    file.seek(SeekFrom::Start(skipped))?;
    let mut bytes = Vec::new();
    file.take(LARGE).read_to_end(&mut bytes)?;
    if skipped > 0 {
        let line = bytes.iter().position(|byte| *byte == b'\n');
        bytes.drain(..line.map_or(bytes.len(), |at| at + 1));
    }
    Ok(bytes)
}

/// Appends to the file until it is dropped, which waits a moment for the last line.
pub struct Writer {
    messages: Option<Sender<Typed>>,
    ended: Receiver<()>,
}

impl Writer {
    /// Starts; `failed` is told, once, why messages are not kept.
    pub fn start(path: PathBuf, failed: impl FnOnce(String) + Send + 'static) -> Self {
        let (messages, inbox) = channel::<Typed>();
        let (end, ended) = channel();
        thread::spawn(move || {
            let written = inbox.iter().try_for_each(|message| append(&path, &message));
            if let Err(why) = written {
                let path = data::tell(&path);
                failed(format!(
                    "What is typed is not kept for later runs: {path}: {why}. `history = false` under [screen] in the configuration turns this off."
                ));
            }
            drop(end);
        });
        Self {
            messages: Some(messages),
            ended,
        }
    }

    /// Keeps a message, unless it is very long.
    pub fn add(&self, message: Typed) {
        if let Some(messages) = &self.messages {
            // A writer that has failed has said so.
            messages.send(message).ok();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.messages = None;
        self.ended.recv_timeout(LAST_LINE).ok();
    }
}

fn append(path: &Path, message: &Typed) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > MOST_OF_MESSAGE {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        data::create_folder(folder)?;
    }
    let lock = data::private()
        .append(true)
        .open(path.with_extension("lock"))?;
    lock.lock()?;
    let mut file = data::private().read(true).append(true).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    if file.metadata()?.len() > LARGE {
        shorten(path, &mut file)?;
        file = OpenOptions::new().read(true).append(true).open(path)?;
    }
    if is_torn(&mut file)? {
        line.insert(0, b'\n');
    }
    file.write_all(&line)
}

/// Whether the last line has no end: a run was killed while it wrote.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != [b'\n'])
}

/// Puts a file with the newest lines in place of the file.
fn shorten(path: &Path, file: &mut File) -> io::Result<()> {
    let lines = newest_lines(file)?;
    let from = lines.len().saturating_sub(LEFT);
    let line = lines[from..].iter().position(|byte| *byte == b'\n');
    let kept = &lines[line.map_or(lines.len(), |at| from + at + 1)..];
    let new = path.with_extension("new");
    let written = data::private()
        .write(true)
        .truncate(true)
        .open(&new)
        .and_then(|mut file| file.write_all(kept))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        fs::remove_file(&new).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Typed {
        Typed {
            text: text.into(),
            pasted: Vec::new(),
        }
    }

    fn texts(path: &Path) -> Vec<String> {
        load(path).unwrap().iter().map(Typed::whole).collect()
    }

    #[test]
    fn what_is_written_is_read_and_nobody_else_can() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("speck/history.jsonl");
        assert_eq!(texts(&path), [""; 0]);
        let paste = Typed {
            text: "see \u{10f000}".into(),
            pasted: vec!["a\nb".into()],
        };
        for message in [
            typed("one\ntwo"),
            paste.clone(),
            typed(&"x".repeat(MOST_OF_MESSAGE)),
        ] {
            append(&path, &message).unwrap();
        }
        assert_eq!(load(&path).unwrap(), [typed("one\ntwo"), paste]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);
    }

    #[test]
    fn damage_costs_the_damaged_lines_only() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history.jsonl");
        fs::write(
            &path,
            b"{\"text\":\"one\"}\n\xff\xfe\n{}\n[1\n\n{\"text\":\"tor",
        )
        .unwrap();
        append(&path, &typed("two")).unwrap();
        assert_eq!(texts(&path), ["one", "two"]);
    }

    #[test]
    fn several_writers_lose_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history.jsonl");
        thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    for i in 0..50 {
                        append(path, &typed(&format!("{writer} {i}"))).unwrap();
                    }
                });
            }
        });
        let all = texts(&path);
        assert_eq!(all.len(), 200);
        for writer in 0..4 {
            let own: Vec<_> = all
                .iter()
                .filter(|text| text.starts_with(&format!("{writer} ")))
                .collect();
            let expect: Vec<_> = (0..50).map(|i| format!("{writer} {i}")).collect();
            assert!(own.into_iter().eq(expect.iter()));
        }
    }

    #[test]
    fn a_file_that_has_grown_keeps_its_newest_messages() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history.jsonl");
        let long = "x".repeat(50_000);
        let lines: Vec<String> = (0..100)
            .map(|i| format!("{{\"text\":\"{i} {long}\"}}\n"))
            .collect();
        fs::write(&path, lines.concat()).unwrap();
        append(&path, &typed("last")).unwrap();
        assert!(fs::metadata(&path).unwrap().len() < LARGE / 2);
        let all = texts(&path);
        assert_eq!(all.last().map(String::as_str), Some("last"));
        assert!(all[all.len() - 2].starts_with("99 "), "the newest are kept");
        assert!(all.len() > 10);
    }

    #[test]
    fn a_writer_that_ends_has_written_and_a_failure_is_told() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("history.jsonl");
        let writer = Writer::start(path.clone(), |why| panic!("{why}"));
        writer.add(typed("one"));
        drop(writer);
        assert_eq!(texts(&path), ["one"]);

        let (tell, told) = channel();
        fs::write(home.path().join("file"), "").unwrap();
        let nowhere = home.path().join("file/history.jsonl");
        let writer = Writer::start(nowhere, move |why| tell.send(why).unwrap());
        writer.add(typed("one"));
        assert!(told.recv().unwrap().contains("not kept for later runs"));
    }
}
