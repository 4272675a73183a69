//! Text in memory with padding that kernels may read, and whether it is known to be UTF-8.

use arrow_buffer::Buffer;

/// Zero bytes after a text, so that a kernel may load a whole word at the last field without a bounds check.
pub const PADDING_BYTES: usize = 64;

/// A text with its padding. Both cannot be changed from outside, because arrays of views rely on them.
#[derive(Clone, Debug)]
pub struct PaddedText {
    buffer: Buffer,
    bytes_count: usize,
    is_utf8: bool,
}

impl PaddedText {
    /// The first `bytes_count` bytes of a buffer, and the padding after them; the rest is spare memory. The text may be
    /// any bytes; [`check_utf8`](PaddedText::check_utf8) checks whether it is UTF-8.
    ///
    /// # Panics
    ///
    /// If the padding is missing or not all zero, or if text and padding are too long for the offsets of views.
    pub fn new(buffer: impl Into<Buffer>, bytes_count: usize) -> PaddedText {
        let buffer = buffer.into();
        assert!(
            bytes_count + PADDING_BYTES <= i32::MAX as usize,
            "a text is small enough for the offsets of views"
        );
        assert_eq!(
            buffer.get(bytes_count..bytes_count + PADDING_BYTES),
            Some(&[0; PADDING_BYTES][..]),
            "a text has {PADDING_BYTES} zero bytes of padding"
        );
        PaddedText {
            buffer,
            bytes_count,
            is_utf8: false,
        }
    }

    /// A copy of a text.
    pub fn of(text: &[u8]) -> PaddedText {
        let mut bytes = Vec::with_capacity(text.len() + PADDING_BYTES);
        bytes.extend_from_slice(text);
        PaddedText::padding(bytes)
    }

    /// A text; the padding is added here.
    pub fn padding(mut text: Vec<u8>) -> PaddedText {
        let bytes_count = text.len();
        text.resize(bytes_count + PADDING_BYTES, 0);
        PaddedText::new(text, bytes_count)
    }

    /// Checks whether the whole text is UTF-8, and records the result.
    pub fn check_utf8(&mut self) -> bool {
        self.is_utf8 = simdutf8::basic::from_utf8(self.as_slice()).is_ok();
        self.is_utf8
    }

    /// True if all of it is known to be UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// The text.
    pub fn as_slice(&self) -> &[u8] {
        &self.buffer[..self.bytes_count]
    }

    /// The text and its padding.
    pub fn with_padding(&self) -> &[u8] {
        &self.buffer[..self.bytes_count + PADDING_BYTES]
    }

    /// The buffer, without a copy.
    pub fn buffer(&self) -> Buffer {
        self.buffer
            .slice_with_length(0, self.bytes_count + PADDING_BYTES)
    }

    /// Its memory, for another text.
    pub fn into_memory(self) -> Buffer {
        self.buffer
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.bytes_count
    }

    /// True if there is no text.
    pub fn is_empty(&self) -> bool {
        self.bytes_count == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_utf8_when_that_was_seen() {
        for (text, is_utf8) in [
            (&b"gr\xc3\xbcn"[..], true),
            (b"gr\xfcn", false),
            (b"", true),
        ] {
            let mut padded = PaddedText::of(text);
            assert!(!padded.is_utf8());
            assert_eq!(padded.check_utf8(), is_utf8);
            assert_eq!(padded.is_utf8(), is_utf8);
            assert_eq!(padded.as_slice(), text);
            assert_eq!(padded.with_padding().len(), text.len() + PADDING_BYTES);
            assert_eq!(padded.buffer().as_slice(), padded.with_padding());
        }
    }

    #[test]
    fn spare_memory_is_no_part_of_it() {
        let mut memory = vec![0xff; 300];
        memory[3..3 + PADDING_BYTES].fill(0);
        memory[..3].copy_from_slice(b"abc");
        let mut padded = PaddedText::new(memory, 3);
        assert!(padded.check_utf8());
        assert_eq!(padded.buffer().len(), 3 + PADDING_BYTES);
        assert_eq!(padded.into_memory().len(), 300);
    }

    #[test]
    #[should_panic(expected = "zero bytes of padding")]
    fn padding_must_be_there() {
        PaddedText::new(vec![0_u8; 10 + PADDING_BYTES - 1], 10);
    }

    #[test]
    #[should_panic(expected = "zero bytes of padding")]
    fn padding_must_be_zero() {
        PaddedText::new(vec![1_u8; 10 + PADDING_BYTES], 10);
    }
}
