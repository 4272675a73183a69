//! A connection, and the queries that are needed to open a source.

use std::sync::Arc;

use adbc_core::error::{Error as AdbcError, Result as AdbcResult, Status};
use adbc_core::options::{OptionConnection, OptionValue};
use adbc_core::{
    CancelHandle, Connection as _, Optionable as _, PartitionedResult, Statement as _,
};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use inrush_adbcclient::answer;
use inrush_adbcclient::duckdb::connection::Link;

/// A connection that reads.
pub enum Session {
    /// A connection of a driver.
    Driver(ManagedConnection),
    /// A connection to a file of DuckDB that the destination has open.
    DuckDb(Arc<Link>),
}

/// The rows of a statement, or of a partition of its result, as they come.
pub struct Answer {
    /// Dropped before `origin`.
    pub batches: Box<dyn RecordBatchReader + Send>,
    origin: Origin,
}

/// The origin of rows. It lives as long as they do.
enum Origin {
    Statement(ManagedStatement),
    /// A partition is read by the connection itself.
    Connection(ManagedConnection),
    DuckDb(Arc<Link>),
}

/// What the database has promised about a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTransaction {
    /// True if a statement that writes is refused.
    pub is_read_only: bool,
    /// True if it shows the rows of one moment.
    pub is_snapshot: bool,
}

impl Answer {
    /// Ends the reading from another thread, if the driver can.
    pub fn cancel_handle(&self) -> Box<dyn CancelHandle> {
        match &self.origin {
            Origin::Statement(statement) => statement.get_cancel_handle(),
            Origin::Connection(connection) => connection.get_cancel_handle(),
            Origin::DuckDb(link) => link.cancel_handle(),
        }
    }
}

impl Session {
    /// Begins a transaction that lasts as long as the session. Not every driver has transactions.
    pub fn begin(&mut self) -> AdbcResult<()> {
        match self {
            Session::Driver(connection) => {
                let off = OptionValue::from(false);
                connection.set_option(OptionConnection::AutoCommit, off)
            }
            Session::DuckDb(link) => link.query("BEGIN TRANSACTION").map(drop),
        }
    }

    /// Begins a transaction that only reads, by the options of ADBC or the words of the SQL standard. With `has_snapshots` the database is
    /// known to read one snapshot at this isolation level without locks. Not every driver has transactions.
    pub fn begin_to_read(&mut self, has_snapshots: bool) -> ReadTransaction {
        let takes_option = match self {
            Session::Driver(connection) => {
                let on = OptionValue::from(true);
                connection
                    .set_option(OptionConnection::ReadOnly, on)
                    .is_ok()
            }
            Session::DuckDb(_) => false,
        };
        let is_begun = self.begin().is_ok();
        let is_snapshot = is_begun
            && has_snapshots
            && self.set_transaction("ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        let is_read_only =
            is_snapshot || takes_option || is_begun && self.set_transaction("READ ONLY");
        ReadTransaction {
            is_read_only,
            is_snapshot,
        }
    }

    /// True if the database gives the transaction this property.
    fn set_transaction(&mut self, property: &str) -> bool {
        let is_set = self.run(&format!("SET TRANSACTION {property}")).is_ok();
        if !is_set && let Session::Driver(connection) = self {
            // A refused statement may end the transaction; the next statement begins another one.
            let _ = connection.rollback();
        }
        is_set
    }

    /// Runs a statement without rows.
    pub fn run(&mut self, sql: &str) -> AdbcResult<()> {
        match self {
            Session::Driver(connection) => {
                let mut statement = connection.new_statement()?;
                statement.set_sql_query(sql)?;
                statement.execute_update().map(drop)
            }
            Session::DuckDb(link) => link.query(sql).map(drop),
        }
    }

    /// Runs a query whose rows are read one batch at a time.
    pub fn read(&mut self, sql: &str) -> AdbcResult<Answer> {
        match self {
            Session::Driver(connection) => {
                let mut statement = connection.new_statement()?;
                statement.set_sql_query(sql)?;
                let batches = statement.execute()?;
                let origin = Origin::Statement(statement);
                Ok(Answer { batches, origin })
            }
            Session::DuckDb(link) => Ok(Answer {
                batches: Box::new(link.query(sql)?.into_reader()?),
                origin: Origin::DuckDb(Arc::clone(link)),
            }),
        }
    }

    /// Runs a query and returns the partitions of its result that the driver offers. Any connection can read them.
    /// `None` if the driver offers no partitions.
    pub fn partitions(&mut self, sql: &str) -> AdbcResult<Option<PartitionedResult>> {
        let Session::Driver(connection) = self else {
            return Ok(None);
        };
        let mut statement = connection.new_statement()?;
        statement.set_sql_query(sql)?;
        // If the query itself is wrong, the error occurs again when the result is read as a whole.
        Ok(statement.execute_partitions().ok())
    }

    /// Reads a partition of a result.
    pub fn read_partition(&mut self, partition: &[u8]) -> AdbcResult<Answer> {
        let Session::Driver(connection) = self else {
            return Err(AdbcError::with_message_and_status(
                "a file of DuckDB has no partitions",
                Status::NotImplemented,
            ));
        };
        let batches = connection.read_partition(partition)?;
        let origin = Origin::Connection(connection.clone());
        Ok(Answer { batches, origin })
    }

    /// The rows of a small answer, as text.
    pub fn rows(&mut self, sql: &str) -> AdbcResult<Vec<Vec<Option<String>>>> {
        let Answer { batches, origin } = self.read(sql)?;
        let rows = answer::rows(batches);
        drop(origin);
        rows.map_err(|error| AdbcError::with_message_and_status(error.to_string(), Status::IO))
    }

    /// The columns of a query.
    pub fn schema(&mut self, sql: &str) -> AdbcResult<SchemaRef> {
        Ok(self.read(sql)?.batches.schema())
    }
}
