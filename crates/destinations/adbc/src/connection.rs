//! The traits for a database and its connections, implemented for ADBC drivers and for DuckDB's C functions.

use std::sync::Arc;

use adbc_core::CancelHandle;
use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use arrow_schema::Schema;

use crate::interrupt::Interrupt;
use crate::queue::QueueReader;

/// The name of a table as ingest takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestName {
    /// Its schema, if it has one.
    pub schema: Option<String>,
    /// Its name.
    pub table: String,
}

/// Takes rows until there are no more; called on its own thread. Returns their number, if the database counts them.
pub type Taker = Box<dyn FnOnce() -> AdbcResult<Option<i64>> + Send>;

/// An open database. It is closed when this value and all connections to it are dropped.
pub trait AdbcDatabase: Send + Sync {
    /// Its name and version, as it reports them; empty if it does not.
    fn vendor(&self) -> AdbcResult<(String, String)>;

    /// True if a source in this process can read tables of this database while it is open here.
    fn is_shared(&self) -> bool {
        false
    }

    /// Opens another connection, which `interrupt` can end.
    fn connect(&self, interrupt: &Arc<Interrupt>) -> AdbcResult<Box<dyn AdbcConnection>>;
}

/// A connection to a database. It begins without a transaction.
pub trait AdbcConnection: Send {
    /// Runs a statement. Returns the number of changed rows, if the database counts them.
    fn run(&mut self, sql: &str) -> AdbcResult<Option<i64>>;

    /// Runs a query with few rows, and returns them as text.
    fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>>;

    /// Prepares adding rows to a table. The connection does nothing else until the taker has returned.
    fn ingest(&mut self, into: &IngestName, rows: QueueReader) -> AdbcResult<Taker>;

    /// Like [`ingest`](AdbcConnection::ingest), but runs the statement that `insert` returns. The argument of `insert`
    /// is the name by which the statement reads the rows. Only a database that evaluates steps implements this.
    fn ingest_by(&mut self, _: &dyn Fn(&str) -> String, _rows: QueueReader) -> AdbcResult<Taker> {
        Err(AdbcError::with_message_and_status(
            "rows are added without a query",
            Status::NotImplemented,
        ))
    }

    /// Begins a transaction.
    fn begin(&mut self) -> AdbcResult<()>;

    /// Commits the transaction.
    fn commit(&mut self) -> AdbcResult<()>;

    /// Rolls the transaction back.
    fn rollback(&mut self) -> AdbcResult<()>;

    /// A handle that cancels the current statement.
    fn cancel_handle(&self) -> Box<dyn CancelHandle>;

    /// The columns of a table, for a database with an unknown catalog.
    fn table_schema(&self, _schema: Option<&str>, _table: &str) -> AdbcResult<Schema> {
        Err(AdbcError::with_message_and_status(
            "its catalog tells",
            Status::NotImplemented,
        ))
    }
}
