//! Intervals: months, days and microseconds, which are never converted into each other.
//!
//! In PostgreSQL from version 17 on, the interval whose parts are all the largest values is infinity, and the one whose
//! parts are all the smallest is -infinity (`inrush_rows::interval`). An interval that is written in parts never
//! becomes one of them.
//!
//! PostgreSQL sets the parts of a restricted interval (`interval year to month`) below its last field to zero; here a
//! value with such parts is rejected.
//!
//! As in PostgreSQL, fractions of larger units become smaller units (half a month is 15 days, half a day 12 hours), but
//! only if nothing must be rounded; PostgreSQL rounds.

use inrush_rows::column::IntervalFields;
use inrush_rows::interval::{INFINITY, MINUS_INFINITY};

use super::date::infinity;
use super::date_time_range::fraction_lost;
use super::error::ValueError;
use super::interval_text;
use super::interval_value::IntervalValue;
use super::kernel::{Kernel, Window, trim};

const YEAR_MONTHS: i32 = 12;
const HOUR_MICROSECONDS: i64 = 3_600_000_000;
const MINUTE_MICROSECONDS: i64 = 60_000_000;

/// Converts intervals.
pub(super) struct Interval {
    fraction_digits: u8,
    has_infinity: bool,
    fields: Option<IntervalFields>,
}

impl Interval {
    /// A converter of intervals with all fields, or only with these.
    pub fn new(
        fields: Option<IntervalFields>,
        fraction_digits: u8,
        has_infinity: bool,
    ) -> Interval {
        Interval {
            fraction_digits,
            has_infinity,
            fields,
        }
    }
}

/// Rejects a value with parts that these fields would not keep.
fn refuse_finer(fields: IntervalFields, value: IntervalValue) -> Result<(), ValueError> {
    let IntervalValue {
        months,
        days,
        microseconds,
    } = value;
    let (is_kept, lost) = match fields.last() {
        IntervalFields::Year => (
            months % YEAR_MONTHS == 0 && days == 0 && microseconds == 0,
            "months, days and times",
        ),
        IntervalFields::Month => (days == 0 && microseconds == 0, "days and times"),
        IntervalFields::Day => (microseconds == 0, "times"),
        IntervalFields::Hour => (microseconds % HOUR_MICROSECONDS == 0, "minutes and seconds"),
        IntervalFields::Minute => (microseconds % MINUTE_MICROSECONDS == 0, "seconds"),
        _ => (true, ""),
    };
    if is_kept {
        return Ok(());
    }
    Err(ValueError::fraction_lost(format!(
        "interval {} keeps no {lost}, which PostgreSQL would set to zero; correct the value, or \
         make the column interval",
        fields.words()
    )))
}

impl Kernel for Interval {
    type Native = IntervalValue;

    #[inline(always)]
    fn quick(&self, _window: &Window, _length: usize) -> Option<IntervalValue> {
        None
    }

    fn exact(&self, field: &[u8]) -> Result<IntervalValue, ValueError> {
        let text = trim(field);
        if let Some(is_negative) = infinity(text) {
            if !self.has_infinity {
                return Err(ValueError::out_of_range(
                    "the destination has no infinite intervals (PostgreSQL has them from version 17 on)",
                ));
            }
            let value = if is_negative {
                MINUS_INFINITY
            } else {
                INFINITY
            };
            return Ok(IntervalValue::new(value));
        }
        let value = interval_text::parse(text, self.fields)?.value()?;
        if self.has_infinity && value.is_infinite() {
            return Err(ValueError::out_of_range(
                "outside the range of interval: from version 17 on, PostgreSQL stores infinity as this \
                 interval; if you mean infinity, write infinity or -infinity",
            ));
        }
        if let Some(fields) = self.fields {
            refuse_finer(fields, value)?;
        }
        let digits = u32::from(self.fraction_digits.min(6));
        let lost = value.microseconds % 10i64.pow(6 - digits);
        if lost != 0 {
            let fraction = format!("{:06}", (value.microseconds % 1_000_000).unsigned_abs());
            return Err(fraction_lost(
                fraction.trim_end_matches('0').len(),
                self.fraction_digits,
            ));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn interval(fraction_digits: u8, text: &str) -> Result<(i32, i32, i64), RejectCode> {
        of_server(true, fraction_digits, text)
    }

    fn of_server(
        has_infinity: bool,
        fraction_digits: u8,
        text: &str,
    ) -> Result<(i32, i32, i64), RejectCode> {
        both_paths(&Interval::new(None, fraction_digits, has_infinity), text)
            .map(|value| (value.months, value.days, value.microseconds))
            .map_err(|error| error.code)
    }

    const SECOND: i64 = 1_000_000;
    const HOUR: i64 = 3_600 * SECOND;

    const LARGEST: &str = "2147483647 mons 2147483647 days 2562047788:00:54.775807";
    const SMALLEST: &str = "-2147483648 mons -2147483648 days -2562047788:00:54.775808";

    #[test]
    fn before_version_17_nothing_is_infinite() {
        assert_eq!(of_server(false, 6, LARGEST), Ok(INFINITY));
        assert_eq!(of_server(false, 6, SMALLEST), Ok(MINUS_INFINITY));
        for text in ["infinity", "-infinity"] {
            assert_eq!(of_server(false, 6, text), Err(RejectCode::OutOfRange));
            // The digits of the second's fraction do not matter here.
            assert_eq!(of_server(true, 0, text), interval(6, text));
        }
    }

    macro_rules! intervals {
        ($($name:ident: $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(interval(6, $text), $expected);
            })*
        };
    }

    intervals! {
        // The forms that PostgreSQL itself writes.
        zero: "00:00:00" => Ok((0, 0, 0));
        all_parts: "1 year 2 mons 3 days 04:05:06.789" => Ok((14, 3, 4 * HOUR + 306_789_000));
        minus_days: "-1 days +02:03:00" => Ok((0, -1, 7_380 * SECOND));
        all_minus: "-1 years -2 mons +3 days -04:05:06.789" => Ok((-14, 3, -4 * HOUR - 306_789_000));
        one_day: "1 day" => Ok((0, 1, 0));
        minus_time: "-00:00:01" => Ok((0, 0, -SECOND));
        many_hours: "1000:00:00" => Ok((0, 0, 1000 * HOUR));
        largest_months: "178956970 years 7 mons" => Ok((i32::MAX, 0, 0));
        past_largest_months: "178956970 years 8 mons" => Err(RejectCode::OutOfRange);
        smallest_months: "-178956970 years -8 mons" => Ok((i32::MIN, 0, 0));
        largest_days: "2147483647 days" => Ok((0, i32::MAX, 0));
        past_largest_days: "2147483648 days" => Err(RejectCode::OutOfRange);
        largest_time: "2562047788:00:54.775807" => Ok((0, 0, i64::MAX));
        past_largest_time: "2562047788:00:54.775808" => Err(RejectCode::OutOfRange);
        far_past: "99999999999999999999999999 years" => Err(RejectCode::OutOfRange);
        infinite: "infinity" => Ok(INFINITY);
        plus_infinite: "+Infinity" => Ok(INFINITY);
        minus_infinite: "-INFINITY" => Ok(MINUS_INFINITY);
        short_infinite: "inf" => Err(RejectCode::Syntax);
        infinite_ago: "infinity ago" => Err(RejectCode::Syntax);
        infinite_in_parts: LARGEST => Err(RejectCode::OutOfRange);
        minus_infinite_in_parts: SMALLEST => Err(RejectCode::OutOfRange);
        next_to_largest: "2147483647 mons 2147483647 days 2562047788:00:54.775806"
            => Ok((i32::MAX, i32::MAX, i64::MAX - 1));
        // PostgreSQL's verbose style and other units.
        verbose: "@ 1 year 2 mons 3 days 4 hours 5 mins 6.5 secs" => Ok((14, 3, 4 * HOUR + 306_500_000));
        verbose_ago: "@ 1 day 2 hours ago" => Ok((0, -1, -2 * HOUR));
        verbose_zero: "@ 0" => Ok((0, 0, 0));
        verbose_nothing: "@" => Err(RejectCode::Syntax);
        verbose_blanks: " @  " => Err(RejectCode::Syntax);
        verbose_ago_of_nothing: "@ ago" => Err(RejectCode::Syntax);
        units_upper_case: "1 YEAR 2 Months" => Ok((14, 0, 0));
        weeks: "2 weeks 1 day" => Ok((0, 15, 0));
        long_units: "1 millennium 1 century 1 decade" => Ok((13_320, 0, 0));
        short_units: "1h30m" => Ok((0, 0, HOUR * 3 / 2));
        small_units: "1 sec 2 ms 3 us" => Ok((0, 0, 1_002_003));
        time_first: "04:05:06 1 day" => Ok((0, 1, 14_706 * SECOND));
        hours_and_minutes: "04:05" => Ok((0, 0, 14_700 * SECOND));
        half_year: "1.5 years" => Ok((18, 0, 0));
        half_month: "1.5 months" => Ok((1, 15, 0));
        minus_half_month: "-0.5 mons" => Ok((0, -15, 0));
        half_day: "1.5 days" => Ok((0, 1, 12 * HOUR));
        half_week: "1.5 weeks" => Ok((0, 10, 12 * HOUR));
        tenth_of_week: "0.1 weeks" => Ok((0, 0, 60_480 * SECOND));
        half_hour: "1.5 hours" => Ok((0, 0, HOUR * 3 / 2));
        point_first: ".5 days" => Ok((0, 0, 12 * HOUR));
        tiny_part_of_day: "0.0000001 days" => Ok((0, 0, 8_640));
        // Values that PostgreSQL would round.
        third_of_year: "0.3 years" => Err(RejectCode::FractionLost);
        too_fine_seconds: "1.1234567 seconds" => Err(RejectCode::FractionLost);
        too_fine_time: "00:00:01.1234567" => Err(RejectCode::FractionLost);
        too_fine_days: "0.00000000001 days" => Err(RejectCode::FractionLost);
        zeros_are_not_too_fine: "1.500000000000000000000000 seconds" => Ok((0, 0, 1_500_000));
        // ISO 8601.
        iso: "P1Y2M3DT4H5M6.7S" => Ok((14, 3, 4 * HOUR + 306_700_000));
        iso_minus: "P-1Y2M" => Ok((-10, 0, 0));
        iso_weeks: "P2W" => Ok((0, 14, 0));
        iso_time: "PT36H" => Ok((0, 0, 36 * HOUR));
        iso_fraction: "PT-0.5S" => Ok((0, 0, -SECOND / 2));
        iso_minutes_are_not_months: "P1YT1M" => Ok((12, 0, 60 * SECOND));
        iso_zero: "PT0S" => Ok((0, 0, 0));
        iso_small: "p1y" => Err(RejectCode::Syntax);
        iso_empty: "P" => Err(RejectCode::Syntax);
        iso_no_time: "P1DT" => Err(RejectCode::Syntax);
        iso_twice: "P1D1D" => Err(RejectCode::Syntax);
        iso_sign_first: "-P1Y" => Err(RejectCode::Syntax);
        iso_hours_in_date: "P1H" => Err(RejectCode::Syntax);
        // Texts with more than one reading.
        empty: "" => Err(RejectCode::Syntax);
        number_alone: "5" => Err(RejectCode::Syntax);
        unknown_unit: "1 quarter" => Err(RejectCode::Syntax);
        unit_alone: "days" => Err(RejectCode::Syntax);
        twice: "1 day 1 day" => Err(RejectCode::Syntax);
        hours_twice: "1 hour 02:03:04" => Err(RejectCode::Syntax);
        minutes_or_hours: "04:05.5" => Err(RejectCode::Syntax);
        minute_60: "00:60:00" => Err(RejectCode::OutOfRange);
        second_60: "00:00:60" => Err(RejectCode::OutOfRange);
        exponent: "1e3 days" => Err(RejectCode::Syntax);
        year_month: "1-2" => Err(RejectCode::Syntax);
        ago_in_the_middle: "1 day ago 1 hour" => Err(RejectCode::Syntax);
        sign_alone: "- 1 day" => Err(RejectCode::Syntax);
    }

    fn of(fields: IntervalFields, text: &str) -> Result<(i32, i32, i64), RejectCode> {
        both_paths(&Interval::new(Some(fields), 6, true), text)
            .map(|value| (value.months, value.days, value.microseconds))
            .map_err(|error| error.code)
    }

    macro_rules! of_fields {
        ($($name:ident: $fields:ident, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(of(IntervalFields::$fields, $text), $expected);
            })*
        };
    }

    of_fields! {
        years: Year, "2 years" => Ok((24, 0, 0));
        years_alone: Year, "2" => Ok((24, 0, 0));
        years_of_months: Year, "24 mons" => Ok((24, 0, 0));
        years_lose_months: Year, "18 mons" => Err(RejectCode::FractionLost);
        years_lose_half: Year, "1.5" => Err(RejectCode::FractionLost);
        years_lose_a_day: Year, "1 year 1 day" => Err(RejectCode::FractionLost);
        years_and_months: YearToMonth, "1-2" => Ok((14, 0, 0));
        minus_years_and_months: YearToMonth, "-1-2" => Ok((-14, 0, 0));
        plus_years_and_months: YearToMonth, " +10-11 " => Ok((131, 0, 0));
        month_twelve: YearToMonth, "1-12" => Err(RejectCode::OutOfRange);
        year_month_open: YearToMonth, "1-" => Err(RejectCode::Syntax);
        year_month_behind: YearToMonth, "1-2x" => Err(RejectCode::Syntax);
        months_alone: YearToMonth, "7" => Ok((7, 0, 0));
        months_alone_minus: Month, "-7" => Ok((-7, 0, 0));
        months_keep_years: Month, "1 year 1 mon" => Ok((13, 0, 0));
        months_lose_a_day: YearToMonth, "1 day" => Err(RejectCode::FractionLost);
        months_lose_a_second: Month, "1 mon 00:00:01" => Err(RejectCode::FractionLost);
        months_lose_half: Month, "1.5" => Err(RejectCode::FractionLost);
        days_alone: Day, "1" => Ok((0, 1, 0));
        days_keep_months: Day, "1 mon 1 day" => Ok((1, 1, 0));
        days_lose_hours: Day, "1 day 01:00" => Err(RejectCode::FractionLost);
        days_lose_half: Day, "1.5" => Err(RejectCode::FractionLost);
        days_of_zero_time: Day, "3 00:00:00" => Ok((0, 3, 0));
        hours_alone: Hour, "36" => Ok((0, 0, 36 * HOUR));
        hours_behind_days: DayToHour, "1 day 5" => Ok((0, 1, 5 * HOUR));
        hours_lose_minutes: DayToHour, "1 01:30" => Err(RejectCode::FractionLost);
        hours_lose_half: Hour, "1.5" => Err(RejectCode::FractionLost);
        minutes_alone: Minute, "90" => Ok((0, 0, HOUR * 3 / 2));
        minutes_of_clock: HourToMinute, "01:30" => Ok((0, 0, HOUR * 3 / 2));
        minutes_lose_seconds: DayToMinute, "01:30:01" => Err(RejectCode::FractionLost);
        seconds_alone: Second, "90" => Ok((0, 0, 90 * SECOND));
        seconds_and_fraction: Second, "90.5" => Ok((0, 0, 90_500_000));
        day_and_clock: DayToSecond, "1 02:03:04.5" => Ok((0, 1, 2 * HOUR + 184_500_000));
        minus_day_and_clock: DayToSecond, "-1 -02:03" => Ok((0, -1, -2 * HOUR - 180 * SECOND));
        two_days_and_clock: DayToSecond, "1 day 1 02:03" => Err(RejectCode::Syntax);
        sign_behind_a_blank: Minute, "1 week +01" => Ok((0, 7, 60 * SECOND));
        sign_behind_a_unit: Minute, "1 week+01" => Err(RejectCode::Syntax);
        sign_behind_a_short_unit: Minute, "1h-5m" => Err(RejectCode::Syntax);
        digits_behind_a_unit: DayToSecond, "1 week01 day" => Err(RejectCode::Syntax);
        digits_behind_a_short_unit: DayToSecond, "1h30m" => Ok((0, 0, HOUR * 3 / 2));
        a_sign_before_a_point: Hour, "-.5 hr" => Err(RejectCode::Syntax);
        a_point_before_a_unit: Day, "5.day" => Err(RejectCode::Syntax);
        a_point_before_a_blank: Day, "5. day" => Ok((0, 5, 0));
        iso_with_a_plus: Year, "P+1Y" => Err(RejectCode::Syntax);
        milliseconds_behind_a_clock: DayToSecond, "20:44:30 15 ms" => Err(RejectCode::Syntax);
        milliseconds_behind_seconds: DayToSecond, "30 s 15 ms" => Ok((0, 0, 30_015_000));
        milliseconds_behind_fine_seconds: DayToSecond, "30.5 s 15 ms" => Err(RejectCode::Syntax);
        number_behind_a_unit: Minute, "1day2" => Err(RejectCode::Syntax);
        number_in_the_middle: DayToSecond, "5 1 day" => Err(RejectCode::Syntax);
        hours_of_clock: HourToSecond, "01:30" => Ok((0, 0, HOUR * 3 / 2));
        minutes_and_seconds: MinuteToSecond, "01:30" => Ok((0, 0, 90 * SECOND));
        minutes_and_fraction: MinuteToSecond, "01:30.5" => Ok((0, 0, 90_500_000));
        minutes_minus: MinuteToSecond, "-01:30" => Ok((0, 0, -90 * SECOND));
        minutes_past: MinuteToSecond, "61:30" => Err(RejectCode::OutOfRange);
        all_of_clock: MinuteToSecond, "01:30:05" => Ok((0, 0, 5_405 * SECOND));
        hours_or_minutes: HourToSecond, "01:30.5" => Err(RejectCode::Syntax);
        infinite_fields: Year, "infinity" => Ok(INFINITY);
        ago: DayToHour, "1 day 5 ago" => Err(RejectCode::Syntax);
    }

    #[test]
    fn fields_are_named() {
        let kernel = Interval::new(Some(IntervalFields::YearToMonth), 6, true);
        let reason = kernel.exact(b"1 day").expect_err("a day is lost").reason;
        assert!(
            reason.starts_with("interval year to month keeps no days and times"),
            "{reason}"
        );
    }

    #[test]
    fn fewer_digits() {
        assert_eq!(interval(3, "00:00:00.123"), Ok((0, 0, 123_000)));
        assert_eq!(interval(3, "00:00:00.1234"), Err(RejectCode::FractionLost));
        assert_eq!(interval(0, "-00:00:01"), Ok((0, 0, -SECOND)));
        assert_eq!(interval(0, "-00:00:00.5"), Err(RejectCode::FractionLost));
    }

    proptest! {
        #[test]
        fn as_postgresql_writes_them(months: i32, days: i32, seconds in -9_000_000_000_000i64..9_000_000_000_000, micros in 0i64..1_000_000) {
            let sign = if seconds < 0 { "-" } else { "" };
            let size = seconds.unsigned_abs();
            let text = format!("{} years {} mons {days} days {sign}{:02}:{:02}:{:02}.{micros:06}",
                months / 12, months % 12, size / 3600, size / 60 % 60, size % 60);
            let micros = if seconds < 0 { -micros } else { micros };
            prop_assert_eq!(interval(6, &text), Ok((months, days, seconds * SECOND + micros)), "{}", text);
        }

        #[test]
        fn nothing_panics(text in "[-+@P0-9. :TYMDdaysmonh]{0,40}") {
            let _ = interval(6, &text);
        }
    }
}
