//! A conversation as a Markdown document, and where such a document is written.

use std::borrow::Cow;
use std::env;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::record::Reason;
use super::{Conversation, Id};

/// Files of the default name that are tried.
const MAX_NUMBERED: u32 = 1000;
/// Characters of a heading.
const HEADING: usize = 72;

/// One part of a document.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// Who speaks.
    pub who: &'a str,
    /// What was said.
    pub text: Cow<'a, str>,
    /// What is odd about it.
    pub remark: Option<&'a str>,
}

/// A document: its title, what is known of the chat, then what was [`said`].
pub fn document(title: &str, about: Option<&str>, said: &str) -> String {
    let about = about.map_or(String::new(), |about| format!("\n{about}\n"));
    format!("# {title}\n{about}{said}")
}

/// Which chat it is, and since when.
pub fn about(id: &Id, begun: Timestamp) -> String {
    format!("{id} · {}", local(begun))
}

/// Who said what.
pub fn said<'a>(parts: impl IntoIterator<Item = Part<'a>>) -> String {
    let mut said = String::new();
    for Part { who, text, remark } in parts {
        said.extend(["\n## ", &one_line(who), "\n\n", text.trim_end(), "\n"]);
        if let Some(remark) = remark {
            said.extend(["\n*(", remark, ")*\n"]);
        }
    }
    said
}

impl Conversation {
    /// All of it as a document.
    pub fn markdown(&self, id: &Id) -> String {
        let title = match &self.name {
            Some(name) => one_line(name),
            None => one_line(self.first_words()),
        };
        let about = about(id, self.begun);
        let turns = self.turns.iter().flat_map(|turn| {
            let answer = Part {
                who: &turn.model,
                text: turn.answer.as_str().into(),
                remark: remark(turn.reason),
            };
            [you(turn.user.as_str(), None), answer]
        });
        let unanswered = self.unanswered_text();
        let unanswered = unanswered.map(|text| you(text, Some("not answered")));
        document(&title, Some(&about), &said(turns.chain(unanswered)))
    }
}

/// What the user said.
pub fn you<'a>(text: impl Into<Cow<'a, str>>, remark: Option<&'a str>) -> Part<'a> {
    Part {
        who: "You",
        text: text.into(),
        remark,
    }
}

/// What a reader should know about how an answer ended.
pub fn remark(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::EndOfTurn | Reason::StopString => None,
        Reason::MaxTokens => Some("the token limit was reached"),
        Reason::ContextFull => Some("the context was full"),
        Reason::Stopped => Some("stopped"),
        Reason::Interrupted => Some("interrupted"),
    }
}

/// The words of `text` in one line, as many as a heading has room for.
pub fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        let room = HEADING.saturating_sub(line.chars().count() + gap);
        if word.chars().count() > room {
            line.extend(word.chars().take(if line.is_empty() { HEADING } else { 0 }));
            line.push('…');
            break;
        }
        line.extend((gap == 1).then_some(' '));
        line += word;
    }
    line
}

/// A text as a sentence begins.
pub fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// A time by the user's clock, to the minute.
pub fn local(time: Timestamp) -> String {
    let time = time.to_zoned(TimeZone::system());
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The same in at most eight columns, as seen from `now`: `14:32` of the same day, `30 Nov` of the same year,
/// `Nov 2025`.
pub fn brief(time: Timestamp, now: Timestamp) -> String {
    let [time, now] = [time, now].map(|it| it.to_zoned(TimeZone::system()));
    let format = if time.date() == now.date() {
        "%H:%M"
    } else if time.year() == now.year() {
        "%-d %b"
    } else {
        "%b %Y"
    };
    time.strftime(format).to_string()
}

/// Writes a document to the new file that was `typed`, or else to one named after the chat in the folder that was
/// typed, or the current one. **A file that is there is never written over.**
pub fn write(typed: Option<&str>, id: Option<&Id>, text: &str) -> Result<PathBuf> {
    let name = id.map_or("chat", Id::as_str);
    let Some(typed) = typed else {
        let folder = env::current_dir().context("there is no current folder: name a file")?;
        return write_numbered(&folder, name, text);
    };
    let path = expand(typed)?;
    if path.is_dir() {
        return write_numbered(&path, name, text);
    }
    match write_new(&path, text) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            bail!("{} is there already: name another file", path.display())
        }
        written => written.with_context(|| format!("cannot write {}", path.display()))?,
    }
    Ok(path)
}

fn write_numbered(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    for number in 1..=MAX_NUMBERED {
        let end = if number > 1 {
            format!("-{number}")
        } else {
            String::new()
        };
        let path = folder.join(format!("speck-{name}{end}.md"));
        match write_new(&path, text) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = format!("cannot write {}: name another file", path.display());
                return Err(error).context(why);
            }
            Ok(()) => return Ok(path),
        }
    }
    bail!(
        "there are {MAX_NUMBERED} exports of this chat in {}: name a file",
        folder.display()
    )
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(path);
    }
    written
}

/// The path that was typed: `~` is the user's home, and a relative one begins in the current folder.
fn expand(typed: &str) -> Result<PathBuf> {
    let path = match typed.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let folders =
                directories::BaseDirs::new().context("there is no home folder for `~`")?;
            folders.home_dir().join(rest.trim_start_matches('/'))
        }
        Some(_) | None => PathBuf::from(typed),
    };
    std::path::absolute(&path).with_context(|| format!("cannot write {typed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_time_has_what_tells_it_apart() {
        let now: Timestamp = "2026-11-20T12:30:00Z".parse().unwrap();
        let check = |time: &str, expect: fn(&str) -> bool| {
            let brief = brief(time.parse().unwrap(), now);
            assert!(expect(&brief), "{time}: {brief}");
        };
        // Whatever the zone: no hour and no day is expected.
        check("2026-11-20T12:05:00Z", |it| {
            it.len() == 5 && it.contains(':')
        });
        check("2026-11-05T12:30:00Z", |it| {
            ["4 Nov", "5 Nov", "6 Nov"].contains(&it)
        });
        check("2025-11-20T12:30:00Z", |it| it == "Nov 2025");
        check("2027-11-20T12:30:00Z", |it| it == "Nov 2027");
    }
}
