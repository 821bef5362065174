//! What bytes do to a terminal, and whether speck may do that: they are parsed by the `vte` crate, and
//! **everything is a fault but what is listed here**.
//!
//! Strings that never end and those of APC, PM and SOS are not reported by a parser; so each ESC must
//! belong to a sequence that is allowed.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeSet;

use vte::{Params, Parser, Perform};

/// Attributes that themes use; colours are checked apart.
const ATTRIBUTES: [u16; 14] = [0, 1, 2, 3, 4, 7, 9, 22, 23, 24, 27, 29, 39, 49];

/// What is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surface {
    /// The screen, of so many columns and rows; outside the alternate screen, lines.
    Screen(u16, u16),
    /// Lines of text, and a bar of progress that is drawn over.
    Lines,
}

/// The terminal's modes after some bytes, where they are not what they were before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Private modes that were switched and not switched back.
    pub switched: BTreeSet<u16>,
    /// Whether a colour or attribute is on.
    pub styled: bool,
    /// How often the keyboard's protocol was pushed and not popped.
    pub keyboard: i32,
}

impl Modes {
    fn note(&mut self, numbers: &[u16], intermediates: &[u8], action: char) {
        match (intermediates, action) {
            // The caret is the one that is on before.
            (b"?", 'h' | 'l') => {
                for mode in numbers {
                    if (action == 'h') == (*mode == 25) {
                        self.switched.remove(mode);
                    } else {
                        self.switched.insert(*mode);
                    }
                }
            }
            (b"", 'm') => {
                let off = |n: &u16| [22, 23, 24, 27, 39, 49, 59].contains(n);
                match numbers.iter().rfind(|n| !off(n)) {
                    Some(0) => self.styled = false,
                    Some(_) => self.styled = true,
                    None => self.styled &= !numbers.is_empty(),
                }
            }
            (b">", 'u') => self.keyboard += 1,
            (b"<", 'u') => self.keyboard -= 1,
            _ => {}
        }
    }
}

/// What is wrong with `bytes`; empty when nothing is.
pub fn faults(bytes: &[u8], surface: Surface) -> Vec<String> {
    let judge = judge(bytes, surface);
    let mut faults = judge.faults;
    if let Err(error) = std::str::from_utf8(bytes) {
        faults.push(format!("no UTF-8 at byte {}", error.valid_up_to()));
    }
    // A bar of progress is drawn over after it was deleted.
    let ends = [&b"\r"[..], b"\n", b"\x1b[2K"];
    let returns = (0..bytes.len()).filter(|at| bytes[*at] == b'\r');
    for at in returns.map(|at| at + 1) {
        if !ends.iter().any(|end| bytes[at..].starts_with(end)) {
            faults.push(format!("a line is drawn over at byte {at}"));
        }
    }
    let escapes = bytes.split(|byte| *byte == 0x1b).count() - 1;
    if escapes != judge.allowed {
        let n = escapes.abs_diff(judge.allowed);
        faults.push(format!("{n} ESC begin nothing that is allowed"));
    }
    faults
}

/// The modes that `bytes` leave behind.
pub fn modes_after(bytes: &[u8]) -> Modes {
    judge(bytes, Surface::Lines).modes
}

fn judge(bytes: &[u8], surface: Surface) -> Judge {
    let mut judge = Judge {
        surface,
        in_synchronised: false,
        allowed: 0,
        modes: Modes::default(),
        faults: Vec::new(),
    };
    Parser::new().advance(&mut judge, bytes);
    judge
}

struct Judge {
    surface: Surface,
    in_synchronised: bool,
    /// Sequences that are allowed.
    allowed: usize,
    modes: Modes,
    faults: Vec<String>,
}

impl Judge {
    /// Whether the bytes now draw cells, rather than lines.
    fn draws_cells(&self) -> bool {
        match self.surface {
            Surface::Screen(..) => self.in_synchronised || self.modes.switched.contains(&1049),
            Surface::Lines => false,
        }
    }

    fn is_allowed(&self, params: &[Vec<u16>], intermediates: &[u8], action: char) -> bool {
        let numbers: Option<Vec<u16>> = params
            .iter()
            .map(|param| (param.len() == 1).then(|| param[0]))
            .collect();
        let Some(numbers) = numbers else { return false };
        let screen = self.surface != Surface::Lines;
        let lines = !self.draws_cells();
        let frame = self.in_synchronised;
        match (intermediates, action, &numbers[..]) {
            (b"", 'H', [row, column]) => match self.surface {
                Surface::Screen(columns, rows) => {
                    frame && (1..=rows).contains(row) && (1..=columns).contains(column)
                }
                Surface::Lines => false,
            },
            (b"", 'C', [0..=500]) | (b"", 'X', [1..=500]) => frame,
            (b"", 'm', style) => screen && is_style(style),
            (b"?", 'h' | 'l', [25]) | (b"?", 'l', [2026]) => screen,
            (b"", 'J', [2])
            | (b"?", 'h' | 'l', [1049 | 2004 | 2026])
            | (b">", 'u', [5])
            | (b"<", 'u', [1]) => screen && !frame,
            (b"", 'K', [2]) => lines,
            // Two bars of progress, one above the other.
            (b"", 'A' | 'B', [1]) => !screen,
            _ => false,
        }
    }
}

/// Whether a style is made of a theme's attributes and colours.
fn is_style(style: &[u16]) -> bool {
    match style {
        [] => true,
        [38 | 48, 5, 0..=255, rest @ ..] | [38 | 48, 2, 0..=255, 0..=255, 0..=255, rest @ ..] => {
            is_style(rest)
        }
        [30..=37 | 40..=47 | 90..=97 | 100..=107, rest @ ..] => is_style(rest),
        [one, rest @ ..] => ATTRIBUTES.contains(one) && is_style(rest),
    }
}

/// Whether a character on the terminal hides text, turns it round or controls something.
fn is_forbidden(c: char) -> bool {
    let code = u32::from(c);
    c.is_control()
        || (0x202a..=0x202e).contains(&code)
        || (0x2066..=0x2069).contains(&code)
        || (0xe0000..=0xe007f).contains(&code)
}

impl Perform for Judge {
    fn print(&mut self, c: char) {
        if is_forbidden(c) {
            self.faults.push(format!("{c:?} is printed"));
        }
    }

    fn execute(&mut self, byte: u8) {
        // A terminal's driver makes CR LF of a newline.
        if self.draws_cells() || !b"\r\n\t".contains(&byte) {
            self.faults.push(format!("the control {byte:#04x}"));
        }
    }

    fn hook(&mut self, _: &Params, _: &[u8], _: bool, action: char) {
        self.faults.push(format!("a DCS {action:?}"));
    }

    fn osc_dispatch(&mut self, params: &[&[u8]], _: bool) {
        let first = params.first().copied().unwrap_or_default();
        self.faults.push(format!("an OSC {}", first.escape_ascii()));
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], ignored: bool, action: char) {
        let params: Vec<Vec<u16>> = params.iter().map(<[u16]>::to_vec).collect();
        self.modes.note(&params.concat(), intermediates, action);
        if ignored || !self.is_allowed(&params, intermediates, action) {
            let intermediates = intermediates.escape_ascii();
            self.faults
                .push(format!("a CSI {intermediates} {params:?} {action}"));
            return;
        }
        self.allowed += 1;
        let first = params.first().and_then(|param| param.first()).copied();
        match (intermediates, action, first.unwrap_or_default()) {
            (b"?", 'h', 2026) => self.in_synchronised = true,
            (b"?", 'l', 2026) => self.in_synchronised = false,
            _ => {}
        }
    }

    fn esc_dispatch(&mut self, intermediates: &[u8], _: bool, byte: u8) {
        let (intermediates, last) = (intermediates.escape_ascii(), byte.escape_ascii());
        self.faults.push(format!("an ESC {intermediates}{last}"));
    }
}
