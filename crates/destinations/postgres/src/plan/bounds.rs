//! The bounds of partitions, and the partition of each file.
//!
//! With `"data"`, each file becomes a partition, whose bounds are known once it is loaded. With declared bounds (a
//! list, or `every`), a file belongs to the partition of the key of its first row; its rows outside that partition are
//! rejects. The server compares keys, because the order of texts depends on the collation.

use inrush_convert::{KeyBounds, KeyValue, convert_one};
use inrush_engine::plan::PlanError;
use inrush_package::{BoundValue, Bounds, BoundsStep};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::{ColumnPolicies, ValueSource};
use inrush_rows::plural::counted;
use jiff::Span;
use jiff::civil::{Date, DateTime, Time};

use super::{KeyKind, KeyPlan};
use crate::Session;
use crate::plan::failure::PlanFailure;
use crate::quote::literal;
use crate::staging::{UnitBounds, Upper};

/// A declared partition, with the files whose first rows belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first key as SQL takes it.
    pub lower: String,
    /// The key after its last key (the end of the range).
    pub upper: String,
    /// Indices of the files.
    pub files: Vec<usize>,
}

const MICROSECONDS_PER_HOUR: i64 = 3_600_000_000;

/// The rule in words, for the plan.
pub fn rule(bounds: &Bounds) -> String {
    match bounds {
        Bounds::Word(_) => {
            "each file is one partition, from its smallest key to just above its largest".to_owned()
        }
        Bounds::Every(every) => match &every.every {
            BoundValue::Integer(step) => format!("a partition for every {step} keys"),
            BoundValue::Text(step) => format!("a partition for every {step}"),
        },
        Bounds::List(values) => {
            let partitions = counted(values.len() as u64 - 1, "partition");
            format!("{partitions} between the listed values")
        }
        Bounds::Parts(parts) => format!(
            "{} of about the same size, cut where the key changes",
            counted(u64::from(parts.parts), "part")
        ),
    }
}

/// Assigns files to declared partitions by the key of their first row.
///
/// `first_keys` has a value for every file that has a row. Listed partitions without files are included if `keep_empty`
/// is set.
pub async fn place(
    session: &Session,
    flow: &str,
    key: &KeyPlan,
    bounds: &Bounds,
    first_keys: &[Option<KeyValue>],
    file_names: &[String],
    keep_empty: bool,
) -> Result<Vec<Interval>, PlanFailure> {
    let mismatch = |what: String, hint: &str| PlanError::Mismatch {
        flow: flow.to_owned(),
        what,
        hint: hint.to_owned(),
    };
    match bounds {
        Bounds::Word(_) | Bounds::Parts(_) => Ok(Vec::new()),
        Bounds::Every(every) => {
            let step = every.step().map_err(|fault| {
                mismatch(
                    fault.to_string(),
                    "bounds = { every = \"1 month\" } or { every = 1000 }",
                )
            })?;
            let mut intervals: Vec<Interval> = Vec::new();
            for (index, first) in first_keys.iter().enumerate() {
                let Some(first) = first else { continue };
                let (lower, upper) = step_around(step, first, key.kind).ok_or_else(|| {
                    mismatch(
                        format!(
                            "bounds of {} do not fit the key {} {} ({})",
                            rule(bounds),
                            key.column,
                            key.type_sql,
                            file_names[index]
                        ),
                        "a whole number for integer keys, a length of time for dates and \
                         timestamps",
                    )
                })?;
                match intervals.iter_mut().find(|known| known.lower == lower) {
                    Some(known) => known.files.push(index),
                    None => intervals.push(Interval {
                        lower,
                        upper,
                        files: vec![index],
                    }),
                }
            }
            Ok(intervals)
        }
        Bounds::List(values) => {
            let values: Vec<String> = values.iter().map(text).collect();
            check_list(session, flow, key, &values).await?;
            let mut intervals =
                place_in_list(session, flow, key, &values, first_keys, file_names).await?;
            intervals.retain(|interval| keep_empty || !interval.files.is_empty());
            Ok(intervals)
        }
    }
}

/// The partitions between the values of a list, without files.
pub async fn listed(
    session: &Session,
    flow: &str,
    key: &KeyPlan,
    values: &[BoundValue],
) -> Result<Vec<Interval>, PlanFailure> {
    let values: Vec<String> = values.iter().map(text).collect();
    check_list(session, flow, key, &values).await?;
    let between = values.windows(2).map(|pair| Interval {
        lower: pair[0].clone(),
        upper: pair[1].clone(),
        files: Vec::new(),
    });
    Ok(between.collect())
}

fn text(value: &BoundValue) -> String {
    match value {
        BoundValue::Integer(value) => value.to_string(),
        BoundValue::Text(text) => text.clone(),
    }
}

/// Refuses lists that are too short, not of the key's type or not ascending.
async fn check_list(
    session: &Session,
    flow: &str,
    key: &KeyPlan,
    values: &[String],
) -> Result<(), PlanFailure> {
    let mismatch = |what: String| PlanError::Mismatch {
        flow: flow.to_owned(),
        what,
        hint: "bounds = [a, b, c] makes the partitions [a, b) and [b, c): ascending values of \
               the key's type"
            .to_owned(),
    };
    if values.len() < 2 {
        return Err(mismatch(format!(
            "bounds lists {} value, but a partition has two ends",
            values.len()
        ))
        .into());
    }
    for pair in values.windows(2) {
        let sql = format!(
            "SELECT {}::{type_sql} < {}::{type_sql}",
            literal(&pair[0]),
            literal(&pair[1]),
            type_sql = key.type_sql
        );
        let rows = session
            .query(&sql, &[], "comparing the bounds that the package lists")
            .await?;
        if !rows[0].get::<_, bool>(0) {
            return Err(mismatch(format!(
                "the bounds {} and {} overlap: the second is not greater",
                pair[0], pair[1]
            ))
            .into());
        }
    }
    Ok(())
}

async fn place_in_list(
    session: &Session,
    flow: &str,
    key: &KeyPlan,
    values: &[String],
    first_keys: &[Option<KeyValue>],
    file_names: &[String],
) -> Result<Vec<Interval>, PlanFailure> {
    let mut intervals: Vec<Interval> = values
        .windows(2)
        .map(|pair| Interval {
            lower: pair[0].clone(),
            upper: pair[1].clone(),
            files: Vec::new(),
        })
        .collect();
    let list: Vec<String> = values
        .iter()
        .map(|value| format!("{}::{}", literal(value), key.type_sql))
        .collect();
    for (index, first) in first_keys.iter().enumerate() {
        let Some(first) = first else { continue };
        let first = key_text(first).ok_or_else(|| PlanError::Mismatch {
            flow: flow.to_owned(),
            what: format!(
                "{} begins with a key that is infinite, or not between the years 1 and 9999",
                file_names[index]
            ),
            hint: "begin the file with a row whose key is within the listed bounds".to_owned(),
        })?;
        // The number of bounds at or before the key: 0 means before the first bound, all of them means at or after the
        // last.
        let sql = format!(
            "SELECT count(*) FROM unnest(ARRAY[{}]) bound WHERE bound <= {}::{}",
            list.join(", "),
            literal(&first),
            key.type_sql
        );
        let rows = session
            .query(&sql, &[], "placing the files in their partitions")
            .await?;
        let before = rows[0].get::<_, i64>(0) as usize;
        if before == 0 || before == values.len() {
            return Err(PlanError::Mismatch {
                flow: flow.to_owned(),
                what: format!(
                    "{} begins with the key {first}, which is outside the listed bounds {} to {}",
                    file_names[index],
                    values[0],
                    values[values.len() - 1]
                ),
                hint: "add bounds so that every file lies within one partition".to_owned(),
            }
            .into());
        }
        intervals[before - 1].files.push(index);
    }
    Ok(intervals)
}

/// The bounds of an interval for the server and for the converter.
pub fn unit_bounds(
    flow: &str,
    key: &KeyPlan,
    column: &Column,
    interval: &Interval,
) -> Result<(UnitBounds, Option<KeyBounds>), PlanError> {
    let bounds = UnitBounds {
        key: key.column.clone(),
        type_sql: key.type_sql.clone(),
        lower: Some(interval.lower.clone()),
        upper: Some(Upper::Exclusive(interval.upper.clone())),
    };
    if matches!(key.kind, KeyKind::Text { .. }) {
        return Ok((bounds, None));
    }
    // Bounds are written in the server's form, for any format of the files.
    let plain = Column {
        source: ValueSource::Field(0),
        formats: Vec::new(),
        policies: ColumnPolicies::default(),
        // The session's own time zone, in which the server reads the same bound.
        zone: matches!(column.column_type, ColumnType::TimestampTz { .. })
            .then(|| "UTC".to_owned()),
        ..column.clone()
    };
    let value = |text: &str| {
        convert_one(&plain, text).map_err(|error| PlanError::Mismatch {
            flow: flow.to_owned(),
            what: format!(
                "the bound {text} is not a value of {}: {error}",
                key.type_sql
            ),
            hint: "write bounds as ISO dates (2024-01-31) or whole numbers".to_owned(),
        })
    };
    let key_bounds = KeyBounds {
        column_index: key.column_index,
        lower: Some(value(&interval.lower)?),
        upper: Some(value(&interval.upper)?),
        describe: format!("[{}, {})", interval.lower, interval.upper),
    };
    Ok((bounds, Some(key_bounds)))
}

/// The partition of even width that contains a key, as SQL texts.
pub(super) fn step_around(
    step: BoundsStep,
    key: &KeyValue,
    kind: KeyKind,
) -> Option<(String, String)> {
    match (step, key, kind) {
        (BoundsStep::Integer(width), KeyValue::Integer(value), _) => {
            let lower = value.div_euclid(width).checked_mul(width)?;
            Some((lower.to_string(), lower.checked_add(width)?.to_string()))
        }
        (BoundsStep::Hours(_), KeyValue::Date(_), _) => None,
        (BoundsStep::Integer(_), _, _) => None,
        (_, KeyValue::Date(days), _) => {
            let day = date_of(*days)?;
            let (lower, upper) = calendar_step(step, day)?;
            Some((lower.to_string(), upper.to_string()))
        }
        (BoundsStep::Hours(hours), KeyValue::Timestamp(value), _) => {
            let width = i64::from(hours) * MICROSECONDS_PER_HOUR;
            let lower = value.div_euclid(width).checked_mul(width)?;
            let upper = lower.checked_add(width)?;
            Some((timestamp_text(lower)?, timestamp_text(upper)?))
        }
        (_, KeyValue::Timestamp(value), _) => {
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

/// A key as an SQL text, for keys that Inrush and the server write the same way: not infinite, and in the years 1 to
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
                let found = step_around($step, &$key, KeyKind::Date).expect("a step");
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
            let found = step_around(BoundsStep::Months(1), &KeyValue::Date(key), KeyKind::Date);
            assert_eq!(found, None, "{key}");
        }
        for step in [BoundsStep::Days(u32::MAX), BoundsStep::Months(u32::MAX)] {
            assert_eq!(step_around(step, &day("2024-01-01"), KeyKind::Date), None);
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
            assert_eq!(
                step_around(BoundsStep::Hours(6), &key, KeyKind::Timestamp),
                None
            );
            assert_eq!(
                step_around(BoundsStep::Days(1), &key, KeyKind::Timestamp),
                None
            );
        }
    }

    #[test]
    fn a_step_of_the_wrong_kind_is_none() {
        assert_eq!(
            step_around(
                BoundsStep::Months(1),
                &KeyValue::Integer(1),
                KeyKind::Integer
            ),
            None
        );
        assert_eq!(
            step_around(BoundsStep::Integer(1), &day("2024-01-01"), KeyKind::Date),
            None
        );
        assert_eq!(
            step_around(BoundsStep::Hours(1), &day("2024-01-01"), KeyKind::Date),
            None
        );
    }
}
