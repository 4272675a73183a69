//! Dates: ISO 8601, or the format that the column declares.

use inrush_rows::calendar::{self, DAYS_MAX, DAYS_MIN};
use inrush_rows::column::Column;
use inrush_rows::cursor::{Cursor, number};

use super::date_time_range::time_lost;
use super::digits;
use super::error::{ConvertError, ValueError};
use super::format_hints::{Wanted, not_written_as};
use super::format_list::Formats;
use super::format_use::FormatUse;
use super::kernel::{Kernel, Window, trim};
use super::number::is_any_word;
use super::second_digits::SecondDigits;
use super::time;

/// Converts dates.
pub(super) struct Date {
    formats: Option<Formats>,
}

impl Date {
    pub fn new(column: &Column) -> Result<Date, ConvertError> {
        Ok(Date {
            formats: Formats::of(column, FormatUse::Date)?,
        })
    }

    /// True if its column declares how dates are written.
    pub fn has_formats(&self) -> bool {
        self.formats.is_some()
    }
}

impl Kernel for Date {
    type Native = i32;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<i32> {
        match &self.formats {
            // Years 1 to 9999 are far below the limit of 32 bits of days.
            None => (length == 10)
                .then(|| quick_date(window))?
                .map(|days| days as i32),
            Some(formats) => {
                let local = formats.quick(window, length)?;
                let days = local / calendar::DAY_MICROSECONDS;
                (local % calendar::DAY_MICROSECONDS == 0).then_some(days as i32)
            }
        }
    }

    fn exact(&self, field: &[u8]) -> Result<i32, ValueError> {
        let text = trim(field);
        if let Some(formats) = &self.formats {
            return formats.date(text);
        }
        match infinity(text) {
            Some(true) => return Ok(i32::MIN),
            Some(false) => return Ok(i32::MAX),
            None => {}
        }
        let (rest, era) = split_era(text);
        let mut cursor = Cursor::new(rest);
        let date = civil_date(&mut cursor, text)?;
        if !cursor.is_at_end() {
            midnight(&mut cursor, text)?;
        }
        let days = date.days(era)?;
        // Within PostgreSQL's range, which fits 32 bits.
        Ok(days as i32)
    }
}

/// `YYYY-MM-DD` at the start of a window, as days since 1970-01-01.
#[inline(always)]
pub(super) fn quick_date(window: &Window) -> Option<i64> {
    // One word contains `YYYY-MM-`, and another `MM-DD` after two other bytes. Their digits are combined to `YYYYMMDD`.
    let first = digits::load(window, 0);
    let second = digits::load(window, 2);
    const HYPHENS: u64 = 0xFF00_00FF_0000_0000;
    const HYPHENS_EXPECTED: u64 = 0x2D00_002D_0000_0000;
    if first & HYPHENS != HYPHENS_EXPECTED {
        return None;
    }
    let word = first & 0x0000_0000_FFFF_FFFF
        | (first >> 8) & 0x0000_FFFF_0000_0000
        | second & 0xFFFF_0000_0000_0000;
    let [century, year_of_century, month, day] = digits::pairs(digits::values(word))?;
    let year = century * 100 + year_of_century;
    if year == 0 || month.wrapping_sub(1) > 11 || day.wrapping_sub(1) > 27 {
        // The exact path checks days that not every month has.
        let is_date = year != 0
            && (1..=12).contains(&month)
            && day != 0
            && day <= calendar::days_in_month(i64::from(year), month);
        if !is_date {
            return None;
        }
    }
    Some(i64::from(calendar::days_of_four_digit_year(
        year, month, day,
    )))
}

/// A date without its era.
pub(super) struct CivilDate {
    year: i64,
    month: u32,
    day: u32,
}

/// The era of a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    Common,
    BeforeCommon,
}

impl CivilDate {
    /// Days since 1970-01-01, within PostgreSQL's range.
    pub fn days(&self, era: Era) -> Result<i64, ValueError> {
        let days = self.calendar_days(era)?;
        if !(DAYS_MIN..=DAYS_MAX).contains(&days) {
            return Err(ValueError::out_of_range(
                "outside the range of date (4714-11-24 BC to 5874897-12-31)",
            ));
        }
        Ok(days)
    }

    /// Days since 1970-01-01 of any year.
    pub fn calendar_days(&self, era: Era) -> Result<i64, ValueError> {
        if self.year == 0 {
            return Err(ValueError::out_of_range(
                "there is no year 0; the year before 1 is written 0001-01-01 BC; if 0000-00-00 \
                 means no date, set `null` in the format to it",
            ));
        }
        let year = match era {
            Era::Common => self.year,
            Era::BeforeCommon => 1 - self.year,
        };
        if self.month == 0 || self.month > 12 {
            return Err(ValueError::out_of_range(format!(
                "there is no month {}; if days are before months, declare format = \"%Y-%d-%m\" \
                 for the column",
                self.month
            )));
        }
        let last = calendar::days_in_month(year, self.month);
        if self.day == 0 || self.day > last {
            return Err(ValueError::out_of_range(format!(
                "there is no day {}: month {} of year {} has {last} days",
                self.day, self.month, self.year
            )));
        }
        Ok(calendar::days_from_civil(year, self.month, self.day))
    }
}

/// Reads `Y-M-D` with at least four digits of the year, or `YYYYMMDD`. `whole` is the field, for the error.
pub(super) fn civil_date(cursor: &mut Cursor<'_>, whole: &[u8]) -> Result<CivilDate, ValueError> {
    let fault = || not_written_as(Wanted::Date, whole);
    let first = cursor.digits();
    if cursor.peek() != Some(b'-') {
        if first.len() != 8 {
            return Err(fault());
        }
        let part = |range: std::ops::Range<usize>| number(&first[range]).ok_or_else(fault);
        return Ok(CivilDate {
            year: part(0..4)?,
            // Two digits each.
            month: part(4..6)? as u32,
            day: part(6..8)? as u32,
        });
    }
    if first.len() < 4 {
        return Err(fault());
    }
    // A number with too many digits is out of range as well.
    let year = number(first)
        .unwrap_or(i64::from(u32::MAX))
        .min(i64::from(u32::MAX));
    cursor.eat(b'-');
    let month = cursor.number_of_one_or_two().ok_or_else(fault)?;
    if !cursor.eat(b'-') {
        return Err(fault());
    }
    let day = cursor.number_of_one_or_two().ok_or_else(fault)?;
    Ok(CivilDate { year, month, day })
}

/// Reads a time after a date, in a column without times. Only midnight is accepted, because nothing is lost.
fn midnight(cursor: &mut Cursor<'_>, whole: &[u8]) -> Result<(), ValueError> {
    let fault = || not_written_as(Wanted::Date, whole);
    if !time::separator(cursor) {
        return Err(fault());
    }
    let microseconds = time::time_of_day(cursor, &SecondDigits::exact(6)).map_err(|_| fault())?;
    if !cursor.is_at_end() {
        return Err(fault());
    }
    if microseconds == 0 {
        return Ok(());
    }
    Err(time_lost())
}

/// `infinity` and `-infinity` in any case: true for the negative one.
pub(super) fn infinity(text: &[u8]) -> Option<bool> {
    match text.first()? {
        b'i' | b'I' | b'+' | b'-' => {}
        _ => return None,
    }
    if is_any_word(text, &["infinity", "+infinity"]) {
        Some(false)
    } else if is_any_word(text, &["-infinity"]) {
        Some(true)
    } else {
        None
    }
}

/// Removes `BC` or `AD` from the end, in any case, with blanks before it.
pub(super) fn split_era(text: &[u8]) -> (&[u8], Era) {
    let Some((head, tail)) = text.split_last_chunk::<2>() else {
        return (text, Era::Common);
    };
    let era = if tail.eq_ignore_ascii_case(b"BC") {
        Era::BeforeCommon
    } else if tail.eq_ignore_ascii_case(b"AD") {
        Era::Common
    } else {
        return (text, Era::Common);
    };
    (trim(head), era)
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn kernel(format: Option<&str>) -> Date {
        let mut column = Column::new("d", ColumnType::Date, 0);
        column.formats.extend(format.map(str::to_owned));
        Date::new(&column).expect("a format that can be used")
    }

    fn days(text: &str) -> Result<i32, RejectCode> {
        both_paths(&kernel(None), text).map_err(|error| error.code)
    }

    macro_rules! dates {
        ($($name:ident: $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(days($text), $expected);
            })*
        };
    }

    dates! {
        epoch: "1970-01-01" => Ok(0);
        day_before: "1969-12-31" => Ok(-1);
        lineitem: "1996-03-13" => Ok(9568);
        leap_day: "2024-02-29" => Ok(19_782);
        century_leap_day: "2000-02-29" => Ok(11_016);
        no_leap_day: "2023-02-29" => Err(RejectCode::OutOfRange);
        no_century_leap_day: "1900-02-29" => Err(RejectCode::OutOfRange);
        first_year: "0001-01-01" => Ok(-719_162);
        one_before_christ: "0001-12-31 BC" => Ok(-719_163);
        leap_day_before_christ: "0001-02-29BC" => Ok(-719_469);
        anno_domini: "2024-02-29 AD" => Ok(19_782);
        smallest: "4714-11-24 BC" => Ok(-2_440_588);
        past_smallest: "4714-11-23 BC" => Err(RejectCode::OutOfRange);
        largest: "5874897-12-31" => Ok(2_145_042_905);
        past_largest: "5874898-01-01" => Err(RejectCode::OutOfRange);
        enormous: "99999999999999999999999-01-01" => Err(RejectCode::OutOfRange);
        enormous_before_christ: "99999999999999999999999-01-01 BC" => Err(RejectCode::OutOfRange);
        five_digits: "12024-01-02" => Ok(3_672_149);
        basic: "20240229" => Ok(19_782);
        one_digit: "2024-2-9" => Ok(19_762);
        blanks_around: " 2024-02-29\t" => Ok(19_782);
        infinity_word: "infinity" => Ok(i32::MAX);
        minus_infinity: "-Infinity" => Ok(i32::MIN);
        short_infinity: "inf" => Err(RejectCode::Syntax);
        midnight_blank: "2024-02-29 00:00:00" => Ok(19_782);
        midnight_t: "2024-02-29T00:00:00.000" => Ok(19_782);
        with_time: "2024-02-29 10:00" => Err(RejectCode::FractionLost);
        year_zero: "0000-00-00" => Err(RejectCode::OutOfRange);
        month_13: "2024-13-01" => Err(RejectCode::OutOfRange);
        month_0: "2024-00-01" => Err(RejectCode::OutOfRange);
        day_0: "2024-01-00" => Err(RejectCode::OutOfRange);
        day_32: "2024-01-32" => Err(RejectCode::OutOfRange);
        ambiguous: "01/02/2024" => Err(RejectCode::Syntax);
        dots: "31.12.2024" => Err(RejectCode::Syntax);
        short_year: "24-01-05" => Err(RejectCode::Syntax);
        slashes: "2024/01/05" => Err(RejectCode::Syntax);
        empty: "" => Err(RejectCode::Syntax);
        word: "today" => Err(RejectCode::Syntax);
        sign: "-2024-01-01" => Err(RejectCode::Syntax);
        rest: "2024-01-01x" => Err(RejectCode::Syntax);
        three_digits_of_day: "2024-01-011" => Err(RejectCode::Syntax);
    }

    #[test]
    fn a_declared_format() {
        let kernel = kernel(Some("%d/%m/%Y"));
        let days = |text| both_paths(&kernel, text).map_err(|error| error.code);
        assert_eq!(days("29/02/2024"), Ok(19_782));
        assert_eq!(days("9/2/2024"), Ok(19_762));
        assert_eq!(days(" 29/02/2024 "), Ok(19_782));
        assert_eq!(days("30/02/2024"), Err(RejectCode::OutOfRange));
        assert_eq!(days("01/13/2024"), Err(RejectCode::Syntax));
        assert_eq!(days("2024-02-29"), Err(RejectCode::Syntax));
        assert_eq!(days("29/02/2024x"), Err(RejectCode::Syntax));
        assert_eq!(days("00/01/2024"), Err(RejectCode::Syntax));
        assert_eq!(days("01/01/0000"), Err(RejectCode::OutOfRange));
    }

    #[test]
    fn a_declared_format_with_time() {
        let kernel = kernel(Some("%d.%m.%Y %H:%M:%S"));
        let days = |text| both_paths(&kernel, text).map_err(|error| error.code);
        assert_eq!(days("29.02.2024 00:00:00"), Ok(19_782));
        assert_eq!(days("31.12.1969 00:00:00"), Ok(-1));
        assert_eq!(days("29.02.2024 00:00:01"), Err(RejectCode::FractionLost));
        assert_eq!(days("31.12.1969 00:00:01"), Err(RejectCode::FractionLost));
    }

    proptest! {
        #[test]
        fn every_date_survives(expected in days_of_four_digit_years()) {
            let (year, month, day) = calendar::civil_from_days(expected);
            prop_assert_eq!(days(&format!("{year:04}-{month:02}-{day:02}")), Ok(expected as i32));
        }

        #[test]
        fn paths_agree(text in "[0-9]{4}[-/0][0-9]{2}[-.0][0-9]{2}[0-9]?") {
            let _ = days(&text);
        }

        #[test]
        fn paths_agree_on_formats(text in "[0-9]{2}[-/0][0-9]{2}[/.0][0-9]{4}") {
            let _ = both_paths(&kernel(Some("%d/%m/%Y")), &text);
        }

        #[test]
        fn paths_agree_on_numbers_that_touch(text in "[0-9]{3}[0-9 ]{3,5}[0-9]", other in "[0-3]?[0-9][01]?[0-9]20[0-9]{1,2}") {
            for format in ["%Y%m%d", "%d%m%Y", "%Y %m%d"] {
                for text in [&text, &other] {
                    let _ = both_paths(&kernel(Some(format)), text);
                }
            }
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = days(&text);
        }
    }

    fn days_of_four_digit_years() -> std::ops::Range<i64> {
        calendar::days_from_civil(1, 1, 1)..calendar::days_from_civil(10_000, 1, 1)
    }
}
