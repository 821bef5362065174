//! commands.

pub mod models;
