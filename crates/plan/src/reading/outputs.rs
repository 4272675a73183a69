//! The flows that load the outputs of one source must read the same rows.
//!
//! Each of them reads the source on its own. So the source must have the same rows each time, and each flow must convert them
//! to the same values. Then the first flow can report the rows that cannot be read, for all flows.

use std::sync::Arc;

use inrush_package::{Flow, Package};
use inrush_rows::column::Column;
use inrush_rows::type_name;
use inrush_source::Source;

use crate::error::PlanError;
use crate::reading::Reading;
use crate::steps::OutputPart;

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
                "{} is read once for each output, and its rows may change in between: a changed \
                 row could go to two outputs, or to none",
                source.describe()
            ),
            "write `stable = true` in its `source` if nobody writes to it during the load, or load it into one table",
        ));
    }
    Ok(())
}

/// Decides which flows report the rows that no output gets. Refuses outputs whose flows would convert the same records to
/// different rows. `readings` are those of all flows that are planned.
pub fn settle(package: &Package, mut readings: Vec<&mut Reading>) -> Result<(), PlanError> {
    for at in 0..readings.len() {
        let Some(output) = output_of(readings[at]) else {
            continue;
        };
        let beside = package.beside(output.flow);
        let reads_same = |other: &usize| package.reads_same(output.flow, *other);
        let is_planned = |flow: usize| {
            let mut planned = readings.iter();
            planned.position(|reading| output_of(reading).is_some_and(|own| own.flow == flow))
        };
        // A flow that is already loaded is not planned, so it reports nothing.
        let first = beside
            .iter()
            .filter(|flow| reads_same(flow))
            .find_map(|flow| is_planned(*flow));
        let own = &readings[at];
        // If all are equal to the first one, they are equal to each other.
        let like = beside.iter().find_map(|flow| is_planned(*flow));
        if let Some(what) = like.and_then(|like| difference(own, readings[like])) {
            return Err(PlanError::Mismatch {
                flow: own.name.clone(),
                what: format!("its output {what}; so the two outputs would not read the same rows"),
                hint: "give the column the same type in both targets, or fill the other column by a step (`derive`)"
                    .to_owned(),
            });
        }
        let settled = OutputPart {
            reports: first.is_none_or(|first| first == at),
            is_alone: package.flows[output.flow].outputs.len() > 1
                && beside.iter().filter(|flow| reads_same(flow)).count() == 1,
            ..output
        };
        if let Some(steps) = &mut readings[at].steps {
            Arc::make_mut(steps).output = Some(settled);
        }
    }
    Ok(())
}

fn output_of(reading: &Reading) -> Option<OutputPart> {
    reading.steps.as_ref()?.output
}

/// The first difference between the readings of two flows, in words.
fn difference(own: &Reading, first: &Reading) -> Option<String> {
    let named = |columns: &[Column], name: &str| columns.iter().find(|it| it.name == name).cloned();
    let (mine, theirs) = (own.read_columns(), first.read_columns());
    for column in mine {
        let Some(other) = named(theirs, &column.name) else {
            return Some(format!(
                "reads the column `{}`, which the output into {} does not read",
                column.name, first.target
            ));
        };
        let same = Column {
            // NULL is checked after the steps.
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
                    "reads the column `{}` differently from the output into {}",
                    column.name, first.target
                ),
                false => format!(
                    "reads the column `{}` as {}, and the output into {} reads it as {}",
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
        "does not read the column `{}`, but the output into {} does",
        missing.name, first.target
    ))
}
