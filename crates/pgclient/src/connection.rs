//! A connection of a load: tagged, watched, with its session's settings.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::address::DatabaseAddress;
use super::backend::Backend;
use super::block_socket::BlockSocket;
use super::connecting::{
    Connected, Link, NO_ANSWER_HINT, all_failed, connect, no_answer, no_statement_answered,
};
use super::error::ClientError;
use super::liveness;
use super::server_address::ServerAddress;
use super::socket::SocketWatch;

/// The longest time that a connection may take to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// Settings of every session, so that a file means the same for any settings of the role, of the database or in
/// `options`. `docs/connections.md` lists every setting that PostgreSQL lets a role change, with the reason why it is
/// set here or left to the site; `tests/postgres/test_session_settings.py` tries all of them and fails if the list
/// lacks one.
///
/// This text must not contain a backslash: the server parses all of it before the first setting takes effect.
pub const SETTINGS: &str = "\
    SET statement_timeout = 0; SET lock_timeout = 0; \
    SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0; \
    SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings \
    WHERE name = 'transaction_timeout'; \
    SELECT pg_catalog.set_config('synchronous_commit', 'on', false) \
    WHERE pg_catalog.current_setting('synchronous_commit') = 'off'; \
    SET client_min_messages = warning; SET search_path = pg_catalog; \
    SET client_encoding = 'UTF8'; SET standard_conforming_strings = on; \
    SET quote_all_identifiers = off; SET exit_on_error = off; \
    SET array_nulls = on; SET lc_monetary = 'C'; SET xmloption = 'content'; \
    SET timezone_abbreviations = 'Default'; SET gin_fuzzy_search_limit = 0; \
    SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'postgres'; SET TimeZone = 'UTC'; \
    SET bytea_output = 'hex'; SET extra_float_digits = 1; \
    SET default_transaction_isolation = 'read committed'; \
    SET default_transaction_read_only = off; \
    SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 6; \
    SET client_connection_check_interval = '5s'";

/// A connection to a server, with session settings that a site cannot change.
pub struct ServerConnection {
    /// The driver's client.
    pub client: Client,
    /// The observations on the socket.
    pub watch: Arc<SocketWatch>,
    /// The backend's process id, as the backend reports it.
    pub backend_process_id: i32,
    /// The socket for a COPY's blocks without the driver, if the connection is not encrypted.
    pub blocks: Option<Arc<BlockSocket>>,
    task: tokio::task::JoinHandle<()>,
}

impl ServerConnection {
    /// Connects, tags the connection with `application_name` and makes its settings.
    pub async fn open(
        address: &DatabaseAddress,
        application_name: &str,
    ) -> Result<ServerConnection, ClientError> {
        let mut failures = Vec::new();
        for (number, place) in address.places_to_try() {
            match ServerConnection::open_at(address, place, application_name).await {
                Ok(connection) => {
                    address.took(number);
                    return Ok(connection);
                }
                Err(error) => failures.push(error),
            }
        }
        Err(all_failed(failures))
    }

    /// Connects to one of an address's servers. If there are several, a server in recovery is skipped, because a load
    /// needs the primary.
    async fn open_at(
        address: &DatabaseAddress,
        place: &ServerAddress,
        application_name: &str,
    ) -> Result<ServerConnection, ClientError> {
        let mut config = address.config_for(place);
        config.application_name(application_name);
        let no_answer = |reason: &str, hint: &str| no_answer(address, place, reason, hint);
        let attempt = tokio::time::timeout(
            address.connect_timeout,
            connect(&config, address, place, None),
        )
        .await;
        let Connected {
            client,
            link,
            watch,
            socket,
        } = match attempt {
            Ok(connected) => connected?,
            Err(_) => {
                return Err(no_answer("no answer", NO_ANSWER_HINT));
            }
        };
        // Only the server's answer shows whether the connection is encrypted: with the default `sslmode`, TLS is
        // requested but not required.
        let blocks = (!watch.is_encrypted()).then(|| Arc::new(socket));
        let task = spawn(link, address, place, &watch, blocks.clone());
        let settling = settle_in(&client, address, place);
        match tokio::time::timeout(address.connect_timeout, settling).await {
            Ok(settled) => {
                watch.served_by(settled.map_err(|error| with_reason(error, &watch))?);
            }
            Err(_) => {
                task.abort();
                return Err(no_statement_answered(address, place));
            }
        }
        Ok(ServerConnection {
            client,
            backend_process_id: watch.backend().map_or(0, |backend| backend.process_id),
            watch,
            blocks,
            task,
        })
    }

    /// Runs statements that return nothing; several are separated by `;`.
    pub async fn execute(&self, sql: &str, doing: &str) -> Result<(), ClientError> {
        self.watch.drop_rows(true);
        let done = self.client.batch_execute(sql).await;
        self.watch.drop_rows(false);
        done.map_err(|error| self.error(error, doing))
    }

    /// Runs a query.
    pub async fn query(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
        doing: &str,
    ) -> Result<Vec<Row>, ClientError> {
        self.client
            .query(sql, parameters)
            .await
            .map_err(|error| self.error(error, doing))
    }

    /// Runs a query whose rows are read one by one, so that they need not fit into memory.
    pub async fn query_each(
        &self,
        sql: &str,
        parameters: &[&(dyn ToSql + Sync)],
        doing: &str,
        mut take: impl FnMut(&Row),
    ) -> Result<(), ClientError> {
        let rows = self.client.query_raw(sql, parameters.iter().copied());
        let rows = rows.await.map_err(|error| self.error(error, doing))?;
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = rows
            .try_next()
            .await
            .map_err(|error| self.error(error, doing))?
        {
            take(&row);
        }
        Ok(())
    }

    /// An error of the driver, with the reason if this side gave the connection up.
    pub fn error(&self, error: tokio_postgres::Error, doing: impl Into<String>) -> ClientError {
        with_reason(ClientError::from_driver(error, doing), &self.watch)
    }

    /// Cancels the statement that runs on this connection, over another one.
    pub async fn cancel(&self, address: &DatabaseAddress) -> Result<(), ClientError> {
        let other = ServerConnection::open(address, "inrush cancel").await?;
        other
            .query(
                "SELECT pg_cancel_backend($1)",
                &[&self.backend_process_id],
                "cancelling a statement",
            )
            .await?;
        other.close().await;
        Ok(())
    }

    /// Drops the connection without a Terminate message: the server rolls back the open transaction.
    pub fn abandon(&self) {
        self.task.abort();
    }

    /// Ends the connection and waits until the server has seen it.
    pub async fn close(self) {
        drop(self.client);
        // The task ends when the driver has sent Terminate and closed the socket; it does not wait for a network that
        // accepts no bytes.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.task).await;
    }
}

/// The error for a lost connection, with the reason if this side ended it.
fn with_reason(error: ClientError, watch: &SocketWatch) -> ClientError {
    match (error, watch.violation().or(watch.given_up())) {
        (ClientError::Lost { doing, .. }, Some(reason)) => ClientError::Lost {
            doing,
            reason: reason.to_owned(),
        },
        (error, _) => error,
    }
}

/// Sets a session's settings, and finds the backend that serves it.
async fn settle_in(
    client: &Client,
    address: &DatabaseAddress,
    place: &ServerAddress,
) -> Result<Backend, ClientError> {
    let doing = "making the session's settings";
    client
        .batch_execute(SETTINGS)
        .await
        .map_err(|error| ClientError::from_driver(error, doing))?;
    let row = client
        .query_one(
            "SELECT pg_catalog.pg_backend_pid(), pg_catalog.pg_is_in_recovery(), \
                    pg_catalog.current_setting('session_replication_role') = 'replica', \
                    (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::int8, \
                    (extract(epoch FROM pg_catalog.pg_postmaster_start_time()) * 1000000)::int8",
            &[],
        )
        .await
        .map_err(|error| ClientError::from_driver(error, doing))?;
    if row.get(2) {
        // With this setting foreign keys are not checked and triggers do not fire. A role that may not change it is
        // refused before anything is loaded.
        let set = "SET session_replication_role = origin";
        if let Err(error) = client.batch_execute(set).await
            && error.code() != Some(&SqlState::INSUFFICIENT_PRIVILEGE)
        {
            return Err(ClientError::from_driver(error, doing));
        }
    }
    if address.places.len() > 1 && row.get(1) {
        return Err(ClientError::Connect {
            server: place.describe(),
            reason: "it is a standby (in recovery)".to_owned(),
            hint: "name the primary among the hosts".to_owned(),
            source: None,
        });
    }
    Ok(Backend {
        process_id: row.get(0),
        opened_at: row.get(3),
        server_started_at: row.get(4),
    })
}

/// Moves a connection's bytes in a task. Dropping the task gives the connection up: a caller who waits for an answer
/// then gets an error.
fn spawn(
    link: Link,
    address: &DatabaseAddress,
    place: &ServerAddress,
    watch: &Arc<SocketWatch>,
    blocks: Option<Arc<BlockSocket>>,
) -> tokio::task::JoinHandle<()> {
    let ending = Ending(blocks);
    let Some(patience) = address.keepalive.patience() else {
        return tokio::spawn(async move {
            let _ending = ending;
            link.await;
        });
    };
    let liveness = liveness::keep(address.clone(), place.clone(), patience, Arc::clone(watch));
    tokio::spawn(async move {
        let _ending = ending;
        tokio::select! {
            biased;
            () = link => {}
            () = liveness => {}
        }
    })
}

/// Shuts down the socket when the driver no longer uses the connection, so that a send of blocks stops and the server
/// notices the end.
struct Ending(Option<Arc<BlockSocket>>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(blocks) = &self.0 {
            blocks.close();
        }
    }
}
