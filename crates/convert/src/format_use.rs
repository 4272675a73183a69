//! The types of columns whose values a declared format may read.

/// The use of a format's values.
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
