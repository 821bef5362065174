//! Everything between the operating system and the program: the screen's loop, output without a
//! screen, signals, and the terminal's modes.

mod run;

mod divert;
mod esc;
mod frame;
pub mod guard;
mod signals;

pub mod depth;
pub mod exit;

mod json;
pub mod lines;
pub mod oneshot;
pub mod progress;
pub mod stdout;
mod summary;
mod text;

pub use exit::Exit;
pub use run::run;
