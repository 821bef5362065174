//! A user's screen as bytes: what the program's own backend writes, frame by frame.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use ratatui::backend::Backend;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use ratatui::{Terminal, TerminalOptions, Viewport};
use speck::terminal::frame::FrameBackend;
use speck::ui::{Theme, draw};

use crate::user::User;

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

/// A terminal that records.
pub struct Recorder {
    terminal: Terminal<FrameBackend<Writes>>,
    writes: Writes,
    theme: Theme,
}

impl Recorder {
    /// A terminal of this size.
    pub fn new((width, height): (u16, u16), theme: &Theme) -> Self {
        let writes = Writes::default();
        let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
        let backend = FrameBackend::new(writes.clone());
        Self {
            terminal: Terminal::with_options(backend, TerminalOptions { viewport }).unwrap(),
            writes,
            theme: *theme,
        }
    }

    /// Draws a frame; gives its writes.
    pub fn draw(&mut self, user: &User) -> Vec<Vec<u8>> {
        self.terminal
            .draw(|frame| draw(&user.app, &self.theme, frame))
            .unwrap();
        self.writes.0.take()
    }
}

/// What the backend writes for widgets on a cleared terminal, frame by frame; `drawn` is the last.
pub fn written<W: Widget>(
    (width, height): (u16, u16),
    widgets: impl Iterator<Item = W>,
    drawn: &mut Buffer,
) -> Vec<Vec<u8>> {
    let writes = Writes::default();
    let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
    let mut backend = FrameBackend::new(writes.clone());
    backend.clear().unwrap();
    backend.flush().unwrap();
    writes.0.take();
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport }).unwrap();
    for widget in widgets {
        let frame = terminal.draw(|frame| frame.render_widget(widget, frame.area()));
        drawn.clone_from(frame.unwrap().buffer);
    }
    writes.0.take()
}

/// What the backend writes when each character of `text` is put into a cell as it is, which a widget could
/// do by mistake.
pub fn uncleaned_cells(text: &str) -> Vec<u8> {
    let cells: Vec<Cell> = text
        .chars()
        .map(|c| {
            let mut cell = Cell::EMPTY;
            cell.set_symbol(&c.to_string());
            cell
        })
        .collect();
    let mut bytes = Vec::new();
    let mut backend = FrameBackend::new(&mut bytes);
    backend
        .draw((0..).zip(&cells).map(|(x, cell)| (x, 0, cell)))
        .unwrap();
    backend.flush().unwrap();
    bytes
}
