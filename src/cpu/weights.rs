//! A decoder's shape and its packed weights.

use super::pack::Matrix;

/// The shape of a decoder.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub hidden: usize,
    pub inner: usize,
    pub n_heads: usize,
    pub n_kv_heads: usize,
    pub head_dim: usize,
    pub rms_epsilon: f32,
    /// Whether rotated pairs are half a head apart, rather than neighbours.
    pub rotate_halves: bool,
}

/// The weights of a layer. Norms and biases are f32.
pub(crate) struct Layer {
    pub attention_norm: Vec<f32>,
    pub q: Matrix,
    pub k: Matrix,
    pub v: Matrix,
    pub q_bias: Option<Vec<f32>>,
    pub k_bias: Option<Vec<f32>>,
    pub v_bias: Option<Vec<f32>>,
    /// For each head alike, `(head size)`.
    pub q_norm: Option<Vec<f32>>,
    pub k_norm: Option<Vec<f32>>,
    pub output: Matrix,
    pub feed_forward_norm: Vec<f32>,
    pub gate: Matrix,
    pub up: Matrix,
    pub down: Matrix,
}

/// The weights of a decoder.
pub(crate) struct Weights {
    pub embedding: Matrix,
    pub layers: Vec<Layer>,
    pub norm: Vec<f32>,
    /// The output head, where it is not the embedding.
    pub head: Option<Matrix>,
    /// Cosines and sines, `(capacity, head size / 2)`.
    pub cos: Vec<f32>,
    pub sin: Vec<f32>,
}

impl Weights {
    pub fn head(&self) -> &Matrix {
        self.head.as_ref().unwrap_or(&self.embedding)
    }

    /// Bytes that a pass with logits reads, without the embeddings it looks up.
    pub fn pass_bytes(&self) -> usize {
        let layers = self.layers.iter().flat_map(|layer| {
            let Layer {
                q,
                k,
                v,
                output,
                gate,
                up,
                down,
                ..
            } = layer;
            [q, k, v, output, gate, up, down]
        });
        layers.chain([self.head()]).map(Matrix::n_bytes).sum()
    }
}
