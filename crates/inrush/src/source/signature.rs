//! What the first bytes of a file say: a byte order mark, another encoding, another kind of
//! file.

use encoding_rs::{GB18030, UTF_16BE, UTF_16LE};

use crate::encoding::TextEncoding;

/// First bytes that are looked at.
pub(super) const SIGNATURE_BYTES: usize = 10;

/// What the first bytes of a text say of its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Nothing.
    Unmarked,
    /// A byte order mark of so many bytes.
    Marked(TextEncoding, usize),
    /// No mark, but ASCII characters in two bytes each.
    LikeUtf16(TextEncoding),
    /// Four bytes a character, which is not read.
    Utf32(&'static str),
}

/// Looks at the first bytes of a text.
pub(super) fn beginning(text: &[u8]) -> Beginning {
    match text {
        [0xff, 0xfe, 0, 0, ..] => Beginning::Utf32("UTF-32LE"),
        [0, 0, 0xfe, 0xff, ..] => Beginning::Utf32("UTF-32BE"),
        [0xef, 0xbb, 0xbf, ..] => Beginning::Marked(TextEncoding::Utf8, 3),
        [0xff, 0xfe, ..] => Beginning::Marked(TextEncoding::Table(UTF_16LE), 2),
        [0xfe, 0xff, ..] => Beginning::Marked(TextEncoding::Table(UTF_16BE), 2),
        [0x84, 0x31, 0x95, 0x33, ..] => Beginning::Marked(TextEncoding::Table(GB18030), 4),
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => {
            Beginning::LikeUtf16(TextEncoding::Table(UTF_16LE))
        }
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => {
            Beginning::LikeUtf16(TextEncoding::Table(UTF_16BE))
        }
        _ => Beginning::Unmarked,
    }
}

/// The kind of file that is not text, where the first bytes tell one. No text that a table is
/// loaded from begins with these.
pub(super) fn binary_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x1f, 0x8b, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some("zstd"),
        [
            b'B',
            b'Z',
            b'h',
            b'1'..=b'9',
            0x31,
            0x41,
            0x59,
            0x26,
            0x53,
            0x59,
            ..,
        ] => Some("bzip2"),
        [0xfd, b'7', b'z', b'X', ..] => Some("xz"),
        [b'P', b'K', 3, 4, ..] => Some("zip (or an Excel workbook)"),
        [b'P', b'A', b'R', b'1', 0x15, ..] => Some("Parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..] => Some("Arrow IPC"),
        _ => None,
    }
}
