//! Causal attention with grouped heads over the cache, on candle tensors.
//!
//! On the CPU a pass of a few rows attends row by row, each over its own prefix: **a row's result is
//! then the same bits however many rows share the pass.** Longer passes (prefill) use one masked
//! product.

use candle_core::{Device, Result, Tensor};
use candle_nn::ops::softmax_last_dim;

/// Rows up to which the CPU attends row by row: more than a draft and the token before it.
const SINGLE_ROWS: usize = 24;

/// What a pass of `n` rows behind `start` cached tokens must not see: `(n, start + n)`, 0 or minus
/// infinity. `None` where rows are taken one by one.
pub(super) fn causal_mask(start: usize, n: usize, device: &Device) -> Result<Option<Tensor>> {
    if n == 1 || device.is_cpu() && n <= SINGLE_ROWS {
        return Ok(None);
    }
    let total = start + n;
    let mask: Vec<f32> = (0..n)
        .flat_map(|row| {
            (0..total).map(move |column| {
                if column > start + row {
                    f32::NEG_INFINITY
                } else {
                    0.0
                }
            })
        })
        .collect();
    Tensor::from_vec(mask, (n, total), device).map(Some)
}

/// Queries `(heads, n, size)` over keys and values `(kv heads, total, size)` → `(n, heads × size)`.
/// The queries belong to the last `n` of the `total` tokens.
pub(super) fn attend(q: &Tensor, k: &Tensor, v: &Tensor, mask: Option<&Tensor>) -> Result<Tensor> {
    let (heads, n, size) = q.dims3()?;
    let q = (q * (1.0 / (size as f64).sqrt()))?;
    if let Some(mask) = mask {
        return masked(&q, k, v, mask);
    }
    let (kv_heads, total, _) = k.dims3()?;
    let rows = (0..n)
        .map(|row| {
            let seen = total - n + row + 1;
            let q = q
                .narrow(1, row, 1)?
                .reshape((kv_heads, heads / kv_heads, size))?;
            let scores = q.matmul(&k.narrow(1, 0, seen)?.transpose(1, 2)?)?;
            softmax_last_dim(&scores)?
                .matmul(&v.narrow(1, 0, seen)?)?
                .reshape((1, heads * size))
        })
        .collect::<Result<Vec<_>>>()?;
    Tensor::cat(&rows, 0)
}

fn masked(q: &Tensor, k: &Tensor, v: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let (heads, n, size) = q.dims3()?;
    let (kv_heads, total, _) = k.dims3()?;
    let grouped = heads / kv_heads * n;
    // (kv heads, group × n, total)
    let scores = q
        .reshape((kv_heads, grouped, size))?
        .matmul(&k.transpose(1, 2)?)?;
    let scores = scores.reshape((heads, n, total))?.broadcast_add(mask)?;
    let weights = softmax_last_dim(&scores)?.reshape((kv_heads, grouped, total))?;
    let attended = weights
        .matmul(&v.contiguous()?)?
        .reshape((heads, n, size))?;
    attended.transpose(0, 1)?.reshape((n, heads * size))
}
