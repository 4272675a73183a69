//! The bounds of a new table's partitions, for a destination that makes partitions with bounds and puts each row into the
//! partition of its key.

use inrush_convert::KeyValue;
use inrush_destination::Ability;
use inrush_package::{BoundValue, Bounds};
use inrush_rows::column::Column;
use inrush_source::Source;

use crate::PlanError;
use crate::units::partition_keys::{bound_text, bound_value, first_keys, key_text, step_around};

/// More partitions than this mean a mistake in the width, or in the files.
const PARTITIONS_MAX: usize = 10_000;

/// The bounds that a flow asks for, as [`inrush_destination::TargetPlan::bounds`] has them. With `"data"`, a partition
/// begins at the key of each file's first row, except for the smallest one. With `every`, they are all steps from the
/// smallest of these keys to the largest.
pub fn bounds(
    flow: &str,
    bounds: &Bounds,
    column: &Column,
    source: &dyn Source,
) -> Result<Vec<String>, PlanError> {
    let planner = BoundsPlanner { flow, column };
    match bounds {
        Bounds::List(values) => planner.listed(values),
        Bounds::Word(_) => {
            let mut keys = planner.keys(source)?;
            keys.sort_unstable_by_key(KeyValue::number);
            keys.dedup();
            keys.iter().skip(1).map(|key| planner.text(key)).collect()
        }
        Bounds::Every(every) => {
            let step = every.step().map_err(|fault| {
                planner.mismatch(
                    fault.to_string(),
                    "bounds = { every = \"1 month\" } or { every = 1000 }",
                )
            })?;
            let around = |key: &KeyValue| {
                step_around(step, key).ok_or_else(|| {
                    planner.mismatch(
                        format!(
                            "`bounds` do not fit the key {:?} of {}",
                            key_text(key).unwrap_or_else(|| "infinity".to_owned()),
                            column.name
                        ),
                        "a whole number for integer keys, a length of time for dates and timestamps",
                    )
                })
            };
            let keys = planner.keys(source)?;
            let Some(first) = keys.iter().min_by_key(|key| key.number()) else {
                return Ok(Vec::new());
            };
            let last = keys.iter().map(KeyValue::number).max().flatten();
            let (lower, mut next) = around(first)?;
            let mut found = vec![lower];
            loop {
                let value = planner.value(&next)?;
                found.push(next);
                if value.number() > last {
                    return Ok(found);
                }
                if found.len() > PARTITIONS_MAX {
                    return Err(planner.mismatch(
                        format!(
                            "`bounds` make more than {PARTITIONS_MAX} partitions from {} to {}",
                            found[0],
                            last.map_or_else(String::new, |_| planner.last_text(&keys))
                        ),
                        "use a wider step, or list the bounds",
                    ));
                }
                next = around(&value)?.1;
            }
        }
        // The contract has no call for it yet.
        Bounds::Parts(_) => Err(PlanError::Abilities {
            flow: Some(flow.to_owned()),
            lacking: vec![Ability::Parts],
        }),
    }
}

struct BoundsPlanner<'a> {
    flow: &'a str,
    column: &'a Column,
}

impl BoundsPlanner<'_> {
    fn mismatch(&self, what: String, hint: &str) -> PlanError {
        PlanError::Mismatch {
            flow: self.flow.to_owned(),
            what,
            hint: hint.to_owned(),
        }
    }

    fn value(&self, text: &str) -> Result<KeyValue, PlanError> {
        bound_value(self.column, text).map_err(|error| {
            self.mismatch(
                format!(
                    "the bound {text} is not a value of {}: {error}",
                    self.column.name
                ),
                "write bounds as ISO dates (2024-01-31) or whole numbers",
            )
        })
    }

    fn text(&self, key: &KeyValue) -> Result<String, PlanError> {
        key_text(key).ok_or_else(|| {
            self.mismatch(
                format!(
                    "a file begins with a key of {} that is infinite, or not between the years 1 and 9999",
                    self.column.name
                ),
                "list the bounds: bounds = [...]",
            )
        })
    }

    fn last_text(&self, keys: &[KeyValue]) -> String {
        let last = keys.iter().max_by_key(|key| key.number());
        last.and_then(key_text).unwrap_or_default()
    }

    /// Listed bounds in their order, each greater than the one before. The server compares texts.
    fn listed(&self, values: &[BoundValue]) -> Result<Vec<String>, PlanError> {
        let texts: Vec<String> = values.iter().map(bound_text).collect();
        let found: Vec<KeyValue> = texts
            .iter()
            .map(|text| self.value(text))
            .collect::<Result<_, _>>()?;
        for (pair, words) in found.windows(2).zip(texts.windows(2)) {
            if let (Some(one), Some(next)) = (pair[0].number(), pair[1].number())
                && one >= next
            {
                return Err(self.mismatch(
                    format!(
                        "the bounds {} and {} overlap: the second is not greater",
                        words[0], words[1]
                    ),
                    "bounds are ascending values of the key's type",
                ));
            }
        }
        found.iter().map(|key| self.text(key)).collect()
    }

    /// The keys of the first rows.
    fn keys(&self, source: &dyn Source) -> Result<Vec<KeyValue>, PlanError> {
        if self.column.source.field_index().is_none() {
            return Err(self.mismatch(
                format!(
                    "the partition key {} is not a field of the files",
                    self.column.name
                ),
                "list the bounds: bounds = [...]",
            ));
        }
        let keys: Vec<KeyValue> = first_keys(self.flow, source, self.column)?
            .into_iter()
            .flatten()
            .collect();
        match keys.iter().any(|key| key.number().is_none()) {
            true => Err(self.mismatch(
                format!(
                    "the partition key {} is a text, and only the server knows the order of texts",
                    self.column.name
                ),
                "list the bounds: bounds = [...]",
            )),
            false => Ok(keys),
        }
    }
}
