//! The engine: a thread that owns models, strategy and cache.

pub mod protocol;
