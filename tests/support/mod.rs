//! What tests share.

pub mod gguf_writer;
