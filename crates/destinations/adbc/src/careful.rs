//! Careful loads: finds the rows of a batch that the target would refuse.
//!
//! These databases cannot undo a single statement of a transaction (DuckDB has no savepoints, and an error ends its
//! transaction). So no row is tried on a constraint. The batch goes into a separate table, the trial, and queries with
//! the target's own constraints find the rows that break them:
//!
//! - a CHECK: rows that make its expression false;
//! - a key: rows whose key is in the target already (unless those rows are replaced) or in a unit that was staged
//!   before; of rows of the batch that share a key, all but the first accepted one.
//!
//! The other rows are copied from the trial into staging. The trial is created and dropped in the unit's transaction.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use inrush_destination::{ColumnPlan, Error, RefusedRow, Result, WriteMode};
use inrush_rows::reject::RejectCode;

use crate::catalog;
use crate::connection::IngestName;
use crate::constraints::{self, Check, KeyColumn, UniqueKey};
use crate::ingest::Ingest;
use crate::interrupt::Interrupt;
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;
use crate::staging::Staging;

const DOING: &str = "cannot look for rows that a constraint refuses";

/// The trial table of a unit.
pub struct Trial {
    name: IngestName,
    sql: String,
    /// The name of the column with the row's number in its batch, counted from 0.
    number: String,
    schema: SchemaRef,
    target: String,
    tests: Vec<Test>,
}

/// A query that finds rows of the trial.
struct Test {
    query: String,
    finds: Finds,
    cause: Cause,
}

/// What a query returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finds {
    /// The numbers of rows that are refused, whatever other rows the batch has.
    Refused,
    /// The numbers of rows that share a key with others of the batch, each with the number of that key, in the order of
    /// the rows.
    Sharing,
}

/// Why a row is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cause {
    column: Option<usize>,
    code: RejectCode,
    reason: String,
}

impl Trial {
    /// Creates the table, in the transaction of a unit. `fields` are the columns of batches.
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
        let mut trial = Trial {
            name,
            sql: table,
            number,
            schema: Arc::new(Schema::new(fields)),
            target: staging.plan.name.sql.clone(),
            tests: Vec::new(),
        };
        for check in &constraints.checks {
            if !unfilled
                .iter()
                .any(|name| sql::mentions(&check.expression, name))
            {
                let test = trial.check(staging, check);
                trial.tests.push(test);
            }
        }
        for (place, key) in constraints.keys.iter().enumerate() {
            if key
                .columns
                .iter()
                .all(|own| place_of(columns, &own.name).is_some())
            {
                index_staging(session, quirks, staging, key, place)?;
                let tests = trial.key(staging, key);
                trial.tests.extend(tests);
            }
        }
        Ok(trial)
    }

    /// Copies the rows that the target would accept into staging. Returns the others by their indexes in the batch.
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
        let refused = self.refused(session)?;
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

    /// Drops the table, before the unit's transaction is committed.
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

    fn refused(&self, session: &mut AdbcSession) -> Result<Vec<RefusedRow>> {
        let mut refused: BTreeMap<usize, &Cause> = BTreeMap::new();
        let mut sharing: Vec<Sharer<'_>> = Vec::new();
        for (key, test) in self.tests.iter().enumerate() {
            for row in numbers(session, &test.query)? {
                match (test.finds, row.as_slice()) {
                    (Finds::Refused, [row]) => {
                        refused.entry(*row).or_insert(&test.cause);
                    }
                    (Finds::Sharing, [row, value]) => sharing.push(Sharer {
                        row: *row,
                        key: (key, *value),
                        cause: &test.cause,
                    }),
                    _ => {}
                }
            }
        }
        refuse_sharers(sharing, &mut refused);
        Ok(refused
            .into_iter()
            .map(|(row, cause)| RefusedRow {
                row,
                column: cause.column,
                code: cause.code,
                reason: cause.reason.clone(),
            })
            .collect())
    }

    /// The rows of the trial as the target would have them. They have the target's name, because a CHECK may contain
    /// it.
    fn rows(&self, staging: &Staging) -> String {
        format!(
            "(SELECT {}, {} FROM {}) AS {}",
            sql::identifier(&self.number),
            staging.named_values().join(", "),
            self.sql,
            sql::identifier(&staging.plan.name.name)
        )
    }

    fn check(&self, staging: &Staging, check: &Check) -> Test {
        let name = check.name.as_ref().map(|name| format!(" {name}"));
        Test {
            query: format!(
                "SELECT {} FROM {} WHERE NOT ({})",
                sql::identifier(&self.number),
                self.rows(staging),
                check.expression
            ),
            finds: Finds::Refused,
            cause: Cause {
                column: check
                    .column
                    .as_deref()
                    .and_then(|name| place_of(&staging.plan.columns, name)),
                code: RejectCode::CheckViolated,
                reason: format!(
                    "it breaks the constraint{} of {}, CHECK ({}): fix the row, or change the constraint",
                    name.unwrap_or_default(),
                    self.target,
                    check.expression
                ),
            },
        }
    }

    fn key(&self, staging: &Staging, key: &UniqueKey) -> Vec<Test> {
        let number = sql::identifier(&self.number);
        let rows = self.rows(staging);
        let own = sql::identifier(&staging.plan.name.name);
        let equal: Vec<String> = key
            .columns
            .iter()
            .map(|column| {
                format!(
                    "{} = {own}.{}",
                    term("other", column),
                    sql::identifier(&column.name)
                )
            })
            .collect();
        let equal = equal.join(" AND ");
        let terms: Vec<String> = key
            .columns
            .iter()
            .map(|column| term(&own, column))
            .collect();
        let terms = terms.join(", ");
        let known: Vec<String> = key
            .columns
            .iter()
            .map(|column| format!("{own}.{} IS NOT NULL", sql::identifier(&column.name)))
            .collect();
        let names: Vec<&str> = key
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        let cause = Cause {
            column: match key.columns.as_slice() {
                [column] => place_of(&staging.plan.columns, &column.name),
                _ => None,
            },
            code: RejectCode::DuplicateKey,
            reason: format!(
                "an earlier row of the files has the same key, or {} had it before (unique key of {}{}); the first row is \
                 loaded. Remove this row, or fix its key",
                self.target,
                names.join(", "),
                key.name
                    .as_ref()
                    .map_or(String::new(), |name| format!(", {name}"))
            ),
        };
        let among = |others: &str| Test {
            query: format!(
                "SELECT {own}.{number} FROM {rows} WHERE EXISTS (SELECT 1 FROM {others} AS other WHERE {equal})"
            ),
            finds: Finds::Refused,
            cause: cause.clone(),
        };
        let mut tests = Vec::new();
        if staging.plan.mode == WriteMode::Append {
            tests.push(among(&staging.plan.name.sql));
        }
        tests.push(among(&match staging.casts() {
            true => format!(
                "(SELECT {} FROM {})",
                staging.named_values().join(", "),
                staging.sql
            ),
            false => staging.sql.clone(),
        }));
        tests.push(Test {
            query: format!(
                "SELECT row_number_of, key_number FROM (SELECT {own}.{number} AS row_number_of, \
                 dense_rank() OVER (ORDER BY {terms}) AS key_number, \
                 count(*) OVER (PARTITION BY {terms}) AS sharing FROM {rows} WHERE {}) AS keyed \
                 WHERE sharing > 1 ORDER BY row_number_of",
                known.join(" AND ")
            ),
            finds: Finds::Sharing,
            cause,
        });
        tests
    }
}

/// A row that shares a key with others of its batch.
#[derive(Debug)]
struct Sharer<'a> {
    row: usize,
    /// The key: the index of the test that found it, and the number of its value in that test.
    key: (usize, usize),
    cause: &'a Cause,
}

/// Refuses each row that shares a key with an earlier row of the batch, unless that row is refused itself.
fn refuse_sharers<'a>(mut sharing: Vec<Sharer<'a>>, refused: &mut BTreeMap<usize, &'a Cause>) {
    sharing.sort_by_key(|sharer| sharer.row);
    let mut taken: HashSet<(usize, usize)> = HashSet::new();
    for of_row in sharing.chunk_by(|first, second| first.row == second.row) {
        let row = of_row[0].row;
        if refused.contains_key(&row) {
            continue;
        }
        match of_row.iter().find(|sharer| taken.contains(&sharer.key)) {
            Some(sharer) => {
                refused.insert(row, sharer.cause);
            }
            None => taken.extend(of_row.iter().map(|sharer| sharer.key)),
        }
    }
}

fn numbers(session: &mut AdbcSession, query: &str) -> Result<Vec<Vec<usize>>> {
    let rows = session.rows(DOING, query)?;
    rows.into_iter()
        .map(|row| {
            row.into_iter()
                .map(|text| {
                    let number = text.as_deref().and_then(|text| text.parse().ok());
                    number.ok_or_else(|| Error::Refused {
                        doing: DOING.to_owned(),
                        message: format!("{text:?} came instead of the number of a row"),
                        hint: None,
                    })
                })
                .collect()
        })
        .collect()
}

/// A key column as its index compares it.
fn term(table: &str, column: &KeyColumn) -> String {
    let name = sql::identifier(&column.name);
    match &column.collation {
        Some(collation) => format!("{table}.{name} COLLATE {}", sql::identifier(collation)),
        None => format!("{table}.{name}"),
    }
}

/// The index of a column that is filled. These databases ignore the case of names, so no two columns differ only in
/// case.
fn place_of(columns: &[ColumnPlan], name: &str) -> Option<usize> {
    let exact = columns.iter().position(|column| column.name == name);
    exact.or_else(|| {
        columns
            .iter()
            .position(|column| column.name.eq_ignore_ascii_case(name))
    })
}

/// The columns of the target that are not filled. A CHECK on them cannot be evaluated before the target computes their
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

/// Creates an index on staging for looking up a key. DuckDB compares whole columns and needs none.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(column: usize) -> Cause {
        Cause {
            column: Some(column),
            code: RejectCode::DuplicateKey,
            reason: String::new(),
        }
    }

    #[test]
    fn of_rows_that_share_a_key_the_first_that_is_taken_stays() {
        let causes = [cause(0), cause(1)];
        let sharer = |row, key: usize, value| Sharer {
            row,
            key: (key, value),
            cause: &causes[key],
        };
        // Row 1 is refused for its second key, so row 2 may have its first one.
        let sharing = vec![
            sharer(1, 0, 7),
            sharer(2, 0, 7),
            sharer(0, 1, 3),
            sharer(1, 1, 3),
            sharer(4, 1, 3),
        ];
        let mut refused = BTreeMap::new();
        refuse_sharers(sharing, &mut refused);
        let found: Vec<(usize, Option<usize>)> = refused
            .iter()
            .map(|(row, cause)| (*row, cause.column))
            .collect();
        assert_eq!(found, [(1, Some(1)), (4, Some(1))]);
    }

    #[test]
    fn a_row_that_is_refused_already_takes_no_key() {
        let (check, key) = (cause(5), cause(0));
        let sharing = [0, 1, 2].map(|row| Sharer {
            row,
            key: (0, 1),
            cause: &key,
        });
        let mut refused = BTreeMap::from([(0, &check)]);
        refuse_sharers(sharing.into(), &mut refused);
        let rows: Vec<(usize, Option<usize>)> = refused
            .iter()
            .map(|(row, cause)| (*row, cause.column))
            .collect();
        assert_eq!(rows, [(0, Some(5)), (2, Some(0))]);
    }
}
