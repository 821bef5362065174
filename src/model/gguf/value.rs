//! Metadata values, kept as places in the file.
//!
//! A number is kept as itself, a string as its range, an array as its element type, count and first
//! byte: **a value takes the same few bytes of memory however long it is in the file.**

use std::ops::Range;

use anyhow::{Result, bail};

use super::reader::Reader;

/// Longest string: chat templates are tens of kilobytes.
const MAX_STRING_BYTES: usize = 1 << 26;
/// Arrays in arrays: no model uses any; the format allows them.
const MAX_ARRAY_DEPTH: usize = 4;

/// The type of a value, with the number that stands for it in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    const ALL: [Kind; 13] = [
        Kind::U8,
        Kind::I8,
        Kind::U16,
        Kind::I16,
        Kind::U32,
        Kind::I32,
        Kind::F32,
        Kind::Bool,
        Kind::String,
        Kind::Array,
        Kind::U64,
        Kind::I64,
        Kind::F64,
    ];

    fn read(reader: &mut Reader) -> Result<Self> {
        let id = reader.u32()?;
        match Self::ALL.get(id as usize) {
            Some(kind) => Ok(*kind),
            None => bail!("value type {id} does not exist: the file is damaged; download it again"),
        }
    }

    /// Bytes of one element; a string has at least its length, an array its type and count.
    fn min_bytes(self) -> u64 {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::String => 8,
            Kind::Array => 12,
        }
    }

    /// The name for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::U8
            | Kind::I8
            | Kind::U16
            | Kind::I16
            | Kind::U32
            | Kind::I32
            | Kind::U64
            | Kind::I64 => "integer",
            Kind::F32 | Kind::F64 => "number",
            Kind::Bool => "boolean",
            Kind::String => "string",
            Kind::Array => "array",
        }
    }
}

/// One metadata value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Int(i128),
    Float(f64),
    Bool(bool),
    String(Range<usize>),
    Array(Array),
}

/// An array's place in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Array {
    pub(super) kind: Kind,
    pub(super) count: usize,
    /// First byte of the first element.
    pub(super) start: usize,
}

impl Value {
    /// Reads a value with its type in front.
    pub(super) fn read(reader: &mut Reader) -> Result<Self> {
        let kind = Kind::read(reader)?;
        Self::read_as(kind, reader, 0)
    }

    /// Reads a value of a known type, nested in `depth` arrays.
    pub(super) fn read_as(kind: Kind, reader: &mut Reader, depth: usize) -> Result<Self> {
        Ok(match kind {
            Kind::U8 => Value::Int(reader.u8()?.into()),
            Kind::I8 => Value::Int(reader.u8()?.cast_signed().into()),
            Kind::U16 => Value::Int(reader.u16()?.into()),
            Kind::I16 => Value::Int(reader.u16()?.cast_signed().into()),
            Kind::U32 => Value::Int(reader.u32()?.into()),
            Kind::I32 => Value::Int(reader.u32()?.cast_signed().into()),
            Kind::U64 => Value::Int(reader.u64()?.into()),
            Kind::I64 => Value::Int(reader.u64()?.cast_signed().into()),
            Kind::F32 => Value::Float(f32::from_bits(reader.u32()?).into()),
            Kind::F64 => Value::Float(f64::from_bits(reader.u64()?)),
            Kind::Bool => match reader.u8()? {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => bail!("a boolean is {other}: the file is damaged; download it again"),
            },
            Kind::String => Value::String(reader.string(MAX_STRING_BYTES)?),
            Kind::Array => Value::Array(Array::read(reader, depth)?),
        })
    }

    /// The name of its type, for people.
    pub(super) fn kind_name(&self) -> &'static str {
        match self {
            Value::Int(_) => Kind::I64.name(),
            Value::Float(_) => Kind::F64.name(),
            Value::Bool(_) => Kind::Bool.name(),
            Value::String(_) => Kind::String.name(),
            Value::Array(_) => Kind::Array.name(),
        }
    }
}

impl Array {
    /// Reads type and count and walks over the elements.
    fn read(reader: &mut Reader, depth: usize) -> Result<Self> {
        if depth == MAX_ARRAY_DEPTH {
            bail!(
                "arrays are nested more than {MAX_ARRAY_DEPTH} deep: the file is damaged; download it again"
            );
        }
        let kind = Kind::read(reader)?;
        let count = reader.u64()?;
        if count.saturating_mul(kind.min_bytes()) > reader.remaining() as u64 {
            bail!(
                "an array of {count} elements does not fit into the {} bytes that are left of the file: it is cut \
                 short or damaged; download it again",
                reader.remaining()
            );
        }
        let start = reader.position();
        match kind {
            Kind::String | Kind::Array | Kind::Bool => {
                for _ in 0..count {
                    Value::read_as(kind, reader, depth + 1)?;
                }
            }
            Kind::U8
            | Kind::I8
            | Kind::U16
            | Kind::I16
            | Kind::U32
            | Kind::I32
            | Kind::F32
            | Kind::U64
            | Kind::I64
            | Kind::F64 => {
                reader.skip(count * kind.min_bytes())?;
            }
        }
        Ok(Array {
            kind,
            count: count as usize,
            start,
        })
    }
}
