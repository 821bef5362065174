//! Shapes of well-known models, so that their cost can be measured before they are downloaded.
//!
//! The numbers are those of the models' published configurations. Weights are stored as a `Q4_K_M` file
//! has them, nearly: `Q4_K`, with `Q6_K` for embedding and output head, and the next larger plain type
//! where a row is not a multiple of 256; `SmolLM2-135M` as in the default target's file.

use std::fmt::Write as _;

use anyhow::Result;
use candle_core::quantized::GgmlDType;

use super::gguf::GgufFile;
use super::hyperparameters::{Architecture, Hyperparameters};
use super::registry::{Embedded, SMOLLM2_135M_DRAFT};

/// A target and the model that drafts for it.
#[derive(Debug)]
pub struct PairShape {
    /// What it is called on the command line.
    pub name: &'static str,
    pub(super) target: Shape,
    pub(super) draft: DraftShape,
}

/// The model that drafts.
#[derive(Debug)]
pub(super) enum DraftShape {
    /// It is inside this program.
    Embedded(&'static Embedded),
    /// Random weights.
    Random(Shape),
}

/// The shape of a model, and how its weights are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Its name, for people.
    pub title: &'static str,
    architecture: Architecture,
    n_layers: usize,
    hidden: usize,
    feed_forward: usize,
    n_heads: usize,
    n_kv_heads: usize,
    head_dim: usize,
    vocab: usize,
    /// Whether the output head is a matrix of its own.
    has_head: bool,
    weights: GgmlDType,
}

const QWEN2_5_0_5B: Shape = Shape {
    title: "Qwen2.5-0.5B",
    architecture: Architecture::Qwen2,
    n_layers: 24,
    hidden: 896,
    feed_forward: 4864,
    n_heads: 14,
    n_kv_heads: 2,
    head_dim: 64,
    vocab: 151_936,
    has_head: false,
    weights: GgmlDType::Q4K,
};

/// All shapes that are known.
pub static SHAPES: [PairShape; 4] = [
    PairShape {
        name: "smollm2-135m",
        target: Shape {
            title: "SmolLM2-135M",
            architecture: Architecture::Llama,
            n_layers: 30,
            hidden: 576,
            feed_forward: 1536,
            n_heads: 9,
            n_kv_heads: 3,
            head_dim: 64,
            vocab: 49_152,
            has_head: false,
            weights: GgmlDType::Q4_1,
        },
        draft: DraftShape::Embedded(&SMOLLM2_135M_DRAFT),
    },
    PairShape {
        name: "qwen2.5-1.5b",
        target: Shape {
            title: "Qwen2.5-1.5B",
            n_layers: 28,
            hidden: 1536,
            feed_forward: 8960,
            n_heads: 12,
            head_dim: 128,
            ..QWEN2_5_0_5B
        },
        draft: DraftShape::Random(QWEN2_5_0_5B),
    },
    PairShape {
        name: "qwen2.5-7b",
        target: Shape {
            title: "Qwen2.5-7B",
            n_layers: 28,
            hidden: 3584,
            feed_forward: 18_944,
            n_heads: 28,
            n_kv_heads: 4,
            head_dim: 128,
            vocab: 152_064,
            has_head: true,
            ..QWEN2_5_0_5B
        },
        draft: DraftShape::Random(QWEN2_5_0_5B),
    },
    PairShape {
        name: "qwen3-4b",
        target: Shape {
            title: "Qwen3-4B",
            architecture: Architecture::Qwen3,
            n_layers: 36,
            hidden: 2560,
            feed_forward: 9728,
            n_heads: 32,
            n_kv_heads: 8,
            head_dim: 128,
            vocab: 151_936,
            has_head: false,
            weights: GgmlDType::Q4K,
        },
        draft: DraftShape::Random(Shape {
            title: "Qwen3-0.6B",
            architecture: Architecture::Qwen3,
            n_layers: 28,
            hidden: 1024,
            feed_forward: 3072,
            n_heads: 16,
            n_kv_heads: 8,
            head_dim: 128,
            vocab: 151_936,
            has_head: false,
            weights: GgmlDType::Q4K,
        }),
    },
];

/// The names of all shapes.
pub fn names() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.name)
}

/// The shape called `name`.
pub fn find(name: &str) -> Option<&'static PairShape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

impl Shape {
    /// Its hyperparameters.
    pub(super) fn hyperparameters(&self) -> Hyperparameters {
        Hyperparameters {
            architecture: self.architecture,
            n_layers: self.n_layers,
            hidden: self.hidden,
            feed_forward: self.feed_forward,
            n_heads: self.n_heads,
            n_kv_heads: self.n_kv_heads,
            head_dim: self.head_dim,
            rope_base: 1e6,
            rms_epsilon: 1e-6,
            trained_context: 32_768,
            vocab: self.vocab,
        }
    }

    /// A file of this shape with random weights.
    pub(super) fn random_file(&self) -> Result<GgufFile> {
        let &Self {
            hidden,
            feed_forward,
            head_dim,
            vocab,
            ..
        } = self;
        let (q, kv) = (self.n_heads * head_dim, self.n_kv_heads * head_dim);
        let mut tensors = Vec::new();
        let mut add =
            |name: String, shape: &[usize], dtype| tensors.push((name, shape.to_vec(), dtype));
        let outer = match self.weights {
            GgmlDType::Q4K => fitting(GgmlDType::Q6K, hidden),
            _ => GgmlDType::Q8_0,
        };
        add("token_embd.weight".into(), &[vocab, hidden], outer);
        add("output_norm.weight".into(), &[hidden], GgmlDType::F32);
        if self.has_head {
            add("output.weight".into(), &[vocab, hidden], outer);
        }
        let mut name = String::new();
        for layer in 0..self.n_layers {
            let mut part = |part: &str, shape: &[usize]| {
                name.clear();
                let _ = write!(name, "blk.{layer}.{part}");
                let dtype = match *shape {
                    [_, columns] => fitting(self.weights, columns),
                    _ => GgmlDType::F32,
                };
                add(name.clone(), shape, dtype);
            };
            part("attn_norm.weight", &[hidden]);
            part("attn_q.weight", &[q, hidden]);
            part("attn_k.weight", &[kv, hidden]);
            part("attn_v.weight", &[kv, hidden]);
            part("attn_output.weight", &[hidden, q]);
            match self.architecture {
                Architecture::Llama => {}
                Architecture::Qwen2 => {
                    part("attn_q.bias", &[q]);
                    part("attn_k.bias", &[kv]);
                    part("attn_v.bias", &[kv]);
                }
                Architecture::Qwen3 => {
                    part("attn_q_norm.weight", &[head_dim]);
                    part("attn_k_norm.weight", &[head_dim]);
                }
            }
            part("ffn_norm.weight", &[hidden]);
            part("ffn_gate.weight", &[feed_forward, hidden]);
            part("ffn_up.weight", &[feed_forward, hidden]);
            part("ffn_down.weight", &[hidden, feed_forward]);
        }
        GgufFile::random(self.title, tensors)
    }
}

/// The type to store rows of `columns` in.
fn fitting(wanted: GgmlDType, columns: usize) -> GgmlDType {
    match wanted {
        _ if columns.is_multiple_of(wanted.block_size()) => wanted,
        GgmlDType::Q4K => GgmlDType::Q5_0,
        _ => GgmlDType::Q8_0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::cpu::{Cores, Isa};
    use crate::model::cpu_decoder::CpuDecoder;
    use crate::model::tensors::Tensors;

    /// Each shape, cut to one layer and a small vocabulary, loads as a model: nothing is missing, too
    /// much, or of a type that the engine lacks.
    #[test]
    fn every_shape_is_a_whole_model() {
        let drafts = SHAPES.iter().filter_map(|pair| match &pair.draft {
            DraftShape::Embedded(_) => None,
            DraftShape::Random(shape) => Some(shape),
        });
        for shape in SHAPES.iter().map(|pair| &pair.target).chain(drafts) {
            let shape = Shape {
                n_layers: 1,
                vocab: 64,
                ..*shape
            };
            let (file, hyper) = (shape.random_file().unwrap(), shape.hyperparameters());
            let (cancel, mut quiet) = (Cancel::new(), |_| {});
            let tensors = Tensors::new(&file, &cancel, &mut quiet);
            let cores = Cores::new(Isa::Scalar, 1).unwrap();
            let loaded = CpuDecoder::load(shape.title, &hyper, tensors, 64, &cores);
            assert!(
                loaded.is_ok(),
                "{}: {:#}",
                shape.title,
                loaded.err().unwrap()
            );
        }
    }
}
