//! The bounds of partitions, and the partition of each file.
//!
//! With `"data"`, each file becomes a partition, whose bounds are known once it is loaded. With declared bounds (a
//! list, or `every`), the key of a file's first row decides to which partition the file belongs. Rows of the file
//! outside that partition are rejects. The server compares keys, because the order of texts depends on the collation.

use inrush_convert::{KeyBounds, KeyValue};
use inrush_package::{BoundValue, Bounds};
use inrush_plan::PlanError;
use inrush_plan::units::partition_keys::{bound_text, bound_value, key_text, step_around};
use inrush_rows::column::Column;
use inrush_rows::plural::counted;

use super::{KeyKind, KeyPlan};
use crate::Session;
use crate::plan::failure::PlanFailure;
use crate::quote::literal;
use crate::staging::{UnitBounds, Upper};

/// A declared partition, with the files whose first rows belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first key, as the text of an SQL literal.
    pub lower: String,
    /// The key after its last key (the end of the range).
    pub upper: String,
    /// Indices of the files.
    pub files: Vec<usize>,
}

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
                let (lower, upper) = step_around(step, first).ok_or_else(|| {
                    mismatch(
                        format!(
                            "the bounds ({}) do not fit the key {} of type {} ({})",
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
            let values: Vec<String> = values.iter().map(bound_text).collect();
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
    let values: Vec<String> = values.iter().map(bound_text).collect();
    check_list(session, flow, key, &values).await?;
    let between = values.windows(2).map(|pair| Interval {
        lower: pair[0].clone(),
        upper: pair[1].clone(),
        files: Vec::new(),
    });
    Ok(between.collect())
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
    let value = |text: &str| {
        bound_value(column, text).map_err(|error| PlanError::Mismatch {
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
