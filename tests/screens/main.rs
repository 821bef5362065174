//! The screen as a user meets it: keys and engine events in, effects and pictures out.
//!
//! The pictures are in `snapshots/`; `cargo insta review` shows what a change does to them.

mod auto;
mod control;
mod keys;
mod limits;
mod markdown;
mod models;
mod pictures;
mod saved;
mod typing;
mod user;
