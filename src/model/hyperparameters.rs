//! What a model file says about the model's shape, checked.
//!
//! In comes the metadata of a [`GgufFile`], out come numbers that a decoder can size its tables by.
//! **Every number is in a range that makes sense, and they fit each other.** What the decoder does
//! not do (experts, stretched positions) is an error here, never a silent difference.

use std::fmt::Display;
use std::ops::RangeInclusive;

use anyhow::Result;

use super::gguf::{GgufFile, quote};

/// The architectures that speck can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// Llama, `SmolLM2`, Mistral.
    Llama,
    /// Qwen2 and Qwen2.5: llama with biases on q, k and v.
    Qwen2,
    /// Qwen3, but not its mixtures of experts: llama with an RMS norm of each head of q and k.
    Qwen3,
}

impl Architecture {
    const ALL: [Self; 3] = [Self::Llama, Self::Qwen2, Self::Qwen3];

    /// The name in files, which is also the prefix of its metadata keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }

    /// Whether the rotary position embedding pairs elements half a head apart, rather than neighbours.
    pub(super) fn rotates_halves(self) -> bool {
        match self {
            Self::Llama => false,
            Self::Qwen2 | Self::Qwen3 => true,
        }
    }

    /// Whether each head of q and k goes through an RMS norm before it is rotated.
    pub(super) fn norms_heads(self) -> bool {
        match self {
            Self::Llama | Self::Qwen2 => false,
            Self::Qwen3 => true,
        }
    }
}

/// The shape of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperparameters {
    /// Its architecture.
    pub architecture: Architecture,
    /// Number of layers.
    pub n_layers: usize,
    /// Width of the residual stream.
    pub hidden: usize,
    /// Width of the feed-forward network.
    pub feed_forward: usize,
    /// Number of query heads; a multiple of `n_kv_heads`.
    pub n_heads: usize,
    /// Number of key and value heads.
    pub n_kv_heads: usize,
    /// Width of a head, even; all of it is rotated.
    pub head_dim: usize,
    /// Base of the rotary position embedding's wavelengths.
    pub rope_base: f32,
    /// Epsilon of the RMS norms.
    pub rms_epsilon: f32,
    /// Tokens of context that the model was trained on.
    pub trained_context: usize,
    /// Number of token ids: rows of the embedding.
    pub vocab: usize,
}

impl Hyperparameters {
    /// Reads and checks the hyperparameters of a file. Errors name the key.
    pub fn from_gguf(file: &GgufFile) -> Result<Self> {
        let architecture = architecture(file)?;
        let keys = Keys {
            file,
            prefix: architecture.as_str(),
        };

        let n_layers = keys.required("block_count", 1..=1024)?;
        let hidden = keys.required("embedding_length", 2..=1 << 16)?;
        let feed_forward = keys.required("feed_forward_length", 1..=1 << 20)?;
        let n_heads = keys.required("attention.head_count", 1..=1024)?;
        let n_kv_heads = keys
            .integer("attention.head_count_kv", 1..=1024)?
            .unwrap_or(n_heads);
        if !n_heads.is_multiple_of(n_kv_heads) {
            return Err(keys.error(
                "attention.head_count",
                n_heads,
                &format!("not a multiple of {n_kv_heads} KV heads"),
            ));
        }
        let head_dim = head_dim(&keys, hidden, n_heads)?;
        let trained_context = keys.required("context_length", 1..=1 << 27)?;
        // Within the window, attention with a window is attention without one.
        let window = keys
            .integer("attention.sliding_window", 1..=1 << 27)?
            .unwrap_or(trained_context);
        if let Some(experts @ 1..) = keys.integer("expert_count", 0..=1 << 16)? {
            return Err(keys.error(
                "expert_count",
                experts,
                "but speck does not run mixtures of experts",
            ));
        }
        check_rope_scaling(&keys)?;

        Ok(Self {
            architecture,
            n_layers,
            hidden,
            feed_forward,
            n_heads,
            n_kv_heads,
            head_dim,
            rope_base: keys
                .float("rope.freq_base", 1.0..=1e12)?
                .unwrap_or(10_000.0),
            rms_epsilon: match keys.float("attention.layer_norm_rms_epsilon", 1e-12..=1e-1)? {
                Some(epsilon) => epsilon,
                None => return Err(keys.missing("attention.layer_norm_rms_epsilon")),
            },
            trained_context: trained_context.min(window),
            vocab: vocab(file)?,
        })
    }
}

fn architecture(file: &GgufFile) -> Result<Architecture> {
    let Some(name) = file.str("general.architecture")? else {
        return Err(file.error("it does not say general.architecture: it holds no language model"));
    };
    Architecture::ALL
        .into_iter()
        .find(|architecture| architecture.as_str() == name)
        .ok_or_else(|| {
            let known = Architecture::ALL.map(Architecture::as_str).join(", ");
            file.error(&format!(
                "its architecture {} is not one that speck runs ({known})",
                quote(name)
            ))
        })
}

fn head_dim(keys: &Keys, hidden: usize, n_heads: usize) -> Result<usize> {
    let key = "attention.key_length";
    let head_dim = match keys.integer(key, 2..=1024)? {
        Some(head_dim) => head_dim,
        None if hidden.is_multiple_of(n_heads) => hidden / n_heads,
        None => {
            return Err(keys.error(
                "embedding_length",
                hidden,
                &format!("not a multiple of {n_heads} heads"),
            ));
        }
    };
    if !head_dim.is_multiple_of(2) || !(2..=1024).contains(&head_dim) {
        return Err(keys.error(
            "attention.head_count",
            n_heads,
            &format!("which makes heads of {head_dim}, not an even width up to 1024"),
        ));
    }
    for key in ["attention.value_length", "rope.dimension_count"] {
        if let Some(other) = keys
            .integer(key, 0..=1 << 16)?
            .filter(|&other| other != head_dim)
        {
            return Err(keys.error(
                key,
                other,
                &format!("but speck only runs models where it is the heads' width, {head_dim}"),
            ));
        }
    }
    Ok(head_dim)
}

/// Positions may be stretched by the file's own factors (`rope_freqs.weight`), by nothing else.
fn check_rope_scaling(keys: &Keys) -> Result<()> {
    let key = "rope.scaling.type";
    let kind = keys.file.str(&keys.name(key))?.unwrap_or("none");
    if kind != "none" && keys.file.tensor("rope_freqs.weight").is_none() {
        return Err(keys.error(
            key,
            quote(kind),
            "but speck does not scale positions that way",
        ));
    }
    match keys.float("rope.scale_linear", 0.0..=1e6)? {
        None | Some(0.0 | 1.0) => Ok(()),
        Some(scale) => Err(keys.error(
            "rope.scale_linear",
            scale,
            "but speck does not scale positions that way",
        )),
    }
}

fn vocab(file: &GgufFile) -> Result<usize> {
    let name = "token_embd.weight";
    let Some(embedding) = file.tensor(name) else {
        return Err(file.error(&format!(
            "it has no tensor {name}: it holds no language model"
        )));
    };
    let &[rows, _] = embedding.shape.as_slice() else {
        return Err(file.error(&format!(
            "{name} has shape {:?}, not [tokens, width]",
            embedding.shape
        )));
    };
    let tokens = file.array_len("tokenizer.ggml.tokens")?.unwrap_or(rows);
    if tokens > rows || rows > 1 << 24 {
        return Err(file.error(&format!(
            "its vocabulary has {tokens} tokens, but {name} has {rows} rows"
        )));
    }
    Ok(rows)
}

/// The keys of one architecture.
struct Keys<'a> {
    file: &'a GgufFile,
    prefix: &'static str,
}

impl Keys<'_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.prefix)
    }

    fn missing(&self, key: &str) -> anyhow::Error {
        self.file.error(&format!(
            "it does not say {}: the file is damaged or not a language model",
            self.name(key)
        ))
    }

    fn error(&self, key: &str, value: impl Display, problem: &str) -> anyhow::Error {
        self.file
            .error(&format!("{} is {value}, {problem}", self.name(key)))
    }

    fn required(&self, key: &str, range: RangeInclusive<usize>) -> Result<usize> {
        self.integer(key, range)?.ok_or_else(|| self.missing(key))
    }

    fn integer(&self, key: &str, range: RangeInclusive<usize>) -> Result<Option<usize>> {
        let Some(value) = self.file.u64(&self.name(key))? else {
            return Ok(None);
        };
        match usize::try_from(value) {
            Ok(value) if range.contains(&value) => Ok(Some(value)),
            _ => Err(self.error(
                key,
                value,
                &format!("not from {} to {}", range.start(), range.end()),
            )),
        }
    }

    fn float(&self, key: &str, range: RangeInclusive<f32>) -> Result<Option<f32>> {
        let Some(value) = self.file.f32(&self.name(key))? else {
            return Ok(None);
        };
        if range.contains(&value) {
            Ok(Some(value))
        } else {
            Err(self.error(
                key,
                value,
                &format!("not from {:e} to {:e}", range.start(), range.end()),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::gguf_writer::{TinyModel, Value, Writer, tiny_model_writer};

    /// A file of Qwen3's proportions: the heads together are wider than the residual stream.
    fn qwen3(change: impl FnOnce(&mut Writer)) -> Result<Hyperparameters> {
        let mut file = tiny_model_writer(
            1,
            TinyModel {
                architecture: "qwen3",
                head_dim: Some(32),
                context: 40_960,
                ..TinyModel::default()
            },
        );
        file.set("qwen3.rope.freq_base", Value::F32(1e6));
        file.set("qwen3.attention.layer_norm_rms_epsilon", Value::F32(1e-6));
        change(&mut file);
        Hyperparameters::from_gguf(&GgufFile::from_bytes("qwen3.gguf", file.bytes())?)
    }

    #[test]
    fn qwen3_says_its_head_size() {
        let expect = Hyperparameters {
            architecture: Architecture::Qwen3,
            n_layers: 2,
            hidden: 64,
            feed_forward: 96,
            n_heads: 4,
            n_kv_heads: 2,
            head_dim: 32,
            rope_base: 1e6,
            rms_epsilon: 1e-6,
            trained_context: 40_960,
            vocab: 267,
        };
        assert_eq!(qwen3(|_| {}).unwrap(), expect);
        // Files name neither of these where they are the same.
        let same = qwen3(|file| {
            file.remove("qwen3.rope.dimension_count");
            file.remove("qwen3.attention.value_length");
        });
        assert_eq!(same.unwrap(), expect);
        let error = qwen3(|file| _ = file.remove("qwen3.attention.key_length")).unwrap_err();
        assert!(error.to_string().contains("value_length is 32"), "{error}");
    }
}
