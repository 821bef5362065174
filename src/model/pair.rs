//! A target and a draft that share a vocabulary: what is asked for, and what is loaded.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Model;
use super::chat_template::ChatTemplate;
use super::device::{Device, DeviceChoice};
use super::registry::Reference;
use super::tokenizer::Tokenizer;
use crate::engine::protocol::ModelRef;

/// What to load.
#[derive(Clone, Debug)]
pub struct LoadSettings {
    /// The target model.
    pub target: Reference,
    /// The draft model.
    pub draft: DraftChoice,
    /// Tokens that prompt and answer may hold together; 0: as many as the model was trained for, at
    /// most 8192.
    pub context: usize,
    /// Where to compute.
    pub device: DeviceChoice,
    /// Threads of the CPU engine; 0: one for each physical core, on a Mac each performance core.
    pub n_threads: usize,
    /// Use only what is on this machine.
    pub offline: bool,
}

impl LoadSettings {
    /// What the models are called.
    pub fn names(&self) -> ModelRef {
        ModelRef {
            target: self.target.to_string(),
            draft: self.draft.to_string(),
        }
    }

    /// The same for models of these names.
    pub fn of(&self, names: &ModelRef) -> Result<Self> {
        Ok(Self {
            target: Reference::parse(&names.target)?,
            draft: DraftChoice::parse(&names.draft)?,
            ..self.clone()
        })
    }
}

/// The draft model asked for.
#[derive(Clone, Debug)]
pub enum DraftChoice {
    /// The preset's own; for another target the built-in one, if the vocabularies are the same.
    Auto,
    /// None.
    None,
    /// This one.
    Model(Reference),
}

impl DraftChoice {
    /// Reads `auto`, `none` or a reference.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            _ => Reference::parse(text).map(Self::Model),
        }
    }
}

impl Display for DraftChoice {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::None => f.write_str("none"),
            Self::Model(reference) => reference.fmt(f),
        }
    }
}

/// A target and a draft on a device.
pub struct Pair {
    /// The target model.
    pub target: Box<dyn Model>,
    /// The draft model, or why there is none.
    pub draft: Result<Box<dyn Model>, String>,
    /// Where they compute.
    pub device: Device,
    /// What tells the models from others; `None` where they are fake.
    pub identity: Option<Identity>,
    /// Bytes of memory that they need, weights and context.
    pub memory: u64,
    /// What the user should know, each one line.
    pub notes: Vec<String>,
}

/// What tells a pair's models from others: their files and shapes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The target's.
    pub target: String,
    /// The draft's, if there is one.
    pub draft: Option<String>,
}

/// A pair and all that a chat needs with it.
pub struct Loaded {
    /// What they are called, to load them again.
    pub names: ModelRef,
    /// The models.
    pub pair: Pair,
    /// The tokenizer of both.
    pub tokenizer: Arc<Tokenizer>,
    /// The target's chat template.
    pub template: ChatTemplate,
}
