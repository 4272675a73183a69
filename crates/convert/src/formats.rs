//! Declared formats of dates and times, in strftime's letters.
//!
//! The library reads them. Texts that it would silently change are found and rejected: adjacent numbers with
//! too few digits ([`format_pieces`](super::format_pieces) has the rules); a 60th second, which it takes for the 59th;
//! parts that contradict each other; a 12-hour clock without AM or PM; and parts that the column cannot keep. Formats
//! of fixed width in digits, which are the most common, also have a quick path.

use inrush_rows::calendar::{self, DAY_MICROSECONDS};
use inrush_rows::column::Column;
use jiff::fmt::strtime::{self, BrokenDownTime};

use super::date_time_range::{LEAP_SECOND, in_range, time_lost};
use super::error::{ConvertError, ValueError};
use super::fixed_width_dates::FixedWidth;
use super::format_pieces::{Pieces, Walk};
use super::format_use::{DeclaredZone, FormatUse};
use super::second_digits::SecondDigits;

/// A valid declared format.
pub(super) struct Format {
    pub text: String,
    pub fixed: Option<FixedWidth>,
    pieces: Pieces,
    /// A value is a count of seconds since 1970.
    is_epoch: bool,
    /// The first year that two digits stand for, if the format has two-digit years.
    short_year_pivot: Option<u16>,
}

impl Format {
    /// A format that a column declares.
    pub fn new(column: &Column, text: &str, format_use: FormatUse) -> Result<Format, ConvertError> {
        let pivot = column.policies.year_pivot;
        let pieces =
            check(text, format_use, pivot).map_err(|reason| ConvertError::FormatInvalid {
                column: column.name.clone(),
                format: text.to_owned(),
                reason,
            })?;
        let letters = directives(text);
        Ok(Format {
            fixed: FixedWidth::of(text, format_use),
            pieces,
            is_epoch: letters.contains(&b's'),
            short_year_pivot: pivot.filter(|_| has_short_year(&letters)),
            text: text.to_owned(),
        })
    }

    /// True if years are written with two digits.
    pub fn has_short_year(&self) -> bool {
        self.short_year_pivot.is_some()
    }

    /// A date.
    pub fn date(&self, text: &[u8]) -> Result<i32, ValueError> {
        let parts = self.parse(text)?;
        let days = days(&parts)?;
        let time = parts.to_time().map_err(|error| self.no_match(&error))?;
        if time != jiff::civil::Time::midnight() {
            return Err(time_lost());
        }
        // A year has at most four digits, so the days fit.
        Ok(days as i32)
    }

    /// A time of day.
    pub fn time(&self, text: &[u8], seconds: &SecondDigits) -> Result<i64, ValueError> {
        let parts = self.parse(text)?;
        self.microseconds_of_day(&parts, seconds)
    }

    /// A timestamp without time zone.
    pub fn timestamp(&self, text: &[u8], seconds: &SecondDigits) -> Result<i64, ValueError> {
        let parts = self.parse(text)?;
        in_range(self.local(&parts, seconds)?)
    }

    /// A local time, and the seconds that it is ahead of UTC if the text says so.
    pub fn timestamp_with_offset(
        &self,
        text: &[u8],
        seconds: &SecondDigits,
    ) -> Result<(i128, Option<i32>), ValueError> {
        let parts = self.parse(text)?;
        if self.is_epoch {
            let timestamp = parts
                .to_timestamp()
                .map_err(|error| self.no_match(&error))?;
            return Ok((i128::from(timestamp.as_second()) * 1_000_000, Some(0)));
        }
        let offset = parts.offset().map(|offset| offset.seconds());
        Ok((self.local(&parts, seconds)?, offset))
    }

    fn local(&self, parts: &BrokenDownTime, seconds: &SecondDigits) -> Result<i128, ValueError> {
        let days = days(parts)?;
        let time = self.microseconds_of_day(parts, seconds)?;
        Ok(i128::from(days) * i128::from(DAY_MICROSECONDS) + i128::from(time))
    }

    fn microseconds_of_day(
        &self,
        parts: &BrokenDownTime,
        seconds: &SecondDigits,
    ) -> Result<i64, ValueError> {
        let time = parts.to_time().map_err(|error| self.no_match(&error))?;
        let fraction = format!("{:09}", time.subsec_nanosecond());
        let microseconds = seconds.microseconds(fraction.as_bytes(), time.second() % 2 == 1)?;
        let whole_seconds = (i64::from(time.hour()) * 60 + i64::from(time.minute())) * 60
            + i64::from(time.second());
        Ok(whole_seconds * 1_000_000 + microseconds)
    }

    /// The error for a text with too few digits; `None` for any other text.
    pub fn digits_missing(&self, text: &[u8]) -> Option<ValueError> {
        self.pieces.walk(text).err()
    }

    fn parse(&self, text: &[u8]) -> Result<BrokenDownTime, ValueError> {
        let walk = self.pieces.walk(text)?;
        let mut parts = strtime::parse(&self.text, text).map_err(|error| self.no_match(&error))?;
        match walk {
            Walk::Fits {
                is_leap_second: false,
            } => {}
            Walk::Fits {
                is_leap_second: true,
            } => return Err(ValueError::out_of_range(LEAP_SECOND)),
            Walk::Differs => return Err(self.no_match("it has another shape")),
        }
        if let (Some(pivot), Some(year)) = (self.short_year_pivot, parts.year()) {
            let pivot = i32::from(pivot);
            let year = pivot + (i32::from(year) - pivot).rem_euclid(100);
            // The pivot is far from the largest year.
            parts
                .set_year(Some(year as i16))
                .map_err(|error| self.no_match(&error))?;
        }
        match self.pieces.contradiction(text, &parts) {
            Some(error) => Err(error),
            None => Ok(parts),
        }
    }

    fn no_match(&self, error: impl std::fmt::Display) -> ValueError {
        ValueError::syntax(format!(
            "does not match the column's format {:?} ({error}); fix the row, or change the format",
            self.text
        ))
    }
}

fn days(parts: &BrokenDownTime) -> Result<i64, ValueError> {
    let date = parts
        .to_date()
        .map_err(|error| ValueError::out_of_range(format!("there is no such date ({error})")))?;
    if date.year() < 1 {
        return Err(ValueError::out_of_range(
            "there is no year 0, and years before it cannot be read with a declared format",
        ));
    }
    Ok(calendar::days_from_civil(
        i64::from(date.year()),
        // 1 to 12, and 1 to 31.
        date.month() as u32,
        date.day() as u32,
    ))
}

/// The letters of a format's directives.
fn directives(format: &str) -> Vec<u8> {
    let mut letters = Vec::new();
    let mut bytes = format.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            continue;
        }
        // Flags, widths and colons are between the percent sign and the letter.
        let letter = bytes
            .find(|byte| !matches!(byte, b'_' | b'-' | b'^' | b'#' | b':' | b'.' | b'0'..=b'9'));
        letters.extend(letter);
    }
    letters
}

/// True if years are written with two digits; `%D` is `%m/%d/%y`.
fn has_short_year(letters: &[u8]) -> bool {
    letters.contains(&b'y') || letters.contains(&b'D')
}

/// The pieces of a format, or why it cannot be used.
fn check(format: &str, format_use: FormatUse, year_pivot: Option<u16>) -> Result<Pieces, String> {
    let letters = directives(format);
    if letters.is_empty() {
        return Err("it has no letter such as %Y; the format of a date is %Y-%m-%d".to_owned());
    }
    // A value that the format itself wrote must be readable with it.
    let sample = jiff::civil::date(2024, 7, 15)
        .at(16, 24, 58, 0)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .expect("UTC has every time");
    let unusable = |error: jiff::Error| {
        format!("{error}; its letters are those of strftime, such as %d/%m/%Y")
    };
    let text = strtime::format(format, &sample).map_err(unusable)?;
    // The pieces are checked first: they can explain why touching numbers are ambiguous; the library would only fail.
    let pieces = Pieces::of(format)?;
    let parts = strtime::parse(format, &text).map_err(unusable)?;
    check_letters(&letters, format_use, year_pivot)?;
    check_parts(&letters, &parts, format_use)?;
    if let FormatUse::TimestampTz {
        zone: DeclaredZone::Other,
    } = format_use
        && parts.offset().is_none()
        && let Some(word) = pieces.utc_at_end()
    {
        return Err(format!(
            "it ends with {word:?}, which says that times are in UTC, and the column declares another zone; declare \
             zone = \"UTC\", or remove the {word:?} from the format"
        ));
    }
    pieces
        .walk(text.as_bytes())
        .map_err(|error| format!("a value that it writes, {text:?}, {}", error.reason))?;
    Ok(pieces)
}

/// Refuses directives that are not supported, that are ambiguous, or that do not fit together.
fn check_letters(
    letters: &[u8],
    format_use: FormatUse,
    year_pivot: Option<u16>,
) -> Result<(), String> {
    let has = |letter: u8| letters.contains(&letter);
    if has(b'Q') {
        return Err(
            "zone names in values (%Q) are not read; write offsets (%z), or declare `zone`"
                .to_owned(),
        );
    }
    if has(b'C') || has(b'g') {
        return Err(
            "a century (%C) or a two-digit week year (%g) is not read; write the year as %Y, %y or \
                    %G"
                .to_owned(),
        );
    }
    match year_pivot {
        None if has_short_year(letters) => {
            return Err(
                "a two-digit year (%y) has no century; declare the first year that the file can \
                 hold: year_pivot = 1970 stands for 1970 to 2069"
                    .to_owned(),
            );
        }
        Some(pivot) if !(1..=9_900).contains(&pivot) => {
            return Err(format!(
                "year_pivot = {pivot} is not one of the years 1 to 9900"
            ));
        }
        _ => {}
    }
    let (has_half, has_twelve) = (has(b'p') || has(b'P'), has(b'I') || has(b'l'));
    if has_half != has_twelve {
        return Err(
            "a 12-hour clock needs both the hour (%I) and the half of the day (%p); a 24-hour \
                    clock is %H"
                .to_owned(),
        );
    }
    if has(b's') && letters.len() > 1 {
        return Err("seconds since 1970 (%s) must be the only code of a format".to_owned());
    }
    if has(b's') && !matches!(format_use, FormatUse::TimestampTz { .. }) {
        return Err(
            "seconds since 1970 (%s) are a point in time: make the column timestamptz".to_owned(),
        );
    }
    Ok(())
}

/// Refuses a format that gives less than a value of the column needs, or more than the column keeps. `parts` are the
/// parts of a sample that the format wrote and read itself.
fn check_parts(
    letters: &[u8],
    parts: &BrokenDownTime,
    format_use: FormatUse,
) -> Result<(), String> {
    let has = |letter: u8| letters.contains(&letter);
    let has_offset = parts.offset().is_some();
    let has_date = parts.to_date().is_ok();
    let has_hour = parts.hour().is_some();
    match format_use {
        FormatUse::Time => {
            if !has_hour || parts.to_time().is_err() {
                return Err("it has no time of day, such as %H:%M:%S".to_owned());
            }
            let of_dates = b"YymdeBbhDFjCGgVUWuwAa";
            if letters.iter().any(|letter| of_dates.contains(letter)) {
                return Err("it has parts of a date, but the column keeps only a time".to_owned());
            }
        }
        FormatUse::Date | FormatUse::Timestamp | FormatUse::TimestampTz { .. } => {
            if !has_date && !has(b's') {
                return Err(
                    "it has no date; a date needs year, month and day (%Y-%m-%d)".to_owned(),
                );
            }
            if parts.to_time().is_err() {
                return Err("its time of day lacks the hour or the minute".to_owned());
            }
        }
    }
    let is_zoned = matches!(format_use, FormatUse::TimestampTz { .. });
    if let FormatUse::TimestampTz {
        zone: DeclaredZone::Absent,
    } = format_use
        && !has_offset
        && !has(b's')
    {
        return Err(
            "its values have no offset from UTC (%z), and no zone is declared; declare zone = \
             \"UTC\" or the zone that the file was written in"
                .to_owned(),
        );
    }
    if has_offset && !is_zoned {
        return Err(
            "it has an offset from UTC, which the column cannot keep; make the column timestamptz"
                .to_owned(),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use inrush_rows::column::ColumnType;

    use super::*;

    fn reason(format: &str, column_type: ColumnType, format_use: FormatUse) -> Option<String> {
        let column = Column::new("when", column_type, 0);
        Format::new(&column, format, format_use)
            .err()
            .map(|error| error.to_string())
    }

    macro_rules! refused {
        ($($name:ident: $use:expr, $format:expr => $part:expr;)*) => {
            $(#[test]
            fn $name() {
                let reason = reason($format, ColumnType::Date, $use).expect("an error");
                assert!(reason.contains($part), "{reason}");
                assert!(reason.contains("\"when\""), "{reason}");
                assert!(reason.contains(&format!("{:?}", $format)), "{reason}");
            })*
        };
    }

    #[test]
    fn utc_is_only_refused_in_another_zone() {
        let of = |zone, format| reason(format, ColumnType::Date, FormatUse::TimestampTz { zone });
        assert_eq!(of(DeclaredZone::Utc, "%Y-%m-%dT%H:%M:%SZ"), None);
        assert_eq!(of(DeclaredZone::Other, "%Y-%m-%dT%H:%M:%S%z"), None);
        assert_eq!(of(DeclaredZone::Other, "%Y-%m-%d %H:%M Uhr"), None);
        assert_eq!(of(DeclaredZone::Other, "Z %Y-%m-%d %H:%M"), None);
    }

    refused! {
        no_directive: FormatUse::Date, "YYYY-MM-DD" => "no letter";
        empty: FormatUse::Date, "" => "no letter";
        unknown_directive: FormatUse::Date, "%Y-%m-%E" => "strftime";
        ends_in_percent: FormatUse::Date, "%Y-%m-%" => "strftime";
        not_readable: FormatUse::Date, "%x" => "strftime";
        no_day: FormatUse::Date, "%Y-%m" => "has no date";
        no_time: FormatUse::Time, "%M:%S" => "has no time";
        date_in_time: FormatUse::Time, "%d %H:%M" => "parts of a date";
        offset_in_date: FormatUse::Timestamp, "%Y-%m-%d %H:%M %z" => "timestamptz";
        no_offset: FormatUse::TimestampTz { zone: DeclaredZone::Absent }, "%Y-%m-%d %H:%M" => "zone";
        no_half: FormatUse::Timestamp, "%Y-%m-%d %I:%M" => "%p";
        half_of_24: FormatUse::Timestamp, "%Y-%m-%d %H:%M %p" => "%p";
        zone_name: FormatUse::TimestampTz { zone: DeclaredZone::Other }, "%Y-%m-%d %H:%M %Q" => "%Q";
        epoch_without_zone: FormatUse::Timestamp, "%s" => "timestamptz";
        epoch_with_more: FormatUse::TimestampTz { zone: DeclaredZone::Other }, "%s%.f" => "the only code";
        utc_in_a_zone: FormatUse::TimestampTz { zone: DeclaredZone::Other }, "%Y-%m-%dT%H:%M:%SZ"
            => "ends with \"Z\"";
        utc_in_words: FormatUse::TimestampTz { zone: DeclaredZone::Other }, "%d.%m.%Y %H:%M:%S%.f UTC "
            => "ends with \"UTC\"";
        blanks_in_a_number: FormatUse::Date, "%d%_m%Y" => "%_m";
    }
}
