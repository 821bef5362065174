//! Decoding: committed tokens in, committed tokens out; no threads, channels or terminal.
//!
//! [`Decoder::round`] is the loop that speck exists for.

mod decoder;
mod verify;

pub use decoder::{Decoder, Prefill, Round};
pub use verify::{Verified, verify};
