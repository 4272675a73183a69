//! What the first bytes of a file say: a byte order mark, another encoding, another kind of
//! file.

/// The mark that some programs put before UTF-8.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// First bytes that are looked at.
pub(super) const SIGNATURE_BYTES: usize = 10;

/// How many bytes of a mark the text begins with.
pub(super) fn utf8_mark_bytes(text: &[u8]) -> usize {
    if text.starts_with(UTF8_MARK) {
        UTF8_MARK.len()
    } else {
        0
    }
}

/// The encoding that is not UTF-8, where the first bytes tell one.
pub(super) fn foreign_encoding(text: &[u8]) -> Option<&'static str> {
    match text {
        [0xff, 0xfe, 0, 0, ..] => Some("UTF-32LE"),
        [0, 0, 0xfe, 0xff, ..] => Some("UTF-32BE"),
        [0xff, 0xfe, ..] => Some("UTF-16LE"),
        [0xfe, 0xff, ..] => Some("UTF-16BE"),
        // Two ASCII characters of UTF-16 without a mark.
        [a, 0, b, 0, ..] if *a != 0 && *b != 0 => Some("UTF-16LE"),
        [0, a, 0, b, ..] if *a != 0 && *b != 0 => Some("UTF-16BE"),
        _ => None,
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
        _ => None,
    }
}
