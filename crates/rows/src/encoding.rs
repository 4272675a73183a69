//! Text encodings, by their common names.
//!
//! The tables are those of the WHATWG's Encoding Standard, from `encoding_rs`. Two names have the meaning of databases
//! and not of browsers: `iso-8859-1` (`latin1`) is true Latin-1, which browsers read as Windows-1252; and `us-ascii` is
//! not accepted as a name for Windows-1252, because ASCII is valid UTF-8.

use std::fmt;

use encoding_rs::{
    EncoderResult, Encoding, GB18030, ISO_2022_JP, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE,
    X_USER_DEFINED,
};

use crate::suggest::suggestion;

/// An encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEncoding {
    /// UTF-8: read as it is.
    Utf8,
    /// ISO-8859-1: each byte is the character of its number.
    Latin1,
    /// UTF-16 in the byte order of its mark; without a mark, in the order that the text shows; refused if that is
    /// unclear.
    Utf16,
    /// Any other encoding.
    Table(&'static Encoding),
}

/// Names that messages list and that are searched for similar ones: one for each encoding, and other common ones.
const NAMES: [&str; 57] = [
    "UTF-8",
    "UTF-16",
    "UTF-16LE",
    "UTF-16BE",
    "ISO-8859-1",
    "latin1",
    "windows-1252",
    "cp1252",
    "windows-1250",
    "windows-1251",
    "windows-1253",
    "windows-1254",
    "windows-1255",
    "windows-1256",
    "windows-1257",
    "windows-1258",
    "windows-874",
    "ISO-8859-2",
    "ISO-8859-3",
    "ISO-8859-4",
    "ISO-8859-5",
    "ISO-8859-6",
    "ISO-8859-7",
    "ISO-8859-8",
    "ISO-8859-8-I",
    "ISO-8859-10",
    "ISO-8859-13",
    "ISO-8859-14",
    "ISO-8859-15",
    "ISO-8859-16",
    "latin2",
    "latin9",
    "IBM866",
    "KOI8-R",
    "KOI8-U",
    "macintosh",
    "x-mac-cyrillic",
    "GBK",
    "GB2312",
    "GB18030",
    "Big5",
    "Big5-HKSCS",
    "EUC-JP",
    "ISO-2022-JP",
    "Shift_JIS",
    "Shift-JIS",
    "SJIS",
    "windows-31j",
    "cp932",
    "cp936",
    "cp949",
    "cp950",
    "cp1250",
    "cp1251",
    "EUC-KR",
    "UHC",
    "TIS-620",
];

/// Common names that the standard does not have.
const ALIASES: [(&str, &str); 11] = [
    ("latin9", "iso-8859-15"),
    ("latin-9", "iso-8859-15"),
    ("latin-2", "iso-8859-2"),
    ("cp932", "shift_jis"),
    ("cp936", "gbk"),
    ("cp949", "euc-kr"),
    ("uhc", "euc-kr"),
    ("cp950", "big5"),
    ("cp874", "windows-874"),
    ("eucjp", "euc-jp"),
    ("euckr", "euc-kr"),
];

/// An unknown name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownEncoding {
    /// Why it is not accepted.
    pub cause: String,
    /// The name to write instead.
    pub mend: String,
}

impl TextEncoding {
    /// The encoding of a name, in any case.
    pub fn parse(name: &str) -> Result<TextEncoding, UnknownEncoding> {
        let wanted = name.trim().to_ascii_lowercase();
        let known = ALIASES.iter().find(|(alias, _)| *alias == wanted);
        let wanted = known.map_or(wanted.as_str(), |(_, standard)| standard);
        match wanted {
            "latin1" | "latin-1" | "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "iso88591"
            | "l1" | "cp819" | "ibm819" => return Ok(TextEncoding::Latin1),
            "utf-16" | "utf16" => return Ok(TextEncoding::Utf16),
            "utf-16be" | "utf16be" | "utf-16-be" => return Ok(TextEncoding::Table(UTF_16BE)),
            "utf-16le" | "utf16le" | "utf-16-le" => return Ok(TextEncoding::Table(UTF_16LE)),
            "ascii" | "us-ascii" => {
                return Err(UnknownEncoding {
                    cause: "ASCII is UTF-8 already, and this name does not define other bytes"
                        .to_owned(),
                    mend: "leave the setting out, or write windows-1252 or iso-8859-1".to_owned(),
                });
            }
            _ if wanted.starts_with("utf-32") || wanted.starts_with("utf32") => {
                return Err(UnknownEncoding {
                    cause: "UTF-32 is not read".to_owned(),
                    mend: "write the files again with: iconv -f UTF-32 -t UTF-8".to_owned(),
                });
            }
            "utf-7" | "utf7" | "unicode-1-1-utf-7" | "x-unicode20utf7" | "utf-7-imap" => {
                return Err(UnknownEncoding {
                    cause: "UTF-7 is not read".to_owned(),
                    mend: "write the files again with: iconv -f UTF-7 -t UTF-8".to_owned(),
                });
            }
            _ => {}
        }
        match Encoding::for_label(wanted.as_bytes()) {
            Some(table) if table == UTF_8 => Ok(TextEncoding::Utf8),
            Some(table) if table != REPLACEMENT && table != X_USER_DEFINED => {
                Ok(TextEncoding::Table(table))
            }
            _ => Err(UnknownEncoding {
                cause: "Inrush does not know this encoding".to_owned(),
                mend: match suggestion(name, NAMES) {
                    Some(near) => format!("write {near}"),
                    None => "write a name such as windows-1252, iso-8859-1, utf-16, shift_jis or \
                             gb18030"
                        .to_owned(),
                },
            }),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TextEncoding::Utf8 => "UTF-8",
            TextEncoding::Latin1 => "ISO-8859-1",
            TextEncoding::Utf16 => "UTF-16",
            TextEncoding::Table(table) => table.name(),
        }
    }

    /// True if each character has two or four bytes.
    pub fn is_utf16(self) -> bool {
        match self {
            TextEncoding::Utf16 => true,
            TextEncoding::Table(table) => table == UTF_16LE || table == UTF_16BE,
            TextEncoding::Utf8 | TextEncoding::Latin1 => false,
        }
    }

    /// A text in this encoding. Characters that the encoding does not have are left out.
    pub fn encode(self, text: &str) -> Vec<u8> {
        let units = || text.encode_utf16();
        match self {
            TextEncoding::Utf8 => text.as_bytes().to_vec(),
            TextEncoding::Latin1 => text
                .chars()
                .filter_map(|one| u8::try_from(u32::from(one)).ok())
                .collect(),
            TextEncoding::Table(table) if table == UTF_16BE => {
                units().flat_map(u16::to_be_bytes).collect()
            }
            _ if self.is_utf16() => units().flat_map(u16::to_le_bytes).collect(),
            TextEncoding::Utf16 => unreachable!("it is UTF-16"),
            TextEncoding::Table(table) => {
                let mut encoder = table.new_encoder();
                let room = encoder
                    .max_buffer_length_from_utf8_without_replacement(text.len())
                    .expect("a text is not half of all memory");
                let mut encoded = Vec::with_capacity(room);
                let mut rest = text;
                loop {
                    let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(
                        rest,
                        &mut encoded,
                        true,
                    );
                    rest = &rest[read..];
                    if !matches!(result, EncoderResult::Unmappable(_)) {
                        return encoded;
                    }
                }
            }
        }
    }

    /// The bytes at the beginning of a file that identify this encoding without a declaration; empty if only a
    /// declaration can.
    pub fn mark(self) -> &'static [u8] {
        match self {
            TextEncoding::Table(table) if table == UTF_16BE => b"\xfe\xff",
            TextEncoding::Table(table) if table == GB18030 => b"\x84\x31\x95\x33",
            _ if self.is_utf16() => b"\xff\xfe",
            _ => b"",
        }
    }

    /// True if each character has one byte.
    pub fn is_single_byte(self) -> bool {
        match self {
            TextEncoding::Latin1 => true,
            TextEncoding::Table(table) => table.is_single_byte() && table != ISO_2022_JP,
            TextEncoding::Utf8 | TextEncoding::Utf16 => false,
        }
    }
}

impl fmt::Display for TextEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_shown_is_known() {
        for name in NAMES {
            for name in [name.to_owned(), name.to_lowercase(), format!(" {name} ")] {
                assert!(TextEncoding::parse(&name).is_ok(), "{name}");
            }
        }
    }

    #[test]
    fn texts_are_written_in_their_encoding() {
        for (name, expected) in [
            ("utf-8", b"\xc3\xa9,\n".as_slice()),
            ("latin1", b"\xe9,\n"),
            ("windows-1252", b"\xe9,\n"),
            ("utf-16", b"\xe9\0,\0\n\0"),
            ("utf-16le", b"\xe9\0,\0\n\0"),
            ("utf-16be", b"\0\xe9\0,\0\n"),
            ("gb18030", b"\xa8\xa6,\n"),
            // The encoding has no such letter.
            ("shift_jis", b",\n"),
        ] {
            let encoding = TextEncoding::parse(name).expect("known");
            assert_eq!(encoding.encode("\u{e9},\n"), expected, "{name}");
        }
    }

    #[test]
    fn names_mean_what_databases_mean() {
        for (name, expected) in [
            ("utf8", "UTF-8"),
            ("Latin1", "ISO-8859-1"),
            ("ISO-8859-1", "ISO-8859-1"),
            ("windows-1252", "windows-1252"),
            ("CP1252", "windows-1252"),
            ("utf-16", "UTF-16"),
            ("UTF-16le", "UTF-16LE"),
            ("sjis", "Shift_JIS"),
            ("cp932", "Shift_JIS"),
            ("GB18030", "gb18030"),
            ("gb2312", "GBK"),
            ("latin9", "ISO-8859-15"),
        ] {
            let found = TextEncoding::parse(name).map(TextEncoding::name);
            assert_eq!(found, Ok(expected), "{name}");
        }
    }

    #[test]
    fn unknown_names_are_told_with_the_nearest() {
        for (name, expected) in [
            ("windows1252", "write windows-1252"),
            ("shiftjis", "write Shift_JIS"),
            ("win-1252", "write windows-1252"),
            (
                "utf-32",
                "write the files again with: iconv -f UTF-32 -t UTF-8",
            ),
            (
                "klingon",
                "write a name such as windows-1252, iso-8859-1, utf-16, shift_jis or gb18030",
            ),
            (
                "ascii",
                "leave the setting out, or write windows-1252 or iso-8859-1",
            ),
        ] {
            let mend = TextEncoding::parse(name).expect_err(name).mend;
            assert_eq!(mend, expected, "{name}");
        }
    }
}
