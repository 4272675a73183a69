//! The meaning of a file's first bytes: a byte order mark, another encoding, another kind of file.

use encoding_rs::{GB18030, UTF_16BE, UTF_16LE};
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;

/// How many first bytes are examined.
pub(super) const SIGNATURE_BYTES: usize = 10;
/// How many first bytes of a text are examined: a tar archive is recognized by its first block.
pub(super) const KIND_BYTES: usize = 512;

/// What the first bytes of a text show about its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beginning {
    /// Nothing.
    Unmarked,
    /// A byte order mark of this many bytes.
    Marked(TextEncoding, usize),
    /// No mark, but ASCII characters of two bytes each.
    LikeUtf16(TextEncoding),
    /// Four bytes per character, which is not supported.
    Utf32(&'static str),
}

/// Examines the first bytes of a text.
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

/// The kind of a file that is not text, by its first bytes; `None` for any other file. No text that is loaded begins
/// with these bytes.
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
        [b'P', b'A', b'R', b'E', ..] if has_zero(bytes, 4..12) => Some("encrypted Parquet"),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..] => Some("Arrow IPC"),
        [b'P', b'K', 7, 8, ..] => Some("a part of a split zip archive"),
        [b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c, ..] => Some("a 7z archive"),
        [b'R', b'a', b'r', b'!', 0x1a, 7, ..] => Some("a RAR archive"),
        [0x1f, 0x9d, ..] => Some("compress (.Z)"),
        [0x5d, 0, 0, ..] => Some("raw LZMA (.lzma)"),
        [0x7f, b'E', b'L', b'F', ..] => Some("a program (ELF)"),
        [b'O', b'R', b'C', ..] if has_zero(bytes, 3..bytes.len()) => Some("ORC"),
        [4, 0x22, 0x4d, 0x18, ..] => Some("lz4"),
        [b'L', b'Z', b'I', b'P', 0 | 1, ..] => Some("lzip"),
        [b'%', b'P', b'D', b'F', b'-', b'1' | b'2', b'.', ..] => Some("a PDF document"),
        [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, ..] => {
            Some("an old Excel or Word file (.xls, .doc)")
        }
        [b'O', b'b', b'j', 1, ..] => Some("Avro"),
        [0x89, b'H', b'D', b'F', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("HDF5"),
        _ if bytes.starts_with(b"SQLite format 3\0") => Some("an SQLite database"),
        _ if bytes.get(8..12) == Some(b"DUCK") && has_zero(bytes, 12..20) => {
            Some("a DuckDB database")
        }
        _ if is_cpio(bytes) => Some("a cpio archive"),
        _ if is_tar(bytes) => Some(TAR),
        _ => None,
    }
}

/// The kind of a file that is declared as compressed but is neither compressed in this way nor text.
pub(super) fn unreadable_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x78, flags, ..] if (0x7800 + u16::from(*flags)) % 31 == 0 => {
            Some("zlib, which is gzip without its header")
        }
        _ if bytes.iter().any(|byte| matches!(byte, 0..=8 | 14..=25)) => {
            Some("neither text nor a compression that Inrush knows")
        }
        _ => None,
    }
}

/// The name of a tar archive in messages.
pub(super) const TAR: &str = "a tar archive";

/// True if a text begins with the header of a tar archive's member: 512 bytes that contain their own checksum.
fn is_tar(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..512) else {
        return false;
    };
    let sum: u64 = header
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => u64::from(b' '),
            _ => u64::from(*byte),
        })
        .sum();
    let told = header[148..156]
        .iter()
        .skip_while(|byte| **byte == b' ')
        .map_while(|byte| matches!(byte, b'0'..=b'7').then(|| u64::from(byte - b'0')))
        .fold(0, |sum, digit| sum * 8 + digit);
    // A name, and after it zeros, which no text has.
    header[0] != 0 && header[..100].contains(&0) && told == sum
}

/// True if a text begins with an ASCII cpio header: a magic number and 104 hexadecimal digits, or 70 octal ones.
fn is_cpio(bytes: &[u8]) -> bool {
    let digits = |range: std::ops::Range<usize>, is_digit: fn(&u8) -> bool| {
        bytes
            .get(range)
            .is_some_and(|digits| digits.iter().all(is_digit))
    };
    match bytes {
        [b'0', b'7', b'0', b'7', b'0', b'1' | b'2', ..] => digits(6..110, u8::is_ascii_hexdigit),
        [b'0', b'7', b'0', b'7', b'0', b'7', ..] => {
            digits(6..76, |byte| matches!(byte, b'0'..=b'7'))
                && bytes.get(76).is_some_and(u8::is_ascii_graphic)
        }
        _ => false,
    }
}

/// True if some of the bytes are zeros, which no text has.
fn has_zero(bytes: &[u8], range: std::ops::Range<usize>) -> bool {
    bytes.get(range).is_some_and(|bytes| bytes.contains(&0))
}

/// The fix for a kind of file that is not text.
pub(super) fn unpacking(kind: &str) -> Option<&'static str> {
    Some(match kind {
        TAR => "unpack it (tar -xf FILE) and load the files in it",
        "a 7z archive" => "unpack it (7z x FILE) and load the files in it",
        "a RAR archive" => "unpack it (unrar x FILE) and load the files in it",
        "a cpio archive" => "unpack it (cpio -id < FILE) and load the files in it",
        "a part of a split zip archive" => {
            "join the parts (zip -s 0 FIRST.zip --out WHOLE.zip) and load that"
        }
        "compress (.Z)" => "decompress it (uncompress FILE), or compress it by gzip or zstd",
        "lz4" => "decompress it (lz4 -d FILE), or compress it by gzip or zstd",
        "lzip" => "decompress it (lzip -d FILE), or compress it by xz or zstd",
        "a PDF document" => {
            "ask for the data as CSV: a PDF has no table that could be read exactly"
        }
        "an old Excel or Word file (.xls, .doc)" => "save the sheet as CSV (UTF-8)",
        "raw LZMA (.lzma)" => "decompress it (unlzma FILE), or compress it by xz or zstd",
        "a program (ELF)" => "name the file with the rows",
        "Avro" | "HDF5" | "ORC" => "write it again as Parquet or CSV",
        "an SQLite database" => {
            "write its table as CSV with the sqlite3 command (.mode csv, .headers on, .output)"
        }
        "a DuckDB database" => "write the table as Parquet: COPY t TO 't.parquet'",
        "encrypted Parquet" => "Inrush has no key for it: write it again without encryption",
        _ => return None,
    })
}

/// The first bytes of files with a compression.
pub(super) fn signature(compression: Compression) -> &'static [u8] {
    match compression {
        Compression::None | Compression::Zip => b"",
        Compression::Gzip => &[0x1f, 0x8b],
        Compression::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
        Compression::Bzip2 => b"BZh",
        Compression::Xz => &[0xfd, b'7', b'z', b'X', b'Z', 0],
    }
}

/// The compression of a file by its first bytes.
pub(super) fn compression_by_signature(first: &[u8]) -> Compression {
    match binary_kind(first) {
        Some("gzip") => Compression::Gzip,
        Some("zstd") => Compression::Zstd,
        Some("bzip2") => Compression::Bzip2,
        Some("xz") => Compression::Xz,
        _ => Compression::None,
    }
}
