//! The column types whose values a declared format may read.

/// What a format's values are used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FormatUse {
    Date,
    Time,
    Timestamp,
    TimestampTz {
        /// The zone of values without an offset.
        zone: DeclaredZone,
    },
}

/// The zone that a column declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeclaredZone {
    Absent,
    /// UTC, or a zone whose offset is always zero.
    Utc,
    Other,
}
