//! Databases and connections of an ADBC driver.

use std::collections::BTreeMap;
use std::sync::Arc;

use adbc_core::error::Result as AdbcResult;
use adbc_core::options::{
    IngestMode, OptionConnection, OptionDatabase, OptionStatement, OptionValue,
};
use adbc_core::{CancelHandle, Connection as _, Database as _, Driver, Optionable, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedDatabase, ManagedDriver, ManagedStatement};
use arrow_schema::Schema;
use inrush_adbcclient::{answer, vendor_of};

use crate::connection::{AdbcConnection, AdbcDatabase, IngestName, Taker};
use crate::interrupt::Interrupt;
use crate::queue::QueueReader;

/// Opens a database with the driver's options.
pub fn open(
    driver: &mut ManagedDriver,
    options: &BTreeMap<String, String>,
) -> AdbcResult<Box<dyn AdbcDatabase>> {
    let options = options.iter().map(|(key, value)| {
        (
            OptionDatabase::from(key.as_str()),
            OptionValue::String(value.clone()),
        )
    });
    Ok(Box::new(DriverDatabase(
        driver.new_database_with_opts(options)?,
    )))
}

struct DriverDatabase(ManagedDatabase);

impl AdbcDatabase for DriverDatabase {
    fn vendor(&self) -> AdbcResult<(String, String)> {
        vendor_of(&self.0)
    }

    fn connect(&self, interrupt: &Arc<Interrupt>) -> AdbcResult<Box<dyn AdbcConnection>> {
        Ok(Box::new(DriverConnection {
            connection: self.0.new_connection()?,
            interrupt: interrupt.clone(),
        }))
    }
}

struct DriverConnection {
    connection: ManagedConnection,
    interrupt: Arc<Interrupt>,
}

impl DriverConnection {
    fn statement(&mut self, sql: &str) -> AdbcResult<ManagedStatement> {
        let mut statement = self.connection.new_statement()?;
        statement.set_sql_query(sql)?;
        self.interrupt.watch_statement(&statement);
        Ok(statement)
    }

    fn autocommit(&mut self, on: bool) -> AdbcResult<()> {
        self.connection
            .set_option(OptionConnection::AutoCommit, OptionValue::from(on))
    }
}

impl AdbcConnection for DriverConnection {
    fn run(&mut self, sql: &str) -> AdbcResult<Option<i64>> {
        self.statement(sql)?.execute_update()
    }

    fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>> {
        let mut statement = self.statement(sql)?;
        let reader = statement.execute()?;
        Ok(answer::rows(reader)?)
    }

    fn ingest(&mut self, into: &IngestName, rows: QueueReader) -> AdbcResult<Taker> {
        let mut statement = self.connection.new_statement()?;
        statement.set_option(OptionStatement::IngestMode, IngestMode::Append.into())?;
        statement.set_option(OptionStatement::TargetTable, into.table.as_str().into())?;
        if let Some(schema) = &into.schema {
            statement.set_option(OptionStatement::TargetDbSchema, schema.as_str().into())?;
        }
        self.interrupt.watch_statement(&statement);
        Ok(Box::new(move || {
            statement.bind_stream(Box::new(rows))?;
            statement.execute_update()
        }))
    }

    fn begin(&mut self) -> AdbcResult<()> {
        self.autocommit(false)
    }

    fn commit(&mut self) -> AdbcResult<()> {
        self.connection.commit()?;
        self.autocommit(true)
    }

    fn rollback(&mut self) -> AdbcResult<()> {
        self.connection.rollback()?;
        self.autocommit(true)
    }

    fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.connection.get_cancel_handle()
    }

    fn table_schema(&self, schema: Option<&str>, table: &str) -> AdbcResult<Schema> {
        self.connection.get_table_schema(None, schema, table)
    }
}
