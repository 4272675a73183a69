//! The types of a destination of the contract, for the columns of a flow.

use inrush_destination::{ColumnPlan, Destination, ResolvedType, TargetColumn, TargetFacts};
use inrush_rows::column::Column;

use crate::PlanError;
use crate::reading::columns::{KnownColumns, TargetColumns};
use crate::reading::resolved_columns::TargetTypes;

/// The types of a destination, and its target if that exists.
pub struct ContractTypes<'a> {
    /// The destination.
    pub destination: &'a dyn Destination,
    /// The target before the run.
    pub facts: Option<&'a TargetFacts>,
}

impl ContractTypes<'_> {
    fn columns(&self) -> &[TargetColumn] {
        self.facts.map_or(&[], |facts| &facts.columns)
    }
}

impl TargetTypes for ContractTypes<'_> {
    type Type = ResolvedType;
    type Error = PlanError;

    fn folds_names(&self) -> bool {
        self.destination.abilities().folds_names
    }

    fn target_columns(&self) -> Option<TargetColumns> {
        let facts = self.facts?;
        let name = |column: &TargetColumn| column.name.clone();
        let filled = facts.columns.iter().filter(|column| !column.generated);
        Some(TargetColumns {
            all: facts.columns.iter().map(name).collect(),
            filled: filled.map(name).collect(),
        })
    }

    fn existing(
        &self,
        known: &KnownColumns<'_>,
        column: usize,
    ) -> Result<(ResolvedType, bool), PlanError> {
        let column = &self.columns()[column];
        Ok((existing(known, column)?, !column.not_null))
    }

    fn named(
        &self,
        known: &KnownColumns<'_>,
        type_name: &str,
        column: &str,
    ) -> Result<ResolvedType, PlanError> {
        self.destination.resolve_type(type_name).map_err(|error| {
            let hint = error.hint().unwrap_or("name another type").to_owned();
            known.mismatch(format!("column `{column}`: {error}"), &hint)
        })
    }

    fn required(&self) -> Vec<&str> {
        let must = self
            .columns()
            .iter()
            .filter(|column| column.not_null && !column.has_default && !column.generated);
        must.map(|column| column.name.as_str()).collect()
    }
}

/// The columns as the destination gets them.
pub fn planned(columns: &[Column], types: Vec<ResolvedType>) -> Vec<ColumnPlan> {
    let columns = columns.iter().zip(types);
    let planned = columns.map(|(column, own)| ColumnPlan {
        name: column.name.clone(),
        sql: own.sql,
        column_type: own.column_type,
        nullable: column.nullable,
    });
    planned.collect()
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
