//! The tensors of a model file on their way to a decoder.
//!
//! In come names and the shapes that the hyperparameters ask for, out come bytes and f32 vectors. **A
//! tensor of another shape is an error, and so is one that nobody asked for**: without it the model
//! would write something else. It counts the bytes for the progress bar and stops on request.

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail, ensure};
use candle_core::Device;
use candle_core::quantized::GgmlDType;
use candle_core::quantized::ggml_file::qtensor_from_ggml;

use super::gguf::{GgufFile, TensorInfo, quote};
use super::hyperparameters::Hyperparameters;
use crate::cancel::Cancel;

/// The end of the names of tensors that models run without: rotary frequencies, which follow from
/// their base. Some converters stored them.
const NOT_NEEDED: &str = ".attn_rot_embd.weight";

/// Reads a file's tensors for one decoder.
pub struct Tensors<'a> {
    file: &'a GgufFile,
    cancel: &'a Cancel,
    progress: &'a mut dyn FnMut(u64),
    n_bytes: u64,
    read: HashSet<&'a str>,
    /// The tensor read last, whose bytes are still needed.
    last: Option<&'a TensorInfo>,
}

impl<'a> Tensors<'a> {
    /// The tensors of `file`. `progress` is told the bytes read so far.
    pub fn new(file: &'a GgufFile, cancel: &'a Cancel, progress: &'a mut dyn FnMut(u64)) -> Self {
        Self {
            file,
            cancel,
            progress,
            n_bytes: 0,
            read: HashSet::new(),
            last: None,
        }
    }

    /// The file that they are in.
    pub(super) fn file(&self) -> &'a GgufFile {
        self.file
    }

    /// Bytes read so far.
    pub(super) fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// How a tensor is stored, and its bytes, which are held in memory until the next one is read. An
    /// error when it is missing or of another shape.
    pub(super) fn read(&mut self, name: &str, shape: &[usize]) -> Result<(GgmlDType, &'a [u8])> {
        self.cancel.check()?;
        let info = self.file.tensor(name).with_context(|| {
            format!("the file has no tensor {name}: it is not a whole model of this architecture")
        })?;
        ensure!(
            info.shape == shape,
            "tensor {name} has shape {:?}, but the file's own settings ask for {shape:?}",
            info.shape
        );
        self.read.insert(&info.name);
        if let Some(last) = self.last.replace(info) {
            self.file.release(last);
        }
        let bytes = self.file.bytes(info);
        self.n_bytes += bytes.len() as u64;
        (self.progress)(self.n_bytes);
        Ok((info.dtype, bytes))
    }

    /// A vector of `len` elements, as f32.
    pub(super) fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>> {
        let (dtype, bytes) = self.read(name, &[len])?;
        let tensor = qtensor_from_ggml(dtype, bytes, vec![len], &Device::Cpu)?;
        Ok(tensor.dequantize(&Device::Cpu)?.to_vec1()?)
    }

    /// As [`Self::vector`], where the file has it.
    pub(super) fn optional(&mut self, name: &str, len: usize) -> Result<Option<Vec<f32>>> {
        match self.file.tensor(name) {
            Some(_) => self.vector(name, len).map(Some),
            None => Ok(None),
        }
    }

    /// The weight of the norm of q's or k's heads, where the architecture has one.
    pub(super) fn head_norm(
        &mut self,
        name: &str,
        hyper: &Hyperparameters,
    ) -> Result<Option<Vec<f32>>> {
        hyper
            .architecture
            .norms_heads()
            .then(|| self.vector(name, hyper.head_dim))
            .transpose()
    }

    /// Rows of `output.weight`, the first ids of the vocabulary; `None` where the embedding is the
    /// output head.
    pub(super) fn head_rows(&self, hyper: &Hyperparameters) -> Result<Option<usize>> {
        let Some(info) = self.file.tensor("output.weight") else {
            return Ok(None);
        };
        let rows = info.shape[0];
        ensure!(
            (1..=hyper.vocab).contains(&rows),
            "output.weight has {rows} rows for a vocabulary of {}",
            hyper.vocab
        );
        Ok(Some(rows))
    }

    /// An error where the file has a tensor that was not read.
    pub(super) fn finish(self) -> Result<()> {
        let unread = self.file.tensors().find(|info| {
            !self.read.contains(info.name.as_str()) && !info.name.ends_with(NOT_NEEDED)
        });
        match unread {
            None => Ok(()),
            Some(info) => bail!(
                "speck does not compute with its tensor {}, so it cannot run this model: choose another",
                quote(&info.name)
            ),
        }
    }
}
