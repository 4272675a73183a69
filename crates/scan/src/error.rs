//! Why a scan stops.

use std::fmt;

/// Why a scan stops. Faults of single records are no errors: they stand in
/// [`Records::faults`](crate::Records::faults).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanError {
    /// A record is longer than the dialect's `record_bytes_max`.
    RecordTooLong {
        /// Its first byte, from the start of the text.
        start: u32,
        /// Line ends in the text before it.
        line: u32,
        /// The limit.
        record_bytes_max: usize,
        /// Whether it goes over several lines: then a quote is likely not closed.
        multiline: bool,
    },
}

impl ScanError {
    pub(crate) fn record_too_long(
        text: &[u8],
        start: u32,
        end: u32,
        line: u32,
        record_bytes_max: usize,
    ) -> ScanError {
        ScanError::RecordTooLong {
            start,
            line,
            record_bytes_max,
            multiline: text[start as usize..end as usize].contains(&b'\n'),
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
            "it goes over several lines, so a quote in it is likely not closed, or the file \
             is written without quotes (quote = \"\"); if records are that long, raise \
             record_bytes_max"
        } else {
            "the file likely does not end its records with a line feed, or is no text at \
             all; if records are that long, raise record_bytes_max"
        })
    }
}

impl std::error::Error for ScanError {}

/// What a scan has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Bytes up to the end of the last whole record and of the blank lines behind it. What
    /// follows is the beginning of a record, to be scanned again with more text behind it.
    pub bytes_consumed: usize,
}
