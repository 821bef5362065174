//! Decoding: committed tokens in, committed tokens out; no threads, channels or terminal.
//!
//! [`Decoder::round`] is the loop that speck exists for.

mod decoder;
mod sampler;
mod verify;

#[cfg(test)]
mod tests;

pub use decoder::{Decoder, Prefill, Round};
pub use sampler::argmax;
pub use verify::{Verified, verify};
