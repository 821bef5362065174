//! Weights in the form that the kernels read: 16 rows interleaved, 32 columns to a block.
//!
//! In come the blocks of a model file, out comes one stream of bytes per group of 16 rows, in the
//! order in which a kernel walks it. A block of a group, by form:
//!
//! | form | holds | bytes |
//! |---|---|---|
//! | [`Form::Q4`] | 4-bit quants 0..=15, a scale and a minimum per row | 256 + 32 + 32 |
//! | [`Form::Q8`] | 8-bit quants, a scale per row | 512 + 32 |
//! | [`Form::Q8Min`] | 8-bit quants, a scale and a minimum per row | 512 + 32 + 32 |
//! | [`Form::Q8Half`] | 8-bit quants, a scale per row for each 16 columns | 512 + 32 + 32 |
//!
//! Scales and minimums are f16. A **step** is 4 columns of all 16 rows: 64 bytes, row by row, so one
//! vector register holds whole rows' quadruples, as dot-product instructions want them. `Q4` keeps step
//! `s` in the low nibbles and step `s + 4` in the high nibbles of the same bytes.

use anyhow::{Result, ensure};
use candle_core::quantized::GgmlDType;
use half::f16;
use rayon::prelude::*;

use super::unpack::{self, BLOCK, RowBlock};

/// Rows of a group.
pub(crate) const GROUP: usize = 16;
/// Bytes of a step of 8-bit quants.
pub(crate) const STEP: usize = GROUP * 4;
/// Bytes of one f16 for each row of a group.
const PER_ROW: usize = GROUP * 2;

/// How a block is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// 4 bits with scale and minimum: `Q4_0`, `Q4_1` (exactly), `Q4_K` (scales rounded to f16).
    Q4,
    /// 8 bits with scale: `Q8_0`, `Q5_0` (exactly), `F32`, `F16`, `BF16` (rounded to 8 bits).
    Q8,
    /// 8 bits with scale and minimum: `Q5_1` (exactly), `Q5_K` (scales rounded to f16).
    Q8Min,
    /// 8 bits with a scale for each 16 columns: `Q6_K` (scales rounded to f16).
    Q8Half,
}

impl Form {
    /// The form that takes a file's type; for types that `unpack` reads.
    fn of(dtype: GgmlDType) -> Self {
        match dtype {
            GgmlDType::Q4_0 | GgmlDType::Q4_1 | GgmlDType::Q4K => Self::Q4,
            GgmlDType::Q5_1 | GgmlDType::Q5K => Self::Q8Min,
            GgmlDType::Q6K => Self::Q8Half,
            _ => Self::Q8,
        }
    }

    /// Bytes of a block's quants.
    pub const fn quant_bytes(self) -> usize {
        match self {
            Self::Q4 => 4 * STEP,
            Self::Q8 | Self::Q8Min | Self::Q8Half => 8 * STEP,
        }
    }

    /// Bytes of a block of a group.
    pub const fn block_bytes(self) -> usize {
        self.quant_bytes()
            + match self {
                Self::Q8 => PER_ROW,
                Self::Q4 | Self::Q8Min | Self::Q8Half => 2 * PER_ROW,
            }
    }
}

/// Writes `block` as row `row` of a group's block.
pub(crate) fn put(form: Form, group_block: &mut [u8], row: usize, block: &RowBlock) {
    let (quants, scales) = group_block.split_at_mut(form.quant_bytes());
    for (column, &quant) in block.quants.iter().enumerate() {
        let (step, lane) = (column / 4, column % 4);
        match form {
            Form::Q4 => {
                let shift = if step < 4 { 0 } else { 4 };
                quants[step % 4 * STEP + row * 4 + lane] |= (quant as u8) << shift;
            }
            Form::Q8 | Form::Q8Min | Form::Q8Half => {
                quants[step * STEP + row * 4 + lane] = quant as u8;
            }
        }
    }
    scales[row * 2..][..2].copy_from_slice(&f16::from_f32(block.scale).to_le_bytes());
    if form != Form::Q8 {
        scales[PER_ROW + row * 2..][..2].copy_from_slice(&f16::from_f32(block.extra).to_le_bytes());
    }
}

/// 64 bytes on a line of the cache.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// A matrix of weights `(rows, columns)` in groups of 16 rows; the last group is filled up with zeros.
pub(crate) struct Matrix {
    form: Form,
    rows: usize,
    lines: Vec<Line>,
}

impl Matrix {
    /// Packs the rows of a tensor of a model file; `bytes` are its blocks, row after row.
    pub fn pack(dtype: GgmlDType, bytes: &[u8], rows: usize, columns: usize) -> Result<Self> {
        let read = unpack::reader(dtype)?;
        let form = Form::of(dtype);
        ensure!(rows > 0 && columns > 0, "an empty matrix");
        ensure!(
            columns.is_multiple_of(BLOCK),
            "{columns} columns are not a multiple of {BLOCK}"
        );
        ensure!(
            columns.is_multiple_of(dtype.block_size()),
            "{columns} columns of {dtype:?}"
        );
        let row_bytes = columns / dtype.block_size() * dtype.type_size();
        ensure!(
            bytes.len() == rows * row_bytes,
            "{} bytes for {rows} rows",
            bytes.len()
        );
        let group_bytes = (columns / BLOCK * form.block_bytes()).next_multiple_of(64);
        let mut lines = vec![Line([0; 64]); rows.div_ceil(GROUP) * group_bytes / 64];
        let groups = lines
            .par_chunks_exact_mut(group_bytes / 64)
            .zip(bytes.par_chunks(GROUP * row_bytes));
        groups.for_each(|(lines, bytes)| {
            let group = bytes_mut(lines);
            for (row, bytes) in bytes.chunks_exact(row_bytes).enumerate() {
                for (b, block) in group.chunks_exact_mut(form.block_bytes()).enumerate() {
                    put(form, block, row, &read(bytes, b));
                }
            }
        });
        Ok(Self { form, rows, lines })
    }

    /// Bytes that the rows of a tensor take, packed.
    pub fn packed_bytes(dtype: GgmlDType, rows: usize, columns: usize) -> usize {
        let group = columns.div_ceil(BLOCK) * Form::of(dtype).block_bytes();
        rows.div_ceil(GROUP) * group.next_multiple_of(64)
    }

    /// Bytes that it takes.
    pub fn n_bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    /// Rows, without those that fill up the last group.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How its blocks are stored.
    pub fn form(&self) -> Form {
        self.form
    }

    /// Groups of 16 rows.
    pub fn groups(&self) -> usize {
        self.rows.div_ceil(GROUP)
    }

    /// The blocks of a group.
    pub fn group(&self, index: usize) -> &[u8] {
        let lines = self.lines.len() / self.groups();
        bytes(&self.lines[index * lines..][..lines])
    }

    /// The numbers that row `row` stands for: an embedding.
    pub fn row(&self, row: usize, out: &mut [f32]) {
        let group = self.group(row / GROUP);
        let blocks = group.chunks_exact(self.form.block_bytes());
        for (out, block) in out.chunks_exact_mut(BLOCK).zip(blocks) {
            let RowBlock {
                quants,
                scale,
                extra,
            } = get(self.form, block, row % GROUP);
            for (i, (out, quant)) in out.iter_mut().zip(quants).enumerate() {
                *out = match self.form {
                    Form::Q4 | Form::Q8 | Form::Q8Min => f32::from(quant) * scale + extra,
                    Form::Q8Half if i < BLOCK / 2 => f32::from(quant) * scale,
                    Form::Q8Half => f32::from(quant) * extra,
                };
            }
        }
    }
}

/// Row `row` of a group's block: the inverse of [`put`].
pub(crate) fn get(form: Form, group_block: &[u8], row: usize) -> RowBlock {
    let (quants, scales) = group_block.split_at(form.quant_bytes());
    let half = |at: usize| f16::from_le_bytes([scales[at], scales[at + 1]]).to_f32();
    let quants = std::array::from_fn(|column| {
        let (step, lane) = (column / 4, column % 4);
        match form {
            Form::Q4 => {
                let byte = quants[step % 4 * STEP + row * 4 + lane];
                (if step < 4 { byte & 15 } else { byte >> 4 }) as i8
            }
            Form::Q8 | Form::Q8Min | Form::Q8Half => quants[step * STEP + row * 4 + lane] as i8,
        }
    });
    let extra = match form {
        Form::Q8 => 0.0,
        Form::Q4 | Form::Q8Min | Form::Q8Half => half(PER_ROW + row * 2),
    };
    RowBlock {
        quants,
        scale: half(row * 2),
        extra,
    }
}

fn bytes(lines: &[Line]) -> &[u8] {
    // SAFETY: a line is 64 bytes without padding, of which any value is valid.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), size_of_val(lines)) }
}

fn bytes_mut(lines: &mut [Line]) -> &mut [u8] {
    // SAFETY: as above, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), size_of_val(lines)) }
}
