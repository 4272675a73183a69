//! A connection to DuckDB for a session.

use std::sync::Arc;

use adbc_core::CancelHandle;
use adbc_core::error::Result as AdbcResult;
use inrush_adbcclient::duckdb::connection::Link;
use inrush_adbcclient::duckdb::table_function::Source;

use arrow_array::RecordBatchReader;

use crate::connection::{AdbcConnection, IngestName, Taker};
use crate::queue::QueueReader;
use crate::sql;

/// A connection of a session.
pub struct DuckDbConnection(pub Arc<Link>);

impl AdbcConnection for DuckDbConnection {
    fn run(&mut self, sql: &str) -> AdbcResult<Option<i64>> {
        Ok(self.0.query(sql)?.rows_changed())
    }

    fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>> {
        self.0.query(sql)?.rows()
    }

    fn ingest(&mut self, into: &IngestName, rows: QueueReader) -> AdbcResult<Taker> {
        let schema = into.schema.iter();
        let table: Vec<String> = schema
            .chain([&into.table])
            .map(|name| sql::identifier(name))
            .collect();
        let columns = rows.schema();
        let columns = columns.fields().iter().map(|field| field.name().as_str());
        let into = format!("INSERT INTO {} ({})", table.join("."), sql::names(columns));
        self.ingest_by(&|rows| format!("{into} SELECT * FROM {rows}"), rows)
    }

    fn ingest_by(
        &mut self,
        insert: &dyn Fn(&str) -> String,
        rows: QueueReader,
    ) -> AdbcResult<Taker> {
        let source = Source::new(&self.0, Box::new(rows))?;
        let from = self.0.lend(source);
        let insert = insert(&from.call());
        let link = self.0.clone();
        Ok(Box::new(move || {
            let counted = link.query(&insert).map(|mut answer| answer.rows_changed());
            // The thread that sends rows must not wait if nobody takes them.
            drop(from);
            counted
        }))
    }

    fn begin(&mut self) -> AdbcResult<()> {
        self.0.query("BEGIN TRANSACTION").map(drop)
    }

    fn commit(&mut self) -> AdbcResult<()> {
        self.0.query("COMMIT").map(drop)
    }

    fn rollback(&mut self) -> AdbcResult<()> {
        self.0.query("ROLLBACK").map(drop)
    }

    fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.0.cancel_handle()
    }
}
