//! How a delimited file is written: its delimiter, quote, escape and the rest.

/// How a special byte is made an ordinary one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Escape {
    /// There is none.
    None,
    /// Inside a quoted field the quote is written twice (RFC 4180).
    DoubledQuote,
    /// This byte makes the next one an ordinary one. In a dialect without quotes it
    /// works anywhere and knows the letters of COPY's text form (`\n`, `\t`, ...);
    /// in a dialect with quotes it works inside quoted fields and takes the next byte as it is.
    Byte(u8),
}

/// How a delimited file is written.
///
/// A quote opens a quoted field only as the first byte of that field, and a quoted field may
/// hold delimiters and terminators. A quote later in an unquoted field, and text after a
/// closing quote, are faults of their record: readers disagree on what they mean, so no
/// meaning is guessed. Records end with `\n` or `\r\n`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dialect {
    /// Stands between fields. One ASCII byte.
    pub delimiter: u8,
    /// Opens and closes a quoted field.
    pub quote: Option<u8>,
    /// How special bytes are made ordinary.
    pub escape: Escape,
    /// Every record ends with one more delimiter, as dbgen writes it.
    pub trailing_delimiter: bool,
    /// The first record of a file names the fields.
    pub header: bool,
    /// The text that stands for NULL, compared with the field as it is written, before
    /// unescaping; a quoted field is never NULL.
    pub null: Option<String>,
    /// A record longer than this is refused: one unclosed quote is not a whole file.
    pub record_bytes_max: usize,
}

/// Why a dialect cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DialectError {
    /// The setting that is wrong.
    pub setting: &'static str,
    /// What is wrong with it, and the mend.
    pub reason: String,
}

impl Dialect {
    /// dbgen's `.tbl`: `|`, a trailing delimiter, no quotes, no escapes; an empty field is NULL.
    pub fn tbl() -> Dialect {
        Dialect {
            delimiter: b'|',
            quote: None,
            escape: Escape::None,
            trailing_delimiter: true,
            header: false,
            null: Some(String::new()),
            record_bytes_max: 16 << 20,
        }
    }

    /// RFC 4180 with a header; an empty unquoted field is NULL, `""` is an empty text.
    pub fn csv() -> Dialect {
        Dialect {
            delimiter: b',',
            quote: Some(b'"'),
            escape: Escape::DoubledQuote,
            trailing_delimiter: false,
            header: true,
            null: Some(String::new()),
            record_bytes_max: 16 << 20,
        }
    }

    /// What COPY's text form and MySQL's dumps write: tab, backslash escapes, `\N` for NULL.
    pub fn tsv() -> Dialect {
        Dialect {
            delimiter: b'\t',
            quote: None,
            escape: Escape::Byte(b'\\'),
            trailing_delimiter: false,
            header: false,
            null: Some("\\N".to_owned()),
            record_bytes_max: 16 << 20,
        }
    }
}
