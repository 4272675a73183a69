//! Errors of setting up a converter, and of converting one value.

use inrush_rows::reject::RejectCode;
use thiserror::Error;

/// Why a converter cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ConvertError {
    /// A column takes a field that no record has.
    #[error(
        "column {column:?} takes field {field_number}, but a record has {field_count}; list the \
         file's fields in their order in `columns`"
    )]
    FieldMissing {
        /// The column.
        column: String,
        /// The field it takes, counted from 1.
        field_number: usize,
        /// Fields of a record.
        field_count: usize,
    },
    /// A format that is not valid.
    #[error("column {column:?}: the format {format:?} cannot be used: {reason}")]
    FormatInvalid {
        /// The column.
        column: String,
        /// The format.
        format: String,
        /// The problem and the fix.
        reason: String,
    },
    /// A format for a type that takes none.
    #[error(
        "column {column:?} has the format {format:?}, but only dates, times and timestamps \
         take one; remove it"
    )]
    FormatNotUsed {
        /// The column.
        column: String,
        /// The format.
        format: String,
    },
    /// A zone that the machine's zone database does not know.
    #[error(
        "column {column:?}: there is no time zone {zone:?}; use an IANA name such as \
         \"Europe/Vienna\" or \"UTC\""
    )]
    ZoneUnknown {
        /// The column.
        column: String,
        /// The zone.
        zone: String,
    },
    /// A zone for a type that takes none.
    #[error(
        "column {column:?} has the zone {zone:?}, but only a timestamp or a time with time zone takes \
         one; remove it or change the type"
    )]
    ZoneNotUsed {
        /// The column.
        column: String,
        /// The zone.
        zone: String,
    },
    /// A zone with daylight saving time, for times without a date.
    #[error(
        "column {column:?} has the zone {zone:?}, whose offset from UTC changes with the date, but \
         a time has no date; declare an offset such as \"+01:00\", or \"UTC\""
    )]
    ZoneNotFixed {
        /// The column.
        column: String,
        /// The zone.
        zone: String,
    },
    /// A policy that has no effect on the column.
    #[error("column {column:?} has {setting}, but {takes}; remove it, or change the type")]
    PolicyNotUsed {
        /// The column.
        column: String,
        /// The policy's key.
        setting: &'static str,
        /// The columns that the policy is for.
        takes: &'static str,
    },
    /// A policy that is not valid.
    #[error("column {column:?}: {setting} cannot be used: {reason}")]
    PolicyInvalid {
        /// The column.
        column: String,
        /// The policy's key.
        setting: &'static str,
        /// The problem and the fix.
        reason: String,
    },
    /// A default or a constant that the column cannot hold.
    #[error("column {column:?}: its {setting} {text:?} does not fit the column: {reason}")]
    TextInvalid {
        /// The column.
        column: String,
        /// `default` or `value`.
        setting: &'static str,
        /// The text.
        text: String,
        /// The problem and the fix.
        reason: String,
    },
    /// A source of values that does not fit the column's type.
    #[error("column {column:?} cannot be filled from source = {source_word:?}: {reason}")]
    SourceType {
        /// The column.
        column: String,
        /// The source's word.
        source_word: &'static str,
        /// The types that can hold the source's values.
        reason: &'static str,
    },
    /// Limits that a type cannot have.
    #[error("column {column:?}: {reason}")]
    TypeInvalid {
        /// The column.
        column: String,
        /// The problem.
        reason: String,
    },
}

/// Why one value does not fit its column.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct ValueError {
    /// The stable name of the cause.
    pub code: RejectCode,
    /// The problem, the likely cause and the fix.
    pub reason: String,
}

impl ValueError {
    pub(super) fn new(code: RejectCode, reason: impl Into<String>) -> ValueError {
        ValueError {
            code,
            reason: reason.into(),
        }
    }

    pub(super) fn syntax(reason: impl Into<String>) -> ValueError {
        ValueError::new(RejectCode::Syntax, reason)
    }

    pub(super) fn out_of_range(reason: impl Into<String>) -> ValueError {
        ValueError::new(RejectCode::OutOfRange, reason)
    }

    pub(super) fn fraction_lost(reason: impl Into<String>) -> ValueError {
        ValueError::new(RejectCode::FractionLost, reason)
    }
}
