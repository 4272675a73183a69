//! The declared zone of timestamps that are written without an offset.

use inrush_rows::calendar::{self, CYCLE_DAYS, DAY_MICROSECONDS};
use inrush_rows::column::Column;
use inrush_rows::reject::RejectCode;
use inrush_rows::time_zone::time_zone;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::error::{ConvertError, ValueError};

/// For local times after this year, the zone's offset is looked up in a year that is a multiple of 400 years earlier.
const YEAR_MAX: i64 = 9_999;

/// A zone.
pub(super) struct Zone {
    name: String,
    zone: TimeZone,
}

impl Zone {
    /// The zone that a column declares.
    pub fn of(column: &Column) -> Result<Option<Zone>, ConvertError> {
        let Some(name) = &column.zone else {
            return Ok(None);
        };
        match time_zone(name) {
            Some(zone) => Ok(Some(Zone {
                name: name.clone(),
                zone,
            })),
            None => Err(ConvertError::ZoneUnknown {
                column: column.name.clone(),
                zone: name.clone(),
            }),
        }
    }

    /// True if its clocks always show UTC.
    pub fn is_utc(&self) -> bool {
        self.zone.following(Timestamp::MIN).next().is_none()
            && self.zone.to_offset(Timestamp::UNIX_EPOCH).seconds() == 0
    }

    /// Its offset in seconds ahead of UTC, if it is the same at all times.
    pub fn fixed_offset(&self, column: &Column) -> Result<i32, ConvertError> {
        if self.zone.following(Timestamp::MIN).next().is_some() {
            return Err(ConvertError::ZoneNotFixed {
                column: column.name.clone(),
                zone: self.name.clone(),
            });
        }
        Ok(self.zone.to_offset(Timestamp::UNIX_EPOCH).seconds())
    }

    /// Seconds that the zone's clocks are ahead of UTC at a local time, in microseconds since
    /// 1970-01-01T00:00:00 of the zone.
    pub fn offset_seconds(&self, local: i128) -> Result<i32, ValueError> {
        let day = i128::from(DAY_MICROSECONDS);
        // Dates of PostgreSQL's range, and microseconds of a day.
        let days = local.div_euclid(day) as i64;
        let time = local.rem_euclid(day) as i64;
        match self.zone.to_ambiguous_timestamp(civil(days, time)).offset() {
            AmbiguousOffset::Unambiguous { offset } => Ok(offset.seconds()),
            AmbiguousOffset::Gap { .. } => Err(self.ambiguous("skips this local time")),
            AmbiguousOffset::Fold { .. } => Err(self.ambiguous("has this local time twice")),
        }
    }

    fn ambiguous(&self, what: &str) -> ValueError {
        ValueError::new(
            RejectCode::AmbiguousLocalTime,
            format!(
                "{} {what}, when its clocks are set forward or back; write the offset from UTC \
                 after the time, or declare the zone that the file was written in",
                self.name
            ),
        )
    }
}

/// The local time as the library's type, which ends with the year 9999; in the distant future, the calendar and the
/// rules of zones repeat after 400 years.
fn civil(days: i64, time_microseconds: i64) -> DateTime {
    let (mut year, mut month, mut day) = calendar::civil_from_days(days);
    if year > YEAR_MAX {
        let cycles = (year - YEAR_MAX + 399) / 400;
        (year, month, day) = calendar::civil_from_days(days - cycles * CYCLE_DAYS);
    }
    let seconds = time_microseconds / 1_000_000;
    let nanoseconds = time_microseconds % 1_000_000 * 1_000;
    DateTime::new(
        year as i16,
        month as i8,
        day as i8,
        (seconds / 3_600) as i8,
        (seconds / 60 % 60) as i8,
        (seconds % 60) as i8,
        nanoseconds as i32,
    )
    .expect("a date from 4714 BC to 9999 and a time of day")
}
