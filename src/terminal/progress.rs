//! Progress on standard error, for output without a screen: fetching, loading, reading the prompt.
//!
//! indicatif draws nothing when standard error is not a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::clean::clean;
use crate::engine::protocol::{Event, Fetch, Loading};

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
                    BYTES,
                );
            }
            Event::Loading(Loading { what, done, total }) => {
                self.set(
                    &format!("loading weights: {}", clean(what)),
                    *done,
                    Some(*total),
                    BYTES,
                );
            }
            Event::Prefill { done, total } => {
                self.set(
                    "reading the prompt",
                    *done as u64,
                    Some(*total as u64),
                    TOKENS,
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
        self.set(title, done as u64, Some(total as u64), COUNT);
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if let Some(Bar { bar, .. }) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn set(&mut self, title: &str, done: u64, total: Option<u64>, template: &str) {
        if self.bar.as_ref().is_none_or(|bar| bar.title != title) {
            self.clear();
            let bar = match total {
                Some(total) => ProgressBar::new(total).with_style(style(template)),
                None => ProgressBar::new_spinner().with_style(style(UNKNOWN)),
            };
            bar.set_message(title.to_owned());
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

const BYTES: &str = "{msg} [{bar:24}] {decimal_bytes} of {decimal_total_bytes}, {eta} left";
const TOKENS: &str = "{msg} [{bar:24}] {pos} of {len} tokens";
const COUNT: &str = "{msg} [{bar:24}] {pos} of {len}";
const UNKNOWN: &str = "{spinner} {msg} {decimal_bytes}";

fn style(template: &str) -> ProgressStyle {
    let style =
        ProgressStyle::with_template(template).expect("the templates above are well formed");
    style.progress_chars("=> ").tick_chars("|/-\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_well_formed() {
        for template in [BYTES, TOKENS, COUNT, UNKNOWN] {
            style(template);
        }
    }
}
