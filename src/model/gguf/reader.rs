//! A cursor over the bytes of a header: every read is checked against the end of the file.
//!
//! In come bytes nobody has vouched for, out go little-endian numbers and ranges of the file. It
//! allocates nothing, and **no length that the file states is used before it is known to fit**.

use std::ops::Range;

use anyhow::{Result, bail};

/// Reads forward through `bytes`.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Bytes not read yet.
    pub(super) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Skips `n` bytes and returns where they are.
    pub(super) fn skip(&mut self, n: u64) -> Result<Range<usize>> {
        if n > self.remaining() as u64 {
            bail!(
                "the file ends at byte {}, where {n} more bytes should follow byte {}: it is cut short or damaged; \
                 download it again",
                self.bytes.len(),
                self.at
            );
        }
        let start = self.at;
        self.at += n as usize;
        Ok(start..self.at)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let range = self.skip(N as u64)?;
        Ok(self.bytes[range].try_into().expect("a range of N bytes"))
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A string's place: a length of 64 bits, then that many bytes, at most `limit`.
    pub(super) fn string(&mut self, limit: usize) -> Result<Range<usize>> {
        let len = self.u64()?;
        if len > limit as u64 {
            bail!(
                "a string of {len} bytes, where at most {limit} make sense: the file is damaged; download it again"
            );
        }
        self.skip(len)
    }

    /// The name of a key or a tensor: UTF-8, not empty, at most `limit` bytes.
    pub(super) fn name(&mut self, limit: usize) -> Result<&'a str> {
        let range = self.string(limit)?;
        match std::str::from_utf8(&self.bytes[range]) {
            Ok("") => bail!("its name is empty: the file is damaged; download it again"),
            Ok(name) => Ok(name),
            Err(_) => bail!("its name is not UTF-8: the file is damaged; download it again"),
        }
    }
}
