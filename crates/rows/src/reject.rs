//! Rows that could not be loaded, and why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::encoding::TextEncoding;
use crate::location::Location;

/// Why a row was rejected: stable names for programs; the reason is for people.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RejectCode {
    /// More or fewer fields than columns.
    FieldCount,
    /// A quote inside a field that does not start with one.
    StrayQuote,
    /// Text between a closing quote and the next delimiter.
    TextAfterQuote,
    /// The file ended inside a quoted field.
    UnclosedQuote,
    /// The file ended right after an escape byte.
    DanglingEscape,
    /// The record does not end with the delimiter that its format declares.
    TrailingDelimiterMissing,
    /// A carriage return outside quotes that ends no line.
    BareCarriageReturn,
    /// COPY's end-of-data marker, and text behind it.
    EndMarker,
    /// A record of fixed-width fields that is shorter or longer than declared.
    RecordLength,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A NUL byte, which text in a database cannot hold.
    NulByte,
    /// NULL where the column allows none.
    NullNotAllowed,
    /// Not written as a value of its type.
    Syntax,
    /// A value past the ends of its type.
    OutOfRange,
    /// More digits after the point (or of the second) than the column keeps.
    FractionLost,
    /// A number written with what the column would not keep, where it is to lose nothing: zeros
    /// or a plus before it, more digits than a float has.
    FormLost,
    /// More characters than the column holds.
    TooLong,
    /// Not one of the enum's labels.
    UnknownLabel,
    /// A local time that the declared zone skips or has twice.
    AmbiguousLocalTime,
    /// A timestamp without offset where no zone was declared.
    ZoneMissing,
    /// A key outside the bounds of the partition that its part goes to.
    OutsidePartition,
    /// A CHECK of the target, or of a domain, that the row breaks.
    CheckViolated,
    /// A key that must be unique and stands in a row before it, or in the target, already.
    DuplicateKey,
    /// An exclusion constraint that the row breaks together with one before it.
    ExclusionViolated,
    /// A foreign key that refers to no row.
    ForeignKeyMissing,
    /// A value that the server does not take, such as JSON that is none.
    ValueRefused,
    /// A trigger or a function of the target refuses the row.
    Raised,
    /// The row, or its entry in an index, is larger than the server can store.
    TooLarge,
}

/// A row that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// Where the row begins.
    pub location: Location,
    /// The column at fault, where it is one.
    pub column: Option<Arc<str>>,
    /// The field at fault as written, shortened to [`VALUE_BYTES_MAX`].
    pub value: Option<String>,
    /// Stable name of the cause.
    pub code: RejectCode,
    /// What is wrong, the likely cause and the fix, for people.
    pub reason: String,
    /// The record as it stands in the (uncompressed) file, without its terminator.
    pub raw: Vec<u8>,
    /// The encoding of that, where it is not UTF-8.
    pub encoding: Option<TextEncoding>,
}

impl Reject {
    /// Place, column, value and reason in one line, for people.
    pub fn summary(&self) -> String {
        let column = match &self.column {
            Some(column) => format!(", column `{column}`"),
            None => String::new(),
        };
        let value = match &self.value {
            Some(value) => format!(", value {value:?}"),
            None => String::new(),
        };
        format!("{}{column}{value}: {}", self.location, self.reason)
    }
}

/// How much of a field a reject quotes; the whole row is kept in `raw`.
pub const VALUE_BYTES_MAX: usize = 200;
