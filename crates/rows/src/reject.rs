//! Rows that could not be loaded, and why.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::encoding::TextEncoding;
use crate::location::Location;

/// The cause of a rejection, as a stable code for programs. The reject's `reason` is for people.
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
    /// A carriage return outside quotes that does not end a line.
    BareCarriageReturn,
    /// Text after COPY's end-of-data marker.
    EndMarker,
    /// A record of fixed-width fields that is shorter or longer than declared.
    RecordLength,
    /// A row of a source other than text that cannot be read with the source's columns.
    RowForm,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// A NUL byte, which text in a database cannot hold.
    NulByte,
    /// NULL in a column that does not allow it.
    NullNotAllowed,
    /// A text that is not a value of the column's type.
    Syntax,
    /// A value outside the range of its type.
    OutOfRange,
    /// More digits after the point (or of the second) than the column keeps.
    FractionLost,
    /// A number with leading zeros, a plus sign, or more digits than a float has, in a `lossless` column; or a key that
    /// is repeated in an object of `jsonb`, which keeps only the last member.
    FormLost,
    /// More characters than the column holds.
    TooLong,
    /// Not one of the enum's labels.
    UnknownLabel,
    /// A local time that does not exist, or exists twice, in the declared zone.
    AmbiguousLocalTime,
    /// A timestamp without an offset, although no zone was declared.
    ZoneMissing,
    /// A key outside the bounds of the partition that its file is loaded into.
    OutsidePartition,
    /// A CHECK of the target, or of a domain, that the row violates.
    CheckViolated,
    /// A unique key that an earlier row, or a row of the target, has already.
    DuplicateKey,
    /// An exclusion constraint that the row and an earlier row break.
    ExclusionViolated,
    /// A foreign key that refers to a missing row.
    ForeignKeyMissing,
    /// A value that the server refuses, such as invalid JSON.
    ValueRefused,
    /// A trigger or a function of the target refuses the row.
    Raised,
    /// The row, or its entry in an index, is larger than the server can store.
    TooLarge,
    /// An expression of a step that fails for the row, or whose result cannot be loaded.
    StepFailed,
    /// The row fails a check of a step.
    CheckFailed,
    /// A key that is not in the reference of a lookup.
    LookupUnmatched,
}

/// A row that could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reject {
    /// The place where the row begins.
    pub location: Location,
    /// The column with the error, if it is in one column.
    pub column: Option<Arc<str>>,
    /// The text of the field with the error, shortened to [`VALUE_BYTES_MAX`].
    pub value: Option<String>,
    /// The stable code of the cause.
    pub code: RejectCode,
    /// The fault, the likely cause and the fix, for people.
    pub reason: String,
    /// The record as in the (uncompressed) file, without its terminator.
    pub raw: Vec<u8>,
    /// The encoding of `raw`; absent for UTF-8.
    pub encoding: Option<TextEncoding>,
    /// True if the row goes to several targets, and only this target refuses it.
    pub of_target: bool,
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

/// The most bytes of a field that a reject quotes; the whole row is kept in `raw`.
pub const VALUE_BYTES_MAX: usize = 200;
