//! decoding.
