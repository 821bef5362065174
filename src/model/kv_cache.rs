//! The KV cache of the candle decoder: keys and values of every layer, preallocated for the whole
//! context. **Rollback is setting a length**: rows past it are overwritten, never read.

use candle_core::{DType, Device, Result, Tensor};

/// Bytes of one value in the cache.
const VALUE_BYTES: u64 = 4;

/// Keys and values, one tensor each per layer, `(kv heads, capacity, head size)`.
pub(super) struct KvCache {
    layers: Vec<(Tensor, Tensor)>,
    capacity: usize,
    len: usize,
}

impl KvCache {
    /// A cache for `capacity` tokens.
    pub fn new(
        n_layers: usize,
        n_kv_heads: usize,
        head_dim: usize,
        capacity: usize,
        device: &Device,
    ) -> Result<Self> {
        let rows = || Tensor::zeros((n_kv_heads, capacity, head_dim), DType::F32, device);
        let layers = (0..n_layers)
            .map(|_| Ok((rows()?, rows()?)))
            .collect::<Result<_>>()?;
        Ok(Self {
            layers,
            capacity,
            len: 0,
        })
    }

    /// Bytes that a cache of this shape takes.
    pub fn bytes(n_layers: usize, n_kv_heads: usize, head_dim: usize, capacity: usize) -> u64 {
        [n_layers, n_kv_heads, head_dim, capacity]
            .iter()
            .fold(2 * VALUE_BYTES, |product, &factor| {
                product.saturating_mul(factor as u64)
            })
    }

    /// Tokens in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tokens that fit.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes the keys and values `(kv heads, n, head size)` of `n` new tokens behind those in the
    /// cache, and returns the keys and values of all of them. They count once [`Self::advance`] is
    /// called, after the last layer.
    pub fn write(&self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let (all_keys, all_values) = &self.layers[layer];
        all_keys.slice_set(&keys.contiguous()?, 1, self.len)?;
        all_values.slice_set(&values.contiguous()?, 1, self.len)?;
        let n = self.len + keys.dim(1)?;
        Ok((all_keys.narrow(1, 0, n)?, all_values.narrow(1, 0, n)?))
    }

    /// Counts `n` tokens that every layer has written.
    pub fn advance(&mut self, n: usize) {
        self.len += n;
    }

    /// Keeps the first `len` tokens.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}
