//! The limits of dates and times: the first and last timestamp, and the errors that formats and types share.

use inrush_rows::plural::counted;
use inrush_rows::timestamp::{POSTGRES_EPOCH_MICROSECONDS, POSTGRES_MAX, POSTGRES_MIN};

use super::error::ValueError;

/// The first timestamp of PostgreSQL, 4714-11-24 00:00:00 BC, in microseconds since 1970.
pub(super) const MICROSECONDS_MIN: i128 =
    POSTGRES_MIN as i128 + POSTGRES_EPOCH_MICROSECONDS as i128;

/// The last timestamp, 294276-12-31 23:59:59.999999, which exceeds 64 bits.
pub(super) const MICROSECONDS_MAX: i128 =
    POSTGRES_MAX as i128 + POSTGRES_EPOCH_MICROSECONDS as i128;

/// Why a 60th second is refused.
pub(super) const LEAP_SECOND: &str = "a minute has no 60th second here; PostgreSQL would carry it \
     into the next minute, which changes the value: write the first second of the next minute";

/// Converts microseconds since 1970 to the form that batches hold; an error if PostgreSQL has no such timestamp.
#[inline]
pub(super) fn in_range(microseconds: i128) -> Result<i64, ValueError> {
    if microseconds < MICROSECONDS_MIN {
        return Err(ValueError::out_of_range(
            "before the first timestamp (4714-11-24 00:00:00 BC)",
        ));
    }
    if microseconds > MICROSECONDS_MAX {
        return Err(ValueError::out_of_range(
            "after the last timestamp (294276-12-31 23:59:59.999999); if it means no end, write \
             infinity",
        ));
    }
    // Numbers that exceed 64 bits wrap around (`inrush_rows::timestamp`).
    Ok(microseconds as i64)
}

/// The error for a time of day in a column of dates.
pub(super) fn time_lost() -> ValueError {
    ValueError::fraction_lost(
        "the value has a time of day, which a date does not keep; make the column timestamp, or \
         write only dates",
    )
}

/// The error for a second with more digits than the column keeps.
pub(super) fn fraction_lost(needed: usize, fraction_digits: u8) -> ValueError {
    let mend = if fraction_digits < 6 {
        "round the value (for times and timestamps, `round` of the column does it), or declare the \
         column with more digits"
    } else {
        "Inrush keeps no more than 6: round the value (for times and timestamps, `round` of the \
         column does it)"
    };
    ValueError::fraction_lost(format!(
        "the second has {} after the point, but the column keeps {fraction_digits}; {mend}",
        counted(needed as u64, "digit")
    ))
}
