//! speck: a terminal chat with a local language model that shows, while the answer streams, what
//! speculative decoding is worth on this machine.
//!
//! Start reading at [`decoding::Decoder`], the loop that everything else serves, then
//! [`strategy::Strategy`] and [`engine::protocol`]. docs/ARCHITECTURE.md has the map.

pub mod cli;
pub mod config;

pub mod cancel;
pub mod clean;
pub mod clock;
pub mod cpu;
pub mod files;
pub mod measure;
pub mod model;
pub mod sampling;
pub mod strategy;

pub mod decoding;

pub mod engine;
pub mod session;
pub mod stats;

pub mod bench;

pub mod app;
pub mod ui;

pub mod terminal;

pub mod commands;
