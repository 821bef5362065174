//! Progress on standard error, for output without a screen: fetching, loading, reading the prompt.
//!
//! indicatif draws nothing when standard error is not a terminal.

use std::io;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::app::wrap::cut;
use crate::clean::clean;
use crate::engine::protocol::{Event, Fetch, Loading};

use super::columns::columns;

/// One line of progress at a time.
#[derive(Default)]
pub struct Progress {
    bar: Option<Bar>,
}

struct Bar {
    title: String,
    bar: ProgressBar,
}

impl Progress {
    /// Shows the progress that `event` tells of; any other event ends it.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Fetch(Fetch {
                what,
                how,
                done,
                total,
            }) => {
                self.set(
                    &format!("{} ({})", clean(what), clean(how)),
                    *done,
                    *total,
                    Unit::Bytes,
                );
            }
            Event::Loading(Loading { what, done, total }) => {
                self.set(
                    &format!("loading weights: {}", clean(what)),
                    *done,
                    Some(*total),
                    Unit::Bytes,
                );
            }
            Event::Prefill { done, total } => {
                self.set(
                    "reading the prompt",
                    *done as u64,
                    Some(*total as u64),
                    Unit::Tokens,
                );
            }
            Event::Ready(_)
            | Event::Baseline(_)
            | Event::Strategy(_)
            | Event::StrategyRefused(_)
            | Event::Options(_)
            | Event::Dropped { .. }
            | Event::NotLoaded(_)
            | Event::Round(_)
            | Event::Finished(_)
            | Event::Failed(_) => self.clear(),
        }
    }

    /// Shows how much of something is done.
    pub fn count(&mut self, title: &str, done: usize, total: usize) {
        self.set(title, done as u64, Some(total as u64), Unit::Pieces);
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(Bar { bar, .. }) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn set(&mut self, title: &str, done: u64, total: Option<u64>, unit: Unit) {
        if self.bar.as_ref().is_none_or(|bar| bar.title != title) {
            self.clear();
            let bar = match total {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::new_spinner(),
            };
            let columns = columns(io::stderr()).unwrap_or(usize::MAX);
            let (template, room) = layout(total.map(|_| unit), columns);
            bar.set_style(style(&template));
            bar.set_message(cut(title, room));
            self.bar = Some(Bar {
                title: title.to_owned(),
                bar,
            });
        }
        if let Some(Bar { bar, .. }) = &self.bar {
            if let Some(total) = total {
                bar.set_length(total);
            } else {
                bar.enable_steady_tick(Duration::from_millis(250));
            }
            bar.set_position(done);
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Bytes,
    Tokens,
    Pieces,
}

/// Columns that a title needs to be worth a bar beside it.
const TITLE: usize = 24;
const BAR: &str = " [{bar:24}]";
/// Columns of [`BAR`] as it is shown.
const BAR_WIDTH: usize = 27;

/// How a line of at most so many columns is made up, for a total of such units or for none, and the
/// columns that its title has there.
fn layout(total: Option<Unit>, columns: usize) -> (String, usize) {
    // Each with the columns that it takes at most.
    let numbers = match total {
        Some(Unit::Bytes) => " {decimal_bytes} of {decimal_total_bytes}",
        Some(Unit::Tokens) => " {pos} of {len} tokens",
        Some(Unit::Pieces) => " {pos} of {len}",
        None => " {decimal_bytes}",
    };
    let numbers_width = match total {
        Some(_) => 24,
        None => 12,
    };
    // A terminal wraps what fills its last column, and the cursor stands behind the line.
    let columns = columns.saturating_sub(1);
    let left = |taken: usize| columns.checked_sub(taken).filter(|left| *left >= TITLE);
    let with_bar = left(numbers_width + BAR_WIDTH).filter(|_| total.is_some());
    match (with_bar, total) {
        (Some(room), _) => (format!("{{msg}}{BAR}{numbers}"), room),
        (None, Some(_)) => (
            format!("{{msg}}{numbers}"),
            columns.saturating_sub(numbers_width),
        ),
        (None, None) => (
            format!("{{spinner}} {{msg}}{numbers}"),
            columns.saturating_sub(numbers_width + 2),
        ),
    }
}

fn style(template: &str) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).expect("the templates above are well formed");
    style.progress_chars("=> ").tick_chars("|/-\\ ")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::*;
    use crate::app::wrap::text_width;

    /// A terminal that remembers what was written to it.
    #[derive(Clone, Debug)]
    struct Paper {
        columns: u16,
        written: Arc<Mutex<String>>,
    }

    impl TermLike for Paper {
        fn width(&self) -> u16 {
            self.columns
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.written.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.written.lock().unwrap().clear();
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// The line at so many columns, as it was drawn last.
    fn line(total: Option<Unit>, columns: u16) -> String {
        let title = "SmolLM2-135M-Instruct-Q4_K_M.gguf (from the hub, by its revision)";
        let paper = Paper {
            columns,
            written: Arc::default(),
        };
        let (template, room) = layout(total, columns.into());
        let target = ProgressDrawTarget::term_like(Box::new(paper.clone()));
        let (done, all) = match total {
            Some(Unit::Bytes) | None => (1_234_567_890, 1_918_273_645),
            Some(Unit::Tokens | Unit::Pieces) => (123_456, 191_827),
        };
        let bar = ProgressBar::with_draw_target(total.map(|_| all), target);
        bar.set_style(style(&template));
        bar.set_message(cut(title, room));
        bar.set_position(done);
        bar.tick();
        let written = paper.written.lock().unwrap();
        written.trim_end().to_owned()
    }

    #[test]
    fn every_line_fits_the_terminal() {
        let totals = [
            None,
            Some(Unit::Bytes),
            Some(Unit::Tokens),
            Some(Unit::Pieces),
        ];
        for total in totals {
            for columns in [32, 40, 60, 80, 100, 160] {
                let line = line(total, columns);
                assert!(
                    text_width(&line) < columns.into(),
                    "{total:?} {columns}: {line:?}"
                );
                // Of the number, in whatever unit.
                assert!(line.contains("Smo") && line.contains("23"), "{line:?}");
            }
        }
        assert!(line(Some(Unit::Bytes), 100).contains('['));
        assert!(!line(Some(Unit::Bytes), 40).contains('['));
    }
}
