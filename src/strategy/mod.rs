//! strategy.
