//! GGUF files: a memory map behind a gate that checks the whole header before anything is used.
//!
//! In comes a path (or bytes, for the draft inside the binary), out come typed metadata and the bytes
//! of tensors. **After [`GgufFile::open`] every tensor lies inside the file, on no other tensor,
//! aligned, in a type that speck computes with.** Reading the weights costs no copy here.

mod header;
mod random;
mod reader;
mod value;

use std::borrow::Cow;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, anyhow, bail};
use memmap2::{Mmap, UncheckedAdvice};

use header::Header;
pub use header::TensorInfo;
use reader::Reader;
use value::{Array, Value};

/// What a block of any type wants its address to be a multiple of.
const DATA_ALIGNMENT: usize = 8;

/// A model file whose header has been checked.
#[derive(Debug)]
pub struct GgufFile {
    name: String,
    bytes: Bytes,
    header: Header,
}

#[derive(Debug)]
enum Bytes {
    Map(Mmap),
    Memory(Cow<'static, [u8]>),
}

impl Bytes {
    fn as_slice(&self) -> &[u8] {
        match self {
            Bytes::Map(map) => map,
            Bytes::Memory(bytes) => bytes,
        }
    }
}

/// Bytes at an address that tensors can be read from in place: what `include_bytes!` does not give.
///
/// `static FILE: &Aligned<[u8]> = &Aligned(*include_bytes!("…"));`
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Aligned<B: ?Sized>(pub B);

impl GgufFile {
    /// Maps the file at `path` and checks its header. Errors name the file, what is wrong in it and
    /// what to do.
    pub fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let open = || {
            // A pipe or a device would block or never end.
            let metadata = std::fs::metadata(path).map_err(|error| match error.kind() {
                ErrorKind::NotFound => anyhow!(
                    "there is no such file: check the path, or see `speck models list` for the models that \
                     speck fetches itself"
                ),
                _ => error.into(),
            })?;
            if !metadata.is_file() {
                bail!("this is not a file: give the path of a .gguf file");
            }
            if metadata.len() == 0 {
                return Ok(Bytes::Memory(Cow::Borrowed(&[])));
            }
            map(&File::open(path)?).map(Bytes::Map)
        };
        let bytes = open().with_context(|| format!("cannot open the model file {name}"))?;
        Self::check(name, bytes)
    }

    /// Checks the header of a file in memory. `name` is for error messages.
    pub fn from_bytes(name: &str, bytes: impl Into<Cow<'static, [u8]>>) -> Result<Self> {
        Self::check(name.to_owned(), Bytes::Memory(bytes.into()))
    }

    fn check(name: String, bytes: Bytes) -> Result<Self> {
        let check = || {
            let slice = bytes.as_slice();
            let header = Header::parse(slice)?;
            if !slice.as_ptr().addr().is_multiple_of(DATA_ALIGNMENT) {
                bail!("its bytes are not aligned in memory: wrap them in `Aligned`");
            }
            Ok(header)
        };
        let header = check().with_context(|| format!("cannot use the model file {name}"))?;
        let file = GgufFile {
            name,
            bytes,
            header,
        };
        if let Some(parts @ 2..) = file.u64("split.count")? {
            return Err(file.error(&format!(
                "it is one of {parts} parts: merge them, or download the model in one file"
            )));
        }
        Ok(file)
    }

    /// The file's name, for people.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What tells this file from others, short of reading it all: its name, its length and, where it lies on
    /// a disk, when it was changed.
    pub fn identity(&self) -> String {
        let changed = match &self.bytes {
            Bytes::Map(_) => std::fs::metadata(&self.name).and_then(|file| file.modified()),
            Bytes::Memory(_) => Ok(SystemTime::UNIX_EPOCH),
        };
        let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).ok();
        let changed = changed.ok().and_then(since).unwrap_or_default();
        let length = self.bytes.as_slice().len();
        format!("{}, {length} bytes, {} ns", self.name, changed.as_nanos())
    }

    /// An error about this file: `problem` says what is wrong and what to do.
    pub fn error(&self, problem: &str) -> anyhow::Error {
        anyhow::anyhow!("cannot use the model file {}: {problem}", self.name)
    }

    /// The string under `key`. An error when it is something else or not UTF-8.
    pub fn str(&self, key: &str) -> Result<Option<&str>> {
        match self.header.values.get(key) {
            None => Ok(None),
            Some(Value::String(range)) => {
                let bytes = &self.bytes.as_slice()[range.clone()];
                let text = std::str::from_utf8(bytes)
                    .map_err(|_| self.error(&format!("{key} is not UTF-8")))?;
                Ok(Some(text))
            }
            Some(other) => Err(self.wrong_type(key, other, "string")),
        }
    }

    /// The integer under `key`, of any width. An error when it is negative or something else.
    pub fn u64(&self, key: &str) -> Result<Option<u64>> {
        match self.header.values.get(key) {
            None => Ok(None),
            Some(Value::Int(value)) => match u64::try_from(*value) {
                Ok(value) => Ok(Some(value)),
                Err(_) => Err(self.error(&format!("{key} is {value}, which is less than 0"))),
            },
            Some(other) => Err(self.wrong_type(key, other, "integer")),
        }
    }

    /// The floating-point number under `key`, of either width. An error when it is something else.
    pub fn f32(&self, key: &str) -> Result<Option<f32>> {
        match self.header.values.get(key) {
            None => Ok(None),
            Some(Value::Float(value)) => Ok(Some(*value as f32)),
            Some(other) => Err(self.wrong_type(key, other, "floating-point number")),
        }
    }

    /// The boolean under `key`. An error when it is something else.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        match self.header.values.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong_type(key, other, "boolean")),
        }
    }

    /// The array of strings under `key`: 16 bytes of memory for each. An error when it is something
    /// else or one is not UTF-8.
    pub fn strings(&self, key: &str) -> Result<Option<Vec<&str>>> {
        let all = self.bytes.as_slice();
        self.array(key, "strings", |value| match value {
            Value::String(range) => std::str::from_utf8(&all[range.clone()]).ok(),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Array(_) => None,
        })
    }

    /// The array of integers under `key`. An error when it is something else or one does not fit.
    pub fn i32s(&self, key: &str) -> Result<Option<Vec<i32>>> {
        self.array(key, "32-bit integers", |value| match value {
            Value::Int(value) => i32::try_from(*value).ok(),
            Value::Float(_) | Value::Bool(_) | Value::String(_) | Value::Array(_) => None,
        })
    }

    /// The number of elements of the array under `key`.
    pub fn array_len(&self, key: &str) -> Result<Option<usize>> {
        Ok(self.find_array(key)?.map(|array| array.count))
    }

    fn find_array(&self, key: &str) -> Result<Option<Array>> {
        match self.header.values.get(key) {
            None => Ok(None),
            Some(Value::Array(array)) => Ok(Some(*array)),
            Some(other) => Err(self.wrong_type(key, other, "array")),
        }
    }

    fn array<T>(
        &self,
        key: &str,
        what: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>> {
        let Some(array) = self.find_array(key)? else {
            return Ok(None);
        };
        let mut reader = Reader::new(&self.bytes.as_slice()[array.start..]);
        let mut elements = Vec::with_capacity(array.count);
        for index in 0..array.count {
            let mut value = Value::read_as(array.kind, &mut reader, 0)?;
            if let Value::String(range) = &mut value {
                *range = range.start + array.start..range.end + array.start;
            }
            let element = convert(&value).ok_or_else(|| {
                self.error(&format!(
                    "{key} is not an array of {what}: element {index} is not one"
                ))
            })?;
            elements.push(element);
        }
        Ok(Some(elements))
    }

    fn wrong_type(&self, key: &str, found: &Value, wanted: &str) -> anyhow::Error {
        self.error(&format!(
            "{key} is of type {}, not {wanted}",
            found.kind_name()
        ))
    }

    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.header
            .by_name
            .get(name)
            .map(|&index| &self.header.tensors[index])
    }

    /// All tensors, in the order of the file's list.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = &TensorInfo> {
        self.header.tensors.iter()
    }

    /// The bytes of a tensor of this file, at an address that its blocks can be read from.
    pub fn bytes(&self, tensor: &TensorInfo) -> &[u8] {
        &self.bytes.as_slice()[tensor.range.clone()]
    }

    /// Tells the system that a tensor's bytes are not needed for now, so that they do not stay in memory
    /// beside what was made of them. They can be read again.
    pub(super) fn release(&self, tensor: &TensorInfo) {
        match &self.bytes {
            Bytes::Map(map) => unload(map, tensor.range.clone()),
            Bytes::Memory(_) => {}
        }
    }

    /// The bytes of all tensors together.
    pub fn weight_bytes(&self) -> u64 {
        self.tensors().map(|tensor| tensor.n_bytes() as u64).sum()
    }
}

#[expect(
    unsafe_code,
    reason = "a map of a file has no safe constructor: it is sound while nobody changes the file; a model file is \
              replaced by renaming, never written in place, and all offsets are checked against the mapped length"
)]
fn map(file: &File) -> Result<Mmap> {
    // SAFETY: see the reason above.
    Ok(unsafe { Mmap::map(file)? })
}

#[expect(
    unsafe_code,
    reason = "this advice takes pages away: those of a read-only map of a file come back as they were"
)]
fn unload(map: &Mmap, range: Range<usize>) {
    // SAFETY: see the reason above. Who reads a page meanwhile reads it from the file again.
    let done =
        unsafe { map.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len()) };
    // It is advice: without it the pages stay until the map is closed.
    drop(done);
}

/// Text from a file, for a message: quoted, control characters escaped, at most 60 characters.
pub(crate) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 60;
    match text.char_indices().nth(MAX_CHARS) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}
