//! A model file that is nowhere: tensors of given shapes, filled with random blocks.
//!
//! For measuring what a model costs before it is downloaded. Tensors of one type share their bytes, so
//! the file takes no more memory than the largest of each type; a decoder that packs its weights
//! holds, and reads, as many bytes as for the real model.

use std::borrow::Cow;
use std::collections::HashMap;

use anyhow::{Result, bail, ensure};
use candle_core::quantized::GgmlDType;
use half::f16;

use super::header::Header;
use super::{Bytes, DATA_ALIGNMENT, GgufFile, TensorInfo};

/// Scale of a block: weights of a few hundredths, as trained ones are.
const SCALE: f32 = 0.002;

impl GgufFile {
    /// A file with the given tensors (name, row-major shape, type) and no metadata.
    pub fn random(name: &str, tensors: Vec<(String, Vec<usize>, GgmlDType)>) -> Result<Self> {
        let mut lengths: Vec<(GgmlDType, usize)> = Vec::new();
        let mut infos = Vec::with_capacity(tensors.len());
        for (name, shape, dtype) in tensors {
            let elements: usize = shape.iter().product();
            ensure!(
                shape
                    .last()
                    .is_some_and(|n| n.is_multiple_of(dtype.block_size())),
                "rows of {name} are not whole blocks of {dtype:?}"
            );
            let n_bytes = elements / dtype.block_size() * dtype.type_size();
            match lengths.iter_mut().find(|(known, _)| *known == dtype) {
                Some((_, longest)) => *longest = n_bytes.max(*longest),
                None => lengths.push((dtype, n_bytes)),
            }
            infos.push((name, shape, dtype, n_bytes));
        }
        let aligned = |n_bytes: usize| n_bytes.next_multiple_of(DATA_ALIGNMENT);
        let total: usize = lengths.iter().map(|&(_, n_bytes)| aligned(n_bytes)).sum();
        let mut bytes = vec![0; DATA_ALIGNMENT + total];
        // A vector of bytes may start at any address.
        let address = bytes.as_ptr().addr();
        let mut start = aligned(address) - address;
        let mut state = 0;
        let mut starts = Vec::new();
        for &(dtype, n_bytes) in &lengths {
            starts.push((dtype, start));
            fill(dtype, &mut bytes[start..start + n_bytes], &mut state)?;
            start += aligned(n_bytes);
        }
        let start_of = |dtype| {
            starts
                .iter()
                .find(|(known, _)| *known == dtype)
                .map_or(0, |s| s.1)
        };
        let tensors: Vec<_> = infos
            .into_iter()
            .map(|(name, shape, dtype, n_bytes)| TensorInfo {
                name,
                shape,
                dtype,
                range: start_of(dtype)..start_of(dtype) + n_bytes,
            })
            .collect();
        let by_name = tensors
            .iter()
            .enumerate()
            .map(|(i, info)| (info.name.clone(), i))
            .collect();
        Ok(Self {
            name: name.to_owned(),
            bytes: Bytes::Memory(Cow::Owned(bytes)),
            header: Header {
                values: HashMap::new(),
                tensors,
                by_name,
            },
        })
    }
}

/// Random quants with fixed scales; f32 is for norms, and 1.
fn fill(dtype: GgmlDType, bytes: &mut [u8], state: &mut u64) -> Result<()> {
    if dtype == GgmlDType::F32 {
        for value in bytes.chunks_exact_mut(4) {
            value.copy_from_slice(&1f32.to_le_bytes());
        }
        return Ok(());
    }
    let scale = |quants: f32| f16::from_f32(SCALE * quants).to_le_bytes();
    // Where a block's f16 scales are, and what they are: quants around 0 by the type or by a minimum.
    let scales = match dtype {
        GgmlDType::Q4_0 | GgmlDType::Q5_0 => vec![(0, scale(1.0))],
        GgmlDType::Q8_0 => vec![(0, scale(1.0 / 8.0))],
        GgmlDType::Q4_1 => vec![(0, scale(1.0)), (2, scale(-7.5))],
        GgmlDType::Q5_1 => vec![(0, scale(0.5)), (2, scale(-7.75))],
        GgmlDType::Q4K | GgmlDType::Q5K => vec![(0, scale(1.0 / 32.0)), (2, scale(7.5 / 32.0))],
        GgmlDType::Q6K => vec![(208, scale(1.0 / 128.0))],
        other => bail!("random weights of type {other:?}"),
    };
    for eight in bytes.chunks_mut(8) {
        eight.copy_from_slice(&split_mix(state).to_le_bytes()[..eight.len()]);
    }
    for block in bytes.chunks_exact_mut(dtype.type_size()) {
        for (at, scale) in &scales {
            block[*at..at + 2].copy_from_slice(scale);
        }
    }
    Ok(())
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_have_their_shape_and_share_their_types_bytes() {
        let tensor = |name: &str, shape: &[usize], dtype| (name.to_owned(), shape.to_vec(), dtype);
        let file = GgufFile::random(
            "random",
            vec![
                tensor("a", &[4, 256], GgmlDType::Q4K),
                tensor("b", &[2, 256], GgmlDType::Q6K),
                tensor("c", &[8, 256], GgmlDType::Q4K),
                tensor("d", &[16], GgmlDType::F32),
            ],
        )
        .unwrap();
        let bytes = |name: &str| file.bytes(file.tensor(name).unwrap());
        for name in ["a", "b", "c", "d"] {
            let address = bytes(name).as_ptr().addr();
            assert!(address.is_multiple_of(DATA_ALIGNMENT), "{name}");
        }
        assert_eq!(bytes("c").len(), 8 * 144);
        assert_eq!(bytes("a"), &bytes("c")[..4 * 144]);
        assert_eq!(bytes("b").len(), 2 * 210);
        assert_eq!(&bytes("d")[..4], &1f32.to_le_bytes());
        assert_ne!(
            bytes("a")[4..100],
            bytes("a")[148..244],
            "quants are random"
        );
    }

    #[test]
    fn a_row_is_whole_blocks() {
        let narrow = vec![("a".to_owned(), vec![4, 100], GgmlDType::Q4K)];
        assert!(GgufFile::random("random", narrow).is_err());
    }
}
