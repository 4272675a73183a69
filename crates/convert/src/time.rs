//! Times of day: `HH:MM[:SS[.ffffff]]`, or the format that the column declares.
//!
//! A 60th second is refused. PostgreSQL carries it into the next minute, which changes the value.

use inrush_rows::calendar::DAY_MICROSECONDS;
use inrush_rows::column::Column;
use inrush_rows::cursor::Cursor;

use super::date_time_range::LEAP_SECOND;
use super::digits;
use super::error::{ConvertError, ValueError};
use super::format_hints::{Wanted, not_written_as};
use super::format_list::Formats;
use super::format_use::FormatUse;
use super::kernel::{Kernel, Window, trim};
use super::second_digits::SecondDigits;

/// Converts times of day.
pub(super) struct Time {
    seconds: SecondDigits,
    formats: Option<Formats>,
}

impl Time {
    pub fn new(column: &Column, fraction_digits: u8) -> Result<Time, ConvertError> {
        Ok(Time {
            seconds: SecondDigits::new(fraction_digits, column.policies.round),
            formats: Formats::of(column, FormatUse::Time)?,
        })
    }
}

impl Time {
    /// Digits of a second's fraction that are kept; `None` if its column declares how values are written.
    pub fn digits_kept(&self) -> Option<u8> {
        self.formats.is_none().then_some(self.seconds.kept)
    }

    /// The number of values that were rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        self.seconds.take_rounded_count()
    }
}

impl Kernel for Time {
    type Native = i64;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<i64> {
        match &self.formats {
            None => {
                let (microseconds, end) = quick_time(window, 0, length, self.seconds.kept)?;
                (end == length).then_some(microseconds)
            }
            Some(formats) => formats.quick(window, length),
        }
    }

    fn exact(&self, field: &[u8]) -> Result<i64, ValueError> {
        let text = trim(field);
        if let Some(formats) = &self.formats {
            return formats.time(text, &self.seconds);
        }
        let mut cursor = Cursor::new(text);
        let microseconds = time_of_day(&mut cursor, &self.seconds)
            .map_err(|fault| fault.into_error(|| not_written_as(Wanted::Time, text)))?;
        if cursor.is_at_end() {
            return Ok(microseconds);
        }
        if matches!(trim(cursor.rest).first(), Some(b'+' | b'-' | b'Z' | b'z')) {
            return Err(ValueError::syntax(
                "the time has an offset from UTC, which the column does not keep; remove it from \
                 the file, or make the column timetz",
            ));
        }
        Err(not_written_as(Wanted::Time, text))
    }
}

/// Reads `HH:MM:SS[.fraction]` at `at`: returns the microseconds since midnight, and the end of the text, which is at
/// most `length`.
#[inline(always)]
pub(super) fn quick_time(
    window: &Window,
    at: usize,
    length: usize,
    fraction_digits: u8,
) -> Option<(i64, usize)> {
    if length < at + 8 || length > 40 {
        return None;
    }
    let word = digits::load(window, at);
    const COLONS: u64 = 0x0000_FF00_00FF_0000;
    const COLONS_EXPECTED: u64 = 0x0000_3A00_003A_0000;
    if word & COLONS != COLONS_EXPECTED {
        return None;
    }
    let six = word & 0xFFFF | (word >> 8) & 0xFFFF_0000 | (word >> 16) & 0xFFFF_0000_0000;
    let number = digits::block(six, 6)?;
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    let mut microseconds = seconds * 1_000_000;
    let mut end = at + 8;
    if end < length && window[end] == b'.' {
        let start = end + 1;
        end = start;
        while end < length && window[end].is_ascii_digit() {
            end += 1;
        }
        let count = end - start;
        if count == 0 || count > usize::from(fraction_digits) {
            return None;
        }
        let fraction = digits::block(digits::load(window, start), count)?;
        microseconds += fraction * digits::POWERS_OF_TEN[6 - count];
    }
    Some((microseconds as i64, end))
}

/// The fault of a time of day.
pub(super) enum TimeFault {
    /// It does not have the form of a time; the caller has the whole text for the error.
    Shape,
    /// This fault.
    Error(ValueError),
}

impl TimeFault {
    pub fn into_error(self, shape: impl FnOnce() -> ValueError) -> ValueError {
        match self {
            TimeFault::Shape => shape(),
            TimeFault::Error(error) => error,
        }
    }
}

/// Reads `HH:MM[:SS[.fraction]]`, up to 24:00:00. One digit is accepted for two, as in PostgreSQL.
pub(super) fn time_of_day(
    cursor: &mut Cursor<'_>,
    seconds: &SecondDigits,
) -> Result<i64, TimeFault> {
    let hour = cursor.number_of_one_or_two().ok_or(TimeFault::Shape)?;
    if !cursor.eat(b':') {
        return Err(TimeFault::Shape);
    }
    let minute = cursor.number_of_one_or_two().ok_or(TimeFault::Shape)?;
    let mut second = 0;
    let mut fraction = 0;
    if cursor.eat(b':') {
        second = cursor.number_of_one_or_two().ok_or(TimeFault::Shape)?;
        if cursor.eat(b'.') {
            let digits = cursor.digits();
            if digits.is_empty() {
                return Err(TimeFault::Shape);
            }
            fraction = seconds
                .microseconds(digits, second % 2 == 1)
                .map_err(TimeFault::Error)?;
        }
    }
    if cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
        return Err(TimeFault::Shape);
    }
    let refuse = |reason: &str| Err(TimeFault::Error(ValueError::out_of_range(reason)));
    if hour > 24 {
        return refuse("an hour must be 0 to 24");
    }
    if minute > 59 {
        return refuse("a minute must be 0 to 59");
    }
    if second == 60 {
        return refuse(LEAP_SECOND);
    }
    if second > 59 {
        return refuse("a second must be 0 to 59");
    }
    let whole_seconds = i64::from((hour * 60 + minute) * 60 + second);
    let microseconds = whole_seconds * 1_000_000 + fraction;
    if microseconds > DAY_MICROSECONDS {
        return refuse("a day ends at 24:00:00");
    }
    Ok(microseconds)
}

/// Reads the separator of a date and a time: `T`, or blanks.
pub(super) fn separator(cursor: &mut Cursor<'_>) -> bool {
    cursor.eat(b'T') || cursor.eat(b't') || !cursor.take_while(|byte| byte == b' ').is_empty()
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn kernel(fraction_digits: u8, format: Option<&str>) -> Time {
        let column = Column {
            formats: format.map(str::to_owned).into_iter().collect(),
            ..Column::new("t", ColumnType::Time { fraction_digits }, 0)
        };
        Time::new(&column, fraction_digits).expect("a format that can be used")
    }

    fn microseconds(fraction_digits: u8, text: &str) -> Result<i64, RejectCode> {
        both_paths(&kernel(fraction_digits, None), text).map_err(|error| error.code)
    }

    macro_rules! times {
        ($($name:ident: $digits:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(microseconds($digits, $text), $expected);
            })*
        };
    }

    times! {
        midnight: 6, "00:00:00" => Ok(0);
        last: 6, "23:59:59.999999" => Ok(86_399_999_999);
        end_of_day: 6, "24:00:00" => Ok(86_400_000_000);
        end_of_day_with_fraction: 6, "24:00:00.000" => Ok(86_400_000_000);
        past_the_end: 6, "24:00:01" => Err(RejectCode::OutOfRange);
        no_seconds: 6, "12:34" => Ok(45_240_000_000);
        one_digit_of_hour: 6, "4:05" => Ok(14_700_000_000);
        one_digit_each: 6, "4:5:6.5" => Ok(14_706_500_000);
        blanks_around: 6, " 04:05:06 " => Ok(14_706_000_000);
        short_fraction: 6, "00:00:00.5" => Ok(500_000);
        zeros_past: 6, "00:00:00.5000000000" => Ok(500_000);
        digits_past: 6, "00:00:00.0000001" => Err(RejectCode::FractionLost);
        fewer_digits: 3, "00:00:00.123" => Ok(123_000);
        fewer_digits_zeros: 3, "00:00:00.123000" => Ok(123_000);
        fewer_digits_past: 3, "00:00:00.1234" => Err(RejectCode::FractionLost);
        no_digits: 0, "00:00:01" => Ok(1_000_000);
        no_digits_past: 0, "00:00:01.5" => Err(RejectCode::FractionLost);
        leap_second: 6, "23:59:60" => Err(RejectCode::OutOfRange);
        hour_25: 6, "25:00:00" => Err(RejectCode::OutOfRange);
        minute_60: 6, "00:60:00" => Err(RejectCode::OutOfRange);
        second_61: 6, "00:00:61" => Err(RejectCode::OutOfRange);
        point_alone: 6, "00:00:00." => Err(RejectCode::Syntax);
        comma: 6, "00:00:00,5" => Err(RejectCode::Syntax);
        offset: 6, "12:00:00+01" => Err(RejectCode::Syntax);
        half_of_day: 6, "12:00 PM" => Err(RejectCode::Syntax);
        empty: 6, "" => Err(RejectCode::Syntax);
        three_digits: 6, "12:000" => Err(RejectCode::Syntax);
        no_minutes: 6, "12" => Err(RejectCode::Syntax);
    }

    #[test]
    fn a_declared_format() {
        let kernel = kernel(6, Some("%I:%M:%S %p"));
        let time = |text| both_paths(&kernel, text).map_err(|error| error.code);
        assert_eq!(time("12:00:00 AM"), Ok(0));
        assert_eq!(time("1:02:03 pm"), Ok(46_923_000_000));
        assert_eq!(time("13:02:03 PM"), Err(RejectCode::Syntax));
        assert_eq!(time("11:59:60 PM"), Err(RejectCode::OutOfRange));
    }

    #[test]
    fn a_declared_format_of_digits() {
        let kernel = kernel(6, Some("%H%M%S"));
        let time = |text| both_paths(&kernel, text).map_err(|error| error.code);
        assert_eq!(time("040506"), Ok(14_706_000_000));
        assert_eq!(time("012345"), Ok(5_025_000_000));
        assert_eq!(time("12345"), Err(RejectCode::Syntax));
        assert_eq!(time("1 2345"), Err(RejectCode::Syntax));
        assert_eq!(time("235960"), Err(RejectCode::OutOfRange));
        assert_eq!(time("246060"), Err(RejectCode::Syntax));
    }

    proptest! {
        #[test]
        fn every_time_survives(expected in 0i64..DAY_MICROSECONDS) {
            let seconds = expected / 1_000_000;
            let text = format!("{:02}:{:02}:{:02}.{:06}",
                seconds / 3600, seconds / 60 % 60, seconds % 60, expected % 1_000_000);
            prop_assert_eq!(microseconds(6, &text), Ok(expected));
        }

        #[test]
        fn paths_agree_on_numbers_that_touch(text in "[0-2]?[0-9]{2,5}[ 0-9]?[0-9]") {
            for format in ["%H%M%S", "%H%M", "%H %M%S"] {
                let _ = both_paths(&kernel(6, Some(format)), &text);
            }
        }

        #[test]
        fn paths_agree(text in "[0-2][0-9][:0][0-6][0-9]:[0-6][0-9][.0-9]{0,9}", digits in 0u8..=6) {
            let _ = microseconds(digits, &text);
        }
    }
}
