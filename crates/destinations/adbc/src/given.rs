//! Steps of a flow as a part of the INSERT into a file of DuckDB.
//!
//! The file and the engine's steps have separate DuckDB instances, but in one process, so both use the same library.
//! The file's sessions get the settings on which the results of steps depend. DuckDB would find a macro or a type of
//! the file before its own, so no steps are run in a file that has macros or types. Nothing is left in the file.

use inrush_destination::{ColumnPlan, Error, GivenSteps, Result};

use crate::adapt::Adapter;
use crate::carry;
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::shared_database::SharedDatabase;
use crate::sql;
use crate::staging::Staging;

/// The statement that adds the rows which the steps keep. `rows` is the name of the rows before the steps.
pub fn insert_statement(staging: &Staging, steps: &GivenSteps, rows: &str) -> String {
    let columns = staging.plan.columns.iter();
    let columns = sql::names(columns.map(|column| column.name.as_str()));
    format!(
        "INSERT INTO {} ({columns}) {}",
        staging.sql,
        steps.query(rows)
    )
}

/// True if the database is DuckDB, called by its own functions.
pub fn evaluates(shared: &SharedDatabase) -> bool {
    shared.quirks.vendor == Vendor::DuckDb && shared.database.is_shared()
}

/// Why these steps cannot be in a statement of this database, as the end of a sentence after `because`.
pub fn refusal(
    shared: &SharedDatabase,
    session: &mut AdbcSession,
    steps: &GivenSteps,
) -> Result<Option<String>> {
    let doing = "cannot read the settings of the database";
    let (_, version) = shared
        .database
        .vendor()
        .map_err(|error| session.refused(doing, &error))?;
    if version != steps.version {
        return Ok(Some(format!(
            "they are planned for DuckDB {}, but the file is opened by DuckDB {version}",
            steps.version
        )));
    }
    if adapter(shared.quirks, shared.product, steps).is_none() {
        return Ok(Some(
            "a column that they use cannot be sent to the file".to_owned(),
        ));
    }
    for (found, what) in [
        (
            "SELECT function_name FROM duckdb_functions() WHERE database_name = current_database() AND NOT internal LIMIT 1",
            "the file has a macro of its own",
        ),
        (
            "SELECT type_name FROM duckdb_types() WHERE database_name = current_database() AND NOT internal LIMIT 1",
            "the file has a type of its own",
        ),
    ] {
        let rows = session.rows(doing, found)?;
        if let Some(name) = rows.into_iter().flatten().flatten().next() {
            return Ok(Some(format!(
                "{what} (`{name}`), which an expression could use in place of DuckDB's"
            )));
        }
    }
    let locked = session.rows(doing, "SELECT current_setting('lock_configuration')")?;
    if locked
        .into_iter()
        .flatten()
        .flatten()
        .any(|value| value == "true")
    {
        return Ok(Some("the settings of the database are locked".to_owned()));
    }
    Ok(None)
}

/// Converts the rows before the steps; `None` if a column cannot be sent.
pub fn adapter(quirks: &Quirks, product: &'static str, steps: &GivenSteps) -> Option<Adapter> {
    let columns: Vec<ColumnPlan> = steps
        .columns
        .iter()
        .map(|column| ColumnPlan {
            name: column.name.clone(),
            sql: String::new(),
            column_type: column.column_type.clone(),
            nullable: true,
        })
        .collect();
    let ways = columns.iter();
    let ways = ways.map(|column| Some(carry::carried(quirks.vendor, &column.column_type)?.way));
    Some(Adapter::new(
        &columns,
        ways.collect::<Option<_>>()?,
        product,
    ))
}

/// Converts an error of a statement with steps, because a step may have failed for a row.
pub fn failed(error: Error) -> Error {
    match error {
        Error::Refused { doing, message, .. } => Error::StepsFailed {
            doing,
            // The other lines repeat the statement.
            message: message.lines().next().unwrap_or_default().to_owned(),
        },
        other => other,
    }
}
