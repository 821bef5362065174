//! Tells the Esc key from the start of an escape sequence that arrived in two parts.
//!
//! In come crossterm's events, out come the same events. crossterm reports a read that ends in ESC as
//! the Esc key, so over a network the sequence of an arrow key, cut after its first byte, reads as
//! Esc, `[`, `A`: it would stop an answer and type two characters. **So a lone Esc is held for a
//! moment**, and what follows within it is put together again.

use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// How long an Esc is held on this machine: longer than any pause within one write.
pub const HOLD_LOCAL: Duration = Duration::from_millis(25);
/// How long an Esc is held over SSH: a sequence may be cut between two packets.
pub const HOLD_REMOTE: Duration = Duration::from_millis(100);
/// The longest key sequence, in characters after ESC: `[27;129;127~` and some.
const LONGEST: usize = 16;

/// Holds back a lone Esc and what may belong to it.
#[derive(Debug)]
pub struct EscGuard {
    hold: Duration,
    held: Option<Held>,
}

/// What is held back: Esc and the events after it, or a paste whose first byte had been cut off.
#[derive(Debug)]
struct Held {
    until: Instant,
    events: Vec<Event>,
    sequence: String,
    paste: Option<String>,
}

impl EscGuard {
    /// A guard that holds an Esc for `hold`.
    pub fn new(hold: Duration) -> Self {
        Self { hold, held: None }
    }

    /// When [`EscGuard::expire`] has something to give.
    pub fn deadline(&self) -> Option<Instant> {
        self.held.as_ref().map(|held| held.until)
    }

    /// Gives what was held for long enough.
    pub fn expire(&mut self, now: Instant) -> Vec<Event> {
        match self.held.take() {
            Some(held) if held.until <= now => held.release(),
            held => {
                self.held = held;
                Vec::new()
            }
        }
    }

    /// Takes an event; gives the events that are certain now.
    pub fn push(&mut self, event: Event, now: Instant) -> Vec<Event> {
        let mut certain = self.expire(now);
        let Some(mut held) = self.held.take() else {
            if is_plain_key(&event, KeyCode::Esc) {
                self.held = Some(Held::new(event, now + self.hold));
            } else {
                certain.push(event);
            }
            return certain;
        };
        if let Some(paste) = &mut held.paste {
            if let Some(character) = typed(&event) {
                paste.push(character);
                held.until = now + self.hold;
                self.held = Some(held);
            } else {
                certain.extend(held.release());
                certain.extend(self.push(event, now));
            }
            return certain;
        }
        let Some(character) = typed(&event).filter(|c| !c.is_control() && held.continues_with(*c))
        else {
            certain.extend(held.release());
            certain.extend(self.push(event, now));
            return certain;
        };
        held.sequence.push(character);
        held.events.push(event);
        if held.sequence == "[200~" {
            held.paste = Some(String::new());
            held.until = now + self.hold;
            self.held = Some(held);
        } else if !held.is_complete() {
            self.held = Some(held);
        } else if let Some(key) = key_of(&held.sequence) {
            certain.push(Event::Key(key));
        } else {
            certain.extend(held.release());
        }
        certain
    }
}

impl Held {
    fn new(esc: Event, until: Instant) -> Self {
        Self {
            until,
            events: vec![esc],
            sequence: String::new(),
            paste: None,
        }
    }

    fn release(self) -> Vec<Event> {
        match self.paste {
            Some(text) => vec![Event::Paste(text)],
            None => self.events,
        }
    }

    fn continues_with(&self, character: char) -> bool {
        match self.sequence.as_str() {
            "" => matches!(character, '[' | 'O'),
            _ => self.sequence.len() < LONGEST && character.is_ascii(),
        }
    }

    /// `O` and one letter, or `[` and a final byte.
    fn is_complete(&self) -> bool {
        self.sequence.len() > 1 && self.sequence.ends_with(|c: char| ('@'..='~').contains(&c))
    }
}

fn is_plain_key(event: &Event, code: KeyCode) -> bool {
    matches!(event, Event::Key(key) if key.code == code && key.modifiers.is_empty())
}

/// The character that a key types.
fn typed(event: &Event) -> Option<char> {
    let Event::Key(key) = event else { return None };
    match key.code {
        KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => Some('\n'),
        KeyCode::Char(character) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
            Some(character)
        }
        KeyCode::Enter => Some('\n'),
        KeyCode::Tab => Some('\t'),
        _ => None,
    }
}

/// The key of a sequence (without its ESC), as in ECMA-48 and xterm's control sequences.
fn key_of(sequence: &str) -> Option<KeyEvent> {
    let (body, last) = sequence.split_at_checked(sequence.len().checked_sub(1)?)?;
    let (first, modifier) = match body.get(1..)?.split_once(';') {
        Some((first, modifier)) => (first, modifier.parse().ok()?),
        None => (body.get(1..)?, 1_u8),
    };
    let bits = modifier.checked_sub(1)?;
    let flags = [
        (1, KeyModifiers::SHIFT),
        (2, KeyModifiers::ALT),
        (4, KeyModifiers::CONTROL),
    ];
    let held = flags.into_iter().filter(|(bit, _)| bits & bit != 0);
    let modifiers = held.fold(KeyModifiers::NONE, |all, (_, flag)| all | flag);
    let code = match (last, first) {
        ("A", "" | "1") => KeyCode::Up,
        ("B", "" | "1") => KeyCode::Down,
        ("C", "" | "1") => KeyCode::Right,
        ("D", "" | "1") => KeyCode::Left,
        ("F", "" | "1") | ("~", "4" | "8") => KeyCode::End,
        ("H", "" | "1") | ("~", "1" | "7") => KeyCode::Home,
        ("Z", "") => return Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        ("~", "2") => KeyCode::Insert,
        ("~", "3") => KeyCode::Delete,
        ("~", "5") => KeyCode::PageUp,
        ("~", "6") => KeyCode::PageDown,
        _ => return None,
    };
    Some(KeyEvent::new(code, modifiers))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ESC: &str = "\x1b";

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    /// The key that crossterm reports for a character.
    fn typed_key(character: char) -> Event {
        let shift = if character.is_uppercase() {
            KeyModifiers::SHIFT
        } else {
            KeyModifiers::NONE
        };
        modified(KeyCode::Char(character), shift)
    }

    /// Each character as the key crossterm would report; `…` is a pause longer than the hold.
    fn check(input: &str, expect: &[Event]) {
        let mut guard = EscGuard::new(HOLD_LOCAL);
        let mut now = Instant::now();
        let mut got = Vec::new();
        for character in input.chars() {
            match character {
                '…' => {
                    now += HOLD_LOCAL;
                    got.extend(guard.expire(now));
                    assert_eq!(guard.deadline(), None, "nothing stays held");
                }
                '\x1b' => got.extend(guard.push(key(KeyCode::Esc), now)),
                '\r' => got.extend(guard.push(key(KeyCode::Enter), now)),
                character => got.extend(guard.push(typed_key(character), now)),
            }
            now += Duration::from_millis(1);
        }
        assert_eq!(got, expect, "{input:?}");
    }

    fn modified(code: KeyCode, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn a_lone_esc_is_esc_after_the_hold() {
        check(ESC, &[]);
        check("\x1b…", &[key(KeyCode::Esc)]);
        check(
            "\x1b…[A",
            &[key(KeyCode::Esc), typed_key('['), typed_key('A')],
        );
        check("\x1b\x1b…", &[key(KeyCode::Esc), key(KeyCode::Esc)]);
        check("\x1bx", &[key(KeyCode::Esc), key(KeyCode::Char('x'))]);
        check("\x1b\r", &[key(KeyCode::Esc), key(KeyCode::Enter)]);
    }

    #[test]
    fn cut_sequences_are_put_together() {
        check("\x1b[A", &[key(KeyCode::Up)]);
        check("\x1bOB", &[key(KeyCode::Down)]);
        check("\x1b[5~x", &[key(KeyCode::PageUp), key(KeyCode::Char('x'))]);
        check("\x1b[1;2A", &[modified(KeyCode::Up, KeyModifiers::SHIFT)]);
        check(
            "\x1b[1;5C",
            &[modified(KeyCode::Right, KeyModifiers::CONTROL)],
        );
        check("\x1b[Z", &[modified(KeyCode::BackTab, KeyModifiers::SHIFT)]);
        check("\x1b[…", &[key(KeyCode::Esc), key(KeyCode::Char('['))]);
        check(
            "\x1b[\x1b[A",
            &[key(KeyCode::Esc), key(KeyCode::Char('[')), key(KeyCode::Up)],
        );
    }

    #[test]
    fn unknown_or_endless_sequences_are_what_they_seem() {
        let typed = |text: &str| -> Vec<Event> {
            let keys = text.chars().map(typed_key);
            std::iter::once(key(KeyCode::Esc)).chain(keys).collect()
        };
        check("\x1b[9q", &typed("[9q"));
        check("\x1b[1;999A", &typed("[1;999A"));
        check("\x1b[11111111111111111111", &typed("[11111111111111111111"));
    }

    #[test]
    fn a_cut_paste_stays_a_paste() {
        check(
            "\x1b[200~a\rb…x",
            &[Event::Paste("a\nb".into()), key(KeyCode::Char('x'))],
        );
    }

    #[test]
    fn other_events_pass_at_once() {
        let mut guard = EscGuard::new(HOLD_REMOTE);
        let now = Instant::now();
        assert_eq!(guard.push(Event::Resize(1, 1), now), [Event::Resize(1, 1)]);
        assert_eq!(guard.push(key(KeyCode::Esc), now), []);
        assert_eq!(
            guard.push(Event::Resize(2, 2), now),
            [key(KeyCode::Esc), Event::Resize(2, 2)]
        );
    }
}
