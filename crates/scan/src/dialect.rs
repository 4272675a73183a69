//! How a delimited file is written: its delimiter, quote, escape and the rest.

use std::fmt;

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
    /// A line with nothing on it is a record of one empty field, as in a file of one column.
    /// Else, and where a trailing delimiter is missed on it, it is counted and passed over.
    pub blank_lines_are_records: bool,
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

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.setting, self.reason)
    }
}

impl std::error::Error for DialectError {}

/// The least `record_bytes_max`: below it ordinary rows would be refused.
pub const RECORD_BYTES_MAX_LEAST: usize = 1 << 10;

/// The greatest `record_bytes_max`: a whole record is held in memory, and positions in a
/// chunk are 32 bits wide.
pub const RECORD_BYTES_MAX_GREATEST: usize = 1 << 30;

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
            blank_lines_are_records: false,
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
            blank_lines_are_records: false,
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
            blank_lines_are_records: false,
            record_bytes_max: 16 << 20,
        }
    }
    /// Whether a scanner can tell the parts of such a file apart.
    pub fn check(&self) -> Result<(), DialectError> {
        let escape = match self.escape {
            Escape::Byte(byte) => Some(byte),
            Escape::None | Escape::DoubledQuote => None,
        };
        let specials = [
            ("delimiter", Some(self.delimiter)),
            ("quote", self.quote),
            ("escape", escape),
        ];
        for (setting, byte) in specials {
            check_byte(setting, byte)?;
        }
        if self.quote == Some(self.delimiter) {
            return Err(refusal(
                "quote",
                format!("{} is the delimiter too", shown(self.delimiter)),
                "take another byte for one of them, or set the quote to \"\" for none",
            ));
        }
        if escape == Some(self.delimiter) {
            return Err(refusal(
                "escape",
                format!("{} is the delimiter too", shown(self.delimiter)),
                "take another byte for one of them, or set the escape to \"\" for none",
            ));
        }
        match (self.quote, self.escape) {
            (None, Escape::DoubledQuote) => {
                return Err(refusal(
                    "escape",
                    "doubled quotes need a quote, and there is none".to_owned(),
                    "set a quote, or set the escape to \"\" for none",
                ));
            }
            (Some(quote), Escape::Byte(byte)) if quote == byte => {
                return Err(refusal(
                    "escape",
                    format!("{} is the quote too", shown(byte)),
                    "declare the escape as doubled quotes",
                ));
            }
            (None, Escape::Byte(byte)) => {
                // `\n` would mean a line end and an escaped delimiter at once. The server's
                // COPY refuses these too.
                for (setting, byte) in [("delimiter", self.delimiter), ("escape", byte)] {
                    if byte.is_ascii_alphanumeric() {
                        return Err(refusal(
                            setting,
                            format!("{} has a meaning of its own after an escape", shown(byte)),
                            "take a byte that is neither a letter nor a digit",
                        ));
                    }
                }
            }
            _ => {}
        }
        self.check_null()?;
        let sane = RECORD_BYTES_MAX_LEAST..=RECORD_BYTES_MAX_GREATEST;
        if !sane.contains(&self.record_bytes_max) {
            return Err(refusal(
                "record_bytes_max",
                format!("{} is out of range", self.record_bytes_max),
                "set it between 1024 (1 KiB) and 1073741824 (1 GiB)",
            ));
        }
        Ok(())
    }

    /// A marker that no field can be written as would never be found, silently.
    fn check_null(&self) -> Result<(), DialectError> {
        let Some(null) = &self.null else {
            return Ok(());
        };
        let bytes = null.as_bytes();
        if self.quote.is_some_and(|quote| bytes.contains(&quote)) {
            return Err(refusal(
                "null",
                format!("{null:?} holds the quote, and a quoted field is never NULL"),
                "write the marker without quotes",
            ));
        }
        let cannot_stand = |byte: &&u8| [self.delimiter, b'\n', b'\r', 0].contains(*byte);
        if let Some(byte) = bytes.iter().find(cannot_stand) {
            return Err(refusal(
                "null",
                format!("{null:?} holds {}, which no field can", shown(*byte)),
                "take a marker without delimiters, line ends and NUL bytes",
            ));
        }
        Ok(())
    }
}

fn check_byte(setting: &'static str, byte: Option<u8>) -> Result<(), DialectError> {
    match byte {
        Some(byte @ (b'\n' | b'\r')) => Err(refusal(
            setting,
            format!("{} ends a record", shown(byte)),
            "take another byte",
        )),
        Some(0) => Err(refusal(
            setting,
            "a NUL byte cannot stand here".to_owned(),
            "take another byte",
        )),
        Some(byte) if !byte.is_ascii() => Err(refusal(
            setting,
            format!("byte {byte:#04x} is not ASCII"),
            "take one ASCII character: others are more than one byte in UTF-8",
        )),
        _ => Ok(()),
    }
}

fn refusal(setting: &'static str, what: String, mend: &str) -> DialectError {
    DialectError {
        setting,
        reason: format!("{what}; {mend}"),
    }
}

fn shown(byte: u8) -> String {
    format!("{:?}", char::from(byte))
}
