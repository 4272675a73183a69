//! The requests of a session to a database and its connections, the same for both ways to reach them.

use std::sync::Arc;

use adbc_core::CancelHandle;
use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use arrow_schema::Schema;

use crate::interrupt::Interrupt;
use crate::queue::QueueReader;

/// The name of a table as ingest takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IngestName {
    /// Its schema, where it has one.
    pub schema: Option<String>,
    /// Its name.
    pub table: String,
}

/// What takes rows until there are no more, on a thread of its own, and says how many they were, where
/// the database tells.
pub type Taker = Box<dyn FnOnce() -> AdbcResult<Option<i64>> + Send>;

/// A database that is open. It is closed when it and all its connections are gone.
pub trait AdbcDatabase: Send + Sync {
    /// Its name and version, as it says itself; empty where it does not.
    fn vendor(&self) -> AdbcResult<(String, String)>;

    /// One more connection. What it does is made known to the interrupt.
    fn connect(&self, interrupt: &Arc<Interrupt>) -> AdbcResult<Box<dyn AdbcConnection>>;
}

/// A connection to a database. It has no transaction open at first.
pub trait AdbcConnection: Send {
    /// Runs a statement; the rows that it changed, where the database tells.
    fn run(&mut self, sql: &str) -> AdbcResult<Option<i64>>;

    /// Asks for rows, few of them, as text.
    fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>>;

    /// Makes ready to add rows to a table. It does not go on with anything else until the taker has returned.
    fn ingest(&mut self, into: &IngestName, rows: QueueReader) -> AdbcResult<Taker>;

    /// Begins a transaction.
    fn begin(&mut self) -> AdbcResult<()>;

    /// Commits it.
    fn commit(&mut self) -> AdbcResult<()>;

    /// Takes it back.
    fn rollback(&mut self) -> AdbcResult<()>;

    /// What ends the statement under way.
    fn cancel_handle(&self) -> Box<dyn CancelHandle>;

    /// The columns of a table of a database whose catalog is not known.
    fn table_schema(&self, _schema: Option<&str>, _table: &str) -> AdbcResult<Schema> {
        Err(AdbcError::with_message_and_status(
            "its catalog tells",
            Status::NotImplemented,
        ))
    }
}
