//! Reads bytes from a server, and checks for their end.

use crate::error::MetadataError;

/// The bytes that are not yet read.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader of all of these bytes.
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// The number of bytes that have been read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// The next bytes; `of` names the part that they belong to.
    pub(crate) fn take(
        &mut self,
        count: usize,
        of: &'static str,
    ) -> Result<&'a [u8], MetadataError> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| MetadataError::Truncated {
            at: self.bytes.len(),
            wanted: count - rest.len(),
            of,
        })?;
        self.at += count;
        Ok(taken)
    }

    /// The next bytes, as many as fit into the array.
    pub(crate) fn array<const COUNT: usize>(
        &mut self,
        of: &'static str,
    ) -> Result<[u8; COUNT], MetadataError> {
        let mut array = [0; COUNT];
        array.copy_from_slice(self.take(COUNT, of)?);
        Ok(array)
    }

    /// A byte.
    pub(crate) fn byte(&mut self, of: &'static str) -> Result<u8, MetadataError> {
        self.array(of).map(|[byte]| byte)
    }

    /// 16 bits, little-endian.
    pub(crate) fn u16(&mut self, of: &'static str) -> Result<u16, MetadataError> {
        self.array(of).map(u16::from_le_bytes)
    }

    /// 32 bits, little-endian.
    pub(crate) fn u32(&mut self, of: &'static str) -> Result<u32, MetadataError> {
        self.array(of).map(u32::from_le_bytes)
    }
}
