//! Timestamps with and without time zone: a date, `T` or a blank, a time, and an offset if the type has a zone.
//!
//! An offset in a timestamp without time zone is refused. PostgreSQL silently ignores it, which changes the meaning of
//! the value.

use inrush_rows::calendar::DAY_MICROSECONDS;
use inrush_rows::column::Column;
use inrush_rows::cursor::Cursor;
use inrush_rows::reject::RejectCode;
use inrush_rows::time_zone::{self, OffsetFault};
use inrush_rows::timestamp::{INFINITY, MINUS_INFINITY};

use super::date::{civil_date, infinity, quick_date, split_era};
use super::date_time_range::{MICROSECONDS_MAX, MICROSECONDS_MIN, in_range};
use super::error::{ConvertError, ValueError};
use super::format_hints::{Wanted, not_written_as};
use super::format_list::Formats;
use super::format_use::{DeclaredZone, FormatUse};
use super::kernel::{Kernel, Window, trim};
use super::number::is_any_word;
use super::second_digits::SecondDigits;
use super::time::{quick_time, separator, time_of_day};
use super::zone::Zone;

/// Converts timestamps without time zone.
pub(super) struct Timestamp {
    seconds: SecondDigits,
    formats: Option<Formats>,
}

impl Timestamp {
    pub fn new(column: &Column, fraction_digits: u8) -> Result<Timestamp, ConvertError> {
        Ok(Timestamp {
            seconds: SecondDigits::new(fraction_digits, column.policies.round),
            formats: Formats::of(column, FormatUse::Timestamp)?,
        })
    }

    /// True if its column declares how timestamps are written.
    pub fn has_formats(&self) -> bool {
        self.formats.is_some()
    }
}

impl Timestamp {
    /// Digits of a second's fraction that are kept; `None` if its column declares how values are written.
    pub fn digits_kept(&self) -> Option<u8> {
        self.formats.is_none().then_some(self.seconds.kept)
    }

    /// The number of values that were rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        self.seconds.take_rounded_count()
    }
}

impl Kernel for Timestamp {
    type Native = i64;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<i64> {
        match &self.formats {
            None => {
                let (local, end) = quick_local(window, length, self.seconds.kept)?;
                (end == length).then_some(local)
            }
            Some(formats) => formats.quick(window, length),
        }
    }

    fn exact(&self, field: &[u8]) -> Result<i64, ValueError> {
        let text = trim(field);
        if let Some(formats) = &self.formats {
            return formats.timestamp(text, &self.seconds);
        }
        match parse(text, &self.seconds)? {
            Parsed::Infinity(value) => Ok(value),
            Parsed::Local {
                microseconds,
                offset: None,
            } => in_range(microseconds),
            Parsed::Local {
                offset: Some(_), ..
            } => Err(ValueError::syntax(
                "the timestamp has an offset from UTC, but the column is without time zone: \
                 PostgreSQL would silently ignore it; make the column timestamptz, or remove the \
                 offsets from the file",
            )),
        }
    }
}

/// Converts timestamps with time zone.
pub(super) struct TimestampTz {
    seconds: SecondDigits,
    formats: Option<Formats>,
    zone: Option<Zone>,
}

impl TimestampTz {
    pub fn new(column: &Column, fraction_digits: u8) -> Result<TimestampTz, ConvertError> {
        let zone = Zone::of(column)?;
        let format_use = FormatUse::TimestampTz {
            zone: match &zone {
                None => DeclaredZone::Absent,
                Some(zone) if zone.is_utc() => DeclaredZone::Utc,
                Some(_) => DeclaredZone::Other,
            },
        };
        Ok(TimestampTz {
            seconds: SecondDigits::new(fraction_digits, column.policies.round),
            formats: Formats::of(column, format_use)?,
            zone,
        })
    }

    fn utc(&self, local: i128, offset: Option<i32>) -> Result<i64, ValueError> {
        let offset = match (offset, &self.zone) {
            (Some(offset), _) => offset,
            (None, Some(zone)) => zone.offset_seconds(local)?,
            (None, None) => {
                return Err(ValueError::new(
                    RejectCode::ZoneMissing,
                    "the timestamp has no offset from UTC, and no zone is declared for the column; \
                     declare the zone that the file was written in: zone = \"Europe/Vienna\", or \
                     \"UTC\"",
                ));
            }
        };
        in_range(local - i128::from(offset) * 1_000_000)
    }
}

impl TimestampTz {
    /// Digits of a second's fraction that are kept; `None` if its column declares how values are written.
    pub fn digits_kept(&self) -> Option<u8> {
        self.formats.is_none().then_some(self.seconds.kept)
    }

    /// The number of values that were rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        self.seconds.take_rounded_count()
    }
}

impl Kernel for TimestampTz {
    type Native = i64;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<i64> {
        if self.formats.is_some() {
            return None;
        }
        let (local, end) = quick_local(window, length, self.seconds.kept)?;
        let offset_seconds = quick_offset(window, end, length)?;
        Some(local - offset_seconds * 1_000_000)
    }

    fn exact(&self, field: &[u8]) -> Result<i64, ValueError> {
        let text = trim(field);
        if let Some(formats) = &self.formats {
            let (local, offset) = formats.timestamp_with_offset(text, &self.seconds)?;
            return self.utc(local, offset);
        }
        match parse(text, &self.seconds)? {
            Parsed::Infinity(value) => Ok(value),
            Parsed::Local {
                microseconds,
                offset,
            } => self.utc(microseconds, offset),
        }
    }
}

/// Reads `YYYY-MM-DD`, `T` or a blank, `HH:MM:SS[.fraction]`: returns the microseconds, and the end of the text.
#[inline(always)]
fn quick_local(window: &Window, length: usize, fraction_digits: u8) -> Option<(i64, usize)> {
    if length < 19 || !matches!(window[10], b' ' | b'T') {
        return None;
    }
    let days = quick_date(window)?;
    let (time, end) = quick_time(window, 11, length, fraction_digits)?;
    Some((days * DAY_MICROSECONDS + time, end))
}

/// `Z`, `+HH`, `+HH:MM` or `+HHMM` between `at` and `length`, in seconds.
#[inline(always)]
fn quick_offset(window: &Window, at: usize, length: usize) -> Option<i64> {
    let count = length - at;
    if count == 1 {
        return (window[at] == b'Z').then_some(0);
    }
    let sign = match window[at] {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let two = |at: usize| {
        let (tens, ones) = (
            window[at].wrapping_sub(b'0'),
            window[at + 1].wrapping_sub(b'0'),
        );
        (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
    };
    let hours = two(at + 1)?;
    let minutes = match count {
        3 => 0,
        5 => two(at + 3)?,
        6 if window[at + 3] == b':' => two(at + 4)?,
        _ => return None,
    };
    if hours > 15 || minutes > 59 {
        return None;
    }
    Some(sign * (hours * 60 + minutes) * 60)
}

/// A timestamp as it is written.
enum Parsed {
    /// Minus or plus infinity.
    Infinity(i64),
    /// Microseconds since 1970-01-01T00:00:00 in local time, and the seconds that local time is ahead of UTC.
    Local {
        microseconds: i128,
        offset: Option<i32>,
    },
}

fn parse(text: &[u8], seconds: &SecondDigits) -> Result<Parsed, ValueError> {
    match infinity(text) {
        Some(true) => return Ok(Parsed::Infinity(MINUS_INFINITY)),
        Some(false) => return Ok(Parsed::Infinity(INFINITY)),
        None => {}
    }
    let fault = || not_written_as(Wanted::Timestamp, text);
    let (rest, era) = split_era(text);
    let mut cursor = Cursor::new(rest);
    let date = civil_date(&mut cursor, text).map_err(|_| fault())?;
    let mut time = 0;
    let mut offset = None;
    if !cursor.is_at_end() {
        if !separator(&mut cursor) {
            return Err(fault());
        }
        time = time_of_day(&mut cursor, seconds).map_err(|error| error.into_error(fault))?;
        let zone = trim(cursor.rest);
        if !zone.is_empty() {
            offset = Some(offset_seconds(zone, text)?);
        }
    }
    // Distant years in microseconds exceed 64 bits.
    let day = i128::from(DAY_MICROSECONDS);
    let microseconds = i128::from(date.calendar_days(era)?) * day + i128::from(time);
    // Offsets from UTC are less than a day, so a value that is further outside the range is out of range with any
    // offset.
    if !(MICROSECONDS_MIN - day..=MICROSECONDS_MAX + day).contains(&microseconds) {
        in_range(microseconds)?;
    }
    Ok(Parsed::Local {
        microseconds,
        offset,
    })
}

/// Seconds that an offset is ahead of UTC; `whole` is the text that it ends, for the message.
pub(super) fn offset_seconds(zone: &[u8], whole: &[u8]) -> Result<i32, ValueError> {
    if is_any_word(zone, &["am", "pm"]) {
        return Err(not_written_as(Wanted::Timestamp, whole));
    }
    time_zone::offset_seconds(zone).map_err(|fault| match fault {
        OffsetFault::Syntax => ValueError::syntax(format!(
            "{:?} is not an offset from UTC; write Z, +HH:MM or -HH:MM: names and abbreviations of \
             zones are not read in values",
            String::from_utf8_lossy(zone)
        )),
        OffsetFault::OutOfRange => ValueError::out_of_range(
            "an offset from UTC must be less than 16 hours, with minutes and seconds below 60",
        ),
    })
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;
    use inrush_rows::timestamp;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;
    use inrush_rows::timestamp::{POSTGRES_EPOCH_MICROSECONDS, POSTGRES_MAX};

    fn column(column_type: ColumnType, format: Option<&str>, zone: Option<&str>) -> Column {
        Column {
            formats: format.map(str::to_owned).into_iter().collect(),
            zone: zone.map(str::to_owned),
            ..Column::new("ts", column_type, 0)
        }
    }

    fn local(fraction_digits: u8, format: Option<&str>, text: &str) -> Result<i64, RejectCode> {
        let column = column(ColumnType::Timestamp { fraction_digits }, format, None);
        let kernel = Timestamp::new(&column, fraction_digits).expect("a kernel");
        both_paths(&kernel, text).map_err(|error| error.code)
    }

    fn utc(format: Option<&str>, zone: Option<&str>, text: &str) -> Result<i64, RejectCode> {
        let column = column(ColumnType::TimestampTz { fraction_digits: 6 }, format, zone);
        let kernel = TimestampTz::new(&column, 6).expect("a kernel");
        both_paths(&kernel, text).map_err(|error| error.code)
    }

    macro_rules! local_times {
        ($($name:ident: $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(local(6, None, $text), $expected);
            })*
        };
    }

    const SECOND: i64 = 1_000_000;

    local_times! {
        epoch: "1970-01-01 00:00:00" => Ok(0);
        epoch_with_t: "1970-01-01T00:00:00" => Ok(0);
        small_t: "1970-01-01t00:00:01" => Ok(SECOND);
        two_blanks: "1970-01-01  00:00:01" => Ok(SECOND);
        date_alone: "1970-01-02" => Ok(DAY_MICROSECONDS);
        before_the_epoch: "1969-12-31 23:59:59.999999" => Ok(-1);
        no_seconds: "1970-01-01 00:01" => Ok(60 * SECOND);
        end_of_day: "1970-01-01 24:00:00" => Ok(DAY_MICROSECONDS);
        basic_date: "19700101 00:00:01" => Ok(SECOND);
        smallest: "4714-11-24 00:00:00 BC" => Ok(-210_866_803_200_000_000);
        past_smallest: "4714-11-23 23:59:59 BC" => Err(RejectCode::OutOfRange);
        largest_of_arrow: "294247-01-10 04:00:54.775807" => Ok(i64::MAX);
        past_arrow: "294247-01-10 04:00:54.775808" => Ok(i64::MIN);
        largest: "294276-12-31 23:59:59.999999" => Ok(timestamp::MAX);
        past_largest: "294276-12-31 24:00:00" => Err(RejectCode::OutOfRange);
        past_largest_year: "294277-01-01" => Err(RejectCode::OutOfRange);
        far_past: "5000000-01-01 00:00:00" => Err(RejectCode::OutOfRange);
        infinite: "infinity" => Ok(INFINITY);
        minus_infinite: "-INFINITY" => Ok(MINUS_INFINITY);
        offset: "2024-01-01 12:00:00+01" => Err(RejectCode::Syntax);
        zulu: "2024-01-01T12:00:00Z" => Err(RejectCode::Syntax);
        too_fine: "2024-01-01 12:00:00.0000001" => Err(RejectCode::FractionLost);
        no_such_day: "2023-02-29 12:00:00" => Err(RejectCode::OutOfRange);
        leap_second: "2016-12-31 23:59:60" => Err(RejectCode::OutOfRange);
        half_of_day: "2024-01-01 12:00 PM" => Err(RejectCode::Syntax);
        american: "01/02/2024 12:00:00" => Err(RejectCode::Syntax);
        hour_alone: "2024-01-01 12" => Err(RejectCode::Syntax);
        empty: "" => Err(RejectCode::Syntax);
    }

    macro_rules! utc_times {
        ($($name:ident: $zone:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(utc(None, $zone, $text), $expected);
            })*
        };
    }

    const VIENNA: Option<&str> = Some("Europe/Vienna");
    const HOUR: i64 = 3600 * SECOND;

    utc_times! {
        utc_zulu: None, "1970-01-01T00:00:00Z" => Ok(0);
        utc_small_zulu: None, "1970-01-01T00:00:00z" => Ok(0);
        utc_word: None, "1970-01-01 00:00:00 UTC" => Ok(0);
        utc_greenwich: None, "1970-01-01 00:00:00gmt" => Ok(0);
        utc_hours: None, "1970-01-01 00:00:00+01" => Ok(-HOUR);
        utc_one_digit: None, "1970-01-01 00:00:00+1" => Ok(-HOUR);
        utc_blank: None, "1970-01-01 00:00:00 -01" => Ok(HOUR);
        utc_minutes: None, "1970-01-01 00:00:00.5+01:30" => Ok(-HOUR * 3 / 2 + SECOND / 2);
        utc_no_colon: None, "1970-01-01 00:00:00-0130" => Ok(HOUR * 3 / 2);
        utc_seconds: None, "1970-01-01 00:00:00+00:00:15" => Ok(-15 * SECOND);
        utc_no_seconds: None, "1970-01-01 00:01Z" => Ok(60 * SECOND);
        utc_largest_offset: None, "1970-01-01 00:00:00-15:59:59" => Ok(16 * HOUR - SECOND);
        utc_past_largest_offset: None, "1970-01-01 00:00:00+16" => Err(RejectCode::OutOfRange);
        utc_six_digits: None, "1970-01-01 00:00:00+013015" => Err(RejectCode::Syntax);
        utc_before_christ: None, "0044-03-15 12:00:00+00 BC" => Ok(-63_517_780_800 * SECOND);
        utc_infinite: None, "infinity" => Ok(INFINITY);
        utc_abbreviation: None, "1970-01-01 00:00:00 EST" => Err(RejectCode::Syntax);
        utc_name: None, "1970-01-01 00:00:00 Europe/Vienna" => Err(RejectCode::Syntax);
        utc_half_of_day: None, "1970-01-01 00:00:00 AM" => Err(RejectCode::Syntax);
        no_zone: None, "1970-01-01 00:00:00" => Err(RejectCode::ZoneMissing);
        vienna_winter: VIENNA, "2024-01-01 00:00:00" => Ok((1_704_067_200 - 3600) * SECOND);
        vienna_summer: VIENNA, "2024-07-01 00:00:00" => Ok((1_719_792_000 - 7200) * SECOND);
        vienna_with_offset: VIENNA, "1970-01-01 00:00:00+00" => Ok(0);
        vienna_skipped: VIENNA, "2024-03-31 02:30:00" => Err(RejectCode::AmbiguousLocalTime);
        vienna_doubled: VIENNA, "2024-10-27 02:30:00" => Err(RejectCode::AmbiguousLocalTime);
        vienna_after_doubled: VIENNA, "2024-10-27 03:00:00" => Ok((1_729_998_000 - 3600) * SECOND);
        vienna_end_of_day: VIENNA, "2023-12-31 24:00" => Ok((1_704_067_200 - 3600) * SECOND);
        vienna_date: VIENNA, "2024-01-01" => Ok((1_704_067_200 - 3600) * SECOND);
        utc_zone: Some("UTC"), "1970-01-01 00:00:01" => Ok(SECOND);
        utc_first: None, "4714-11-24 00:00:00+00 BC" => Ok(-210_866_803_200_000_000);
        utc_before_first: None, "4714-11-24 00:00:00+01 BC" => Err(RejectCode::OutOfRange);
        utc_last_of_arrow: None, "294247-01-10 05:00:54.775807+01" => Ok(i64::MAX);
        utc_past_arrow: None, "294247-01-10 03:00:54.775808-01" => Ok(i64::MIN);
        utc_last: None, "294276-12-31 23:59:59.999999Z" => Ok(timestamp::MAX);
        utc_past_last: None, "294276-12-31 23:59:59.999999-00:00:01"
            => Err(RejectCode::OutOfRange);
        // The first hours after the last year are still in range if local time is ahead of UTC.
        utc_last_ahead: None, "294277-01-01 15:59:58.999999+15:59:59" => Ok(timestamp::MAX);
        utc_past_last_ahead: None, "294277-01-01 15:59:59+15:59:59" => Err(RejectCode::OutOfRange);
        vienna_last: VIENNA, "294277-01-01 00:59:59.999999" => Ok(timestamp::MAX);
        vienna_far_past: VIENNA, "4000000000-01-01 00:00:00" => Err(RejectCode::OutOfRange);
        vienna_far_before: VIENNA, "4000000000-01-01 00:00:00 BC" => Err(RejectCode::OutOfRange);
        vienna_past_last: VIENNA, "294277-01-01 01:00:00" => Err(RejectCode::OutOfRange);
        // The same at the other limit, with local time behind UTC.
        utc_first_behind: None, "4714-11-23 23:00:00-01 BC" => Ok(timestamp::MIN);
        utc_before_first_behind: None, "4714-11-23 22:59:59.999999-01 BC"
            => Err(RejectCode::OutOfRange);
    }

    #[test]
    fn zones_of_far_years_repeat_after_400_years() {
        let cycle = 146_097 * DAY_MICROSECONDS;
        for (text, later) in [
            ("9024-01-01 00:00:00", "29024-01-01 00:00:00"),
            ("9024-07-01 00:00:00", "29024-07-01 00:00:00"),
        ] {
            let near = utc(None, VIENNA, text).expect("a time");
            assert_eq!(utc(None, VIENNA, later), Ok(near + 50 * cycle));
        }
    }

    #[test]
    fn declared_formats() {
        let american = Some("%m/%d/%Y %I:%M:%S %p");
        assert_eq!(
            local(6, american, "01/02/1970 12:00:01 AM"),
            Ok(DAY_MICROSECONDS + SECOND)
        );
        assert_eq!(
            local(6, american, "1/2/1970 1:00:00 pm"),
            Ok(DAY_MICROSECONDS + 13 * HOUR)
        );
        assert_eq!(
            local(6, american, "13/01/1970 01:00:00 PM"),
            Err(RejectCode::Syntax)
        );
        let compact = Some("%Y%m%d%H%M%S");
        assert_eq!(
            local(6, compact, "19700102000001"),
            Ok(DAY_MICROSECONDS + SECOND)
        );
        let fraction = Some("%d.%m.%Y %H:%M:%S%.f");
        assert_eq!(local(6, fraction, "01.01.1970 00:00:00.25"), Ok(SECOND / 4));
        assert_eq!(local(6, fraction, "01.01.1970 00:00:00"), Ok(0));
        assert_eq!(
            local(3, fraction, "01.01.1970 00:00:00.0001"),
            Err(RejectCode::FractionLost)
        );
        assert_eq!(
            local(6, fraction, "01.01.1970 00:00:00.123456789"),
            Err(RejectCode::FractionLost)
        );
        let offset = Some("%Y-%m-%d %H:%M:%S %z");
        assert_eq!(utc(offset, None, "1970-01-01 00:00:00 +0100"), Ok(-HOUR));
        let seconds = Some("%s");
        assert_eq!(utc(seconds, None, "1729998000"), Ok(1_729_998_000 * SECOND));
        let zoned = Some("%d/%m/%Y %H:%M");
        assert_eq!(
            utc(zoned, VIENNA, "01/01/2024 00:00"),
            Ok((1_704_067_200 - 3600) * SECOND)
        );
        assert_eq!(
            utc(zoned, VIENNA, "31/03/2024 02:30"),
            Err(RejectCode::AmbiguousLocalTime)
        );
    }

    /// Microseconds since 1970 from the year 1 on, to an hour past the last timestamp; many of
    /// them in years of four digits.
    fn any_moment() -> impl Strategy<Value = i128> {
        const FIRST: i128 = -62_135_596_800_000_000;
        let hour = i128::from(HOUR);
        let around = move |middle: i128| middle - 2 * hour..middle + hour;
        prop_oneof![
            FIRST..253_402_300_800_000_000,
            FIRST..MICROSECONDS_MAX + hour,
            around(i128::from(i64::MAX)),
            around(MICROSECONDS_MAX),
        ]
    }

    /// The number in a batch for microseconds since 1970.
    fn carried(microseconds: i128) -> Result<i64, RejectCode> {
        i64::try_from(microseconds - i128::from(POSTGRES_EPOCH_MICROSECONDS))
            .ok()
            .filter(|number| *number <= POSTGRES_MAX)
            .map(timestamp::from_postgres)
            .ok_or(RejectCode::OutOfRange)
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[-+0-9:. TZ/a-zA-Z\u{e4}]{0,30}", format in "([%]-?[YmdHMSIpfzsjbBaAyCDFRTN.%]|[-/ :.])+") {
            let _ = local(6, None, &text);
            let _ = utc(None, Some("Europe/Vienna"), &text);
            let column = column(ColumnType::Timestamp { fraction_digits: 6 }, Some(&format), None);
            if let Ok(kernel) = Timestamp::new(&column, 6) {
                let _ = both_paths(&kernel, &text);
                let now = jiff::civil::date(2024, 2, 29).at(13, 14, 59, 123_456_000);
                if let Ok(written) = jiff::fmt::strtime::format(&format, now) {
                    let _ = both_paths(&kernel, &written);
                }
            }
        }

        #[test]
        fn every_timestamp_survives(expected in any_moment()) {
            let day = i128::from(DAY_MICROSECONDS);
            let (days, time) = (
                expected.div_euclid(day) as i64,
                expected.rem_euclid(day) as i64,
            );
            let hour = i128::from(HOUR);
            let (year, month, day) = inrush_rows::calendar::civil_from_days(days);
            let seconds = time / SECOND;
            let text = format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}.{:06}",
                seconds / 3600, seconds / 60 % 60, seconds % 60, time % SECOND);
            prop_assert_eq!(local(6, None, &text), carried(expected));
            prop_assert_eq!(utc(None, None, &format!("{text}Z")), carried(expected));
            prop_assert_eq!(utc(None, None, &format!("{text}-01:00")), carried(expected + hour));
            prop_assert_eq!(utc(None, None, &format!("{text}+01:00")), carried(expected - hour));
        }

        #[test]
        fn paths_agree(
            text in "[0-9]{4}-[0-1][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.][0-9]{0,7})?[-+Z]?[0-9]{0,2}:?[0-9]{0,2}",
            digits in 0u8..=6,
        ) {
            let _ = local(digits, None, &text);
            let _ = utc(None, None, &text);
        }
    }
}
