//! The CPU engine: packed weights, integer dot products, and passes whose rows have the same bits
//! however many share them. The only folder with `unsafe` code, besides the memory map in `model/gguf`.
#![expect(
    unsafe_code,
    reason = "vector instructions and buffers shared by the threads of a pass"
)]

mod attention;
mod bandwidth;
pub(crate) mod buffers;
pub(crate) mod forward;
mod isa;
mod kernel;
mod lanes;
mod matmul;
mod ops;
pub(crate) mod pack;
mod pool;
mod product;
mod shared;
pub(crate) mod unpack;
pub(crate) mod weights;

#[cfg(test)]
mod tests;

pub use bandwidth::read_bandwidth;
pub use isa::Isa;
pub use product::Product;

use std::sync::{Arc, Mutex};

/// The instruction set and the threads that models compute with; clones share the threads.
#[derive(Clone)]
pub struct Cores {
    isa: Isa,
    n_threads: usize,
    pool: Arc<Mutex<pool::Pool>>,
}

impl Cores {
    /// Starts `n_threads` threads, the caller's among them.
    pub fn new(isa: Isa, n_threads: usize) -> std::io::Result<Self> {
        let pool = Arc::new(Mutex::new(pool::Pool::new(n_threads)?));
        Ok(Self {
            isa,
            n_threads,
            pool,
        })
    }

    /// The instruction set.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.n_threads
    }
}
