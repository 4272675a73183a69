//! A text of a few bytes that separates fields or records.

use std::fmt;

/// The most bytes of a [`ShortText`].
pub const SHORT_TEXT_BYTES_MAX: usize = 8;

/// One to eight bytes: a delimiter, or a custom terminator. It is copied, never allocated.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortText {
    /// The bytes after its length are zero, so that equal texts are equal values.
    bytes: [u8; SHORT_TEXT_BYTES_MAX],
    length: u8,
}

impl ShortText {
    /// A value with these bytes; `None` if there are none or more than eight.
    pub const fn new(text: &[u8]) -> Option<ShortText> {
        if text.is_empty() || text.len() > SHORT_TEXT_BYTES_MAX {
            return None;
        }
        let mut bytes = [0; SHORT_TEXT_BYTES_MAX];
        let mut at = 0;
        while at < text.len() {
            bytes[at] = text[at];
            at += 1;
        }
        Some(ShortText {
            bytes,
            length: text.len() as u8,
        })
    }

    /// A value with one byte.
    pub const fn byte(byte: u8) -> ShortText {
        let mut bytes = [0; SHORT_TEXT_BYTES_MAX];
        bytes[0] = byte;
        ShortText { bytes, length: 1 }
    }

    /// Its bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length as usize]
    }

    /// The number of bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty)] // It never is.
    pub fn len(&self) -> usize {
        self.length as usize
    }

    /// Its first byte.
    #[inline]
    pub fn first(&self) -> u8 {
        self.bytes[0]
    }

    /// Its only byte; `None` if it has several.
    #[inline]
    pub fn only_byte(&self) -> Option<u8> {
        (self.length == 1).then_some(self.bytes[0])
    }

    /// True if `text` begins with it.
    #[inline]
    pub fn begins(&self, text: &[u8]) -> bool {
        text.starts_with(self.as_bytes())
    }
}

/// The text in messages: `'|'`, `"||"`.
impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.only_byte(), str::from_utf8(self.as_bytes())) {
            (Some(byte), Ok(_)) => write!(f, "{:?}", char::from(byte)),
            (_, Ok(text)) => write!(f, "{text:?}"),
            (_, Err(_)) => write!(f, "\"{}\"", self.as_bytes().escape_ascii()),
        }
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<u8> for ShortText {
    fn from(byte: u8) -> ShortText {
        ShortText::byte(byte)
    }
}
