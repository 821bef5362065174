//! Which key a character or a control sequence is.
//!
//! Sources: ECMA-48, xterm's control sequences, and the keyboard protocol of kitty.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// An event of a key, in kitty's protocol.
const RELEASED: &str = "3";

/// The key that types a character, or that a control character stands for.
pub fn of_character(character: char) -> KeyEvent {
    let control = |base: u8, letter: char| {
        let offset = u8::try_from(character).map_or(0, |byte| byte - base);
        let key = char::from(letter as u8 + offset);
        KeyEvent::new(KeyCode::Char(key), KeyModifiers::CONTROL)
    };
    match character {
        '\r' => KeyCode::Enter.into(),
        '\t' => KeyCode::Tab.into(),
        '\x7f' => KeyCode::Backspace.into(),
        '\x1b' => KeyCode::Esc.into(),
        '\0' => KeyEvent::new(KeyCode::Char(' '), KeyModifiers::CONTROL),
        '\x01'..='\x1a' => control(1, 'a'),
        '\x1c'..='\x1f' => control(0x1c, '4'),
        character => {
            let shift = character.is_uppercase();
            let modifiers = if shift {
                KeyModifiers::SHIFT
            } else {
                KeyModifiers::NONE
            };
            KeyEvent::new(KeyCode::Char(character), modifiers)
        }
    }
}

/// The key of a control sequence, without its introducer (`ESC [` or `ESC O`); `None` for replies, reports
/// and keys that nothing is bound to.
pub fn of_sequence(sequence: &[u8]) -> Option<KeyEvent> {
    let (last, parameters) = sequence.split_last()?;
    let parameters = str::from_utf8(parameters).ok()?;
    let mut parameters = parameters.split(';');
    let mut codes = parameters.next().unwrap_or_default().split(':');
    let first = number(codes.next().unwrap_or_default(), 1)?;
    let base_layout = codes.nth(1).and_then(|code| code.parse().ok());
    let mut second = parameters.next().unwrap_or_default().split(':');
    let modifiers = modifiers(number(second.next().unwrap_or_default(), 1)?)?;
    if second.next() == Some(RELEASED) {
        return None;
    }
    let is_command = modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let code = match (last, first) {
        (b'A', 1) => KeyCode::Up,
        (b'B', 1) => KeyCode::Down,
        (b'C', 1) => KeyCode::Right,
        (b'D', 1) => KeyCode::Left,
        (b'F', 1) | (b'~', 4 | 8) => KeyCode::End,
        (b'H', 1) | (b'~', 1 | 7) => KeyCode::Home,
        (b'Z', 1) => return Some(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT)),
        (b'~', 2) => KeyCode::Insert,
        (b'~', 3) => KeyCode::Delete,
        (b'~', 5) => KeyCode::PageUp,
        (b'~', 6) => KeyCode::PageDown,
        // modifyOtherKeys of xterm
        (b'~', 27) => of_code(number(parameters.next()?, 0)?)?,
        // Ctrl-C is where it is on a Latin keyboard, also where that key types another letter.
        (b'u', code) => of_code(
            base_layout
                .filter(|_| code > 0x7f && is_command)
                .unwrap_or(code),
        )?,
        _ => return None,
    };
    Some(KeyEvent::new(code, modifiers))
}

/// Whether a key's sequence that begins with `ESC O` can end so: the arrows, Home, End, F1 to F4, the number pad.
pub fn ends_ss3(byte: u8) -> bool {
    matches!(byte, b'A'..=b'D' | b'F' | b'H' | b'M' | b'P'..=b'S' | b'X' | b'j'..=b'y')
}

/// A parameter up to its first `:`; `default` where it is empty.
fn number(parameter: &str, default: u32) -> Option<u32> {
    match parameter.split(':').next()? {
        "" => Some(default),
        digits => digits.parse().ok(),
    }
}

/// Modifiers as a bit set plus one. Those of the locks say nothing here.
fn modifiers(parameter: u32) -> Option<KeyModifiers> {
    let bits = u8::try_from(parameter.checked_sub(1)?).ok()?;
    let flags = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let held = flags
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 == 1);
    Some(held.fold(KeyModifiers::NONE, |all, (_, flag)| all | *flag))
}

/// The key of a code in `CSI code ; modifiers u`: a character, or a key of the number pad.
fn of_code(code: u32) -> Option<KeyCode> {
    const PAD: u32 = 57_399;
    const PAD_CHARACTERS: &[u8] = b"0123456789./*-+\r=,";
    let pad = code.checked_sub(PAD).map(|index| index as usize);
    if let Some(character) = pad.and_then(|index| PAD_CHARACTERS.get(index)) {
        return Some(of_character(char::from(*character)).code);
    }
    Some(match code {
        57_417 => KeyCode::Left,
        57_418 => KeyCode::Right,
        57_419 => KeyCode::Up,
        57_420 => KeyCode::Down,
        57_421 => KeyCode::PageUp,
        57_422 => KeyCode::PageDown,
        57_423 => KeyCode::Home,
        57_424 => KeyCode::End,
        57_425 => KeyCode::Insert,
        57_426 => KeyCode::Delete,
        // The private area in which kitty has its other keys.
        57_344..=63_743 => return None,
        9 | 13 | 27 | 127 => of_character(char::from_u32(code)?).code,
        code => KeyCode::Char(char::from_u32(code).filter(|c| !c.is_control())?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: KeyModifiers = KeyModifiers::NONE;
    const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
    const ALT: KeyModifiers = KeyModifiers::ALT;
    const CTRL: KeyModifiers = KeyModifiers::CONTROL;

    #[test]
    fn characters_are_keys() {
        let check = |character, code, modifiers| {
            let key = KeyEvent::new(code, modifiers);
            assert_eq!(of_character(character), key, "{character:?}");
        };
        check('a', KeyCode::Char('a'), NONE);
        check('É', KeyCode::Char('É'), SHIFT);
        check('界', KeyCode::Char('界'), NONE);
        check('\0', KeyCode::Char(' '), CTRL);
        check('\x01', KeyCode::Char('a'), CTRL);
        check('\x03', KeyCode::Char('c'), CTRL);
        check('\n', KeyCode::Char('j'), CTRL);
        check('\x1a', KeyCode::Char('z'), CTRL);
        check('\x1f', KeyCode::Char('7'), CTRL);
        check('\r', KeyCode::Enter, NONE);
        check('\t', KeyCode::Tab, NONE);
        check('\x7f', KeyCode::Backspace, NONE);
    }

    #[test]
    fn sequences_are_keys() {
        let check = |sequence: &str, code, modifiers| {
            let key = Some(KeyEvent::new(code, modifiers));
            assert_eq!(of_sequence(sequence.as_bytes()), key, "{sequence:?}");
        };
        check("A", KeyCode::Up, NONE);
        check("1;2B", KeyCode::Down, SHIFT);
        check("1;5C", KeyCode::Right, CTRL);
        check("1;3D", KeyCode::Left, ALT);
        check("1;1:2D", KeyCode::Left, NONE);
        check("1;129A", KeyCode::Up, NONE);
        check("H", KeyCode::Home, NONE);
        check("4~", KeyCode::End, NONE);
        check("5~", KeyCode::PageUp, NONE);
        check("3;5~", KeyCode::Delete, CTRL);
        check("Z", KeyCode::BackTab, SHIFT);
        check("1;2Z", KeyCode::BackTab, SHIFT);
        check("13;2u", KeyCode::Enter, SHIFT);
        check("27;2;13~", KeyCode::Enter, SHIFT);
        check("99;5u", KeyCode::Char('c'), CTRL);
        check("97:65;6u", KeyCode::Char('a'), CTRL | SHIFT);
        check("1089::99;5u", KeyCode::Char('c'), CTRL);
        check("1089::99;1u", KeyCode::Char('с'), NONE);
        check("1089;5u", KeyCode::Char('с'), CTRL);
        check("27u", KeyCode::Esc, NONE);
        check("9;2u", KeyCode::Tab, SHIFT);
        check("127;3u", KeyCode::Backspace, ALT);
        check("57399u", KeyCode::Char('0'), NONE);
        check("57414u", KeyCode::Enter, NONE);
        check("57426u", KeyCode::Delete, NONE);
    }

    #[test]
    fn replies_and_unbound_keys_are_none() {
        for sequence in [
            "",
            "P",
            "15~",
            "I",
            "O",
            "M",
            "200~",
            "?1;2c",
            "?2026;2$y",
            "?0u",
            ">1;2c",
            "<0;1;1M",
            "12;40R",
            "57358u",
            "57441u",
            "97;1:3u",
            "1;999A",
            "1;0A",
            "99999999999u",
            "27;2~",
            "0u",
            "55296u",
            "é~",
            "4;2t",
            "-1u",
        ] {
            assert_eq!(of_sequence(sequence.as_bytes()), None, "{sequence:?}");
        }
    }
}
