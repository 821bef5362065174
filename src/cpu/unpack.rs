//! The block formats of GGUF files, read 32 columns at a time.
//!
//! Layouts as in ggml's `ggml-common.h` (MIT), whose names the formats bear.

use anyhow::{Result, bail};
use candle_core::quantized::GgmlDType;
use half::{bf16, f16};

/// Columns of a block.
pub(crate) const BLOCK: usize = 32;

/// One row's block on its way from the file: quants, and what they are multiplied with.
///
/// weight = `scale * quant + extra`; in the form `Q8Half` `extra` is the scale of the last 16 columns.
#[derive(Clone, Copy)]
pub(crate) struct RowBlock {
    pub quants: [i8; BLOCK],
    pub scale: f32,
    pub extra: f32,
}

/// Reads block `index` (of 32 columns) of a row of `dtype`.
pub(super) type ReadBlock = fn(row: &[u8], index: usize) -> RowBlock;

/// The reader for a type.
pub(super) fn reader(dtype: GgmlDType) -> Result<ReadBlock> {
    Ok(match dtype {
        GgmlDType::Q4_0 => q4_0,
        GgmlDType::Q4_1 => q4_1,
        GgmlDType::Q5_0 => q5_0,
        GgmlDType::Q5_1 => q5_1,
        GgmlDType::Q8_0 => q8_0,
        GgmlDType::Q4K => q4_k,
        GgmlDType::Q5K => q5_k,
        GgmlDType::Q6K => q6_k,
        GgmlDType::F32 => {
            |row, index| floats(|i| f32::from_le_bytes(array(row, (index * BLOCK + i) * 4)))
        }
        GgmlDType::F16 => |row, index| {
            floats(|i| f16::from_le_bytes(array(row, (index * BLOCK + i) * 2)).to_f32())
        },
        GgmlDType::BF16 => |row, index| {
            floats(|i| bf16::from_le_bytes(array(row, (index * BLOCK + i) * 2)).to_f32())
        },
        other => bail!("weights of type {other:?} are not supported on the CPU"),
    })
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[at + i])
}

fn half(bytes: &[u8], at: usize) -> f32 {
    f16::from_le_bytes(array(bytes, at)).to_f32()
}

/// Rounds 32 numbers to 8 bits with one scale.
fn floats(value: impl Fn(usize) -> f32) -> RowBlock {
    let values: [f32; BLOCK] = std::array::from_fn(value);
    let largest = values
        .iter()
        .fold(0.0f32, |most, value| most.max(value.abs()));
    // The scale as it will be stored, so that quants are rounded for that one.
    let poison: f32 = values.iter().map(|value| value * 0.0).sum();
    let scale = f16::from_f32(largest / 127.0 + poison).to_f32();
    let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
    let quants = values.map(|value| (value * inverse).round().clamp(-127.0, 127.0) as i8);
    RowBlock {
        quants,
        scale,
        extra: 0.0,
    }
}

/// The nibble of column `i` in 16 bytes: the low ones are columns 0 to 15, the high ones 16 to 31.
fn nibble(bytes: &[u8], i: usize) -> i8 {
    (if i < 16 {
        bytes[i] & 15
    } else {
        bytes[i - 16] >> 4
    }) as i8
}

fn q4_0(row: &[u8], index: usize) -> RowBlock {
    let block = &row[index * 18..][..18];
    let scale = half(block, 0);
    let quants = std::array::from_fn(|i| nibble(&block[2..], i));
    RowBlock {
        quants,
        scale,
        extra: -8.0 * scale,
    }
}

fn q4_1(row: &[u8], index: usize) -> RowBlock {
    let block = &row[index * 20..][..20];
    let quants = std::array::from_fn(|i| nibble(&block[4..], i));
    RowBlock {
        quants,
        scale: half(block, 0),
        extra: half(block, 2),
    }
}

fn q5_0(row: &[u8], index: usize) -> RowBlock {
    let block = &row[index * 22..][..22];
    let fifth = u32::from_le_bytes(array(block, 2));
    let quants =
        std::array::from_fn(|i| (nibble(&block[6..], i) | ((fifth >> i & 1) << 4) as i8) - 16);
    RowBlock {
        quants,
        scale: half(block, 0),
        extra: 0.0,
    }
}

fn q5_1(row: &[u8], index: usize) -> RowBlock {
    let block = &row[index * 24..][..24];
    let fifth = u32::from_le_bytes(array(block, 4));
    let quants = std::array::from_fn(|i| nibble(&block[8..], i) | ((fifth >> i & 1) << 4) as i8);
    RowBlock {
        quants,
        scale: half(block, 0),
        extra: half(block, 2),
    }
}

fn q8_0(row: &[u8], index: usize) -> RowBlock {
    let block = &row[index * 34..][..34];
    let quants = std::array::from_fn(|i| block[2 + i] as i8);
    RowBlock {
        quants,
        scale: half(block, 0),
        extra: 0.0,
    }
}

/// The 6-bit scale and minimum of sub-block `j` in the 12 bytes that hold eight of each.
fn scale_and_minimum(packed: &[u8], j: usize) -> (f32, f32) {
    let (scale, minimum) = if j < 4 {
        (packed[j] & 63, packed[j + 4] & 63)
    } else {
        (
            packed[j + 4] & 15 | packed[j - 4] >> 6 << 4,
            packed[j + 4] >> 4 | packed[j] >> 6 << 4,
        )
    };
    (f32::from(scale), f32::from(minimum))
}

fn q4_k(row: &[u8], index: usize) -> RowBlock {
    let (block, j) = (&row[index / 8 * 144..][..144], index % 8);
    let (scale, minimum) = scale_and_minimum(&block[4..16], j);
    let bytes = &block[16 + j / 2 * 32..][..32];
    let quants = std::array::from_fn(|i| {
        (if j % 2 == 0 {
            bytes[i] & 15
        } else {
            bytes[i] >> 4
        }) as i8
    });
    RowBlock {
        quants,
        scale: half(block, 0) * scale,
        extra: -half(block, 2) * minimum,
    }
}

fn q5_k(row: &[u8], index: usize) -> RowBlock {
    let (block, j) = (&row[index / 8 * 176..][..176], index % 8);
    let (scale, minimum) = scale_and_minimum(&block[4..16], j);
    let fifth = &block[16..48];
    let bytes = &block[48 + j / 2 * 32..][..32];
    let quants = std::array::from_fn(|i| {
        let low = if j % 2 == 0 {
            bytes[i] & 15
        } else {
            bytes[i] >> 4
        };
        (low | (fifth[i] >> j & 1) << 4) as i8
    });
    RowBlock {
        quants,
        scale: half(block, 0) * scale,
        extra: -half(block, 2) * minimum,
    }
}

fn q6_k(row: &[u8], index: usize) -> RowBlock {
    let (block, j) = (&row[index / 8 * 210..][..210], index % 8);
    // Two halves of 128 columns, each of four runs of 32.
    let (part, run) = (j / 4, j % 4);
    let low = &block[part * 64 + run % 2 * 32..][..32];
    let high = &block[128 + part * 32..][..32];
    let scales = &block[192 + part * 8 + run * 2..][..2];
    let quants = std::array::from_fn(|i| {
        let nibble = if run < 2 { low[i] & 15 } else { low[i] >> 4 };
        (nibble | (high[i] >> (2 * run) & 3) << 4) as i8 - 32
    });
    let scale = |i: usize| half(block, 208) * f32::from(scales[i] as i8);
    RowBlock {
        quants,
        scale: scale(0),
        extra: scale(1),
    }
}
