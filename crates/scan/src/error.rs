//! Errors that stop a scan.

use std::fmt;

/// The reason why a scan stops. Faults of single records are not errors: they are in
/// [`Records::faults`](crate::Records::faults).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// A record is longer than the dialect's `record_bytes_max`.
    RecordTooLong {
        /// The position of its first byte in the text.
        start: u32,
        /// The number of line ends in the text before it.
        line: u32,
        /// The limit.
        record_bytes_max: usize,
        /// True if it has several lines: then a quote is likely not closed.
        multiline: bool,
    },
}

impl ScanError {
    pub(crate) fn record_too_long(
        text: &[u8],
        start: u32,
        end: u32,
        line: u32,
        line_byte: Option<u8>,
        record_bytes_max: usize,
    ) -> ScanError {
        ScanError::RecordTooLong {
            start,
            line,
            record_bytes_max,
            multiline: text[start as usize..end as usize].contains(&line_byte.unwrap_or(b'\n')),
        }
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScanError::RecordTooLong {
            record_bytes_max,
            multiline,
            ..
        } = self;
        write!(
            f,
            "a record is longer than record_bytes_max ({record_bytes_max} bytes); "
        )?;
        f.write_str(if *multiline {
            "it has several lines, so a quote in it is likely not closed, or the file has no \
             quotes (quote = \"\"); if records are this long, raise record_bytes_max"
        } else {
            "likely the file's records have another terminator than the format (old Macs wrote \
             lone carriage returns: terminator = \"cr\"), or the file is not text; if records are \
             this long, raise record_bytes_max"
        })
    }
}

impl std::error::Error for ScanError {}

/// What follows the scanned text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextEnd {
    /// More of the file follows: the text may end anywhere, even inside a record.
    More,
    /// More of the file follows, and the text ends with a record, like a range of a file.
    MoreRecords,
    /// Nothing follows: the file ends here.
    File,
}

/// True if the file ends here. Otherwise the text may end anywhere in a record.
impl From<bool> for TextEnd {
    fn from(at_end: bool) -> TextEnd {
        if at_end { TextEnd::File } else { TextEnd::More }
    }
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// The number of bytes up to the end of the last whole record and of the skipped lines after it. The rest is the
    /// beginning of a record, to be scanned again with more text.
    pub bytes_consumed: usize,
}
