//! What the user types: bytes of the terminal → keys and pastes.
//!
//! `reader` waits for bytes on a thread of its own, `decoder` cuts them into characters, sequences and
//! pastes, `keys` knows which key each of them is. crossterm's reader is not used: it waits for the end of a
//! sequence for ever, so that a cut reply of the terminal takes the keyboard away, Ctrl-C too.

mod decoder;
mod keys;
mod reader;

pub use decoder::{Decoder, Input};
pub use reader::{Reader, TimedRead};
