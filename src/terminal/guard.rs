//! Takes the terminal for the screen, and gives it back.
//!
//! **[`restore`] is the only way back**: the guard's drop, the panic hook, signals and errors all end
//! there, and calling it again does nothing. The mouse is never captured: selecting text stays the
//! terminal's own.

use std::env;
use std::io::{self, Write};
use std::panic;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crossterm::QueueableCommand;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::ResetColor;
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::engine::protocol::THREAD_NAME;

use super::divert;
use super::frame::unbuffered_stdout;

/// Whether the terminal is the screen's now.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// Whether the terminal was asked to tell keys apart.
static KEYBOARD: AtomicBool = AtomicBool::new(false);

/// The terminal's modes before it was taken first. Another program that had it meanwhile, an editor that was
/// killed, may have left others.
static MODES: OnceLock<Termios> = OnceLock::new();

/// The terminal, while it is the screen's. Dropping it restores the terminal.
pub struct Guard(());

impl Guard {
    /// Takes the terminal: raw mode, the alternate screen, bracketed paste and, where the terminal is
    /// known to have it, the kitty keyboard protocol: keys told apart, with their places.
    pub fn enter() -> io::Result<Self> {
        if let Ok(modes) = tcgetattr(stdin()) {
            let _ = MODES.set(modes);
        }
        let guard = Self(());
        guard.enter_again()?;
        Ok(guard)
    }

    /// Takes the terminal again after [`restore`], or after another program had it.
    pub fn enter_again(&self) -> io::Result<()> {
        restore();
        let variable = |name| env::var(name).unwrap_or_default();
        let keyboard = tells_keys_apart(&variable("TERM"), &variable("TERM_PROGRAM"));
        ENTERED.store(true, Ordering::SeqCst);
        KEYBOARD.store(keyboard, Ordering::SeqCst);
        enable_raw_mode()?;
        unbuffered_stdout()?.write_all(&enter_bytes(keyboard)?)?;
        divert::begin();
        Ok(())
    }

    /// Whether the terminal is the screen's: not between [`restore`] and [`Guard::enter_again`].
    pub fn is_entered(&self) -> bool {
        ENTERED.load(Ordering::SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back as it was. Does nothing when it was given back already.
///
/// Errors are not told: there is nobody left to tell them to.
pub fn restore() {
    if !ENTERED.swap(false, Ordering::SeqCst) {
        return;
    }
    divert::end();
    let bytes = leave_bytes(KEYBOARD.load(Ordering::SeqCst));
    if let (Ok(bytes), Ok(mut out)) = (bytes, unbuffered_stdout()) {
        out.write_all(&bytes).ok();
    }
    restore_modes();
}

/// Gives the terminal's line modes back as they were, without writing to it: also one that does not read.
pub(super) fn restore_modes() {
    disable_raw_mode().ok();
    if let Some(modes) = MODES.get() {
        tcsetattr(stdin(), OptionalActions::Now, modes).ok();
    }
}

/// Whether there is still a terminal behind standard output.
pub(super) fn terminal_is_there() -> bool {
    tcgetattr(io::stdout()).is_ok()
}

fn enter_bytes(keyboard: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Another program may have left its colours.
    bytes
        .queue(ResetColor)?
        .queue(EnterAlternateScreen)?
        .queue(EnableBracketedPaste)?;
    if keyboard {
        // With the keys' places on a Latin keyboard, or Ctrl-C would be none in Cyrillic.
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
            | KeyboardEnhancementFlags::REPORT_ALTERNATE_KEYS;
        bytes.queue(PushKeyboardEnhancementFlags(flags))?;
    }
    Ok(bytes)
}

/// The reverse of [`enter_bytes`], from whatever state a frame left.
fn leave_bytes(keyboard: bool) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.queue(EndSynchronizedUpdate)?.queue(ResetColor)?;
    if keyboard {
        bytes.queue(PopKeyboardEnhancementFlags)?;
    }
    bytes
        .queue(DisableBracketedPaste)?
        .queue(LeaveAlternateScreen)?
        .queue(Show)?;
    Ok(bytes)
}

/// Whether a terminal has the kitty keyboard protocol, by the names it gives itself. It is not asked:
/// a late reply would be taken for typing.
fn tells_keys_apart(term: &str, term_program: &str) -> bool {
    let by_term = [
        "xterm-kitty",
        "xterm-ghostty",
        "alacritty",
        "foot",
        "foot-extra",
        "wezterm",
    ];
    let by_program = ["ghostty", "kitty", "WezTerm", "iTerm.app"];
    // Inside tmux and screen TERM is theirs, and TERM_PROGRAM may be from the terminal around them.
    let multiplexed = term.starts_with("tmux") || term.starts_with("screen");
    by_term.contains(&term) || !multiplexed && by_program.contains(&term_program)
}

/// Makes a panic of the calling thread, the program's main one, restore the terminal before it is
/// told. Another thread's panic is not told while the screen is up: it would write over it. The
/// engine's never is: it becomes an event.
pub fn install_panic_hook() {
    let main = thread::current().id();
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let thread = thread::current();
        if thread.id() == main {
            restore();
        }
        let engine = thread
            .name()
            .is_some_and(|name| name.starts_with(THREAD_NAME));
        if !engine && !ENTERED.load(Ordering::SeqCst) {
            tell(info);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_that_is_set_is_reset() {
        for keyboard in [false, true] {
            let text = |bytes: io::Result<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
            let (enter, leave) = (text(enter_bytes(keyboard)), text(leave_bytes(keyboard)));
            for mode in ["?1049", "?2004"] {
                assert!(
                    enter.contains(&format!("\x1b[{mode}h"))
                        && leave.contains(&format!("\x1b[{mode}l"))
                );
            }
            assert_eq!(enter.contains("\x1b[>5u"), keyboard);
            assert_eq!(leave.contains("\x1b[<1u"), keyboard);
            assert!(leave.ends_with("\x1b[?25h"), "the caret shows at the end");
            assert!(!enter.contains("?100"), "no mouse");
        }
    }

    #[test]
    fn the_keyboard_protocol_is_for_those_who_have_it() {
        let check = |term, program, expect| {
            assert_eq!(tells_keys_apart(term, program), expect, "{term} {program}");
        };
        check("xterm-kitty", "", true);
        check("xterm-256color", "ghostty", true);
        check("xterm-256color", "Apple_Terminal", false);
        check("xterm-256color", "", false);
        check("tmux-256color", "ghostty", false);
        check("screen", "iTerm.app", false);
        check("", "", false);
    }

    #[test]
    fn restoring_what_was_not_taken_does_nothing() {
        restore();
        restore();
        assert!(!ENTERED.load(Ordering::SeqCst));
    }
}
