//! The guessed form of a file, in the sniffer's own types. `mapping` translates them into the settings
//! of a package and of the scanner.

use inrush_scan::Dialect;

/// The guessed form of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The delimiter between fields. In a file of one column it is a byte that does not occur.
    pub delimiter: Vec<u8>,
    /// The quote around a field.
    pub quote: Option<u8>,
    /// The way in which special bytes are made ordinary.
    pub escape: FormEscape,
    /// True if every record ends with one more delimiter.
    pub trailing_delimiter: bool,
    /// True if the first record of each file names the fields.
    pub header: bool,
    /// Unquoted texts that mean NULL.
    pub nulls: Vec<String>,
    /// The first byte of lines that are not records.
    pub comment: Option<u8>,
    /// The number of lines at the beginning of each file that are not records.
    pub skip_lines: u32,
    /// True if a record is one field.
    pub is_single_column: bool,
    /// The declared dialect, which has the settings that the sniffer does not guess.
    pub declared: Option<Box<Dialect>>,
}

/// The way in which special bytes are made ordinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormEscape {
    /// No escape.
    None,
    /// The quote is written twice inside a quoted field.
    DoubledQuote,
    /// A backslash before the special byte.
    Backslash,
    /// Another byte before the special byte; only a user can declare it.
    Other(u8),
}

/// A quote and an escape that are tried together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quoting {
    pub quote: Option<u8>,
    pub escape: FormEscape,
}

impl Quoting {
    pub const NONE: Quoting = Quoting {
        quote: None,
        escape: FormEscape::None,
    };
    pub const BACKSLASH: Quoting = Quoting {
        quote: None,
        escape: FormEscape::Backslash,
    };
    pub const DOUBLED: Quoting = Quoting {
        quote: Some(b'"'),
        escape: FormEscape::DoubledQuote,
    };
    /// All pairs that are tried, the most likely first.
    pub const ALL: [Quoting; 6] = [
        Quoting::DOUBLED,
        Quoting {
            quote: Some(b'"'),
            escape: FormEscape::Backslash,
        },
        Quoting {
            quote: Some(b'\''),
            escape: FormEscape::DoubledQuote,
        },
        Quoting {
            quote: Some(b'\''),
            escape: FormEscape::Backslash,
        },
        Quoting::BACKSLASH,
        Quoting::NONE,
    ];
}

impl Form {
    /// A form with this delimiter, without quotes or escapes.
    pub(super) fn of(delimiter: &[u8], quoting: Quoting) -> Form {
        Form {
            delimiter: delimiter.to_vec(),
            quote: quoting.quote,
            escape: quoting.escape,
            trailing_delimiter: false,
            header: false,
            nulls: vec![String::new()],
            comment: None,
            skip_lines: 0,
            is_single_column: false,
            declared: None,
        }
    }

    pub(super) fn quoting(&self) -> Quoting {
        Quoting {
            quote: self.quote,
            escape: self.escape,
        }
    }
}

/// Bytes as they are shown in a sentence.
pub(super) fn shown(bytes: &[u8]) -> String {
    match bytes {
        b"\t" => "a tab".to_owned(),
        b" " => "a blank".to_owned(),
        bytes if bytes.iter().all(|byte| byte.is_ascii_graphic()) => {
            format!("`{}`", String::from_utf8_lossy(bytes))
        }
        bytes => {
            let codes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("the byte 0x{}", codes.join(""))
        }
    }
}
