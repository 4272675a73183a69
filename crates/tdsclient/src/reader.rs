//! Reads the bytes of an answer, and checks for their end.

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

    /// True if all bytes have been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The bytes that are not yet read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Passes over bytes.
    pub(crate) fn skip(&mut self, count: usize) -> Result<(), String> {
        self.take(count).map(drop)
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self
            .at
            .checked_add(count)
            .filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            format!(
                "it ends at byte {}, where {count} bytes should follow",
                self.at
            )
        })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        self.take(1).map(|bytes| bytes[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, String> {
        self.take(2)
            .map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, String> {
        self.take(4)
            .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, String> {
        let mut array = [0; 8];
        array.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(array))
    }

    /// Reads a length of two bytes, and returns a reader of this many bytes after it.
    pub(crate) fn counted(&mut self) -> Result<Reader<'a>, String> {
        let length = usize::from(self.u16()?);
        Ok(Reader {
            bytes: self.take(length)?,
            at: 0,
        })
    }

    pub(crate) fn text(&mut self, units: usize) -> Result<String, String> {
        utf16_text(self.take(2 * units)?)
    }
}

/// A text of UTF-16.
pub(crate) fn utf16_text(bytes: &[u8]) -> Result<String, String> {
    let (units, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err("a text of UTF-16 has an odd number of bytes".to_owned());
    }
    // Names in a catalog may have half a surrogate pair.
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    Ok(char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect())
}
