//! Dates, times and intervals as ISO 8601 text, for databases without such types. Years before 1 are numbered as in ISO
//! 8601, with a year 0 and a minus sign.

use inrush_rows::calendar::civil_from_days;
use inrush_rows::timestamp::{INFINITY, MINUS_INFINITY, POSTGRES_EPOCH_MICROSECONDS, to_postgres};

const DAY_MICROSECONDS: i128 = 86_400_000_000;

/// The text of a date in a batch.
pub fn date(days: i32) -> String {
    match days {
        i32::MIN => "-infinity".to_owned(),
        i32::MAX => "infinity".to_owned(),
        days => day(i64::from(days)),
    }
}

/// The text of a time in a batch.
pub fn time(microseconds: i64) -> String {
    let seconds = microseconds.div_euclid(1_000_000);
    let fraction = microseconds.rem_euclid(1_000_000);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let whole = format!("{hours:02}:{minutes:02}:{:02}", seconds % 60);
    match fraction {
        0 => whole,
        fraction => format!("{whole}.{}", format!("{fraction:06}").trim_end_matches('0')),
    }
}

/// The text of a timestamp in a batch, including infinities and timestamps that exceed 64 bits.
pub fn timestamp(number: i64, zone: &str) -> String {
    match number {
        INFINITY => "infinity".to_owned(),
        MINUS_INFINITY => "-infinity".to_owned(),
        number => {
            let since_1970 =
                i128::from(to_postgres(number)) + i128::from(POSTGRES_EPOCH_MICROSECONDS);
            // Days, and microseconds of a day, are far below the limit of 64 bits.
            let days = since_1970.div_euclid(DAY_MICROSECONDS) as i64;
            let rest = since_1970.rem_euclid(DAY_MICROSECONDS) as i64;
            format!("{} {}{zone}", day(days), time(rest))
        }
    }
}

/// An interval: months, days and seconds, each with its own sign.
pub fn interval(months: i32, days: i32, microseconds: i64) -> String {
    let sign = if microseconds < 0 { "-" } else { "" };
    let size = microseconds.unsigned_abs();
    let (seconds, fraction) = (size / 1_000_000, size % 1_000_000);
    let seconds = match fraction {
        0 => format!("{sign}{seconds}"),
        fraction => format!(
            "{sign}{seconds}.{}",
            format!("{fraction:06}").trim_end_matches('0')
        ),
    };
    format!("P{months}M{days}DT{seconds}S")
}

/// The text of a UUID.
pub fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (place, byte) in bytes.iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push(char::from(HEXADECIMAL[usize::from(byte >> 4)]));
        text.push(char::from(HEXADECIMAL[usize::from(byte & 15)]));
    }
    text
}

const HEXADECIMAL: &[u8; 16] = b"0123456789abcdef";

/// The text of a day since 1970-01-01.
fn day(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    match year < 0 {
        true => format!("-{:04}-{month:02}-{day:02}", -year),
        false => format!("{year:04}-{month:02}-{day:02}"),
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::timestamp::{MAX, MIN};

    use super::*;

    #[test]
    fn dates_and_timestamps_are_written() {
        let dates = [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (2_932_897, "10000-01-01"),
            (-719_529, "-0001-12-31"),
            (i32::MIN, "-infinity"),
            (i32::MAX, "infinity"),
        ];
        for (days, text) in dates {
            assert_eq!(date(days), text);
        }
        let timestamps = [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59.999999"),
            (1_500_000, "1970-01-01 00:00:01.5"),
            (MIN, "-4713-11-24 00:00:00"),
            (MAX, "294276-12-31 23:59:59.999999"),
            (i64::MAX, "294247-01-10 04:00:54.775807"),
            (i64::MIN, "294247-01-10 04:00:54.775808"),
            (INFINITY, "infinity"),
            (MINUS_INFINITY, "-infinity"),
        ];
        for (number, text) in timestamps {
            assert_eq!(timestamp(number, ""), text);
        }
        assert_eq!(timestamp(0, "+00:00"), "1970-01-01 00:00:00+00:00");
    }

    #[test]
    fn times_intervals_and_uuids_are_written() {
        assert_eq!(time(86_400_000_000), "24:00:00");
        assert_eq!(time(1), "00:00:00.000001");
        assert_eq!(interval(14, -3, -1_500_000), "P14M-3DT-1.5S");
        assert_eq!(interval(0, 0, i64::MIN), "P0M0DT-9223372036854.775808S");
        let bytes: Vec<u8> = (0..16).collect();
        assert_eq!(uuid(&bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }
}
