//! A connection, and the questions that opening a source asks of it.

use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use adbc_core::options::{OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Connection as _, Optionable as _, Statement as _};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use inrush_adbcclient::answer;

/// A connection that reads.
pub struct Session(pub ManagedConnection);

/// The rows of a statement as they come. The statement lives as long as they do.
pub struct Answer {
    /// Dropped before the statement.
    pub batches: Box<dyn RecordBatchReader + Send>,
    statement: ManagedStatement,
}

impl Answer {
    /// Ends the statement from another thread, if the driver can.
    pub fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.statement.get_cancel_handle()
    }
}

impl Session {
    /// Begins a transaction that lasts as long as the session. Not every driver has transactions.
    pub fn begin(&mut self) -> AdbcResult<()> {
        let off = OptionValue::from(false);
        self.0.set_option(OptionConnection::AutoCommit, off)
    }

    /// Runs a statement without rows.
    pub fn run(&mut self, sql: &str) -> AdbcResult<()> {
        let mut statement = self.0.new_statement()?;
        statement.set_sql_query(sql)?;
        statement.execute_update().map(drop)
    }

    /// Runs a query whose rows are read one batch at a time.
    pub fn read(&mut self, sql: &str) -> AdbcResult<Answer> {
        let mut statement = self.0.new_statement()?;
        statement.set_sql_query(sql)?;
        let batches = statement.execute()?;
        Ok(Answer { batches, statement })
    }

    /// The rows of a small answer, as text.
    pub fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>> {
        let Answer { batches, statement } = self.read(sql)?;
        let rows = answer::rows(batches);
        drop(statement);
        rows.map_err(|error| AdbcError::with_message_and_status(error.to_string(), Status::IO))
    }

    /// The columns of a query.
    pub fn schema(&mut self, sql: &str) -> AdbcResult<SchemaRef> {
        Ok(self.read(sql)?.batches.schema())
    }
}
