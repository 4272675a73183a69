//! Errors of decoding a stream.

use crate::limits::COLUMNS_MAX;

/// Why a stream cannot be decoded any further. Its sender is not PostgreSQL, or something between has changed the bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The stream does not begin as binary COPY does.
    #[error(
        "the data do not begin with the signature of binary COPY: check that the server is PostgreSQL, and that \
         nothing in between changes the bytes"
    )]
    Signature,
    /// The header has a flag that changes the format.
    #[error(
        "the header of binary COPY has the flags {flags:#x}, which PostgreSQL 14 to 18 do not set"
    )]
    Flags {
        /// All flags.
        flags: u32,
    },
    /// More columns than a tuple can count.
    #[error("{found} columns are more than a tuple of COPY can count ({max}): select fewer columns", max = COLUMNS_MAX)]
    TooManyColumns {
        /// Columns that were asked for.
        found: usize,
    },
    /// A row has more or fewer fields than columns were asked for.
    #[error("row {row} of the data has {found} fields where {expected} columns were asked for")]
    FieldCount {
        /// The row, counted from 1.
        row: u64,
        /// Columns that were asked for.
        expected: usize,
        /// Fields of the row.
        found: i16,
    },
    /// The length of a field is not valid.
    #[error("row {row} of the data, column {column}: {found} is not the length of a field")]
    FieldLength {
        /// The row, counted from 1.
        row: u64,
        /// The column, counted from 1.
        column: usize,
        /// The length as it was sent.
        found: i32,
    },
    /// A field that is not a value of its column's type.
    #[error("row {row} of the data, column {column}: {what}")]
    Value {
        /// The row, counted from 1.
        row: u64,
        /// The column, counted from 1.
        column: usize,
        /// The fault of the field.
        what: String,
    },
    /// There are bytes after the end of the stream.
    #[error("{byte_count} bytes follow the end of the data")]
    AfterEnd {
        /// The number of these bytes.
        byte_count: usize,
    },
    /// The stream ended before its trailer.
    #[error("the data end too early, after {rows} rows: the server or the connection ended early")]
    Truncated {
        /// Whole rows that arrived.
        rows: u64,
    },
    /// A block has more bytes than Arrow's views can address.
    #[error("a block of {bytes} bytes is too large to be decoded at once (2 GiB)")]
    BlockTooLarge {
        /// The number of bytes of the block.
        bytes: usize,
    },
}
