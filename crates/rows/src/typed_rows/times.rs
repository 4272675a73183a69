//! Dates and times as ISO 8601 text, with as many fractional digits as their value needs.

use arrow_schema::TimeUnit;

use super::cells::append_integer;
use crate::calendar::civil_from_days;
use crate::timestamp;

const SECONDS_PER_DAY: i64 = 86_400;
pub(super) const MILLISECONDS_PER_DAY: i64 = 1_000 * SECONDS_PER_DAY;

/// How many of this unit are in a second, and how many nanoseconds are in this unit.
fn scale(unit: TimeUnit) -> (u32, u32) {
    match unit {
        TimeUnit::Second => (1, 1_000_000_000),
        TimeUnit::Millisecond => (1_000, 1_000_000),
        TimeUnit::Microsecond => (1_000_000, 1_000),
        TimeUnit::Nanosecond => (1_000_000_000, 1),
    }
}

/// Appends the date of a count of days since 1970-01-01.
pub(super) fn append_date(days: i64, out: &mut Vec<u8>) {
    if append_era(days, out) {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a date without its era. Returns whether its year is before year 1.
fn append_era(days: i64, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        append_padded(shown as u32, 4, out);
    } else {
        append_integer(shown, out);
    }
    out.push(b'-');
    append_padded(month, 2, out);
    out.push(b'-');
    append_padded(day, 2, out);
    year <= 0
}

/// Appends a timestamp, given as a count since 1970, with its offset from UTC if it has one.
pub(super) fn append_timestamp(count: i64, unit: TimeUnit, has_zone: bool, out: &mut Vec<u8>) {
    let (per_second, nanoseconds) = scale(unit);
    let seconds = count.div_euclid(per_second.into());
    let fraction = count.rem_euclid(per_second.into()) as u32 * nanoseconds;
    append_moment(seconds, fraction, has_zone, out);
}

/// Appends a timestamp, given as seconds since 1970 and nanoseconds.
fn append_moment(seconds: i64, fraction: u32, has_zone: bool, out: &mut Vec<u8>) {
    let is_before = append_era(seconds.div_euclid(SECONDS_PER_DAY), out);
    out.push(b' ');
    append_seconds(seconds.rem_euclid(SECONDS_PER_DAY) as u64, fraction, out);
    if has_zone {
        out.extend_from_slice(b"+00");
    }
    if is_before {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a timestamp, given as its number in a batch. It may be any moment of PostgreSQL, or an infinity.
pub(super) fn append_batch_timestamp(number: i64, has_zone: bool, out: &mut Vec<u8>) {
    match number {
        timestamp::INFINITY => out.extend_from_slice(b"infinity"),
        timestamp::MINUS_INFINITY => out.extend_from_slice(b"-infinity"),
        number if timestamp::is_plain(number) => {
            append_timestamp(number, TimeUnit::Microsecond, has_zone, out);
        }
        number => {
            let microseconds = i128::from(timestamp::to_postgres(number))
                + i128::from(timestamp::POSTGRES_EPOCH_MICROSECONDS);
            let seconds = microseconds.div_euclid(1_000_000) as i64;
            let fraction = microseconds.rem_euclid(1_000_000) as u32 * 1_000;
            append_moment(seconds, fraction, has_zone, out);
        }
    }
}

/// Appends hours, minutes and seconds of any number of hours and either sign.
pub(super) fn append_clock(count: i64, unit: TimeUnit, out: &mut Vec<u8>) {
    let (per_second, nanoseconds) = scale(unit);
    if count < 0 {
        out.push(b'-');
    }
    let count = count.unsigned_abs();
    let fraction = (count % u64::from(per_second)) as u32 * nanoseconds;
    append_seconds(count / u64::from(per_second), fraction, out);
}

fn append_seconds(seconds: u64, nanoseconds: u32, out: &mut Vec<u8>) {
    let hours = seconds / 3600;
    match hours {
        0..100 => append_padded(hours as u32, 2, out),
        _ => append_integer(hours, out),
    }
    out.push(b':');
    append_padded((seconds / 60 % 60) as u32, 2, out);
    out.push(b':');
    append_padded((seconds % 60) as u32, 2, out);
    if nanoseconds > 0 {
        out.push(b'.');
        append_padded(nanoseconds, 9, out);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// Appends a number with leading zeros.
fn append_padded(number: u32, digits: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + digits, b'0');
    let mut rest = number;
    for place in out[start..].iter_mut().rev() {
        *place = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}
