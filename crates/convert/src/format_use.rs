//! The types of columns whose values a declared format may read.

/// What the values of a format are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatUse {
    Date,
    Time,
    Timestamp,
    TimestampTz {
        /// The column declares a zone for values without an offset.
        has_zone: bool,
    },
}
