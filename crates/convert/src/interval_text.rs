//! Reads the forms of an interval: PostgreSQL's default and verbose forms, and ISO 8601 with letters.

use inrush_rows::column::IntervalFields;
use inrush_rows::cursor::{Cursor, number};

use super::error::ValueError;
use super::interval_value::{Amount, Sum, Unit, too_fine};
use super::kernel::trim;

const SECOND: Unit = Unit::Microseconds(1_000_000);
const MINUTE: Unit = Unit::Microseconds(60_000_000);
const HOUR: Unit = Unit::Microseconds(3_600_000_000);

/// The units and their names, as PostgreSQL knows them.
const UNITS: [(Unit, &[&str]); 12] = [
    (
        Unit::Microseconds(1),
        &[
            "us",
            "usec",
            "usecs",
            "usecond",
            "useconds",
            "microsecon",
            "microsecond",
            "microseconds",
        ],
    ),
    (
        Unit::Microseconds(1_000),
        &[
            "ms",
            "msec",
            "msecs",
            "msecond",
            "mseconds",
            "millisecon",
            "millisecond",
            "milliseconds",
        ],
    ),
    (SECOND, &["s", "sec", "secs", "second", "seconds"]),
    (MINUTE, &["m", "min", "mins", "minute", "minutes"]),
    (HOUR, &["h", "hr", "hrs", "hour", "hours"]),
    (Unit::Days(1), &["d", "day", "days"]),
    (Unit::Days(7), &["w", "week", "weeks"]),
    (Unit::Months(1), &["mon", "mons", "month", "months"]),
    (Unit::Months(12), &["y", "yr", "yrs", "year", "years"]),
    (Unit::Months(120), &["dec", "decs", "decade", "decades"]),
    (Unit::Months(1_200), &["c", "cent", "century", "centuries"]),
    (
        Unit::Months(12_000),
        &["mil", "mils", "millennia", "millennium"],
    ),
];

const MICROSECOND_INDEX: usize = 0;
const MILLISECOND_INDEX: usize = 1;
const SECOND_INDEX: usize = 2;
const MINUTE_INDEX: usize = 3;
const HOUR_INDEX: usize = 4;
const DAY_INDEX: usize = 5;
const MONTH_INDEX: usize = 7;
const YEAR_INDEX: usize = 8;

/// Units that may be followed directly by digits (`1h30m`), because PostgreSQL also knows them as words in dates. After
/// any other unit (`1 week01`) PostgreSQL reads a date, and refuses it.
const DIGITS_MAY_FOLLOW: [&str; 7] = ["d", "dec", "h", "m", "mon", "s", "y"];

/// A number with more digits than this is out of range in every unit.
const WHOLE_DIGITS_MAX: usize = 18;

/// A fraction with more digits than this is not a whole number of microseconds in any unit.
const FRACTION_DIGITS_MAX: usize = 9;

/// The most months after the years in `1-11`.
const MONTHS_BESIDE_YEARS_MAX: i128 = 11;

/// Reads an interval without blanks around it. `fields` are the column's fields; `None` if it has all. They decide
/// the unit of a number without a unit, as in PostgreSQL, and allow the forms of SQL's standard (`1-2`, `1 02:03:04`).
pub(super) fn parse(text: &[u8], fields: Option<IntervalFields>) -> Result<Sum, ValueError> {
    match text {
        [] => Err(ValueError::syntax(
            "not an interval; the field is empty: if that means NULL, set null = \"\" in the format",
        )),
        [b'P', rest @ ..] => parse_iso(rest),
        _ => parse_words(text, fields),
    }
}

fn fault(what: &str) -> ValueError {
    ValueError::syntax(format!(
        "not an interval; {what}. Write `1 year 2 mons 3 days 04:05:06` or `P1Y2M3DT4H5M6S`"
    ))
}

/// The unit of a number without one, as an index of [`UNITS`].
fn unit_of(fields: IntervalFields) -> usize {
    match fields.last() {
        IntervalFields::Year => YEAR_INDEX,
        IntervalFields::Month => MONTH_INDEX,
        IntervalFields::Day => DAY_INDEX,
        IntervalFields::Hour => HOUR_INDEX,
        IntervalFields::Minute => MINUTE_INDEX,
        _ => SECOND_INDEX,
    }
}

fn parse_words(text: &[u8], fields: Option<IntervalFields>) -> Result<Sum, ValueError> {
    let mut cursor = Cursor::new(text);
    let has_sign_of_verbose = cursor.eat(b'@');
    let mut sum = Sum::default();
    let mut seen = Seen::default();
    let mut is_ago = false;
    let mut unit_before: &[u8] = &[];
    loop {
        cursor.take_while(is_blank);
        if cursor.is_at_end() {
            if !seen.any() {
                return Err(fault("nothing follows the `@`"));
            }
            break;
        }
        if is_ago {
            return Err(fault("`ago` is only allowed at the end"));
        }
        if cursor.peek().is_some_and(|byte| byte.is_ascii_alphabetic()) {
            let word = cursor.take_while(|byte| byte.is_ascii_alphabetic());
            if !word.eq_ignore_ascii_case(b"ago") || !seen.any() {
                return Err(fault("a unit has no number"));
            }
            is_ago = true;
            continue;
        }
        // PostgreSQL refuses most signs and numbers directly after a letter (`day+01`, `day-2h`).
        let before = text[..text.len() - cursor.rest.len()].last();
        let is_apart = !before.is_some_and(u8::is_ascii_alphabetic);
        let has_sign = matches!(cursor.peek(), Some(b'+' | b'-'));
        if !is_apart && has_sign {
            return Err(fault(
                "there is no blank between a unit and the sign after it",
            ));
        }
        let may_follow = |unit: &&str| unit.as_bytes().eq_ignore_ascii_case(unit_before);
        if !is_apart && !DIGITS_MAY_FOLLOW.iter().any(may_follow) {
            return Err(fault(
                "there is no blank between a unit and the number after it",
            ));
        }
        let is_negative = sign(&mut cursor);
        if cursor.peek() == Some(b'.') && (has_sign || !is_apart) {
            return Err(fault("a point has no digit before it"));
        }
        let digits = cursor.digits();
        if cursor.peek() == Some(b':') {
            seen.note(HOUR_INDEX)?;
            seen.note(MINUTE_INDEX)?;
            seen.note_fine_seconds()?;
            add_clock(&mut cursor, digits, is_negative, fields, &mut sum)?;
            continue;
        }
        if fields.is_some() && !digits.is_empty() && cursor.eat(b'-') {
            seen.note(YEAR_INDEX)?;
            seen.note(MONTH_INDEX)?;
            add_years_and_months(&mut cursor, digits, is_negative, &mut sum)?;
            continue;
        }
        let amount = amount(&mut cursor, digits, is_negative)?;
        let ends_with_point = text[..text.len() - cursor.rest.len()].ends_with(b".");
        if ends_with_point && cursor.peek().is_some_and(|byte| !is_blank(byte)) {
            return Err(fault("a point has no digit after it"));
        }
        cursor.take_while(is_blank);
        let word = cursor.take_while(|byte| byte.is_ascii_alphabetic());
        if word.is_empty() {
            // In PostgreSQL's verbose form, an empty interval is `@ 0`.
            if has_sign_of_verbose && cursor.is_at_end() && !seen.any() && amount.is_zero() {
                break;
            }
            let index = match fields {
                Some(fields) if is_apart && cursor.is_at_end() => unit_of(fields),
                // SQL's standard writes days and a time in this form.
                Some(_) if is_apart && is_clock_next(cursor) => DAY_INDEX,
                _ => return Err(fault("a number has no unit")),
            };
            seen.note(index)?;
            sum.add(amount, UNITS[index].0)?;
            continue;
        }
        let index = UNITS
            .iter()
            .position(|(_, names)| {
                names
                    .iter()
                    .any(|name| name.as_bytes().eq_ignore_ascii_case(word))
            })
            .ok_or_else(|| {
                fault(&format!(
                    "there is no unit {:?}",
                    String::from_utf8_lossy(word)
                ))
            })?;
        match index {
            SECOND_INDEX if amount.numerator != 0 => seen.note_fine_seconds()?,
            _ => seen.note(index)?,
        }
        sum.add(amount, UNITS[index].0)?;
        unit_before = word;
    }
    if is_ago {
        sum = Sum {
            months: -sum.months,
            days: -sum.days,
            microseconds: -sum.microseconds,
        };
    }
    Ok(sum)
}

/// True if there is a time at the cursor.
fn is_clock_next(mut cursor: Cursor<'_>) -> bool {
    sign(&mut cursor);
    !cursor.digits().is_empty() && cursor.peek() == Some(b':')
}

/// Reads the rest of `Y-M`, after the hyphen. The sign before the years also holds for the months.
fn add_years_and_months(
    cursor: &mut Cursor<'_>,
    years: &[u8],
    is_negative: bool,
    sum: &mut Sum,
) -> Result<(), ValueError> {
    let shape = || fault("years and months in it are not written YEARS-MONTHS");
    let years = whole(years)?.ok_or_else(shape)?;
    let months = whole(cursor.digits())?.ok_or_else(shape)?;
    if cursor.peek().is_some_and(|byte| !is_blank(byte)) {
        return Err(shape());
    }
    if months > MONTHS_BESIDE_YEARS_MAX {
        return Err(ValueError::out_of_range(
            "months after years must be 0 to 11 in an interval",
        ));
    }
    let total = years * 12 + months;
    sum.months += if is_negative { -total } else { total };
    Ok(())
}

/// Reads the rest of `H:MM[:SS[.fraction]]`, after the hours; of `M:SS[.fraction]` if the fields are minutes and
/// seconds.
fn add_clock(
    cursor: &mut Cursor<'_>,
    hours: &[u8],
    is_negative: bool,
    fields: Option<IntervalFields>,
    sum: &mut Sum,
) -> Result<(), ValueError> {
    let shape = || fault("a time in it is not written HH:MM:SS");
    let mut hours = whole(hours)?.ok_or_else(shape)?;
    cursor.eat(b':');
    let second_digits = cursor.rest;
    let mut minutes = i128::from(cursor.number_of_one_or_two().ok_or_else(shape)?);
    let mut seconds = Amount {
        whole: 0,
        numerator: 0,
        denominator: 1,
    };
    if cursor.eat(b':') {
        let digits = cursor.digits();
        if digits.is_empty() || digits.len() > 2 {
            return Err(shape());
        }
        seconds = amount(cursor, digits, false)?;
    } else if fields == Some(IntervalFields::MinuteToSecond) {
        (hours, minutes) = (0, hours);
        cursor.rest = second_digits;
        let digits = cursor.digits();
        seconds = amount(cursor, digits, false)?;
    } else if cursor.peek() == Some(b'.') {
        return Err(fault(
            "a time of two parts with a fraction is ambiguous, HH:MM or MM:SS: write HH:MM:SS",
        ));
    }
    if cursor.peek().is_some_and(|byte| !is_blank(byte)) {
        return Err(shape());
    }
    if minutes > 59 || seconds.whole > 59 {
        return Err(ValueError::out_of_range(
            "minutes and seconds of a time in an interval must be 0 to 59",
        ));
    }
    let mut clock = Sum::default();
    clock.add(Amount::whole(hours), HOUR)?;
    clock.add(Amount::whole(minutes), MINUTE)?;
    clock.add(seconds, SECOND)?;
    sum.microseconds += if is_negative {
        -clock.microseconds
    } else {
        clock.microseconds
    };
    Ok(())
}

fn parse_iso(text: &[u8]) -> Result<Sum, ValueError> {
    let mut cursor = Cursor::new(text);
    let mut sum = Sum::default();
    let mut seen = Seen::default();
    let mut is_time = false;
    if cursor.is_at_end() {
        return Err(fault("nothing follows the P"));
    }
    while !cursor.is_at_end() {
        if !is_time && cursor.eat(b'T') {
            is_time = true;
            if cursor.is_at_end() {
                return Err(fault("nothing follows the T"));
            }
            continue;
        }
        let is_negative = cursor.eat(b'-');
        let digits = cursor.digits();
        let amount = amount(&mut cursor, digits, is_negative)?;
        let letter = cursor.peek();
        let unit = match (is_time, letter) {
            (false, Some(b'Y')) => Unit::Months(12),
            (false, Some(b'M')) => Unit::Months(1),
            (false, Some(b'W')) => Unit::Days(7),
            (false, Some(b'D')) => Unit::Days(1),
            (true, Some(b'H')) => HOUR,
            (true, Some(b'M')) => MINUTE,
            (true, Some(b'S')) => SECOND,
            _ => {
                return Err(fault(if is_time {
                    "after T its parts must end with H, M or S"
                } else {
                    "before T its parts must end with Y, M, W or D"
                }));
            }
        };
        cursor.rest = &cursor.rest[1..];
        let index = UNITS
            .iter()
            .position(|(known, _)| *known == unit)
            .expect("one of the units");
        seen.note(index)?;
        sum.add(amount, unit)?;
    }
    Ok(sum)
}

/// The units that were read; none may occur twice.
#[derive(Default)]
struct Seen {
    bits: u32,
}

impl Seen {
    fn note(&mut self, index: usize) -> Result<(), ValueError> {
        if self.bits & (1 << index) != 0 {
            return Err(fault("a unit is given twice"));
        }
        self.bits |= 1 << index;
        Ok(())
    }

    /// Notes seconds with a fraction, which count as milliseconds and microseconds, too.
    fn note_fine_seconds(&mut self) -> Result<(), ValueError> {
        self.note(SECOND_INDEX)?;
        self.note(MILLISECOND_INDEX)?;
        self.note(MICROSECOND_INDEX)
    }

    fn any(&self) -> bool {
        self.bits != 0
    }
}

impl Amount {
    fn whole(whole: i128) -> Amount {
        Amount {
            whole,
            numerator: 0,
            denominator: 1,
        }
    }

    fn is_zero(&self) -> bool {
        self.whole == 0 && self.numerator == 0
    }
}

fn is_blank(byte: u8) -> bool {
    trim(&[byte]).is_empty()
}

fn sign(cursor: &mut Cursor<'_>) -> bool {
    if cursor.eat(b'-') {
        return true;
    }
    cursor.eat(b'+');
    false
}

/// Digits as a whole number; `None` if there are none.
fn whole(digits: &[u8]) -> Result<Option<i128>, ValueError> {
    let significant = digits.iter().position(|digit| *digit != b'0');
    let significant = significant.map_or(&digits[..0], |first| &digits[first..]);
    if significant.len() > WHOLE_DIGITS_MAX {
        return Err(ValueError::out_of_range("outside the range of interval"));
    }
    Ok((!digits.is_empty()).then(|| number(significant).map_or(0, i128::from)))
}

/// The number whose digits before the point are `digits`; the cursor is after them.
fn amount(cursor: &mut Cursor<'_>, digits: &[u8], is_negative: bool) -> Result<Amount, ValueError> {
    let whole = whole(digits)?;
    let mut fraction: &[u8] = &[];
    if cursor.eat(b'.') {
        fraction = cursor.digits();
        if whole.is_none() && fraction.is_empty() {
            return Err(fault("a point has no digits"));
        }
    } else if whole.is_none() {
        return Err(fault("a number was expected"));
    }
    let needed = fraction
        .iter()
        .rposition(|digit| *digit != b'0')
        .map_or(0, |last| last + 1);
    if needed > FRACTION_DIGITS_MAX {
        return Err(too_fine());
    }
    let sign = if is_negative { -1 } else { 1 };
    Ok(Amount {
        whole: sign * whole.unwrap_or(0),
        numerator: sign * number(&fraction[..needed]).map_or(0, i128::from),
        denominator: 10i128.pow(needed as u32),
    })
}
