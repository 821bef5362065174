//! Cuts the terminal's bytes into characters, sequences and pastes.
//!
//! **Nothing here waits for ever.** A sequence that is cut, as slow networks do, is put together again when
//! the rest comes soon; one that stays without an end is forgotten. A lone ESC is the Esc key only when
//! nothing followed for a moment: the sequence of an arrow key, cut after its first byte, must not stop an
//! answer and type two characters. Ctrl-C ends everything but a paste that is coming in.

use std::mem::take;
use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, KeyModifiers};

use super::keys;

/// How long an ESC is held on this machine: longer than any pause within one write.
const HOLD_LOCAL: Duration = Duration::from_millis(25);
/// How long an ESC is held over SSH: a sequence may be cut between two packets.
const HOLD_REMOTE: Duration = Duration::from_millis(100);
/// How long the rest of a sequence is waited for, when it is certain that it is one; and how long a paste may
/// pause before a single key is no part of it.
const PATIENCE: Duration = Duration::from_secs(1);
/// More of a paste, in bytes, is not kept: far more than a message may have.
const LONGEST_PASTE: usize = 64 << 20;
/// The longest sequence, in bytes after its introducer.
const LONGEST_SEQUENCE: usize = 64;

const ESC: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const PASTE_BEGINS: &[u8] = b"200~";
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// What the user did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Pressed a key.
    Key(KeyEvent),
    /// Pasted a text (bracketed paste); as it came, but with valid UTF-8.
    Paste(String),
}

/// A decoder with what it has of a character, a sequence or a paste.
#[derive(Debug)]
pub struct Decoder {
    hold: Duration,
    state: State,
    /// When [`Decoder::expire`] gives up what is cut.
    until: Option<Instant>,
    /// The first bytes of a character.
    cut: Vec<u8>,
    /// The next character comes with Alt.
    alt: bool,
    certain: Vec<Input>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Text,
    /// After an ESC. One that ended a string may have its `\` still to come.
    Escape { ends_string: bool },
    /// After ESC and `[` or `O`: the bytes since then.
    Sequence(Introducer, Vec<u8>),
    /// In a control string, a reply with text such as a colour: after ESC and one of `]`, `P`, `_`.
    ControlString {
        introducer: Introducer,
        has_content: bool,
    },
    /// What a paste has so far that is not given yet, and whether it has ever paused for long.
    Paste { text: Vec<u8>, stalled: bool },
}

/// The byte after ESC that begins a sequence; if nothing follows it was typed.
#[derive(Clone, Copy, Debug)]
struct Introducer {
    byte: u8,
    /// It came in one read with ESC: a key with Alt, not two keys.
    with_alt: bool,
}

impl Decoder {
    /// A decoder for a terminal on this machine, or for one over SSH.
    pub fn new(remote: bool) -> Self {
        Self {
            hold: if remote { HOLD_REMOTE } else { HOLD_LOCAL },
            state: State::Text,
            until: None,
            cut: Vec::new(),
            alt: false,
            certain: Vec::new(),
        }
    }

    /// When [`Decoder::expire`] has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// Gives what was held for long enough, and forgets what has no end.
    pub fn expire(&mut self, now: Instant) -> Vec<Input> {
        if self.until.is_some_and(|until| until <= now) {
            self.give_up();
        }
        take(&mut self.certain)
    }

    /// Takes the bytes of one read; gives what is certain now.
    pub fn push(&mut self, read: &[u8], now: Instant) -> Vec<Input> {
        self.certain = self.expire(now);
        if self.are_keys_after_stalled_paste(read) {
            self.give_up();
            self.begin_text();
        }
        let mut rest = read;
        while let Some(&byte) = rest.first() {
            let is_first = rest.len() == read.len();
            let used = match &self.state {
                State::Text => self.text(rest, now),
                State::Escape { ends_string } => self.escape(byte, is_first, *ends_string, now),
                State::Sequence(..) => self.sequence(byte, now),
                State::ControlString {
                    introducer,
                    has_content,
                } => self.control_string(byte, *introducer, *has_content, now),
                State::Paste { .. } => self.paste(rest, now),
            };
            rest = &rest[used..];
        }
        take(&mut self.certain)
    }

    fn text(&mut self, rest: &[u8], now: Instant) -> usize {
        if rest[0] == ESC {
            self.cut.clear();
            self.wait(State::Escape { ends_string: false }, self.hold, now);
            return 1;
        }
        let run = rest.split(|&byte| byte == ESC).next().unwrap_or(rest);
        self.cut.extend_from_slice(run);
        let mut bytes = take(&mut self.cut);
        self.cut = bytes.split_off(bytes.len() - cut_character(&bytes));
        for character in String::from_utf8_lossy(&bytes).chars() {
            self.character(character);
        }
        run.len()
    }

    fn escape(&mut self, byte: u8, is_first: bool, ends_string: bool, now: Instant) -> usize {
        let introducer = Introducer {
            byte,
            with_alt: !is_first,
        };
        match byte {
            b'\\' if ends_string => self.begin_text(),
            b'[' | b'O' => self.wait(State::Sequence(introducer, Vec::new()), self.hold, now),
            b']' | b'P' | b'_' => {
                let state = State::ControlString {
                    introducer,
                    has_content: false,
                };
                self.wait(state, self.hold, now);
            }
            _ => {
                let is_key = is_first || matches!(byte, ESC | CTRL_C);
                if is_key && !ends_string {
                    self.character(char::from(ESC));
                }
                self.begin_text();
                self.alt = !is_key;
                return 0;
            }
        }
        1
    }

    fn sequence(&mut self, byte: u8, now: Instant) -> usize {
        let State::Sequence(introducer, bytes) = &mut self.state else {
            return 0;
        };
        let is_first = bytes.is_empty();
        // `ESC [ [ A` is how Linux's console says F1.
        let is_second_bracket = is_first && introducer.byte == b'[' && byte == b'[';
        match byte {
            b' '..=b'?' if bytes.len() < LONGEST_SEQUENCE => bytes.push(byte),
            _ if is_second_bracket => bytes.push(byte),
            b'@'..=b'~' if introducer.byte == b'O' && is_first && !keys::ends_ss3(byte) => {
                let introducer = *introducer;
                self.typed_apart(introducer);
                return 0;
            }
            b'@'..=b'~' => {
                bytes.push(byte);
                if bytes == PASTE_BEGINS {
                    let paste = State::Paste {
                        text: Vec::new(),
                        stalled: false,
                    };
                    self.wait(paste, PATIENCE, now);
                    return 1;
                }
                let key = keys::of_sequence(bytes);
                self.certain.extend(key.map(Input::Key));
                self.begin_text();
                return 1;
            }
            // Cut, and typed after.
            _ => {
                self.give_up();
                return 0;
            }
        }
        if is_first {
            self.until = Some(now + PATIENCE);
        }
        1
    }

    fn control_string(
        &mut self,
        byte: u8,
        introducer: Introducer,
        has_content: bool,
        now: Instant,
    ) -> usize {
        match byte {
            BEL | CAN | SUB if has_content => self.begin_text(),
            ESC if has_content => self.wait(State::Escape { ends_string: true }, PATIENCE, now),
            // Cut, and typed after.
            ..b' ' => {
                self.give_up();
                return 0;
            }
            _ if has_content => {}
            _ if begins_reply(introducer.byte, byte) => {
                let state = State::ControlString {
                    introducer,
                    has_content: true,
                };
                self.wait(state, PATIENCE, now);
            }
            _ => {
                self.typed_apart(introducer);
                return 0;
            }
        }
        1
    }

    fn paste(&mut self, rest: &[u8], now: Instant) -> usize {
        let State::Paste { text, .. } = &mut self.state else {
            return 0;
        };
        let searched = text.len().saturating_sub(PASTE_ENDS.len() - 1);
        text.extend_from_slice(rest);
        let mut windows = text[searched..].windows(PASTE_ENDS.len());
        if let Some(at) = windows.position(|window| window == PASTE_ENDS) {
            let end = searched + at;
            let unused = text.len() - end - PASTE_ENDS.len();
            text.truncate(end);
            let text = take(text);
            self.pasted(&text);
            self.begin_text();
            return rest.len() - unused;
        }
        if text.len() > LONGEST_PASTE + PASTE_ENDS.len() {
            text.drain(LONGEST_PASTE..text.len() - PASTE_ENDS.len());
        }
        self.until = Some(now + PATIENCE);
        rest.len()
    }

    /// The end of what could have gone on.
    fn give_up(&mut self) {
        let state = take(&mut self.state);
        self.begin_text();
        match state {
            State::Escape { ends_string: false } => self.character(char::from(ESC)),
            State::Sequence(introducer, bytes) if bytes.is_empty() => self.typed(introducer),
            State::ControlString {
                introducer,
                has_content: false,
            } => self.typed(introducer),
            State::Text
            | State::Escape { .. }
            | State::Sequence(..)
            | State::ControlString { .. } => {}
            State::Paste { mut text, .. } => {
                let rest = text.split_off(text.len() - cut_end(&text));
                self.pasted(&text);
                self.state = State::Paste {
                    text: rest,
                    stalled: true,
                };
            }
        }
    }

    /// Whether keys were pressed where a paste has paused for long: its end may have been lost, and Ctrl-C and
    /// Enter must be keys again.
    fn are_keys_after_stalled_paste(&self, read: &[u8]) -> bool {
        let State::Paste {
            text,
            stalled: true,
        } = &self.state
        else {
            return false;
        };
        if read.contains(&CTRL_C) {
            return true;
        }
        if self.until.is_some() {
            return false;
        }
        let all = [text, read].concat();
        let goes_on = all.starts_with(PASTE_ENDS) || PASTE_ENDS.starts_with(&all);
        let is_character = str::from_utf8(read).is_ok_and(|read| read.chars().count() == 1);
        !goes_on && (is_character || read.starts_with(&[ESC]))
    }

    /// ESC and what follows are keys of their own: text follows that is no part of a sequence.
    fn typed_apart(&mut self, introducer: Introducer) {
        self.begin_text();
        self.typed(Introducer {
            with_alt: false,
            ..introducer
        });
    }

    fn typed(&mut self, introducer: Introducer) {
        if introducer.with_alt {
            self.alt = true;
        } else {
            self.character(char::from(ESC));
        }
        self.character(char::from(introducer.byte));
    }

    fn pasted(&mut self, text: &[u8]) {
        if !text.is_empty() {
            let text = String::from_utf8_lossy(text).into_owned();
            self.certain.push(Input::Paste(text));
        }
    }

    fn character(&mut self, character: char) {
        let mut key = keys::of_character(character);
        if take(&mut self.alt) {
            key.modifiers |= KeyModifiers::ALT;
        }
        self.certain.push(Input::Key(key));
    }

    fn begin_text(&mut self) {
        self.state = State::Text;
        self.until = None;
        self.alt = false;
    }

    fn wait(&mut self, state: State, time: Duration, now: Instant) {
        self.state = state;
        self.until = Some(now + time);
        self.alt = false;
    }
}

/// Whether a control string that a terminal sends can begin so: DCS with a number, `>` or `!`, OSC with a number
/// or a title's letter, APC with kitty's `G`.
fn begins_reply(introducer: u8, first: u8) -> bool {
    match introducer {
        b'P' => matches!(first, b'0'..=b'9' | b'>' | b'!'),
        b']' => matches!(first, b'0'..=b'9' | b'l' | b'L'),
        _ => first == b'G',
    }
}

/// How many bytes at the end of a piece of a paste belong to what follows: of a character, or of the
/// paste's end.
fn cut_end(text: &[u8]) -> usize {
    let of_end = (1..PASTE_ENDS.len()).rev();
    of_end
        .into_iter()
        .find(|length| text.ends_with(&PASTE_ENDS[..*length]))
        .unwrap_or_else(|| cut_character(text))
}

/// How many bytes at the end are the beginning of a character.
fn cut_character(text: &[u8]) -> usize {
    let last = text.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    match str::from_utf8(invalid) {
        Err(error) if error.error_len().is_none() => invalid.len(),
        Ok(_) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests;
