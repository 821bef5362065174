//! A benchmark of strategies on a pair: the same prompts with each of them, run after run.
//!
//! In come a decoder, prompts and names, out comes a [`Report`]. **Every answer is compared with plain
//! decoding's, token for token**: a speed-up of another text would be worth nothing.

mod contender;
pub mod prompts;
mod report;
mod runner;

pub mod chart;
pub mod table;

pub use contender::Contender;
pub use report::{Machine, Report, Row, Settings, rows};
pub use runner::{Plan, Sample, Samples, run};

#[cfg(test)]
mod tests;
