//! Times of day with the offset of their zone (`timetz`): both are kept as they are written.
//!
//! PostgreSQL would give a time without an offset the current offset of the session's zone. Here such a time is
//! refused, unless the column declares a zone whose offset never changes.

use inrush_rows::column::Column;
use inrush_rows::cursor::Cursor;
use inrush_rows::reject::RejectCode;

use super::error::{ConvertError, ValueError};
use super::format_hints::{Wanted, not_written_as};
use super::kernel::{Kernel, Window, trim};
use super::second_digits::SecondDigits;
use super::time::time_of_day;
use super::timestamp::offset_seconds;
use super::zone::Zone;

/// Microseconds since midnight and the seconds that the zone is behind UTC, both big-endian.
pub(super) type TimeTzBytes = [u8; inrush_rows::column::TIME_TZ_BYTES as usize];

/// Converts times of day with an offset.
pub(super) struct TimeTz {
    seconds: SecondDigits,
    /// Seconds that the declared zone is ahead of UTC.
    offset_declared: Option<i32>,
}

impl TimeTz {
    pub fn new(column: &Column, fraction_digits: u8) -> Result<TimeTz, ConvertError> {
        let zone = Zone::of(column)?;
        let offset_declared = zone.map(|zone| zone.fixed_offset(column)).transpose()?;
        Ok(TimeTz {
            seconds: SecondDigits::new(fraction_digits, column.policies.round),
            offset_declared,
        })
    }

    /// The number of values that were rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        self.seconds.take_rounded_count()
    }
}

impl Kernel for TimeTz {
    type Native = TimeTzBytes;

    #[inline(always)]
    fn quick(&self, _window: &Window, _length: usize) -> Option<TimeTzBytes> {
        None
    }

    fn exact(&self, field: &[u8]) -> Result<TimeTzBytes, ValueError> {
        let text = trim(field);
        let mut cursor = Cursor::new(text);
        let microseconds = time_of_day(&mut cursor, &self.seconds)
            .map_err(|fault| fault.into_error(|| not_written_as(Wanted::Time, text)))?;
        let zone = trim(cursor.rest);
        let offset = match (zone, self.offset_declared) {
            ([], Some(offset)) => offset,
            ([], None) => {
                return Err(ValueError::new(
                    RejectCode::ZoneMissing,
                    "the time has no offset from UTC, and PostgreSQL would add the session's \
                     offset; write the offset after the time, or declare the offset of the file's times: \
                     zone = \"+01:00\" or \"UTC\"",
                ));
            }
            (zone, _) => offset_seconds(zone, text)?,
        };
        let mut bytes = TimeTzBytes::default();
        bytes[..8].copy_from_slice(&microseconds.to_be_bytes());
        bytes[8..].copy_from_slice(&(-offset).to_be_bytes());
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::{ColumnType, SpecialType};

    use super::super::kernel::both_paths;
    use super::*;

    fn kernel(fraction_digits: u8, zone: Option<&str>) -> Result<TimeTz, ConvertError> {
        let column_type = ColumnType::Special(SpecialType::TimeTz { fraction_digits });
        let column = Column {
            zone: zone.map(str::to_owned),
            ..Column::new("t", column_type, 0)
        };
        TimeTz::new(&column, fraction_digits)
    }

    fn parts(
        fraction_digits: u8,
        zone: Option<&str>,
        text: &str,
    ) -> Result<(i64, i32), RejectCode> {
        let kernel = kernel(fraction_digits, zone).expect("a zone that can be used");
        let bytes = both_paths(&kernel, text).map_err(|error| error.code)?;
        let (time, zone) = bytes.split_at(8);
        Ok((
            i64::from_be_bytes(time.try_into().expect("8 bytes")),
            i32::from_be_bytes(zone.try_into().expect("4 bytes")),
        ))
    }

    const NOON: i64 = 43_200_000_000;

    macro_rules! times {
        ($($name:ident: $digits:expr, $zone:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(parts($digits, $zone, $text), $expected);
            })*
        };
    }

    times! {
        utc: 6, None, "12:00:00Z" => Ok((NOON, 0));
        east: 6, None, "12:00:00+02" => Ok((NOON, -7_200));
        west: 6, None, "12:00:00-05:30" => Ok((NOON, 19_800));
        behind_a_blank: 6, None, " 12:00 +0100 " => Ok((NOON, -3_600));
        seconds_of_offset: 6, None, "12:00:00+01:02:03" => Ok((NOON, -3_723));
        largest_offset: 6, None, "12:00:00+15:59:59" => Ok((NOON, -57_599));
        smallest_offset: 6, None, "12:00:00-15:59:59" => Ok((NOON, 57_599));
        past_largest_offset: 6, None, "12:00:00+16" => Err(RejectCode::OutOfRange);
        minute_of_offset: 6, None, "12:00:00+01:60" => Err(RejectCode::OutOfRange);
        end_of_day: 6, None, "24:00:00+00" => Ok((2 * NOON, 0));
        past_the_end: 6, None, "24:00:00.000001+00" => Err(RejectCode::OutOfRange);
        leap_second: 6, None, "23:59:60+00" => Err(RejectCode::OutOfRange);
        no_offset: 6, None, "12:00:00" => Err(RejectCode::ZoneMissing);
        name_of_zone: 6, None, "12:00:00 Europe/Vienna" => Err(RejectCode::Syntax);
        abbreviation: 6, None, "12:00:00 EST" => Err(RejectCode::Syntax);
        half_of_day: 6, None, "12:00:00 PM" => Err(RejectCode::Syntax);
        microseconds: 6, None, "00:00:00.000001+00" => Ok((1, 0));
        digits_kept: 3, None, "00:00:00.001000+00" => Ok((1_000, 0));
        digits_lost: 3, None, "00:00:00.0011+00" => Err(RejectCode::FractionLost);
        no_digits: 0, None, "00:00:00.5+00" => Err(RejectCode::FractionLost);
        declared: 6, Some("+02:00"), "12:00:00" => Ok((NOON, -7_200));
        declared_utc: 6, Some("UTC"), "12:00:00" => Ok((NOON, 0));
        declared_by_name: 6, Some("Etc/GMT+5"), "12:00:00" => Ok((NOON, 18_000));
        declared_and_written: 6, Some("UTC"), "12:00:00+02" => Ok((NOON, -7_200));
        empty: 6, None, "" => Err(RejectCode::Syntax);
        date_before: 6, None, "2024-01-01 12:00:00+00" => Err(RejectCode::Syntax);
    }

    #[test]
    fn zones_whose_clocks_change_are_refused() {
        for zone in ["Europe/Vienna", "America/Los_Angeles", "+16", "nowhere"] {
            assert!(kernel(6, Some(zone)).is_err(), "{zone}");
        }
    }
}
