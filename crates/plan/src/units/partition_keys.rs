//! Keys of partitions, for plans: the key of each input's first row, declared bounds, and partitions of even width.
//!
//! Bounds are texts that every server reads in the same way: whole numbers, ISO dates, and timestamps in UTC.

use inrush_convert::{KeyValue, ValueError, convert_first, convert_one};
use inrush_package::{BoundValue, BoundsStep};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::{ColumnPolicies, ValueSource};
use inrush_source::Source;
use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

use crate::PlanError;

const MICROSECONDS_PER_HOUR: i64 = 3_600_000_000;

/// The key of each input's first row; `None` if it has no row.
pub fn first_keys(
    flow: &str,
    source: &dyn Source,
    column: &Column,
) -> Result<Vec<Option<KeyValue>>, PlanError> {
    let mut keys = Vec::with_capacity(source.input_count());
    for index in 0..source.input_count() {
        let key = match source.first_row(index)? {
            None => None,
            Some(row) => {
                let text = column
                    .source
                    .field_index()
                    .and_then(|field| row.fields.get(field).cloned().flatten());
                let value = convert_first(column, text.as_deref());
                Some(value.map_err(|error| PlanError::Mismatch {
                    flow: flow.to_owned(),
                    what: format!(
                        "{}: the first row has the key {}: {error}",
                        row.location,
                        text.as_deref().unwrap_or("NULL")
                    ),
                    hint: "the key of the first row decides the partition of a file".to_owned(),
                })?)
            }
        };
        keys.push(key);
    }
    Ok(keys)
}

/// A declared bound as a text.
pub fn bound_text(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(value) => value.to_string(),
        BoundValue::Text(text) => text.clone(),
    }
}

/// The value of a declared bound. It is written in ISO form, whatever the format of the files.
pub fn bound_value(column: &Column, text: &str) -> Result<KeyValue, ValueError> {
    let plain = Column {
        source: ValueSource::Field(0),
        formats: Vec::new(),
        policies: ColumnPolicies::default(),
        // The time zone of the session, in which the server reads the same bound.
        zone: matches!(column.column_type, ColumnType::TimestampTz { .. })
            .then(|| "UTC".to_owned()),
        ..column.clone()
    };
    convert_one(&plain, text)
}

/// The partition of even width that contains a key, as texts.
pub fn step_around(step: BoundsStep, key: &KeyValue) -> Option<(String, String)> {
    match (step, key) {
        (BoundsStep::Integer(width), KeyValue::Integer(value)) => {
            let lower = value.div_euclid(width).checked_mul(width)?;
            Some((lower.to_string(), lower.checked_add(width)?.to_string()))
        }
        (BoundsStep::Hours(_), KeyValue::Date(_)) => None,
        (BoundsStep::Integer(_), _) => None,
        (_, KeyValue::Date(days)) => {
            let day = date_of(*days)?;
            let (lower, upper) = calendar_step(step, day)?;
            Some((lower.to_string(), upper.to_string()))
        }
        (BoundsStep::Hours(hours), KeyValue::Timestamp(value)) => {
            let width = i64::from(hours) * MICROSECONDS_PER_HOUR;
            let lower = value.div_euclid(width).checked_mul(width)?;
            let upper = lower.checked_add(width)?;
            Some((timestamp_text(lower)?, timestamp_text(upper)?))
        }
        (_, KeyValue::Timestamp(value)) => {
            let day = day_of(*value)?;
            let (lower, upper) = calendar_step(step, day)?;
            Some((format!("{lower} 00:00:00"), format!("{upper} 00:00:00")))
        }
        _ => None,
    }
}

/// Days, counted from 1970-01-05, a Monday, so that weeks begin on Mondays; months from year 0.
fn calendar_step(step: BoundsStep, day: Date) -> Option<(Date, Date)> {
    match step {
        BoundsStep::Days(width) => {
            let origin = Date::constant(1970, 1, 5);
            let since = i64::from(day.since(origin).ok()?.get_days());
            let width = i64::from(width);
            let lower = origin
                .checked_add(Span::new().try_days(since.div_euclid(width) * width).ok()?)
                .ok()?;
            Some((
                lower,
                lower.checked_add(Span::new().try_days(width).ok()?).ok()?,
            ))
        }
        BoundsStep::Months(width) => {
            let months = i64::from(day.year()) * 12 + i64::from(day.month()) - 1;
            let lower = month_start(months.div_euclid(i64::from(width)) * i64::from(width))?;
            Some((
                lower,
                lower
                    .checked_add(Span::new().try_months(width).ok()?)
                    .ok()?,
            ))
        }
        BoundsStep::Hours(_) | BoundsStep::Integer(_) => None,
    }
}

fn month_start(months: i64) -> Option<Date> {
    let year = i16::try_from(months.div_euclid(12)).ok()?;
    let month = months.rem_euclid(12) as i8 + 1;
    Date::new(year, month, 1).ok()
}

/// The day, if it is in the years 1 to 9999, which Inrush and the server write in the same way.
fn date_of(days: i32) -> Option<Date> {
    let day = Date::constant(1970, 1, 1)
        .checked_add(Span::new().try_days(days).ok()?)
        .ok()?;
    (day.year() >= 1).then_some(day)
}

fn day_of(microseconds: i64) -> Option<Date> {
    let days = microseconds.div_euclid(24 * MICROSECONDS_PER_HOUR);
    date_of(i32::try_from(days).ok()?)
}

fn timestamp_text(microseconds: i64) -> Option<String> {
    let day = day_of(microseconds)?;
    let since_midnight = microseconds.rem_euclid(24 * MICROSECONDS_PER_HOUR);
    let moment = DateTime::from_parts(day, Time::midnight())
        .checked_add(Span::new().try_microseconds(since_midnight).ok()?)
        .ok()?;
    Some(moment.to_string().replace('T', " "))
}

/// A key as a text, for keys that Inrush and the server write the same way: not infinite, and in the years 1 to
/// 9999.
pub fn key_text(value: &KeyValue) -> Option<String> {
    match value {
        KeyValue::Integer(value) => Some(value.to_string()),
        KeyValue::Date(days) => Some(date_of(*days)?.to_string()),
        KeyValue::Timestamp(value) => timestamp_text(*value),
        KeyValue::Text(text) => Some(text.clone()),
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::timestamp;

    use super::*;

    fn day(text: &str) -> KeyValue {
        let date: Date = text.parse().expect("a date");
        let days = date
            .since(Date::constant(1970, 1, 1))
            .expect("in range")
            .get_days();
        KeyValue::Date(days)
    }

    macro_rules! steps {
        ($($name:ident: $step:expr, $key:expr => $lower:expr, $upper:expr;)*) => {$(
            #[test]
            fn $name() {
                let found = step_around($step, &$key).expect("a step");
                assert_eq!(found, ($lower.to_owned(), $upper.to_owned()));
            }
        )*};
    }

    steps! {
        integers: BoundsStep::Integer(1000), KeyValue::Integer(2500) => "2000", "3000";
        negative_integers: BoundsStep::Integer(1000), KeyValue::Integer(-1) => "-1000", "0";
        months: BoundsStep::Months(1), day("2024-02-29") => "2024-02-01", "2024-03-01";
        quarters: BoundsStep::Months(3), day("2024-12-31") => "2024-10-01", "2025-01-01";
        years: BoundsStep::Months(12), day("1999-06-30") => "1999-01-01", "2000-01-01";
        before_1970: BoundsStep::Months(1), day("1969-12-31") => "1969-12-01", "1970-01-01";
        weeks: BoundsStep::Days(7), day("2024-05-15") => "2024-05-13", "2024-05-20";
        hours: BoundsStep::Hours(6), KeyValue::Timestamp(13 * MICROSECONDS_PER_HOUR)
            => "1970-01-01 12:00:00", "1970-01-01 18:00:00";
        timestamp_days: BoundsStep::Days(1), KeyValue::Timestamp(-1)
            => "1969-12-31 00:00:00", "1970-01-01 00:00:00";
    }

    #[test]
    fn keys_and_steps_past_the_calendar_are_none() {
        for key in [i32::MIN, -4_000_000, 4_000_000, i32::MAX] {
            let found = step_around(BoundsStep::Months(1), &KeyValue::Date(key));
            assert_eq!(found, None, "{key}");
        }
        for step in [BoundsStep::Days(u32::MAX), BoundsStep::Months(u32::MAX)] {
            assert_eq!(step_around(step, &day("2024-01-01")), None);
        }
        let ends = [
            timestamp::MINUS_INFINITY,
            timestamp::MIN,
            i64::MAX,
            i64::MIN,
        ];
        for key in ends
            .into_iter()
            .chain([timestamp::MAX, timestamp::INFINITY])
        {
            let key = KeyValue::Timestamp(key);
            assert_eq!(step_around(BoundsStep::Hours(6), &key), None);
            assert_eq!(step_around(BoundsStep::Days(1), &key), None);
        }
    }

    #[test]
    fn a_step_of_the_wrong_kind_is_none() {
        assert_eq!(
            step_around(BoundsStep::Months(1), &KeyValue::Integer(1)),
            None
        );
        assert_eq!(
            step_around(BoundsStep::Integer(1), &day("2024-01-01")),
            None
        );
        assert_eq!(step_around(BoundsStep::Hours(1), &day("2024-01-01")), None);
    }
}
