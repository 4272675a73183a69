//! The columns of a flow, resolved by the destination's types.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_destination::{ColumnPlan, Destination, ResolvedType, TargetColumn, TargetFacts};
use inrush_rows::column::Column;
use inrush_source::Source;

use crate::plan::PlanError;
use crate::plan::columns::{KnownColumns, Match, TargetColumns, column};
use crate::plan::steps::{BoundSteps, DerivedTarget, StepPlan};

/// The columns of a flow, resolved.
pub struct Resolved {
    /// The columns that are loaded.
    pub columns: Vec<Column>,
    /// The columns as the destination gets them.
    pub planned: Vec<ColumnPlan>,
    /// Fields of a record, including those that are skipped.
    pub field_count: usize,
    /// The columns that are read, if the flow has steps.
    pub read: Option<ReadColumns>,
}

/// The columns before the steps of a flow.
pub struct ReadColumns {
    /// The columns.
    pub columns: Vec<Column>,
    /// Indexes of the read columns that are loaded unchanged. They come first among the loaded columns.
    pub passed: Vec<usize>,
    /// The steps.
    pub steps: BoundSteps,
}

impl Resolved {
    /// The columns that the source fills.
    pub fn filled_by_source(&mut self) -> &mut [Column] {
        match &mut self.read {
            Some(read) => &mut read.columns,
            None => &mut self.columns,
        }
    }

    /// The plan of the steps, once the columns that are read have their policies.
    pub fn steps(&mut self, source: &dyn Source) -> Result<Option<Arc<StepPlan>>, PlanError> {
        let Some(read) = self.read.take() else {
            return Ok(None);
        };
        let ReadColumns {
            columns,
            passed,
            steps,
        } = read;
        steps
            .plan(columns, &passed, &mut self.columns, source)
            .map(|steps| Some(Arc::new(steps)))
    }
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
    let mut read: Vec<Column> = Vec::with_capacity(matches.columns.len());
    let mut passed = Vec::with_capacity(matches.columns.len());
    let mut planned = Vec::with_capacity(matches.columns.len());
    let mut new = NewTypes {
        destination,
        known,
        types: BTreeMap::new(),
    };
    let target = |place: Option<usize>| place.and_then(|place| facts?.columns.get(place));
    for (index, found) in matches.columns.iter().enumerate() {
        let Match { detail, source, .. } = found;
        let (resolved, nullable) = match target(found.place) {
            Some(target) => (existing(known, target)?, !target.not_null),
            None if found.is_loaded => {
                let resolved = new.resolve(&detail.name, known.type_name(detail)?)?;
                (resolved, detail.nullable)
            }
            None => {
                let resolved = new.resolve(&detail.name, known.type_name_for_steps(detail)?)?;
                (resolved, detail.nullable)
            }
        };
        if found.is_loaded {
            passed.push(index);
            planned.push(ColumnPlan {
                name: detail.name.clone(),
                sql: resolved.sql,
                column_type: resolved.column_type.clone(),
                nullable,
            });
        }
        read.push(column(
            known,
            detail,
            source,
            resolved.column_type,
            nullable,
        ));
    }
    let mut filled: BTreeSet<&str> = matches.names();
    let (columns, read) = match known.steps {
        None => (read, None),
        Some(asked) => {
            let target_columns = facts.map(names);
            let steps = asked.bind(&read, target_columns.as_ref(), known.target)?;
            let mut columns: Vec<Column> = passed.iter().map(|at| read[*at].clone()).collect();
            for derived in steps.derived() {
                let (resolved, nullable) = match target(derived.place) {
                    Some(target) => (existing(known, target)?, !target.not_null),
                    None => (new.derived(derived)?, true),
                };
                planned.push(ColumnPlan {
                    name: derived.name.clone(),
                    sql: resolved.sql,
                    column_type: resolved.column_type.clone(),
                    nullable,
                });
                columns.push(BoundSteps::column(derived, resolved.column_type, nullable));
            }
            let read = ReadColumns {
                columns: read,
                passed,
                steps,
            };
            (columns, Some(read))
        }
    };
    if columns.is_empty() {
        return Err(known.mismatch(
            "no column is loaded".to_owned(),
            "list at least one column that is not skipped",
        ));
    }
    filled.extend(columns.iter().map(|column| column.name.as_str()));
    let must = facts.iter().flat_map(|facts| &facts.columns);
    let required = must
        .filter(|column| column.not_null && !column.has_default && !column.generated)
        .map(|column| column.name.as_str());
    known.require(required, &filled)?;
    Ok(Resolved {
        columns,
        planned,
        field_count: matches.field_count,
        read,
    })
}

/// Types of columns that the target does not have. Wide tables have few types, and many columns.
struct NewTypes<'a> {
    destination: &'a dyn Destination,
    known: &'a KnownColumns<'a>,
    types: BTreeMap<String, ResolvedType>,
}

impl NewTypes<'_> {
    fn resolve(&mut self, column: &str, type_name: &str) -> Result<ResolvedType, PlanError> {
        if let Some(resolved) = self.types.get(type_name) {
            return Ok(resolved.clone());
        }
        let resolved = self.destination.resolve_type(type_name).map_err(|error| {
            let hint = error.hint().unwrap_or("name another type").to_owned();
            self.known
                .mismatch(format!("column `{column}`: {error}"), &hint)
        })?;
        self.types.insert(type_name.to_owned(), resolved.clone());
        Ok(resolved)
    }

    fn derived(&mut self, derived: &DerivedTarget) -> Result<ResolvedType, PlanError> {
        match &derived.type_name {
            Some(type_name) => self.resolve(&derived.name, type_name),
            None => Err(self.known.mismatch(
                format!(
                    "a new target cannot have the derived column `{}`: no type holds its values",
                    derived.name
                ),
                "create the target first, or CAST the column AS VARCHAR",
            )),
        }
    }
}

fn existing(known: &KnownColumns<'_>, column: &TargetColumn) -> Result<ResolvedType, PlanError> {
    if column.generated {
        return Err(known.mismatch(
            format!("the destination fills column `{}` itself", column.name),
            "remove it from the files: it is computed by an expression of the table, or a column of versions (`scd`)",
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
