//! The tables of the rotary position embedding (Su et al. 2021, arXiv 2104.09864).

use super::hyperparameters::Hyperparameters;

/// Cosines and sines of every position, `(capacity, head size / 2)` each. `factors` divide the
/// frequencies (Llama 3's scaling, stored in its files).
pub(super) fn rotations(
    hyper: &Hyperparameters,
    factors: Option<&[f32]>,
    capacity: usize,
) -> (Vec<f32>, Vec<f32>) {
    let frequencies: Vec<f32> = (0..hyper.head_dim / 2)
        .map(|i| {
            let exponent = 2.0 * i as f32 / hyper.head_dim as f32;
            hyper.rope_base.powf(-exponent) / factors.map_or(1.0, |factors| factors[i])
        })
        .collect();
    (0..capacity)
        .flat_map(|position| {
            frequencies
                .iter()
                .map(move |frequency| position as f32 * frequency)
        })
        .map(|angle| (angle.cos(), angle.sin()))
        .unzip()
}
