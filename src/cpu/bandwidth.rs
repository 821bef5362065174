//! How fast this machine reads memory: the limit of a pass over one row.

use std::time::Instant;

use super::isa::{Isa, for_each_isa};
use crate::cancel::{Cancel, Cancelled};

/// Bytes that are read: more than any cache holds.
const BYTES: usize = 256 << 20;
/// Times that they are read; the median counts.
const ROUNDS: usize = 5;

/// Gigabytes (10⁹ bytes) a second that `n_threads` threads, at least 1, read together, each its own part.
/// The instruction set must be one that this machine has.
pub fn read_bandwidth(isa: Isa, n_threads: usize, cancel: &Cancel) -> Result<f64, Cancelled> {
    assert!(isa.is_here(), "an instruction set that this machine has");
    assert!(n_threads > 0, "at least one thread");
    // Not zeros, which the system may map to one page.
    let words = vec![1u64; BYTES / size_of::<u64>()];
    let mut speeds = Vec::new();
    for _ in 0..ROUNDS {
        cancel.check()?;
        let started = Instant::now();
        std::thread::scope(|scope| {
            for part in words.chunks(words.len().div_ceil(n_threads)) {
                scope.spawn(move || std::hint::black_box(sum(isa, part)));
            }
        });
        speeds.push(BYTES as f64 / 1e9 / started.elapsed().as_secs_f64());
    }
    speeds.sort_by(f64::total_cmp);
    Ok(speeds[ROUNDS / 2])
}

for_each_isa! {
    /// The sum of all words.
    fn sum(words: &[u64]) -> u64 {
        let (chunks, rest) = words.as_chunks::<16>();
        let mut sums = [0u64; 16];
        for chunk in chunks {
            for (sum, word) in sums.iter_mut().zip(chunk) {
                *sum = sum.wrapping_add(*word);
            }
        }
        sums.iter().chain(rest).fold(0, |sum, word| sum.wrapping_add(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read() {
        let words: Vec<u64> = (1..=1000).collect();
        for &isa in Isa::ALL.iter().filter(|isa| isa.is_here()) {
            assert_eq!(sum(isa, &words), 500_500);
        }
    }
}
