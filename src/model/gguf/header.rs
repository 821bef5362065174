//! The header gate: everything before the weights, read and checked in one pass.
//!
//! In come the bytes of a whole file, out comes a [`Header`] whose every offset is inside it.
//! **Memory is bounded by the size of the file: counts are checked before anything is collected,
//! values are kept as places in the file.** The format is that of the GGUF specification in ggml's
//! documentation, versions 2 and 3.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

use anyhow::{Context, Result, bail};
use candle_core::quantized::GgmlDType;

use super::quote;
use super::reader::Reader;
use super::value::Value;

const MAGIC: &[u8] = b"GGUF";
const DEFAULT_ALIGNMENT: u64 = 32;
/// The format wants a multiple of 8; tensors are read in place, so less would misalign them.
const ALIGNMENTS: Range<u64> = 8..(1 << 16) + 1;
/// Large models have about 2,000 tensors and 60 keys.
const MAX_COUNT: u64 = 1 << 16;
/// The format allows keys of 65,535 bytes and tensor names of 64.
const MAX_NAME_BYTES: usize = 1 << 10;
const MAX_DIMS: u32 = 4;
/// A key has a name of one byte or more, a type and a value.
const MIN_KEY_BYTES: u64 = 8 + 1 + 4 + 1;
/// A tensor has a name of one byte or more, one dimension or more, a type and an offset.
const MIN_TENSOR_BYTES: u64 = 8 + 1 + 4 + 8 + 4 + 8;

/// A tensor of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorInfo {
    /// Its name, as the format's conventions have it: `blk.0.attn_q.weight`.
    pub name: String,
    /// Row-major: `[rows, columns]` for a matrix. One to four dimensions, none of them 0.
    pub shape: Vec<usize>,
    /// How its elements are stored.
    pub dtype: GgmlDType,
    /// Where its bytes are in the file.
    pub(super) range: Range<usize>,
}

impl TensorInfo {
    /// Its size in the file, in bytes.
    pub fn n_bytes(&self) -> usize {
        self.range.len()
    }
}

/// The checked header of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) values: HashMap<String, Value>,
    /// In the order of the file's list.
    pub(super) tensors: Vec<TensorInfo>,
    pub(super) by_name: HashMap<String, usize>,
}

impl Header {
    /// Reads and checks the header of the file with these bytes.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(MAGIC) {
            return Err(not_gguf(bytes));
        }
        let mut reader = Reader::new(bytes);
        reader.skip(MAGIC.len() as u64)?;
        check_version(reader.u32().context("the version")?)?;
        let n_tensors = count(&mut reader, "tensors", MIN_TENSOR_BYTES)?;
        let n_keys = count(&mut reader, "metadata keys", MIN_KEY_BYTES)?;

        let mut values = HashMap::new();
        for index in 0..n_keys {
            let key = reader
                .name(MAX_NAME_BYTES)
                .with_context(|| format!("metadata key {index} of {n_keys}"))?;
            let value =
                Value::read(&mut reader).with_context(|| format!("metadata key {}", quote(key)))?;
            match values.entry(key.to_owned()) {
                Entry::Vacant(entry) => entry.insert(value),
                Entry::Occupied(_) => bail!(
                    "metadata key {} is there twice: the file is damaged",
                    quote(key)
                ),
            };
        }

        let alignment = alignment(&values)?;
        let mut tensors = Vec::new();
        let mut by_name = HashMap::new();
        for index in 0..n_tensors {
            let name = reader
                .name(MAX_NAME_BYTES)
                .with_context(|| format!("tensor {index} of {n_tensors}"))?;
            let tensor = read_tensor(name, &mut reader, alignment)
                .with_context(|| format!("tensor {}", quote(name)))?;
            if by_name.insert(name.to_owned(), tensors.len()).is_some() {
                bail!("tensor {} is there twice: the file is damaged", quote(name));
            }
            tensors.push(tensor);
        }

        let data_start = (reader.position() as u64).next_multiple_of(alignment);
        for tensor in &mut tensors {
            place(tensor, data_start, bytes.len() as u64)
                .with_context(|| format!("tensor {}", quote(&tensor.name)))?;
        }
        check_overlap(&tensors)?;
        Ok(Header {
            values,
            tensors,
            by_name,
        })
    }
}

/// Why a file that does not start with the magic is no model, as well as its first bytes tell.
fn not_gguf(bytes: &[u8]) -> anyhow::Error {
    let start = bytes.trim_ascii_start();
    let what = if bytes.is_empty() {
        "the file is empty: download it again"
    } else if MAGIC.starts_with(bytes) {
        "the file is cut short: download it again"
    } else if start.starts_with(b"version https://git-lfs") {
        "this is a Git LFS pointer, not the model itself: fetch the file with `git lfs pull` or download it"
    } else if start.starts_with(b"<") {
        "this is a web page, not a model: check the address it was downloaded from"
    } else {
        "this is not a GGUF file (it does not start with `GGUF`): give the path of a .gguf file"
    };
    anyhow::anyhow!(what)
}

fn check_version(version: u32) -> Result<()> {
    match version {
        2 | 3 => Ok(()),
        1 => bail!(
            "GGUF version 1 was given up in 2023: convert the model again, or download a newer file"
        ),
        _ if (1..=3).contains(&version.swap_bytes()) => {
            bail!("this is a big-endian GGUF file: download the little-endian one")
        }
        _ => bail!("GGUF version {version} is not one that speck reads (2 and 3)"),
    }
}

/// Reads a count of things that take at least `min_bytes` each.
fn count(reader: &mut Reader, what: &str, min_bytes: u64) -> Result<u64> {
    let count = reader
        .u64()
        .with_context(|| format!("the number of {what}"))?;
    if count > MAX_COUNT {
        bail!(
            "the header states {count} {what}, more than any model has: the file is damaged; download it again"
        );
    }
    if count * min_bytes > reader.remaining() as u64 {
        bail!("the file ends before its {count} {what} do: it is cut short; download it again");
    }
    Ok(count)
}

fn alignment(values: &HashMap<String, Value>) -> Result<u64> {
    let alignment = match values.get("general.alignment") {
        None => DEFAULT_ALIGNMENT,
        Some(Value::Int(value)) => u64::try_from(*value).unwrap_or(0),
        Some(other) => bail!(
            "general.alignment is a {}, not an integer: the file is damaged",
            other.kind_name()
        ),
    };
    if !alignment.is_power_of_two() || !ALIGNMENTS.contains(&alignment) {
        bail!(
            "general.alignment is {alignment}, not a power of two from 8 to 65536: the file is damaged"
        );
    }
    Ok(alignment)
}

/// Reads a tensor's entry. Its range still counts from the start of the data.
fn read_tensor(name: &str, reader: &mut Reader, alignment: u64) -> Result<TensorInfo> {
    let n_dims = reader.u32()?;
    if !(1..=MAX_DIMS).contains(&n_dims) {
        bail!(
            "it has {n_dims} dimensions, not 1 to {MAX_DIMS}: the file is damaged; download it again"
        );
    }
    // The file lists the fastest-running dimension first.
    let dims = (0..n_dims)
        .map(|_| reader.u64())
        .collect::<Result<Vec<_>>>()?;
    let dtype = dtype(reader.u32()?)?;
    let offset = reader.u64()?;

    let n_bytes = n_bytes(&dims, dtype)?;
    if !offset.is_multiple_of(alignment) {
        bail!(
            "it starts at byte {offset} of the data, not at a multiple of {alignment}: the file is damaged"
        );
    }
    let end = offset
        .checked_add(n_bytes)
        .context("its offset is beyond any file: the file is damaged")?;
    Ok(TensorInfo {
        name: name.to_owned(),
        shape: dims.iter().rev().map(|&dim| dim as usize).collect(),
        dtype,
        range: offset as usize..end as usize,
    })
}

/// The bytes of a tensor of these dimensions, fastest-running first.
fn n_bytes(dims: &[u64], dtype: GgmlDType) -> Result<u64> {
    let block = dtype.block_size() as u64;
    if dims.contains(&0) {
        bail!("a dimension is 0 ({dims:?}): the file is damaged; download it again");
    }
    if !dims[0].is_multiple_of(block) {
        bail!(
            "its rows have {} elements, not a multiple of {dtype:?}'s block of {block}: the file is damaged",
            dims[0]
        );
    }
    dims.iter()
        .try_fold(1u64, |product, &dim| product.checked_mul(dim))
        .and_then(|elements| (elements / block).checked_mul(dtype.type_size() as u64))
        .with_context(|| {
            format!("its dimensions {dims:?} are beyond any file: the file is damaged")
        })
}

/// Moves the tensor's range from the start of the data to the start of the file.
fn place(tensor: &mut TensorInfo, data_start: u64, file_len: u64) -> Result<()> {
    let end = data_start.saturating_add(tensor.range.end as u64);
    if end > file_len {
        bail!(
            "it should end at byte {end}, but the file has {file_len} bytes: it is cut short; download it again"
        );
    }
    tensor.range = tensor.range.start + data_start as usize..end as usize;
    Ok(())
}

fn check_overlap(tensors: &[TensorInfo]) -> Result<()> {
    let mut in_order: Vec<_> = tensors.iter().collect();
    in_order.sort_unstable_by_key(|tensor| tensor.range.start);
    for pair in in_order.windows(2) {
        if pair[0].range.end > pair[1].range.start {
            bail!(
                "tensors {} and {} lie on each other: the file is damaged",
                quote(&pair[0].name),
                quote(&pair[1].name)
            );
        }
    }
    Ok(())
}

/// The element type with this number.
///
/// A type that speck cannot compute with fails the whole file: its size is not known here, so
/// neither its place in the file nor its neighbours' could be checked.
fn dtype(id: u32) -> Result<GgmlDType> {
    let unsupported = match id {
        0 => return Ok(GgmlDType::F32),
        1 => return Ok(GgmlDType::F16),
        2 => return Ok(GgmlDType::Q4_0),
        3 => return Ok(GgmlDType::Q4_1),
        6 => return Ok(GgmlDType::Q5_0),
        7 => return Ok(GgmlDType::Q5_1),
        8 => return Ok(GgmlDType::Q8_0),
        12 => return Ok(GgmlDType::Q4K),
        13 => return Ok(GgmlDType::Q5K),
        14 => return Ok(GgmlDType::Q6K),
        30 => return Ok(GgmlDType::BF16),
        9 => "Q8_1",
        10 => "Q2_K",
        11 => "Q3_K",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        20 => "IQ4_NL",
        21 => "IQ3_S",
        22 => "IQ2_S",
        23 => "IQ4_XS",
        24..=27 => "integers",
        28 => "F64",
        29 => "IQ1_M",
        34 => "TQ1_0",
        35 => "TQ2_0",
        39 => "MXFP4",
        _ => "unknown",
    };
    bail!(
        "its type {id} ({unsupported}) is not one that speck reads: take a file in F32, F16, BF16, Q4_0, Q4_1, Q5_0, \
         Q5_1, Q8_0, Q4_K, Q5_K or Q6_K"
    )
}
