//! Careful loads: which rows of a batch the target would refuse.
//!
//! A batch is sent into a separate table, the trial, and queries with the target's own constraints find the rows that
//! break them:
//!
//! - a CHECK: rows that make its condition false;
//! - a unique index, including those of constraints and filtered ones: rows whose key is already in the target (if its rows
//!   stay) or in a unit that was staged before; and if rows of the batch share a key, all of them except the first accepted
//!   one.
//!
//! The other rows go from the trial into staging. NULL is a value like any other in a key of SQL Server. The trial is made
//! and dropped in the transaction of the unit.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use inrush_destination::{
    Error, Finds, LOOKING_FOR_REFUSED as DOING, RefusalCause, Result, TrialTest, WriteMode,
    Written, refused_rows,
};
use inrush_rows::reject::RejectCode;
use inrush_tds::PacketSize;

use crate::bulk_target::BulkTarget;
use crate::bulk_writer::BulkWriter;
use crate::catalog;
use crate::connection::SqlSession;
use crate::indexes::{Check, Index};
use crate::merge;
use crate::options::Options;
use crate::shape::TableShape;
use crate::sql;
use crate::staging::Staging;

/// The most row numbers in one statement.
const NUMBERS_AT_A_TIME: usize = 1_000;

/// The trial of one unit's rows.
pub struct Trial {
    /// Its table, as statements name it.
    table: String,
    /// The staging table that accepted rows go to.
    staging: String,
    /// The columns that are filled, as statements list them.
    names: String,
    /// The column that numbers the rows of a batch, counted from 0.
    number: String,
    target: BulkTarget,
    packet_size: PacketSize,
    tests: Vec<TrialTest>,
    sent_rows: u64,
    counted_rows: u64,
}

impl Trial {
    /// Makes the table, in the transaction of a unit.
    pub fn begin(
        session: &mut SqlSession,
        staging: &Staging,
        options: &Options,
        packet_size: PacketSize,
    ) -> Result<Trial> {
        let own = catalog::catalog_columns(session, &staging.sql)?;
        let mut number = "inrush_row".to_owned();
        while own
            .iter()
            .any(|column| column.name.eq_ignore_ascii_case(&number))
        {
            number.push('_');
        }
        let table = staging.trial();
        let columns = own.iter().map(|column| {
            let null = if column.is_nullable {
                "NULL"
            } else {
                "NOT NULL"
            };
            let name = sql::identifier(&column.name);
            format!("{name} {} {null}", column.catalog_type.sql())
        });
        let columns: Vec<String> = columns.collect();
        let create = format!(
            "CREATE TABLE {table} ({}, {} bigint NOT NULL)",
            columns.join(", "),
            sql::identifier(&number)
        );
        session.run(DOING, &create)?;
        let names = staging.filled().chain([number.as_str()]);
        let target = BulkTarget::ask(session, &table, names, options)?;
        let tests = match catalog::is_table(session, &staging.plan.name)? {
            true => tests(session, staging, &table, &number)?,
            false => Vec::new(),
        };
        Ok(Trial {
            table,
            staging: staging.sql.clone(),
            names: staging.column_names(),
            number,
            target,
            packet_size,
            tests,
            sent_rows: 0,
            counted_rows: 0,
        })
    }

    /// Writes to staging the rows of a batch that the target would accept. Returns the others.
    pub fn write(&mut self, session: &mut SqlSession, batch: &RecordBatch) -> Result<Written> {
        let doing = "cannot add rows to a trial".to_owned();
        let mut writer = BulkWriter::new(self.target.clone(), doing, self.packet_size);
        let misfits = writer.write(session, &self.numbered(batch)?)?;
        writer.end(session)?;
        let refused = refused_rows(&self.tests, |query| session.rows(DOING, query))?;
        let number = sql::identifier(&self.number);
        for rows in refused.chunks(NUMBERS_AT_A_TIME) {
            let rows: Vec<String> = rows.iter().map(|refused| refused.row.to_string()).collect();
            let statement = format!(
                "DELETE FROM {} WHERE {number} IN ({})",
                self.table,
                rows.join(", ")
            );
            session.run(DOING, &statement)?;
        }
        let (names, table) = (&self.names, &self.table);
        let statement = format!(
            "INSERT INTO {} ({names}) SELECT {names} FROM {table} ORDER BY {number}",
            self.staging
        );
        let added = session
            .run("cannot add rows to staging", &statement)?
            .count();
        session.run(DOING, &format!("TRUNCATE TABLE {table}"))?;
        let sent = writer.sent_rows() - refused.len() as u64;
        self.sent_rows += sent;
        self.counted_rows += added.unwrap_or(sent);
        Ok(Written {
            misfits,
            refused,
            rest: None,
        })
    }

    /// Drops the table, before the transaction of the unit is committed. Returns the server's count of the rows that
    /// went into staging, and the loader's own count.
    pub fn end(&mut self, session: &mut SqlSession) -> Result<(u64, u64)> {
        session.run(DOING, &format!("DROP TABLE {}", self.table))?;
        Ok((self.counted_rows, self.sent_rows))
    }

    fn numbered(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let numbers = Int64Array::from_iter_values(0..batch.num_rows() as i64);
        let schema = batch.schema();
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, column)| (field.name(), Arc::clone(column), true));
        let number = (&self.number, Arc::new(numbers) as ArrayRef, false);
        let numbered = RecordBatch::try_from_iter_with_nullable(columns.chain([number]));
        numbered.map_err(|error| Error::Refused {
            doing: DOING.to_owned(),
            message: error.to_string(),
            hint: None,
        })
    }
}

/// The tests for all constraints of a target that the filled columns can break.
fn tests(
    session: &mut SqlSession,
    staging: &Staging,
    table: &str,
    number: &str,
) -> Result<Vec<TrialTest>> {
    let shape = TableShape::read(session, &staging.plan.name.sql)?;
    let rows = TrialRows {
        staging,
        table,
        number: sql::identifier(number),
    };
    let is_filled = |name: &str| staging.filled().any(|filled| filled == name);
    let unfilled: Vec<&str> = shape
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .filter(|name| !is_filled(name))
        .collect();
    let mut tests = Vec::new();
    for check in &shape.checks {
        // The result of a CHECK on other columns is unknown until the target makes their values.
        if !check.is_disabled && !unfilled.iter().any(|name| check.mentions(name)) {
            tests.push(rows.of_check(check));
        }
    }
    for (place, index) in shape.indexes.iter().enumerate() {
        let columns: Vec<&str> = index.unique_columns().collect();
        if columns.is_empty() || !columns.iter().all(|name| is_filled(name)) {
            continue;
        }
        // All rows that are merged are current versions.
        let is_of_merge = merge::is_of_merge(index, &staging.plan);
        if !is_of_merge && unfilled.iter().any(|name| index.filter_mentions(name)) {
            continue;
        }
        staging.index_key(session, place, &columns)?;
        let nullable: Vec<bool> = columns
            .iter()
            .map(|name| {
                let column = shape.columns.iter().find(|column| column.name == *name);
                column.is_none_or(|column| column.is_nullable)
            })
            .collect();
        tests.extend(rows.of_key(index, &columns, &nullable, is_of_merge));
    }
    Ok(tests)
}

/// The rows of a trial, which the queries read.
struct TrialRows<'a> {
    staging: &'a Staging,
    table: &'a str,
    number: String,
}

impl TrialRows<'_> {
    fn place(&self, name: &str) -> Option<usize> {
        self.staging.filled().position(|filled| filled == name)
    }

    /// Finds the rows that break a CHECK.
    fn of_check(&self, check: &Check) -> TrialTest {
        let mut mentioned = self.staging.filled().filter(|name| check.mentions(name));
        let column = match (mentioned.next(), mentioned.next()) {
            (Some(only), None) => self.place(only),
            _ => None,
        };
        TrialTest {
            query: format!(
                "SELECT {} FROM {} WHERE NOT {}",
                self.number, self.table, check.definition
            ),
            finds: Finds::Refused,
            cause: RefusalCause {
                column,
                code: RejectCode::CheckViolated,
                reason: format!(
                    "it breaks the constraint {} of {}, CHECK {}: fix the row, or change the constraint",
                    check.name, self.staging.plan.name.sql, check.definition
                ),
            },
        }
    }

    /// Finds the rows whose key another row has: a row of the target, of a unit that was staged before, or of the
    /// batch. Rows are merged by the key if `is_of_merge`.
    fn of_key(
        &self,
        index: &Index,
        columns: &[&str],
        nullable: &[bool],
        is_of_merge: bool,
    ) -> Vec<TrialTest> {
        let target = &self.staging.plan.name.sql;
        let (number, table) = (&self.number, self.table);
        let equal = columns.iter().zip(nullable).map(|(name, is_nullable)| {
            let name = sql::identifier(name);
            match is_nullable {
                true => format!(
                    "(other.{name} = own.{name} OR (other.{name} IS NULL AND own.{name} IS NULL))"
                ),
                false => format!("other.{name} = own.{name}"),
            }
        });
        let equal: Vec<String> = equal.collect();
        let equal = equal.join(" AND ");
        let cause = RefusalCause {
            column: match columns {
                [column] => self.place(column),
                _ => None,
            },
            code: RejectCode::DuplicateKey,
            reason: match is_of_merge {
                true => format!(
                    "an earlier row of the files has the same key ({}), by which rows are merged into {target}; the first row is \
                     loaded. Remove this row, or fix its key",
                    columns.join(", ")
                ),
                false => format!(
                    "an earlier row of the files has the same key, or {target} had it before (unique key of {}, {}); the first \
                     row is loaded. Remove this row, or fix its key",
                    columns.join(", "),
                    index.name
                ),
            },
        };
        // In the subquery, names in the condition refer to columns of `other`.
        let filter = index.filter().filter(|_| !is_of_merge);
        let and = filter
            .map(|filter| format!(" AND {filter}"))
            .unwrap_or_default();
        let among = |others: &str| TrialTest {
            query: format!(
                "SELECT own.{number} FROM {table} AS own WHERE EXISTS (SELECT 1 FROM {others} AS other WHERE {equal}{and}){and}"
            ),
            finds: Finds::Refused,
            cause: cause.clone(),
        };
        let mut tests = Vec::new();
        if self.staging.plan.mode == WriteMode::Append {
            tests.push(among(target));
        }
        tests.push(among(&self.staging.sql));
        let names = sql::names(columns.iter().copied());
        let only = filter
            .map(|filter| format!(" WHERE {filter}"))
            .unwrap_or_default();
        tests.push(TrialTest {
            query: format!(
                "SELECT row_number_of, first_number FROM (SELECT {number} AS row_number_of, MIN({number}) OVER (PARTITION BY \
                 {names}) AS first_number, COUNT_BIG(*) OVER (PARTITION BY {names}) AS sharing FROM {table}{only}) AS keyed WHERE \
                 sharing > 1 ORDER BY row_number_of"
            ),
            finds: Finds::Sharing,
            cause,
        });
        tests
    }
}
