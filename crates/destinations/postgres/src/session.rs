//! A session of a load: a connection with the pace and the meter of the stream that uses it.

use std::ops::Deref;
use std::sync::Arc;

use inrush_destination::{StreamMeter, Unmetered};
use inrush_pgclient::{DatabaseAddress, ServerConnection};
use inrush_rows::pace::Pace;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::error::PostgresError;

/// A connection to the destination. Its methods are those of [`ServerConnection`], with the errors of this crate. Its clones
/// share the connection.
#[derive(Clone)]
pub struct Session {
    connection: Arc<ServerConnection>,
    /// The rate limit for its blocks.
    pub pace: Arc<Pace>,
    /// The meter of the stream that uses it.
    pub meter: Arc<dyn StreamMeter>,
}

impl Deref for Session {
    type Target = ServerConnection;

    fn deref(&self) -> &ServerConnection {
        &self.connection
    }
}

impl Session {
    /// Connects, sets the `application_name`, and makes the session's settings.
    pub async fn open(
        address: &DatabaseAddress,
        application_name: &str,
    ) -> Result<Session, PostgresError> {
        Ok(Session {
            connection: Arc::new(ServerConnection::open(address, application_name).await?),
            pace: Arc::default(),
            meter: Arc::new(Unmetered),
        })
    }

    /// Runs statements that return nothing; several are separated by `;`.
    pub async fn execute(&self, sql: &str, doing: &str) -> Result<(), PostgresError> {
        Ok(self.connection.execute(sql, doing).await?)
    }

    /// Runs a query.
    pub async fn query(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
        doing: &str,
    ) -> Result<Vec<Row>, PostgresError> {
        Ok(self.connection.query(sql, parameters, doing).await?)
    }

    /// Runs a query and passes on its rows one by one, so that they need not fit into memory.
    pub async fn query_each(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
        doing: &str,
        take: impl FnMut(&Row),
    ) -> Result<(), PostgresError> {
        let queried = self.connection.query_each(sql, parameters, doing, take);
        Ok(queried.await?)
    }

    /// An error of the driver, or the reason why this side gave the connection up.
    pub fn error(&self, error: tokio_postgres::Error, doing: impl Into<String>) -> PostgresError {
        self.connection.error(error, doing).into()
    }

    /// Cancels the statement that runs on this session. The request is sent over another connection.
    pub async fn cancel(&self, address: &DatabaseAddress) -> Result<(), PostgresError> {
        Ok(self.connection.cancel(address).await?)
    }

    /// This connection, as a stream uses it.
    pub fn of_stream(&self, pace: &Arc<Pace>, meter: &Arc<dyn StreamMeter>) -> Session {
        Session {
            connection: Arc::clone(&self.connection),
            pace: Arc::clone(pace),
            meter: Arc::clone(meter),
        }
    }

    /// Drops the connection without a Terminate message: the server rolls back the open transaction.
    pub fn abandon(&self) {
        self.connection.abandon();
    }

    /// Ends the connection and waits until the server has seen it, unless a clone still uses it.
    pub async fn close(self) {
        if let Some(connection) = Arc::into_inner(self.connection) {
            connection.close().await;
        }
    }
}
