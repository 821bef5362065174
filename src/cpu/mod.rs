//! The CPU engine: packed weights, integer dot products, and passes whose rows have the same bits
//! however many share them. The only folder with `unsafe` code.
#![expect(
    unsafe_code,
    reason = "vector instructions and buffers shared by the threads of a pass"
)]

mod attention;
pub(crate) mod forward;
mod kernel;
mod matmul;
mod ops;
pub(crate) mod pack;
mod pool;
mod shared;
mod unpack;

#[cfg(test)]
mod tests;

pub use kernel::Isa;
