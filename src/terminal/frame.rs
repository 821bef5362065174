//! A ratatui backend that writes each frame in one go.
//!
//! In come ratatui's draw calls, out goes one `write` per frame, inside a synchronised update
//! (DEC private mode 2026). **A frame without changes writes nothing**, and the caret is shown, hidden
//! or moved only when that changes something: it does not strobe. A `clear` goes out before the
//! synchronised update, in the same write.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};

use crossterm::QueueableCommand;
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::terminal::{self, BeginSynchronizedUpdate, Clear, EndSynchronizedUpdate};
use filedescriptor::{POLLOUT, poll, pollfd};
use ratatui::backend::{Backend, ClearType, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

use super::cells::Cells;

/// The size that is assumed when the terminal does not tell.
const FALLBACK_SIZE: Size = Size {
    width: 80,
    height: 24,
};

/// Standard output without a buffer of its own: what is written at once goes out at once.
pub struct Unbuffered(File);

/// Standard output without a buffer of its own.
pub fn unbuffered_stdout() -> io::Result<Unbuffered> {
    let file = io::stdout().as_fd().try_clone_to_owned()?;
    Ok(Unbuffered(File::from(file)))
}

impl Write for Unbuffered {
    /// Waits where another program has left the terminal in a mode that does not.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let mut room = [pollfd {
                        fd: self.0.as_raw_fd(),
                        events: POLLOUT,
                        revents: 0,
                    }];
                    // An error comes with the next write.
                    poll(&mut room, None).ok();
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The backend; `W` gets one `write_all` per changed frame.
pub struct FrameBackend<W: Write> {
    out: W,
    cells: Vec<u8>,
    known: Cells,
    clear: Vec<u8>,
    caret: Caret,
    shown: Caret,
}

/// Where the caret is, as far as that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Caret {
    visible: Option<bool>,
    position: Option<Position>,
}

impl<W: Write> FrameBackend<W> {
    /// A backend that writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            cells: Vec::new(),
            known: Cells::default(),
            clear: Vec::new(),
            caret: Caret::default(),
            shown: Caret::default(),
        }
    }

    /// Writes a sequence that draws nothing, between two frames.
    pub fn write_between_frames(&mut self, sequence: &str) -> io::Result<()> {
        self.out.write_all(sequence.as_bytes())?;
        self.out.flush()
    }

    /// Forgets what is known of the terminal's state: another program had it.
    pub fn forget(&mut self) {
        self.shown = Caret::default();
        self.known.forget();
    }
}

impl<W: Write> Backend for FrameBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut content = content.peekable();
        if content.peek().is_some() {
            self.known.write(content, &mut self.cells)?;
            self.shown.position = None;
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.caret.visible = Some(false);
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.caret.visible = Some(true);
        Ok(())
    }

    /// The position that was set last: the terminal is never asked, its reply could be taken for input.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.caret.position.unwrap_or_default())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.caret.position = Some(position.into());
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.clear_region(ClearType::All)
    }

    fn clear_region(&mut self, region: ClearType) -> io::Result<()> {
        let region = match region {
            ClearType::All => terminal::ClearType::All,
            ClearType::AfterCursor => terminal::ClearType::FromCursorDown,
            ClearType::BeforeCursor => terminal::ClearType::FromCursorUp,
            ClearType::CurrentLine => terminal::ClearType::CurrentLine,
            ClearType::UntilNewLine => terminal::ClearType::UntilNewLine,
        };
        self.clear.queue(Clear(region))?;
        if region == terminal::ClearType::All {
            self.known.clear();
        } else {
            self.known.forget();
        }
        Ok(())
    }

    fn size(&self) -> io::Result<Size> {
        let told = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let told = told.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        Ok(told.map_or(FALLBACK_SIZE, |size| Size {
            width: size.ws_col,
            height: size.ws_row,
        }))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::default(),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        let moved = self.caret.visible == Some(true) && self.caret.position != self.shown.position;
        let toggled = self.caret.visible != self.shown.visible;
        if self.clear.is_empty() && self.cells.is_empty() && !moved && !toggled {
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.clear);
        bytes.queue(BeginSynchronizedUpdate)?;
        bytes.append(&mut self.cells);
        if let Some(position) = self.caret.position.filter(|_| moved) {
            bytes.queue(MoveTo(position.x, position.y))?;
            self.shown.position = Some(position);
        }
        if toggled {
            if self.caret.visible == Some(true) {
                bytes.queue(Show)?;
            } else {
                bytes.queue(Hide)?;
            }
        }
        self.shown.visible = self.caret.visible;
        bytes.queue(EndSynchronizedUpdate)?;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use ratatui::layout::Rect;
    use ratatui::{Terminal, TerminalOptions, Viewport};

    use super::*;

    /// Keeps each write apart.
    #[derive(Clone, Default)]
    struct Writes(Rc<RefCell<Vec<Vec<u8>>>>);

    impl Write for Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Writes {
        fn take(&self) -> Vec<String> {
            self.0
                .take()
                .into_iter()
                .map(|bytes| String::from_utf8(bytes).unwrap())
                .collect()
        }
    }

    fn terminal(writes: &Writes) -> Terminal<FrameBackend<Writes>> {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 20, 4));
        let backend = FrameBackend::new(writes.clone());
        Terminal::with_options(backend, TerminalOptions { viewport }).unwrap()
    }

    fn draw(terminal: &mut Terminal<FrameBackend<Writes>>, text: &str, caret: Option<(u16, u16)>) {
        let draw = |frame: &mut ratatui::Frame| {
            frame.render_widget(text, frame.area());
            if let Some(caret) = caret {
                frame.set_cursor_position(caret);
            }
        };
        terminal.draw(draw).unwrap();
    }

    #[test]
    fn a_frame_is_one_synchronised_write_and_an_idle_frame_none() {
        let writes = Writes::default();
        let mut terminal = terminal(&writes);
        draw(&mut terminal, "one", Some((3, 0)));
        let [frame] = &writes.take()[..] else {
            panic!("not one write")
        };
        assert!(
            frame.starts_with("\x1b[?2026h") && frame.ends_with("\x1b[?2026l"),
            "{frame:?}"
        );
        assert_eq!(frame.matches("\x1b[?25h").count(), 1);
        draw(&mut terminal, "one", Some((3, 0)));
        assert_eq!(writes.take(), [""; 0]);
    }

    #[test]
    fn the_caret_does_not_strobe() {
        let writes = Writes::default();
        let mut terminal = terminal(&writes);
        draw(&mut terminal, "one", Some((3, 0)));
        writes.take();
        draw(&mut terminal, "two", Some((3, 0)));
        let changed = writes.take().concat();
        assert!(!changed.contains("\x1b[?25"), "{changed:?}");
        assert!(
            changed.ends_with("\x1b[1;4H\x1b[?2026l"),
            "back after the cells: {changed:?}"
        );
        draw(&mut terminal, "two", Some((5, 1)));
        assert_eq!(writes.take(), ["\x1b[?2026h\x1b[2;6H\x1b[?2026l"]);
        draw(&mut terminal, "two", None);
        assert_eq!(writes.take(), ["\x1b[?2026h\x1b[?25l\x1b[?2026l"]);
    }

    #[test]
    fn clearing_comes_first_in_the_same_write() {
        let writes = Writes::default();
        let mut terminal = terminal(&writes);
        terminal.backend_mut().clear().unwrap();
        draw(&mut terminal, "one", None);
        let [frame] = &writes.take()[..] else {
            panic!("not one write")
        };
        assert!(frame.starts_with("\x1b[2J\x1b[?2026h"), "{frame:?}");
    }

    #[test]
    fn nothing_is_taken_for_granted_after_another_program() {
        let writes = Writes::default();
        let mut terminal = terminal(&writes);
        draw(&mut terminal, "one", Some((3, 0)));
        writes.take();
        terminal.backend_mut().forget();
        draw(&mut terminal, "one", Some((3, 0)));
        assert_eq!(writes.take(), ["\x1b[?2026h\x1b[1;4H\x1b[?25h\x1b[?2026l"]);
    }
}
