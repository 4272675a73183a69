//! Steps that a destination evaluates itself, in the statement by which it adds rows, if the destination is also
//! DuckDB.
//!
//! The statement is made by the same functions as the runner's statement ([`statement::kept`]). The statement returns
//! only how many rows it has added. So it fails as a whole if the runner might reject one of the rows, even if the
//! runner would keep this row after a closer look. Then the runner evaluates the rows. Steps that do more than evaluate
//! expressions are not given to a destination: [`of`] returns the reason.

use inrush_rows::column_type::ColumnType;
use inrush_rows::sql_text::identifier;

use crate::evaluator;
use crate::plan::RESERVED;
use crate::planned::{FiniteDates, Planned, StepAction};
use crate::room;
use crate::spec::{InputColumn, Otherwise};
use crate::stages::Staged;
use crate::statement;

/// A column that is loaded after the steps.
#[derive(Clone, Copy, Debug)]
pub struct Loaded<'a> {
    /// Its name. It is a column from before the steps, or a derived column.
    pub name: &'a str,
    /// True if NULL may be loaded.
    pub nullable: bool,
}

/// The parts of the statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Settings of a session, which the results depend on.
    pub session: Vec<String>,
    /// The part of the statement before the name of the rows.
    pub before: String,
    /// The part of the statement after the name of the rows.
    pub after: String,
    /// The index of the step whose condition leaves rows out, if there is one.
    pub filter: Option<usize>,
}

/// The statement that loads the columns `loaded` of the rows that the steps keep. The error is the reason why these
/// steps are not given to a destination; its text continues a sentence after `because`.
pub fn of(staged: &Staged, loaded: &[Loaded<'_>]) -> Result<Parts, String> {
    let planned = staged
        .expressions()
        .ok_or("only steps with expressions can be there: derive, where, check")?;
    let mut filter = None;
    for (at, step) in planned.steps.iter().enumerate() {
        match &step.action {
            StepAction::Derive(_) => {}
            StepAction::Where { .. } if filter.is_some() => {
                return Err("there is more than one `where`, and each counts its rows".to_owned());
            }
            StepAction::Where { .. } => filter = Some(at),
            StepAction::Check { otherwise, .. } if *otherwise == Otherwise::Warn => {
                return Err("a check with `else = \"warn\"` counts rows that are loaded".to_owned());
            }
            StepAction::Check { .. } => {}
            StepAction::Output(_) => return Err("the flow has several outputs".to_owned()),
        }
    }
    let is_not_loaded = |column: &&InputColumn| !loaded.iter().any(|own| own.name == column.name);
    if let Some(column) = planned.derived.iter().find(is_not_loaded) {
        return Err(format!(
            "`{}` is derived but not loaded, and a failure in it must not be missed",
            column.name
        ));
    }
    if let Some(name) = folded_twice(planned) {
        return Err(format!("two columns differ only in case: `{name}`"));
    }
    if let Some(name) = expressions(planned).find_map(room::replaced_in) {
        return Err(format!(
            "the memory that `{name}` takes can be limited only there"
        ));
    }
    let is_counted = |column: &&InputColumn| room::is_counted(&column.column_type);
    if let Some(column) = planned.derived.iter().find(is_counted) {
        return Err(format!(
            "`{}` is a text or bytes, and the memory that such values take can be limited only there",
            column.name
        ));
    }
    let names: Vec<&str> = loaded.iter().map(|own| own.name).collect();
    let missing: Vec<String> = loaded
        .iter()
        .filter(|own| !own.nullable)
        .map(|own| format!("{} IS NULL", identifier(own.name)))
        .collect();
    let rows = format!("{RESERVED}rows_of_the_destination");
    let sql = statement::kept(planned, &rows, &names, &odd(planned), &missing);
    let (before, after) = sql.split_once(&rows).ok_or("the rows are not named once")?;
    Ok(Parts {
        session: evaluator::session_settings(),
        before: before.to_owned(),
        after: after.to_owned(),
        filter,
    })
}

/// Conditions for values that the runner judges by more than the expression: it may keep such a row, or reject it.
fn odd(planned: &Planned) -> Vec<String> {
    let mut odd = Vec::new();
    let mut infinite = |finite: &FiniteDates| {
        let names = finite.in_functions.iter().chain(&finite.in_differences);
        odd.extend(names.map(|name| format!("isfinite({}) IS FALSE", identifier(name))));
    };
    for step in &planned.steps {
        infinite(&step.finite);
        if let StepAction::Derive(columns) = &step.action {
            columns.iter().for_each(|column| infinite(&column.finite));
        }
    }
    for column in &planned.derived {
        let name = identifier(&column.name);
        match &column.column_type {
            ColumnType::Float32 | ColumnType::Float64 => {
                odd.push(format!("isfinite({name}) IS FALSE"))
            }
            // Batches have fewer years than DuckDB, and infinity may be a failure.
            ColumnType::Date | ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
                let (first, last) = match &column.column_type {
                    ColumnType::Date => ("DATE '0001-01-01'", "DATE '9999-12-31'"),
                    ColumnType::Timestamp { .. } => {
                        ("TIMESTAMP '0001-01-01'", "TIMESTAMP '9999-12-31'")
                    }
                    _ => ("TIMESTAMPTZ '0001-01-01+00'", "TIMESTAMPTZ '9999-12-31+00'"),
                };
                odd.push(format!("({name} BETWEEN {first} AND {last}) IS FALSE"));
            }
            _ => {}
        }
    }
    odd.sort();
    odd.dedup();
    odd
}

/// A column whose name differs from that of another column only in case. DuckDB renames the second one.
fn folded_twice(planned: &Planned) -> Option<&str> {
    let mut known = std::collections::BTreeSet::new();
    let columns = planned.columns.iter().chain(&planned.derived);
    let mut names = columns.map(|column| column.name.as_str());
    names.find(|name| !known.insert(name.to_lowercase()))
}

/// The expressions as parts of statements.
fn expressions(planned: &Planned) -> impl Iterator<Item = &str> {
    planned.steps.iter().flat_map(|step| match &step.action {
        StepAction::Derive(columns) => columns.iter().map(|column| column.sql.as_str()).collect(),
        StepAction::Where { sql, .. } | StepAction::Check { sql, .. } => vec![sql.as_str()],
        StepAction::Output(output) => vec![output.sql.as_str()],
    })
}
