//! The formats of a column, tried in order. Two formats that read one text as two different values are refused when the
//! plan is made, because a row does not show which is meant.

use inrush_rows::column::Column;
use inrush_rows::reject::RejectCode;
use jiff::civil::date;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

use super::error::{ConvertError, ValueError};
use super::format_use::FormatUse;
use super::formats::Format;
use super::kernel::Window;
use super::second_digits::SecondDigits;

/// The formats of a column, at least one.
pub(super) struct Formats {
    list: Vec<Format>,
}

impl Formats {
    /// The formats that a column declares; `None` if it declares none.
    pub fn of(column: &Column, format_use: FormatUse) -> Result<Option<Formats>, ConvertError> {
        let list = column
            .formats
            .iter()
            .map(|text| Format::new(column, text, format_use))
            .collect::<Result<Vec<_>, _>>()?;
        if column.policies.year_pivot.is_some() && !list.iter().any(Format::has_short_year) {
            return Err(ConvertError::PolicyNotUsed {
                column: column.name.clone(),
                setting: "year_pivot",
                takes: "only a `format` with two digits of the year (%y) takes it",
            });
        }
        if list.is_empty() {
            return Ok(None);
        }
        for (at, first) in list.iter().enumerate() {
            for second in &list[at + 1..] {
                refuse_ambiguous(column, format_use, first, second)?;
                refuse_ambiguous(column, format_use, second, first)?;
            }
        }
        Ok(Some(Formats { list }))
    }

    /// Microseconds since 1970-01-01 (or midnight, for times) of a value in one of the leading formats of fixed width.
    #[inline]
    pub fn quick(&self, window: &Window, length: usize) -> Option<i64> {
        for format in &self.list {
            let fixed = format.fixed.as_ref()?;
            if let Some(value) = fixed.quick(window, length) {
                return Some(value);
            }
        }
        None
    }

    /// A date.
    pub fn date(&self, text: &[u8]) -> Result<i32, ValueError> {
        self.first(text, |format| format.date(text))
    }

    /// A time of day.
    pub fn time(&self, text: &[u8], seconds: &SecondDigits) -> Result<i64, ValueError> {
        self.first(text, |format| format.time(text, seconds))
    }

    /// A timestamp without time zone.
    pub fn timestamp(&self, text: &[u8], seconds: &SecondDigits) -> Result<i64, ValueError> {
        self.first(text, |format| format.timestamp(text, seconds))
    }

    /// A local time, and the seconds that it is ahead of UTC if the text says so.
    pub fn timestamp_with_offset(
        &self,
        text: &[u8],
        seconds: &SecondDigits,
    ) -> Result<(i128, Option<i32>), ValueError> {
        self.first(text, |format| format.timestamp_with_offset(text, seconds))
    }

    /// The value by the first format that reads it. If none does, the error of the format that got furthest: the text
    /// has its shape, but not a valid value.
    fn first<T>(
        &self,
        text: &[u8],
        read: impl Fn(&Format) -> Result<T, ValueError>,
    ) -> Result<T, ValueError> {
        let mut furthest: Option<ValueError> = None;
        for format in &self.list {
            match read(format) {
                Ok(value) => return Ok(value),
                Err(error) => {
                    let fits = |error: &ValueError| error.code != RejectCode::Syntax;
                    if furthest
                        .as_ref()
                        .is_none_or(|known| fits(&error) && !fits(known))
                    {
                        furthest = Some(error);
                    }
                }
            }
        }
        let error = furthest.expect("one format at least");
        if self.list.len() == 1 || error.code != RejectCode::Syntax {
            return Err(error);
        }
        if let Some(error) = self
            .list
            .iter()
            .find_map(|format| format.digits_missing(text))
        {
            return Err(error);
        }
        let formats: Vec<String> = self
            .list
            .iter()
            .map(|format| format!("{:?}", format.text))
            .collect();
        Err(ValueError::syntax(format!(
            "does not match any of the column's formats, {}; fix the row, or add its format",
            formats.join(", ")
        )))
    }
}

/// Refuses two formats if the second reads a text of the first as another value.
fn refuse_ambiguous(
    column: &Column,
    format_use: FormatUse,
    first: &Format,
    second: &Format,
) -> Result<(), ConvertError> {
    // Days that could be months, hours that could be minutes or days, years at the end of every century: if both
    // formats read each of these in the same way, or only one format reads it, no value has two readings.
    let samples = [
        date(2001, 2, 3).at(4, 5, 6, 0),
        date(2012, 11, 10).at(9, 8, 7, 0),
        date(1999, 7, 4).at(13, 14, 15, 0),
        date(2024, 12, 1).at(1, 12, 24, 0),
        date(2010, 9, 11).at(20, 10, 11, 120_000_000),
        date(1987, 5, 31).at(23, 59, 58, 500_000_000),
    ];
    for sample in samples {
        let Ok(zoned) = sample.to_zoned(TimeZone::UTC) else {
            continue;
        };
        let Ok(text) = strtime::format(&first.text, &zoned) else {
            continue;
        };
        let meant = meaning(first, format_use, &text);
        let other = meaning(second, format_use, &text);
        if let (Some(meant), Some(other)) = (meant, other)
            && meant != other
        {
            return Err(ConvertError::FormatInvalid {
                column: column.name.clone(),
                format: first.text.clone(),
                reason: format!(
                    "{text:?} is one value by this format and another by {:?}, which the column also declares, so a \
                     row would have two meanings; declare only the format of the file",
                    second.text
                ),
            });
        }
    }
    Ok(())
}

fn meaning(format: &Format, format_use: FormatUse, text: &str) -> Option<(i128, Option<i32>)> {
    let text = text.as_bytes();
    let seconds = SecondDigits::exact(6);
    match format_use {
        FormatUse::Date => Some((i128::from(format.date(text).ok()?), None)),
        FormatUse::Time => Some((i128::from(format.time(text, &seconds).ok()?), None)),
        FormatUse::Timestamp => Some((i128::from(format.timestamp(text, &seconds).ok()?), None)),
        FormatUse::TimestampTz { .. } => format.timestamp_with_offset(text, &seconds).ok(),
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;

    use super::*;

    fn formats(list: &[&str], pivot: Option<u16>) -> Result<Formats, ConvertError> {
        let mut column = Column::new("day", ColumnType::Date, 0);
        column.formats = list.iter().map(|format| (*format).to_owned()).collect();
        column.policies.year_pivot = pivot;
        Formats::of(&column, FormatUse::Date).map(|formats| formats.expect("some are declared"))
    }

    #[test]
    fn formats_are_tried_in_order() {
        let formats = formats(&["%d.%m.%Y", "%Y-%m-%d", "%d %b %Y", "%B %-d, %Y"], None)
            .expect("formats that can be told apart");
        for text in [
            "29.02.2024",
            "2024-02-29",
            "29 Feb 2024",
            "february 29, 2024",
        ] {
            assert_eq!(formats.date(text.as_bytes()), Ok(19_782), "{text}");
        }
        let error = formats
            .date(b"30.02.2024")
            .expect_err("there is no such day");
        assert_eq!(error.code, RejectCode::OutOfRange);
        let error = formats
            .date(b"2024/02/29")
            .expect_err("no format has slashes");
        assert!(
            error.reason.contains("\"%d.%m.%Y\", \"%Y-%m-%d\""),
            "{error}"
        );
    }

    #[test]
    fn formats_that_cannot_be_told_apart() {
        for list in [
            ["%d/%m/%Y", "%m/%d/%Y"],
            ["%Y-%m-%d", "%Y-%d-%m"],
            ["%Y%m%d", "%d%m%Y"],
        ] {
            match formats(&list, None) {
                Err(ConvertError::FormatInvalid { reason, .. }) => {
                    assert!(reason.contains(list[1]), "{reason}");
                }
                other => panic!("{list:?}: {:?}", other.map(|_| ())),
            }
        }
        assert!(formats(&["%d/%m/%y", "%d.%m.%y"], Some(1970)).is_ok());
        assert!(formats(&["%d/%m/%Y", "%d/%m/%y"], Some(1970)).is_ok());
        assert!(formats(&["%d/%m/%y", "%y/%m/%d"], Some(1970)).is_err());
        assert!(formats(&["%d/%m/%Y", "%d/%m/%Y"], None).is_ok());
    }

    #[test]
    fn two_digits_of_a_year() {
        let year = |pivot: u16, text: &str| {
            let formats = formats(&["%d.%m.%y"], Some(pivot)).expect("a format");
            let days = formats.date(text.as_bytes()).map_err(|error| error.code)?;
            Ok::<i64, RejectCode>(inrush_rows::calendar::civil_from_days(i64::from(days)).0)
        };
        assert_eq!(year(1970, "01.01.70"), Ok(1970));
        assert_eq!(year(1970, "01.01.69"), Ok(2069));
        assert_eq!(year(1950, "01.01.49"), Ok(2049));
        assert_eq!(year(1950, "01.01.50"), Ok(1950));
        assert_eq!(year(2000, "01.01.99"), Ok(2099));
        assert_eq!(year(1900, "29.02.00"), Err(RejectCode::OutOfRange));
        assert_eq!(year(1901, "29.02.00"), Ok(2000));
        assert_eq!(year(1970, "01.01.2024"), Err(RejectCode::Syntax));
        let reason = |list: &[&str], pivot| match formats(list, pivot) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{list:?} is refused"),
        };
        assert!(reason(&["%d.%m.%y"], None).contains("year_pivot"));
        assert!(reason(&["%D"], None).contains("year_pivot"));
        assert!(reason(&["%d.%m.%Y"], Some(1970)).contains("%y"));
    }

    #[test]
    fn four_digits_of_a_year_are_four() {
        let formats = formats(&["%d/%m/%Y"], None).expect("a format");
        let error = formats
            .date(b"01/02/24")
            .expect_err("the century is not said");
        assert!(error.reason.contains("year_pivot"), "{error}");
        assert!(formats.date(b"01/02/0024").is_ok());
    }
}
