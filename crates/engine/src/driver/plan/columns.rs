//! The columns of a flow, resolved by the destination's types.

use std::collections::BTreeMap;

use inrush_destination::{ColumnPlan, Destination, ResolvedType, TargetColumn, TargetFacts};
use inrush_rows::column::Column;

use crate::plan::PlanError;
use crate::plan::columns::{KnownColumns, Match, TargetColumns, column};

/// The columns of a flow, resolved.
pub struct Resolved {
    /// The columns as the files are read.
    pub columns: Vec<Column>,
    /// The columns as the destination gets them.
    pub planned: Vec<ColumnPlan>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
}

/// The names of a target's columns.
pub fn names(facts: &TargetFacts) -> TargetColumns {
    let name = |column: &TargetColumn| column.name.clone();
    let filled = facts.columns.iter().filter(|column| !column.generated);
    TargetColumns {
        all: facts.columns.iter().map(name).collect(),
        filled: filled.map(name).collect(),
    }
}

/// Resolves the columns, against the target if it exists.
pub fn resolve(
    destination: &dyn Destination,
    known: &KnownColumns<'_>,
    facts: Option<&TargetFacts>,
) -> Result<Resolved, PlanError> {
    let matches = known.matches(destination.abilities().folds_names)?;
    let mut columns: Vec<Column> = Vec::with_capacity(matches.columns.len());
    let mut planned = Vec::with_capacity(matches.columns.len());
    // Wide tables have few types, and many columns.
    let mut types: BTreeMap<&str, ResolvedType> = BTreeMap::new();
    for Match {
        detail,
        source,
        place,
    } in &matches.columns
    {
        let target = place.and_then(|place| facts?.columns.get(place));
        let (resolved, nullable) = match target {
            Some(target) => (existing(known, target)?, !target.not_null),
            None => {
                let type_name = known.type_name(detail)?;
                let resolved = match types.get(type_name) {
                    Some(resolved) => resolved.clone(),
                    None => {
                        let resolved = destination.resolve_type(type_name).map_err(|error| {
                            let hint = error.hint().unwrap_or("name another type").to_owned();
                            known.mismatch(format!("column `{}`: {error}", detail.name), &hint)
                        })?;
                        types.insert(type_name, resolved.clone());
                        resolved
                    }
                };
                (resolved, detail.nullable)
            }
        };
        planned.push(ColumnPlan {
            name: detail.name.clone(),
            sql: resolved.sql,
            column_type: resolved.column_type.clone(),
            nullable,
        });
        columns.push(column(
            known,
            detail,
            source,
            resolved.column_type,
            nullable,
        ));
    }
    if columns.is_empty() {
        return Err(known.mismatch(
            "no column is loaded".to_owned(),
            "list at least one column that is not skipped",
        ));
    }
    let must = facts.iter().flat_map(|facts| &facts.columns);
    let required = must
        .filter(|column| column.not_null && !column.has_default && !column.generated)
        .map(|column| column.name.as_str());
    known.require(required, &matches.names())?;
    Ok(Resolved {
        columns,
        planned,
        field_count: matches.field_count,
    })
}

fn existing(known: &KnownColumns<'_>, column: &TargetColumn) -> Result<ResolvedType, PlanError> {
    if column.generated {
        return Err(known.mismatch(
            format!("the destination computes column `{}` itself", column.name),
            "take it out of the files, or load into a table without the expression",
        ));
    }
    let Some(column_type) = &column.column_type else {
        // SQLite has columns without a type.
        let its_type = match column.sql.as_str() {
            "" => "no type".to_owned(),
            sql => format!("the type {sql}, which Inrush cannot load"),
        };
        return Err(known.mismatch(
            format!(
                "column `{}` of {} has {its_type}",
                column.name, known.target
            ),
            "skip the field, or load into a table with a column of another type and cast it there",
        ));
    };
    Ok(ResolvedType {
        sql: column.sql.clone(),
        column_type: column_type.clone(),
    })
}
