//! Pass 1: checks that the target's columns can hold all values of a batch.
//!
//! A fast kernel checks a whole slice, including NULLs, and returns only whether there *may* be a fault. If so,
//! [`Column::fault`] checks each row that has a value; it defines which values fit.

use inrush_rows::calendar::{DAY_MICROSECONDS, civil_from_days};
use inrush_rows::timestamp;

use super::column::{Column, EncodedTexts, Limit, Text, TextForm, Values};
use super::ticks::{Fraction, is_whole_datetime, is_whole_smalldatetime};
use crate::code_page::CodePage;
use crate::error::ValueFault;
use crate::limits::{
    DATE_DAYS_MAX, DATE_DAYS_MIN, DATETIME_MAX, DATETIME_MIN, DATETIME2_MAX, DATETIME2_MIN,
    SMALLDATETIME_MAX, SMALLDATETIME_MIN, TIME_MICROSECONDS_MAX,
};

impl Column<'_> {
    /// Checks every value, and encodes texts of a code page. `Err` is the first row that does not fit.
    pub(super) fn check(&mut self) -> Result<(), (usize, ValueFault)> {
        if self.has_nulls() && !self.is_nullable {
            let row = (0..self.row_count()).find(|&row| !self.is_valid(row));
            return Err((row.unwrap_or(0), ValueFault::Null));
        }
        if self.is_in_code_page() {
            return self.encode_texts();
        }
        if self.may_have_fault() {
            for row in 0..self.row_count() {
                if let Some(fault) = self.fault(row) {
                    return Err((row, fault));
                }
            }
        }
        Ok(())
    }

    /// Why a row does not fit.
    pub(super) fn fault(&self, row: usize) -> Option<ValueFault> {
        if !self.is_valid(row) {
            return (!self.is_nullable).then_some(ValueFault::Null);
        }
        match &self.values {
            Values::Bit(..)
            | Values::SmallInt(..)
            | Values::Int(..)
            | Values::BigInt(..)
            | Values::UniqueIdentifier(_) => None,
            Values::TinyInt(values, _) => is_past_tinyint(values[row])
                .then(|| self.out_of_range(values[row].to_string(), "0 to 255")),
            Values::Real(values, _) => not_finite(values[row].into()),
            Values::Float(values, _) => not_finite(values[row]),
            Values::Decimal(values, precision) => precision.is_past(values[row]).then(|| {
                self.out_of_range(
                    format!(
                        "a number with {} digits",
                        values[row].unsigned_abs().to_string().len()
                    ),
                    &format!("{} digits", precision.magnitude_max.to_string().len()),
                )
            }),
            Values::Money(values, _) => is_past_money(values[row]).then(|| {
                self.out_of_range(
                    money_text(values[row]),
                    "-922337203685477.5808 to 922337203685477.5807",
                )
            }),
            Values::SmallMoney(values, _) => is_past_smallmoney(values[row])
                .then(|| self.out_of_range(money_text(values[row]), "-214748.3648 to 214748.3647")),
            Values::Date(values) => is_past_date(values[row])
                .then(|| self.out_of_range(date_text(values[row]), "0001-01-01 to 9999-12-31")),
            Values::Time(values, fraction) => {
                if is_past_time(values[row]) {
                    let range = "00:00:00 to less than 24:00:00";
                    return Some(self.out_of_range(time_text(values[row]), range));
                }
                (!fraction.is_whole(values[row]))
                    .then(|| self.would_round(time_text(values[row]), &step(fraction)))
            }
            Values::DateTime2(values, fraction) | Values::DateTimeOffset(values, fraction) => {
                let value = values[row];
                self.moment_fault(
                    value,
                    DATETIME2_MIN..=DATETIME2_MAX,
                    fraction.is_whole(value),
                    "0001-01-01 to 9999-12-31",
                    || step(fraction),
                )
            }
            Values::DateTime(values, _) => self.moment_fault(
                values[row],
                DATETIME_MIN..=DATETIME_MAX,
                is_whole_datetime(values[row]),
                "1753-01-01 to 9999-12-31 23:59:59.997",
                || "steps of 1/300 s, shown as .000, .003 and .007".to_owned(),
            ),
            Values::SmallDateTime(values, _) => self.moment_fault(
                values[row],
                SMALLDATETIME_MIN..=SMALLDATETIME_MAX,
                is_whole_smalldatetime(values[row]),
                "1900-01-01 to 2079-06-06 23:59",
                || "whole minutes".to_owned(),
            ),
            Values::Text(text) => self.text_fault(text, row),
        }
    }

    /// True if any value may not fit, NULLs included.
    fn may_have_fault(&self) -> bool {
        match &self.values {
            Values::Bit(..)
            | Values::SmallInt(..)
            | Values::Int(..)
            | Values::BigInt(..)
            | Values::UniqueIdentifier(_) => false,
            Values::TinyInt(values, _) => any(values, is_past_tinyint),
            Values::Real(values, _) => any(values, |value| !value.is_finite()),
            Values::Float(values, _) => any(values, |value| !value.is_finite()),
            Values::Decimal(values, precision) => any(values, |value| precision.is_past(value)),
            Values::Money(values, _) => any(values, is_past_money),
            Values::SmallMoney(values, _) => any(values, is_past_smallmoney),
            Values::Date(values) => any(values, is_past_date),
            Values::Time(values, fraction) => {
                any(values, is_past_time) || any_fraction(values, fraction)
            }
            Values::DateTime2(values, fraction) | Values::DateTimeOffset(values, fraction) => {
                any(values, |value| {
                    !(DATETIME2_MIN..=DATETIME2_MAX).contains(&value)
                }) || any_fraction(values, fraction)
            }
            Values::DateTime(values, _) => any(values, |value| {
                !(DATETIME_MIN..=DATETIME_MAX).contains(&value) | !is_whole_datetime(value)
            }),
            Values::SmallDateTime(values, _) => any(values, |value| {
                !(SMALLDATETIME_MIN..=SMALLDATETIME_MAX).contains(&value)
                    | !is_whole_smalldatetime(value)
            }),
            Values::Text(text) => {
                let lengths = text.texts.lengths();
                match text.limit {
                    // A text never has more units in UTF-16 than bytes in UTF-8.
                    Limit::Bytes(max) | Limit::Units(max) => {
                        u64::from(lengths.fold(0, u32::max)) > max
                    }
                    Limit::ExactBytes(bytes) => {
                        lengths.fold(0, |seen, length| seen | length ^ u32::from(bytes)) != 0
                    }
                }
            }
        }
    }

    fn text_fault(&self, text: &Text<'_>, row: usize) -> Option<ValueFault> {
        let bytes = text.texts.get(row);
        let length = match &text.form {
            TextForm::AsIs => bytes.len() as u64,
            TextForm::Utf16 => utf16_units(bytes),
            TextForm::CodePage(code_page, _) => {
                let mut encoded = Vec::new();
                let result = encode_text(*code_page, bytes, &mut encoded);
                if let Err(fault) = result {
                    return Some(fault);
                }
                encoded.len() as u64
            }
        };
        self.length_fault(length, text.limit)
    }

    fn length_fault(&self, length: u64, limit: Limit) -> Option<ValueFault> {
        let (max, unit) = match limit {
            Limit::Bytes(max) => (max, "bytes"),
            Limit::Units(max) => (max, "units of UTF-16"),
            Limit::ExactBytes(expected) if length < expected.into() => {
                return Some(ValueFault::WouldPad {
                    length,
                    expected,
                    type_name: self.type_info.to_string(),
                });
            }
            Limit::ExactBytes(max) => (max.into(), "bytes"),
        };
        (length > max).then(|| ValueFault::TooLong {
            length,
            max,
            unit,
            type_name: self.type_info.to_string(),
        })
    }

    fn moment_fault(
        &self,
        value: i64,
        range: std::ops::RangeInclusive<i64>,
        is_whole: bool,
        range_text: &str,
        step: impl FnOnce() -> String,
    ) -> Option<ValueFault> {
        if !range.contains(&value) {
            return Some(self.out_of_range(moment_text(value), range_text));
        }
        (!is_whole).then(|| self.would_round(moment_text(value), &step()))
    }

    #[cold]
    fn out_of_range(&self, value: String, range: &str) -> ValueFault {
        ValueFault::OutOfRange {
            value,
            type_name: self.type_info.to_string(),
            range: range.to_owned(),
        }
    }

    #[cold]
    fn would_round(&self, value: String, step: &str) -> ValueFault {
        ValueFault::WouldRound {
            value,
            type_name: self.type_info.to_string(),
            step: step.to_owned(),
        }
    }

    fn is_in_code_page(&self) -> bool {
        matches!(&self.values, Values::Text(text) if matches!(text.form, TextForm::CodePage(..)))
    }

    /// Encodes the texts of a code page, or finds that they are ASCII and are written unchanged.
    fn encode_texts(&mut self) -> Result<(), (usize, ValueFault)> {
        let Values::Text(text) = &self.values else {
            return Ok(());
        };
        let TextForm::CodePage(code_page, _) = text.form else {
            return Ok(());
        };
        let is_ascii =
            (0..self.row_count()).all(|row| !self.is_valid(row) || text.texts.get(row).is_ascii());
        let form = if is_ascii {
            TextForm::AsIs
        } else {
            let mut encoded = EncodedTexts::default();
            encoded.ends.reserve(self.row_count());
            for row in 0..self.row_count() {
                let start = encoded.bytes.len();
                if self.is_valid(row) {
                    encode_text(code_page, text.texts.get(row), &mut encoded.bytes)
                        .map_err(|fault| (row, fault))?;
                }
                let length = (encoded.bytes.len() - start) as u64;
                if let Some(fault) = self.length_fault(length, text.limit) {
                    return Err((row, fault));
                }
                encoded.ends.push(encoded.bytes.len());
            }
            TextForm::CodePage(code_page, encoded)
        };
        if let Values::Text(text) = &mut self.values {
            text.form = form;
        }
        // The lengths of texts that are ASCII are not checked yet.
        if is_ascii && self.may_have_fault() {
            return match (0..self.row_count())
                .find_map(|row| self.fault(row).map(|fault| (row, fault)))
            {
                Some(fault) => Err(fault),
                None => Ok(()),
            };
        }
        Ok(())
    }
}

/// Encodes a text, which is UTF-8.
fn encode_text(code_page: CodePage, text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    if text.is_ascii() {
        out.extend_from_slice(text);
        return Ok(());
    }
    // Arrow's arrays of text hold UTF-8; other bytes would be shown as the character U+FFFD, which no code page has.
    code_page
        .encode(&String::from_utf8_lossy(text), out)
        .map_err(|character| ValueFault::NotInCodePage {
            character,
            code_page: code_page.number(),
        })
}

/// True if any value is bad. All values are checked, so that the compiler can check several at once.
#[inline(always)]
fn any<Value: Copy>(values: &[Value], is_bad: impl Fn(Value) -> bool) -> bool {
    values
        .iter()
        .fold(false, |seen, value| seen | is_bad(*value))
}

/// True if any value has a finer fraction than its type. The steps are constants here, because the compiler turns a
/// division by a constant into a multiplication.
fn any_fraction(values: &[i64], fraction: &Fraction) -> bool {
    match fraction.step_microseconds {
        1 => false,
        10 => any(values, |value| value % 10 != 0),
        100 => any(values, |value| value % 100 != 0),
        1_000 => any(values, |value| value % 1_000 != 0),
        10_000 => any(values, |value| value % 10_000 != 0),
        100_000 => any(values, |value| value % 100_000 != 0),
        _ => any(values, |value| value % 1_000_000 != 0),
    }
}

fn is_past_tinyint(value: i16) -> bool {
    !(0..=255).contains(&value)
}

fn is_past_money(value: i128) -> bool {
    i64::try_from(value).is_err()
}

fn is_past_smallmoney(value: i128) -> bool {
    i32::try_from(value).is_err()
}

fn is_past_date(days: i32) -> bool {
    !(DATE_DAYS_MIN..=DATE_DAYS_MAX).contains(&days)
}

fn is_past_time(microseconds: i64) -> bool {
    !(0..=TIME_MICROSECONDS_MAX).contains(&microseconds)
}

fn not_finite(value: f64) -> Option<ValueFault> {
    let text = match value {
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        _ if value.is_nan() => "NaN",
        _ => return None,
    };
    Some(ValueFault::NotFinite {
        value: text.to_owned(),
    })
}

/// The number of units of a text in UTF-16. A character past U+FFFF has two units, any other has one.
fn utf16_units(text: &[u8]) -> u64 {
    text.iter()
        .map(|byte| u64::from(byte & 0xc0 != 0x80) + u64::from(*byte >= 0xf0))
        .sum()
}

fn step(fraction: &Fraction) -> String {
    let microseconds = fraction.step_microseconds;
    match microseconds {
        1_000_000 => "whole seconds".to_owned(),
        _ => format!("steps of {} s", microseconds as f64 / 1e6),
    }
}

fn money_text(value: i128) -> String {
    let minus = if value < 0 { "-" } else { "" };
    let magnitude = value.unsigned_abs();
    format!("{minus}{}.{:04}", magnitude / 10_000, magnitude % 10_000)
}

fn date_text(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        i32::MIN => "-infinity".to_owned(),
        _ => day_text(days.into()),
    }
}

fn day_text(days: i64) -> String {
    let (year, month, day) = civil_from_days(days);
    match year {
        1.. => format!("{year:04}-{month:02}-{day:02}"),
        _ => format!("{:04}-{month:02}-{day:02} BC", 1 - year),
    }
}

fn time_text(microseconds: i64) -> String {
    let seconds = microseconds.div_euclid(1_000_000);
    let text = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    match microseconds.rem_euclid(1_000_000) {
        0 => text,
        fraction => format!("{text}.{fraction:06}")
            .trim_end_matches('0')
            .to_owned(),
    }
}

/// The text of a moment. `number` is its value in a batch; some values stand for moments whose microseconds since 1970
/// do not fit into 64 bits.
fn moment_text(number: i64) -> String {
    match number {
        timestamp::INFINITY => return "infinity".to_owned(),
        timestamp::MINUS_INFINITY => return "-infinity".to_owned(),
        _ => {}
    }
    let microseconds = i128::from(timestamp::to_postgres(number))
        + i128::from(timestamp::POSTGRES_EPOCH_MICROSECONDS);
    let day = i128::from(DAY_MICROSECONDS);
    // The number of days fits: a moment is at most about 300,000 years from 1970.
    let days = microseconds.div_euclid(day) as i64;
    let of_day = microseconds.rem_euclid(day) as i64;
    format!("{} {}", day_text(days), time_text(of_day))
}
