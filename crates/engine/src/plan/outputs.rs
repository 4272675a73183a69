//! What the flows of one source's outputs must have in common.
//!
//! Each of them reads the source on its own. So the source must have the same rows each time, and each flow must make the same rows of
//! them: then the first flow can report the rows that cannot be read for all of them.

use inrush_package::{Flow, Package};
use inrush_rows::column::Column;
use inrush_rows::type_name;
use inrush_source::Source;

use super::error::PlanError;
use super::reading::Reading;

/// Refuses a source that may have other rows for the next output.
pub fn check_source(flow: &Flow, name: &str, source: &dyn Source) -> Result<(), PlanError> {
    if flow.output_number.is_none() || flow.outputs.len() < 2 {
        return Ok(());
    }
    let refused = |what: String, hint: &str| PlanError::Mismatch {
        flow: name.to_owned(),
        what,
        hint: hint.to_owned(),
    };
    for index in 0..source.input_count() {
        let input = source.input(index);
        if input.is_read_once() {
            return Err(refused(
                format!(
                    "{} can be read only once, and a flow reads its source for each output",
                    input.name().display()
                ),
                "write it to a file first, and load the file",
            ));
        }
    }
    let is_stable = flow.source.as_ref().is_some_and(|source| source.stable);
    if !source.has_one_moment() && !is_stable {
        return Err(refused(
            format!(
                "{} is read for each output, and each time it may show another moment: a row that changes meanwhile could go to \
                 two outputs, or to none",
                source.describe()
            ),
            "write `stable = true` in its `source` if nobody writes to it during the load, or load it into one table",
        ));
    }
    Ok(())
}

/// Refuses outputs whose flows would make other rows of the same records.
pub fn check_columns<'a>(
    package: &Package,
    readings: impl Iterator<Item = &'a Reading>,
) -> Result<(), PlanError> {
    let readings: Vec<&Reading> = readings.collect();
    let reading_of = |flow: &Flow| {
        let mut found = readings.iter();
        found.find(|reading| reading.name == flow.shown_name())
    };
    for (index, flow) in package.flows.iter().enumerate() {
        let first = &package.flows[package.reporter(index)];
        // A flow that is loaded already is not planned.
        let (Some(own), Some(other)) = (reading_of(flow), reading_of(first)) else {
            continue;
        };
        if let Some(what) = difference(own, other) {
            return Err(PlanError::Mismatch {
                flow: own.name.clone(),
                what: format!(
                    "its output {what}, so the two outputs would not take the same rows of the source"
                ),
                hint: "give the column the same type in both targets, or fill the other column by a step (`derive`)"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// What one flow reads otherwise than the other, in words.
fn difference(own: &Reading, first: &Reading) -> Option<String> {
    let named = |columns: &[Column], name: &str| columns.iter().find(|it| it.name == name).cloned();
    let (mine, theirs) = (own.read_columns(), first.read_columns());
    for column in mine {
        let Some(other) = named(theirs, &column.name) else {
            return Some(format!(
                "reads the column `{}`, which that into {} does not",
                column.name, first.target
            ));
        };
        let same = Column {
            // NULL is checked behind the steps.
            nullable: column.nullable,
            ..other.clone()
        };
        if *column != same {
            let of = |column: &Column| {
                let known = type_name::of_column(&column.column_type);
                known.unwrap_or_else(|| "another type".to_owned())
            };
            return Some(match of(column) == of(&other) {
                true => format!(
                    "reads the column `{}` otherwise than that into {}",
                    column.name, first.target
                ),
                false => format!(
                    "reads the column `{}` as {}, and that into {} as {}",
                    column.name,
                    of(column),
                    first.target,
                    of(&other)
                ),
            });
        }
    }
    let missing = theirs.iter().find(|it| named(mine, &it.name).is_none())?;
    Some(format!(
        "does not read the column `{}`, and that into {} does",
        missing.name, first.target
    ))
}
