//! Careful loads: which rows of a batch the target would refuse.
//!
//! The databases here cannot undo one statement of a transaction (DuckDB has no savepoints, and an error ends its
//! transaction). So no row is tested by inserting it. The batch is written to a separate table, the trial, and queries
//! with the target's own constraints find the rows that violate them:
//!
//! - a CHECK: rows that make its expression false;
//! - a key: rows whose key is already in the target (unless its rows will be replaced) or in a unit that was staged
//!   before; and if rows of the batch share a key, all of them except the first accepted one.
//!
//! If rows are merged into the target, only the key of the merge is tested, among the staged rows. Other keys cannot be
//! tested, because the merge changes rows of the target first; if one of them refuses a row, the load fails.
//!
//! The other rows go from the trial into staging. The trial is made and dropped in the transaction of the unit.

mod queries;

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use inrush_destination::{
    ColumnPlan, Error, LOOKING_FOR_REFUSED as DOING, RefusedRow, Result, TrialTest, refused_rows,
};

use self::queries::{TrialRows, place_of};
use crate::catalog;
use crate::connection::IngestName;
use crate::constraints::{self, UniqueKey};
use crate::ingest::Ingest;
use crate::interrupt::Interrupt;
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

/// The trial of one unit's rows.
pub struct Trial {
    name: IngestName,
    sql: String,
    /// The column that numbers the rows of a batch, counted from 0.
    number: String,
    schema: SchemaRef,
    tests: Vec<TrialTest>,
}

impl Trial {
    /// Makes the table, in the transaction of a unit. `fields` are the columns that batches will have.
    pub fn begin(
        session: &mut AdbcSession,
        quirks: &Quirks,
        staging: &Staging,
        fields: &Schema,
    ) -> Result<Trial> {
        let columns = &staging.plan.columns;
        let constraints = constraints::of_table(session, quirks, &staging.plan.name)?;
        let unfilled = unfilled_columns(session, quirks, staging)?;
        let (name, table) = staging.beside("inrush_trial");
        let number = unused_name(columns);
        staging.create_trial(session, &table, &number)?;
        let mut fields: Vec<Arc<Field>> = fields.fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(&number, DataType::Int64, false)));
        let rows = TrialRows {
            staging,
            table: &table,
            number: &number,
        };
        let mut tests = Vec::new();
        for check in &constraints.checks {
            if !unfilled
                .iter()
                .any(|name| sql::mentions(&check.expression, name))
            {
                tests.push(rows.of_check(check));
            }
        }
        let keys = match &staging.plan.merge {
            Some(merge) => vec![constraints.key_of_merge(merge)],
            None => constraints.keys,
        };
        for (place, key) in keys.iter().enumerate() {
            if key
                .columns
                .iter()
                .all(|own| place_of(columns, &own.name).is_some())
            {
                index_staging(session, quirks, staging, key, place)?;
                tests.extend(rows.of_key(key));
            }
        }
        Ok(Trial {
            name,
            sql: table,
            number,
            schema: Arc::new(Schema::new(fields)),
            tests,
        })
    }

    /// Writes to staging the rows of a batch that the target would accept. Returns the indices of the others.
    pub fn write(
        &self,
        session: &mut AdbcSession,
        interrupt: &Interrupt,
        staging: &Staging,
        batch: &RecordBatch,
    ) -> Result<Vec<RefusedRow>> {
        session.run(DOING, &format!("DELETE FROM {}", self.sql))?;
        let mut ingest = Ingest::begin(session, interrupt, &self.name, &self.schema)?;
        ingest.push(session, self.numbered(batch)?)?;
        ingest.finish(session)?;
        let refused = refused_rows(&self.tests, |query| session.rows(DOING, query))?;
        for rows in refused.chunks(1_000) {
            let rows: Vec<String> = rows.iter().map(|refused| refused.row.to_string()).collect();
            let number = sql::identifier(&self.number);
            let statement = format!(
                "DELETE FROM {} WHERE {number} IN ({})",
                self.sql,
                rows.join(", ")
            );
            session.run(DOING, &statement)?;
        }
        let (names, _) = staging.names_and_values();
        let statement = format!(
            "INSERT INTO {} ({names}) SELECT {names} FROM {} ORDER BY {}",
            staging.sql,
            self.sql,
            sql::identifier(&self.number)
        );
        session.run("cannot add rows to staging", &statement)?;
        Ok(refused)
    }

    /// Drops the table, before the transaction of the unit is committed.
    pub fn end(self, session: &mut AdbcSession) -> Result<()> {
        session.run(DOING, &format!("DROP TABLE {}", self.sql))?;
        Ok(())
    }

    fn numbered(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let numbers = Int64Array::from_iter_values(0..batch.num_rows() as i64);
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(numbers) as ArrayRef);
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| Error::Refused {
            doing: DOING.to_owned(),
            message: error.to_string(),
            hint: None,
        })
    }
}

/// The columns of the target that are not filled. The result of a CHECK on them is unknown until the target makes their
/// values.
fn unfilled_columns(
    session: &mut AdbcSession,
    quirks: &Quirks,
    staging: &Staging,
) -> Result<Vec<String>> {
    let facts = catalog::target(session, quirks, &staging.plan.name)?;
    let columns = facts.into_iter().flat_map(|facts| facts.columns);
    Ok(columns
        .map(|column| column.name)
        .filter(|name| place_of(&staging.plan.columns, name).is_none())
        .collect())
}

/// A name that no column has.
fn unused_name(columns: &[ColumnPlan]) -> String {
    let mut name = "inrush_row".to_owned();
    while place_of(columns, &name).is_some() {
        name.push('_');
    }
    name
}

/// Makes an index, so that the database finds a key among the staged rows. DuckDB compares whole columns, which needs
/// no index.
fn index_staging(
    session: &mut AdbcSession,
    quirks: &Quirks,
    staging: &Staging,
    key: &UniqueKey,
    place: usize,
) -> Result<()> {
    if quirks.vendor == Vendor::DuckDb {
        return Ok(());
    }
    let (name, _) = staging.beside(&format!("inrush_key_{place}"));
    let columns: Vec<String> = key
        .columns
        .iter()
        .map(|column| match &column.collation {
            Some(collation) => format!(
                "{} COLLATE {}",
                sql::identifier(&column.name),
                sql::identifier(collation)
            ),
            None => sql::identifier(&column.name),
        })
        .collect();
    let statement = format!(
        "CREATE INDEX IF NOT EXISTS {} ON {} ({})",
        sql::identifier(&name.table),
        staging.sql,
        columns.join(", ")
    );
    session.run(DOING, &statement)?;
    Ok(())
}
