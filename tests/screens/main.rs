//! The screen as a user meets it: keys and engine events in, effects and pictures out.
//!
//! The pictures are in `snapshots/`; `cargo insta review` shows what a change does to them.

mod auto;
mod bytes;
mod control;
#[path = "../support/hostile.rs"]
mod corpus;
mod hostile;
mod keys;
mod limits;
mod markdown;
mod model_bytes;
mod models;
#[path = "../support/oracle.rs"]
mod oracle;
mod pictures;
mod recorder;
mod saved;
mod states;
mod typing;
mod user;
mod wide;
