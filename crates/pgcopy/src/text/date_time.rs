//! Dates, times and intervals in forms that PostgreSQL reads in the same way under every setting.

use inrush_rows::calendar::{DAY_MICROSECONDS, civil_from_days};

use super::format::{append_infinity, append_integer, append_unsigned};
use crate::binary::temporal::{postgres_date, postgres_time, postgres_timestamp};
use crate::error::ValueFault;
use crate::limits::POSTGRES_EPOCH_DAYS;
use inrush_rows::interval;

const HOUR_MICROSECONDS: i64 = 3_600_000_000;
const MINUTE_MICROSECONDS: i64 = 60_000_000;
const SECOND_MICROSECONDS: i64 = 1_000_000;

/// Appends days since 1970-01-01 as `2024-02-29`, `0044-03-15 BC`, `infinity`.
pub(crate) fn append_date(days: i32, out: &mut Vec<u8>) -> Result<(), ValueFault> {
    postgres_date(days)?;
    if days == i32::MIN || days == i32::MAX {
        append_infinity(days > 0, "infinity", out);
        return Ok(());
    }
    let before_christ = append_year_month_day(i64::from(days), out);
    append_era(before_christ, out);
    Ok(())
}

/// Appends microseconds since midnight as `23:59:59.999999`; the day's end is `24:00:00`.
pub(super) fn append_time(microseconds: i64, out: &mut Vec<u8>) -> Result<(), ValueFault> {
    postgres_time(microseconds)?;
    append_clock(microseconds, out);
    Ok(())
}

/// Appends a time of day with its offset, from microseconds since midnight (64 bits) and seconds west of UTC (32 bits).
pub(super) fn append_time_tz(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    let (time, zone) = bytes
        .split_first_chunk()
        .expect("8 bytes of 12, as the type says");
    let zone: &[u8; 4] = zone.first_chunk().expect("the other 4");
    let seconds_west = i32::from_be_bytes(*zone);
    append_time(i64::from_be_bytes(*time), out)?;
    out.push(if seconds_west > 0 { b'-' } else { b'+' });
    let seconds = u64::from(seconds_west.unsigned_abs());
    for (part, colon) in [
        (seconds / 3_600, false),
        (seconds / 60 % 60, true),
        (seconds % 60, true),
    ] {
        if colon {
            out.push(b':');
        }
        append_unsigned(part, 2, out);
    }
    Ok(())
}

/// Appends a [timestamp](inrush_rows::timestamp), followed by `offset`: `+00`, or an empty text for a timestamp without
/// a zone.
pub(crate) fn append_timestamp(
    number: i64,
    offset: &str,
    out: &mut Vec<u8>,
) -> Result<(), ValueFault> {
    let microseconds = postgres_timestamp(number)?;
    if microseconds == i64::MIN || microseconds == i64::MAX {
        append_infinity(microseconds > 0, "infinity", out);
        return Ok(());
    }
    let days = microseconds.div_euclid(DAY_MICROSECONDS) + i64::from(POSTGRES_EPOCH_DAYS);
    let before_christ = append_year_month_day(days, out);
    out.push(b' ');
    append_clock(microseconds.rem_euclid(DAY_MICROSECONDS), out);
    out.extend_from_slice(offset.as_bytes());
    append_era(before_christ, out);
    Ok(())
}

/// Appends months, days and microseconds as `+1 mons -2 days +3 hours +4.500000 secs`, or `infinity` if they [stand for
/// it](interval). With `is_finite`, none stand for infinity.
///
/// Each part has its own sign, because with IntervalStyle sql_standard a minus before the first part would hold for all
/// parts. Minutes are written as seconds (below 3600), so that no part is too large for PostgreSQL to read.
pub(super) fn append_interval(value: (i32, i32, i64), is_finite: bool, out: &mut Vec<u8>) {
    if !is_finite && (value == interval::INFINITY || value == interval::MINUS_INFINITY) {
        append_infinity(value == interval::INFINITY, "infinity", out);
        return;
    }
    let (months, days, microseconds) = value;
    let parts = [
        (i64::from(months), &b" mons "[..]),
        (i64::from(days), b" days "),
        (microseconds / HOUR_MICROSECONDS, b" hours "),
    ];
    for (number, unit) in parts {
        if number >= 0 {
            out.push(b'+');
        }
        append_integer(number, out);
        out.extend_from_slice(unit);
    }
    let rest = microseconds % HOUR_MICROSECONDS;
    out.push(if rest < 0 { b'-' } else { b'+' });
    append_unsigned((rest / SECOND_MICROSECONDS).unsigned_abs(), 1, out);
    append_fraction((rest % SECOND_MICROSECONDS).unsigned_abs(), out);
    out.extend_from_slice(b" secs");
}

/// Appends year, month and day. Returns whether the year is before Christ.
fn append_year_month_day(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_from_days(days);
    // There is no year 0: the year before 1 is 1 BC.
    let before_christ = year <= 0;
    let shown = if before_christ { 1 - year } else { year };
    append_unsigned(shown.unsigned_abs(), 4, out);
    out.push(b'-');
    append_unsigned(u64::from(month), 2, out);
    out.push(b'-');
    append_unsigned(u64::from(day), 2, out);
    before_christ
}

fn append_era(before_christ: bool, out: &mut Vec<u8>) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

fn append_clock(microseconds: i64, out: &mut Vec<u8>) {
    let units = [HOUR_MICROSECONDS, MINUTE_MICROSECONDS, SECOND_MICROSECONDS];
    let mut rest = microseconds;
    for unit in units {
        if unit != HOUR_MICROSECONDS {
            out.push(b':');
        }
        append_unsigned((rest / unit).unsigned_abs(), 2, out);
        rest %= unit;
    }
    append_fraction(rest.unsigned_abs(), out);
}

fn append_fraction(microseconds: u64, out: &mut Vec<u8>) {
    if microseconds > 0 {
        out.push(b'.');
        append_unsigned(microseconds, 6, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN};
    use inrush_rows::timestamp;

    fn text(append: impl FnOnce(&mut Vec<u8>) -> Result<(), ValueFault>) -> String {
        let mut out = Vec::new();
        match append(&mut out) {
            Ok(()) => String::from_utf8(out).expect("ASCII"),
            Err(fault) => format!("{}", fault.at("c", 3)),
        }
    }

    fn time_tz(microseconds: i64, seconds_west: i32) -> Vec<u8> {
        [
            microseconds.to_be_bytes().as_slice(),
            &seconds_west.to_be_bytes(),
        ]
        .concat()
    }

    macro_rules! table {
        ($($name:ident: $append:expr => $text:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(text($append), $text);
            })*
        };
    }

    table! {
        epoch: |out| append_date(0, out) => "1970-01-01";
        leap_day: |out| append_date(19_782, out) => "2024-02-29";
        first_of_march_1900: |out| append_date(-25_508, out) => "1900-03-01";
        ides_of_march: |out| append_date(-735_160, out) => "0044-03-15 BC";
        first_day_of_our_era: |out| append_date(-719_162, out) => "0001-01-01";
        last_day_before_it: |out| append_date(-719_163, out) => "0001-12-31 BC";
        first_date: |out| append_date(DATE_DAYS_MIN, out) => "4714-11-24 BC";
        last_date: |out| append_date(DATE_DAYS_MAX, out) => "5874897-12-31";
        no_date_before: |out| append_date(DATE_DAYS_MIN - 1, out) =>
            "column \"c\", row 3 of the batch: -2440589 days since 1970-01-01 are outside the range \
             of date (4714-11-24 BC to 5874897-12-31)";
        infinite_date: |out| append_date(i32::MAX, out) => "infinity";
        minus_infinite_date: |out| append_date(i32::MIN, out) => "-infinity";

        midnight: |out| append_time(0, out) => "00:00:00";
        end_of_day: |out| append_time(86_400_000_000, out) => "24:00:00";
        last_microsecond: |out| append_time(86_399_999_999, out) => "23:59:59.999999";
        no_negative_time: |out| append_time(-1, out) =>
            "column \"c\", row 3 of the batch: -1 microseconds since midnight are outside the range \
             of time (00:00:00 to 24:00:00)";

        noon_in_vienna: |out| append_time_tz(&time_tz(43_200_000_000, -3_600), out) => "12:00:00+01:00:00";
        end_of_day_west: |out| append_time_tz(&time_tz(86_400_000_000, 57_599), out) =>
            "24:00:00-15:59:59";

        unix_epoch: |out| append_timestamp(0, "", out) => "1970-01-01 00:00:00";
        just_before_it: |out| append_timestamp(-1, "+00", out) =>
            "1969-12-31 23:59:59.999999+00";
        first_timestamp: |out| append_timestamp(timestamp::MIN, "+00", out) =>
            "4714-11-24 00:00:00+00 BC";
        last_of_arrow: |out| append_timestamp(i64::MAX, "", out) =>
            "294247-01-10 04:00:54.775807";
        first_past_arrow: |out| append_timestamp(i64::MIN, "", out) =>
            "294247-01-10 04:00:54.775808";
        last_timestamp: |out| append_timestamp(timestamp::MAX, "+00", out) =>
            "294276-12-31 23:59:59.999999+00";
        no_timestamp_behind: |out| append_timestamp(timestamp::MAX + 1, "", out) =>
            "column \"c\", row 3 of the batch: -9222426057709551616 microseconds since 1970-01-01 \
             are outside the range of timestamp \
             (4714-11-24 00:00:00 BC to 294276-12-31 23:59:59.999999)";
        infinite_timestamp: |out| append_timestamp(timestamp::INFINITY, "+00", out) => "infinity";
        minus_infinite_timestamp: |out| append_timestamp(timestamp::MINUS_INFINITY, "", out) =>
            "-infinity";

        no_time_at_all: |out| { append_interval((0, 0, 0), false, out); Ok(()) } =>
            "+0 mons +0 days +0 hours +0 secs";
        mixed_signs: |out| { append_interval((-14, 3, -5_400_000_001), false, out); Ok(()) } =>
            "-14 mons +3 days -1 hours -1800.000001 secs";
        less_than_a_second: |out| { append_interval((0, 0, -500_000), false, out); Ok(()) } =>
            "+0 mons +0 days +0 hours -0.500000 secs";
        infinite_interval: |out| { append_interval(interval::INFINITY, false, out); Ok(()) } =>
            "infinity";
        minus_infinite_interval:
            |out| { append_interval(interval::MINUS_INFINITY, false, out); Ok(()) } => "-infinity";
        largest_interval: |out| { append_interval(interval::INFINITY, true, out); Ok(()) } =>
            "+2147483647 mons +2147483647 days +2562047788 hours +54.775807 secs";
        smallest_interval: |out| { append_interval(interval::MINUS_INFINITY, true, out); Ok(()) } =>
            "-2147483648 mons -2147483648 days -2562047788 hours -54.775808 secs";
    }
}
