//! The dialect of a flat file: its delimiter, quote, escape and other settings.

use std::fmt;

use crate::fixed_width::{FixedWidth, RecordEnd};
use crate::short_text::ShortText;
use crate::terminator::Terminator;

/// The way in which a special byte is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Escape {
    /// No escape.
    None,
    /// Inside a quoted field, the quote is doubled (RFC 4180).
    DoubledQuote,
    /// This byte escapes the next one. In a dialect without quotes it works anywhere, and the letters of COPY's text
    /// form (`\n`, `\t`, ...) have their meaning; in a dialect with quotes it works only inside quoted fields, and the
    /// next byte is kept unchanged.
    Byte(u8),
}

/// The blanks (spaces and tabs) around an unquoted field that are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DialectTrim {
    /// None are removed.
    #[default]
    None,
    /// Blanks before the text.
    Start,
    /// Blanks after the text.
    End,
    /// Blanks before and after the text.
    Both,
}

/// The treatment of a record with too few fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingFields {
    /// It is rejected.
    #[default]
    Reject,
    /// The missing fields are NULL.
    Null,
}

/// The treatment of a record with too many fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExtraFields {
    /// It is rejected.
    #[default]
    Reject,
    /// The fields after the last column are ignored.
    Ignore,
}

/// The form of a flat file.
///
/// A quote opens a quoted field only as the first byte of that field, and a quoted field may contain delimiters and
/// terminators. A quote later in an unquoted field, and text after a closing quote, are faults of their record:
/// programs disagree on their meaning, so none is guessed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// The text between fields.
    pub delimiter: ShortText,
    /// Opens and closes a quoted field.
    pub quote: Option<u8>,
    /// The way in which special bytes are escaped.
    pub escape: Escape,
    /// Ends every record.
    pub terminator: Terminator,
    /// A line that begins with this byte, where a record would begin, is skipped up to the next terminator, with any
    /// bytes in it, and counted.
    pub comment: Option<u8>,
    /// Every record ends with one more delimiter, as dbgen writes it.
    pub trailing_delimiter: bool,
    /// The number of lines at the beginning of a file that are not records. The scanner does not know where a file
    /// begins, so its caller skips them.
    pub skip_lines: u32,
    /// The first record of a file names the fields.
    pub header: bool,
    /// The texts that stand for NULL, compared with the field as it is written, trimmed but
    /// not unescaped.
    pub nulls: Vec<String>,
    /// A quoted field whose text is one of `nulls` is NULL too, as under COPY's FORCE_NULL; otherwise a quoted field is
    /// never NULL.
    pub null_quoted: bool,
    /// The blanks around unquoted fields that are removed.
    pub trim: DialectTrim,
    /// The treatment of records with too few fields.
    pub missing_fields: MissingFields,
    /// The treatment of records with too many fields.
    pub extra_fields: ExtraFields,
    /// Fields are at declared positions, and there is no delimiter.
    pub fixed: Option<FixedWidth>,
    /// An empty line is a record of one empty field, as in a file of one column. Otherwise, or if it lacks the trailing
    /// delimiter of the dialect, it is counted and skipped.
    pub blank_lines_are_records: bool,
    /// The most bytes of a record. A longer record is refused, so that an unclosed quote does not include the rest of a
    /// file.
    pub record_bytes_max: usize,
}

/// Why a dialect cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectError {
    /// The wrong setting.
    pub setting: &'static str,
    /// The problem and the fix.
    pub reason: String,
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl std::error::Error for DialectError {}

/// The smallest `record_bytes_max`: with a smaller one, ordinary rows would be refused.
pub const RECORD_BYTES_MAX_LEAST: usize = 1 << 10;

/// The largest `record_bytes_max`: a whole record is kept in memory, and positions in a chunk are 32 bits wide.
pub const RECORD_BYTES_MAX_GREATEST: usize = 1 << 30;

impl Dialect {
    /// dbgen's `.tbl`: `|`, a trailing delimiter, no quotes, no escapes; an empty field is NULL.
    pub fn tbl() -> Dialect {
        Dialect {
            delimiter: ShortText::byte(b'|'),
            quote: None,
            escape: Escape::None,
            terminator: Terminator::Any,
            comment: None,
            trailing_delimiter: true,
            skip_lines: 0,
            header: false,
            nulls: vec![String::new()],
            null_quoted: false,
            trim: DialectTrim::None,
            missing_fields: MissingFields::Reject,
            extra_fields: ExtraFields::Reject,
            fixed: None,
            blank_lines_are_records: false,
            record_bytes_max: 16 << 20,
        }
    }

    /// RFC 4180 with a header; an empty unquoted field is NULL, `""` is an empty text.
    pub fn csv() -> Dialect {
        Dialect {
            delimiter: ShortText::byte(b','),
            quote: Some(b'"'),
            escape: Escape::DoubledQuote,
            trailing_delimiter: false,
            header: true,
            ..Dialect::tbl()
        }
    }

    /// The form of COPY's text format and of MySQL's dumps: tab, backslash escapes, `\N` for NULL. A record `\.` at the
    /// end of the file is COPY's end-of-data marker and is skipped.
    pub fn tsv() -> Dialect {
        Dialect {
            delimiter: ShortText::byte(b'\t'),
            escape: Escape::Byte(b'\\'),
            trailing_delimiter: false,
            nulls: vec!["\\N".to_owned()],
            ..Dialect::tbl()
        }
    }

    /// Fields at declared positions, without quotes and escapes; blanks around them are removed, and a field of only
    /// blanks is NULL.
    pub fn fixed_width(fixed: FixedWidth) -> Dialect {
        Dialect {
            trailing_delimiter: false,
            trim: DialectTrim::Both,
            fixed: Some(fixed),
            ..Dialect::tbl()
        }
    }

    /// The escape byte, if there is one.
    pub(crate) fn escape_byte(&self) -> Option<u8> {
        match self.escape {
            Escape::Byte(byte) => Some(byte),
            Escape::None | Escape::DoubledQuote => None,
        }
    }

    /// The bytes that quote and escape, and how many there are.
    pub(crate) fn specials(&self) -> ([u8; 2], usize) {
        match (self.quote, self.escape_byte()) {
            (None, None) => ([0, 0], 0),
            (Some(byte), None) | (None, Some(byte)) => ([byte, byte], 1),
            (Some(quote), Some(escape)) => ([quote, escape], 2),
        }
    }

    /// True if an empty line is a record.
    pub(crate) fn blank_is_record(&self) -> bool {
        self.blank_lines_are_records && !self.trailing_delimiter
    }

    /// True if a record `\.` is COPY's end-of-data marker, which exists only in COPY's text form.
    pub(crate) fn has_end_marker(&self) -> bool {
        self.quote.is_none() && self.escape == Escape::Byte(b'\\')
    }

    /// The byte that ends a line when the lines of the file are numbered; `None` if lines are counted by the
    /// terminators alone, or by the records if there are no terminators.
    pub fn line_byte(&self) -> Option<u8> {
        match &self.fixed {
            Some(FixedWidth {
                record: RecordEnd::Bytes(_),
                ..
            }) => None,
            _ => self.terminator.line_byte(),
        }
    }

    /// The length of the terminator with which `text` begins; zero if there is none.
    pub fn terminator_bytes_at(&self, text: &[u8]) -> usize {
        match &self.fixed {
            Some(FixedWidth {
                record: RecordEnd::Bytes(_),
                ..
            }) => 0,
            _ => self.terminator.bytes_at(text),
        }
    }

    /// The bytes that end a record when a file is written in this dialect.
    pub fn terminator_written(&self) -> &[u8] {
        match (&self.fixed, &self.terminator) {
            (
                Some(FixedWidth {
                    record: RecordEnd::Bytes(_),
                    ..
                }),
                _,
            ) => b"",
            (_, Terminator::Any | Terminator::Lf) => b"\n",
            (_, Terminator::CrLf) => b"\r\n",
            (_, Terminator::Cr) => b"\r",
            (_, Terminator::Text(text)) => text.as_bytes(),
        }
    }

    /// The number of lines that end in `text`, which is one whole record with its terminator.
    pub fn line_count(&self, text: &[u8]) -> u32 {
        match self.line_byte() {
            Some(line_byte) => text.iter().filter(|byte| **byte == line_byte).count() as u32,
            None => u32::from(!text.is_empty()),
        }
    }

    /// An unquoted field without the blanks that the dialect removes; escaped blanks are kept.
    #[inline]
    pub fn trimmed<'a>(&self, written: &'a [u8]) -> &'a [u8] {
        let (start, end) = match self.trim {
            DialectTrim::None => return written,
            DialectTrim::Start => (true, false),
            DialectTrim::End => (false, true),
            DialectTrim::Both => (true, true),
        };
        let mut text = written;
        while start && let [b' ' | b'\t', rest @ ..] = text {
            text = rest;
        }
        let untrimmed = text;
        while end && let [rest @ .., b' ' | b'\t'] = text {
            text = rest;
        }
        let is_cut = text.len() < untrimmed.len();
        match self.escape {
            Escape::Byte(escape) if is_cut && self.quote.is_none() => {
                // An escape before the first blank makes it an ordinary byte, unless the escape
                // is itself escaped.
                let escapes = text.iter().rev().take_while(|byte| **byte == escape);
                &untrimmed[..text.len() + escapes.count() % 2]
            }
            _ => text,
        }
    }

    /// True if a field of this text, trimmed and not quoted, is NULL.
    #[inline]
    pub fn is_null(&self, text: &[u8]) -> bool {
        self.nulls.iter().any(|null| null.as_bytes() == text)
    }
}
