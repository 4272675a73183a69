//! Errors of encoding a batch.

use arrow_schema::DataType;

use crate::limits::{
    COLUMNS_MAX, FIELD_BYTES_MAX, NUMERIC_DIGITS_AFTER_POINT_MAX, NUMERIC_DIGITS_BEFORE_POINT_MAX,
};
use crate::pg_type::PgType;

/// Why a batch was not encoded. The output has nothing of that batch.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The batch has more or fewer columns than the encoder was made for.
    #[error(
        "the batch has {found} columns but COPY was begun with {expected}: the columns of the \
         COPY statement and those of the batch must be the same"
    )]
    ColumnCount {
        /// The number of columns that the encoder was made for.
        expected: usize,
        /// Columns of the batch.
        found: usize,
    },
    /// More columns than a tuple can count.
    #[error(
        "{found} columns are more than a tuple of COPY can count ({max}): load fewer columns",
        max = COLUMNS_MAX
    )]
    TooManyColumns {
        /// Columns of the batch.
        found: usize,
    },
    /// A column's Arrow type cannot be encoded as the type of the target's column.
    #[error(
        "column \"{column}\" is {pg_type:?} in the target but comes as Arrow {found}: it must \
         be converted to {expected} first"
    )]
    ColumnType {
        /// The column.
        column: String,
        /// The type in the target.
        pg_type: PgType,
        /// The Arrow types that can be encoded.
        expected: &'static str,
        /// The Arrow type that it has.
        found: DataType,
    },
    /// A column's Arrow type has no text form here.
    #[error(
        "column \"{column}\" comes as Arrow {found}, which has no text form for COPY: it must \
         be converted to text first"
    )]
    NoTextForm {
        /// The column.
        column: String,
        /// The Arrow type that it has.
        found: DataType,
    },
    /// A value is longer than any field of PostgreSQL.
    #[error(
        "column \"{column}\", row {row} of the batch: {field_bytes} bytes are more than a field \
         of PostgreSQL can hold ({max}): shorten it or load it as a large object",
        max = FIELD_BYTES_MAX
    )]
    FieldTooLong {
        /// The column.
        column: String,
        /// The row within the batch, from 0.
        row: usize,
        /// Bytes of the value.
        field_bytes: u64,
    },
    /// A date, time or timestamp is outside the range of PostgreSQL's type.
    #[error(
        "column \"{column}\", row {row} of the batch: {value} {unit} are outside the range of \
         {type_name} ({range})"
    )]
    OutOfRange {
        /// The column.
        column: String,
        /// The row within the batch, from 0.
        row: usize,
        /// The value as Arrow has it.
        value: i64,
        /// The unit of `value`.
        unit: &'static str,
        /// PostgreSQL's name of the type.
        type_name: &'static str,
        /// The range of the type.
        range: &'static str,
    },
    /// A text is not a decimal number.
    #[error(
        "column \"{column}\", row {row} of the batch: \"{value}\" is not a decimal number in \
         plain notation, such as -12.50"
    )]
    NumericSyntax {
        /// The column.
        column: String,
        /// The row within the batch, from 0.
        row: usize,
        /// The value, shortened to 200 characters.
        value: String,
    },
    /// A value in binary form is not of its column's type.
    #[error(
        "column \"{column}\", row {row} of the batch: its bytes are no value of the column's type; \
         was the type changed in the source while it was read?"
    )]
    NotOfType {
        /// The column.
        column: String,
        /// The row within the batch, from 0.
        row: usize,
    },
    /// A decimal number has more digits than PostgreSQL's `numeric` can hold.
    #[error(
        "column \"{column}\", row {row} of the batch: {digits_before_point} digits before and \
         {digits_after_point} after the point are more than numeric holds ({before} before, \
         {after} after)",
        before = NUMERIC_DIGITS_BEFORE_POINT_MAX,
        after = NUMERIC_DIGITS_AFTER_POINT_MAX
    )]
    NumericTooLong {
        /// The column.
        column: String,
        /// The row within the batch, from 0.
        row: usize,
        /// Digits before the point, without leading zeros.
        digits_before_point: usize,
        /// Digits after the point.
        digits_after_point: usize,
    },
}

/// The fault of one value, without its column and row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueFault {
    /// See [`EncodeError::FieldTooLong`].
    FieldTooLong { field_bytes: u64 },
    /// See [`EncodeError::OutOfRange`].
    OutOfRange {
        value: i64,
        unit: &'static str,
        type_name: &'static str,
        range: &'static str,
    },
    /// See [`EncodeError::NumericSyntax`].
    NumericSyntax { value: String },
    /// See [`EncodeError::NumericTooLong`].
    NumericTooLong {
        digits_before_point: usize,
        digits_after_point: usize,
    },
}

impl ValueFault {
    /// The error, now that its place is known.
    #[cold]
    pub(crate) fn at(self, column: &str, row: usize) -> EncodeError {
        let column = column.to_owned();
        match self {
            ValueFault::FieldTooLong { field_bytes } => EncodeError::FieldTooLong {
                column,
                row,
                field_bytes,
            },
            ValueFault::OutOfRange {
                value,
                unit,
                type_name,
                range,
            } => EncodeError::OutOfRange {
                column,
                row,
                value,
                unit,
                type_name,
                range,
            },
            ValueFault::NumericSyntax { value } => {
                EncodeError::NumericSyntax { column, row, value }
            }
            ValueFault::NumericTooLong {
                digits_before_point,
                digits_after_point,
            } => EncodeError::NumericTooLong {
                column,
                row,
                digits_before_point,
                digits_after_point,
            },
        }
    }
}
