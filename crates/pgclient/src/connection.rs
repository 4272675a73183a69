//! A connection of a load: tagged, watched, with its session's settings.
//!
//! This module and [`liveness`](super::liveness) need each other: a connection starts the watch of `liveness`, and the
//! watch asks the server over a second connection, which is made here.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use inrush_system::tcp::TcpConnection;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTls;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use super::address::{DatabaseAddress, Keepalive, RequiredPeer, ServerAddress};
use super::backend::Backend;
use super::block_socket::{BLOCK_BYTES, BlockSocket};
use super::error::{ClientError, chain};
use super::liveness;
use super::socket::{SocketWatch, Watched, WatchedTls};
use super::tls;
use super::tls_settings::SslMode;
use super::tls_stream::{Connector, SessionPlace};

/// The longest time that a connection may take to end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The requested send buffer of a unix socket: it holds a whole block of encoded rows with the kernel's own overhead,
/// so that a block is one call and one wake-up. The default holds less than a block, so each block had to wait for the
/// server half way. For TCP nothing is requested, because that would turn off the kernel's own tuning.
const UNIX_SEND_BUFFER_BYTES: usize = 2 * BLOCK_BYTES;

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
        // The server's answer decides: most servers that are reached this way ask for TLS but work without it.
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
    pub fn abandon(self) {
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

/// The future that moves a connection's bytes: it ends with the connection.
pub(super) type Link = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A new connection. Its bytes move only while its link is polled.
pub(super) struct Connected {
    pub(super) client: Client,
    pub(super) link: Link,
    pub(super) watch: Arc<SocketWatch>,
    /// A second handle of the socket, whether the connection is encrypted or not.
    pub(super) socket: BlockSocket,
}

/// The hint for a server that does not answer.
pub(super) const NO_ANSWER_HINT: &str =
    "check host and port, and whether a firewall drops the packets";

/// The error if a server did not answer in time.
pub(super) fn no_answer(
    address: &DatabaseAddress,
    place: &ServerAddress,
    reason: &str,
    hint: &str,
) -> ClientError {
    ClientError::Connect {
        server: place.describe(),
        reason: format!("{reason} within {} s", address.connect_timeout.as_secs()),
        hint: hint.to_owned(),
        source: None,
    }
}

/// The error if a server that let us log in did not answer the session's first statements in time.
pub(super) fn no_statement_answered(
    address: &DatabaseAddress,
    place: &ServerAddress,
) -> ClientError {
    no_answer(
        address,
        place,
        "it accepted the connection, but answered no statement",
        "is the server overloaded, or does a proxy stand before it?",
    )
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

/// Why none of an address's servers could be used: the reason of each.
pub(super) fn all_failed(mut failures: Vec<ClientError>) -> ClientError {
    if failures.len() == 1 {
        return failures.remove(0);
    }
    let each: Vec<String> = failures
        .iter()
        .map(|failure| match failure {
            ClientError::Connect { server, reason, .. } => format!("{server}: {reason}"),
            other => other.to_string(),
        })
        .collect();
    ClientError::Connect {
        server: format!("any of {} servers", failures.len()),
        reason: each.join("; "),
        hint: failures
            .iter()
            .find_map(ClientError::hint)
            .unwrap_or_else(|| "check the hosts of the URL".to_owned()),
        source: None,
    }
}

/// Connects and logs in. Bytes move only while the link is polled. If a place for the TLS session is given, the session
/// is there after the link is dropped.
pub(super) async fn connect(
    config: &tokio_postgres::Config,
    address: &DatabaseAddress,
    place: &ServerAddress,
    session_place: Option<SessionPlace>,
) -> Result<Connected, ClientError> {
    match &place.host {
        Host::Unix(folder) => {
            let path = folder.join(format!(".s.PGSQL.{}", place.port));
            let stream = UnixStream::connect(&path)
                .await
                .map_err(|error| unreachable(place, &error))?;
            if let Some(required) = &address.required_peer {
                check_peer(&stream, required, place)?;
            }
            // The system may allow less, or nothing: then blocks go in more than one piece.
            let _ = SockRef::from(&stream).set_send_buffer_size(UNIX_SEND_BUFFER_BYTES);
            let watch = Arc::new(SocketWatch::new(address.login_rules(place)));
            let mut config = config.clone();
            // libpq does not use TLS on a unix socket either, for any sslmode.
            config.ssl_mode(tokio_postgres::config::SslMode::Disable);
            config.ssl_negotiation(tokio_postgres::config::SslNegotiation::Postgres);
            let socket = BlockSocket::of_unix(&stream, &watch)
                .map_err(|error| unreachable(place, &error))?;
            let watched = Watched::new(stream, Arc::clone(&watch), false);
            let (client, connection) = config
                .connect_raw(watched, NoTls)
                .await
                .map_err(|error| refused(&config, place, &watch, error))?;
            Ok(Connected {
                client,
                link: link(connection),
                watch,
                socket,
            })
        }
        Host::Tcp(name) => {
            let reached = place.host_address.as_deref().unwrap_or(name);
            let stream = TcpStream::connect((reached, place.port))
                .await
                .map_err(|error| unreachable(place, &error))?;
            tune(&stream, &address.keepalive).map_err(|error| unreachable(place, &error))?;
            let watch = Arc::new(SocketWatch::new(address.login_rules(place)));
            watch.is_tcp(TcpConnection::of(&stream));
            let socket =
                BlockSocket::of_tcp(&stream, &watch).map_err(|error| unreachable(place, &error))?;
            if address.tls.mode == SslMode::Disable {
                let watched = Watched::new(stream, Arc::clone(&watch), false);
                let (client, connection) = config
                    .connect_raw(watched, NoTls)
                    .await
                    .map_err(|error| refused(config, place, &watch, error))?;
                return Ok(Connected {
                    client,
                    link: link(connection),
                    watch,
                    socket,
                });
            }
            let inner = Connector {
                config: Arc::new(tls::client_config(address, place, &watch)?),
                host: name.clone(),
                is_direct: address.tls.is_direct,
                session_place,
            };
            let watched = match address.tls.is_direct {
                true => Watched::encrypted(stream, Arc::clone(&watch)),
                false => Watched::new(stream, Arc::clone(&watch), true),
            };
            let tls = WatchedTls {
                inner,
                watch: Arc::clone(&watch),
            };
            let (client, connection) = config
                .connect_raw(watched, tls)
                .await
                .map_err(|error| refused(config, place, &watch, error))?;
            Ok(Connected {
                client,
                link: link(connection),
                watch,
                socket,
            })
        }
    }
}

fn link<F>(connection: F) -> Link
where
    F: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
{
    Box::pin(async move {
        // A broken connection fails the statement that waits for it, and that error is reported.
        let _ = connection.await;
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

/// Ends a connection once the driver has none: it stops the socket of the blocks, and tells the server.
struct Ending(Option<Arc<BlockSocket>>);

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(blocks) = &self.0 {
            blocks.close();
        }
    }
}

/// Refuses a socket whose listener is another user than `requirepeer`: nothing is sent to it.
fn check_peer(
    stream: &UnixStream,
    required: &RequiredPeer,
    place: &ServerAddress,
) -> Result<(), ClientError> {
    let peer = stream
        .peer_cred()
        .map_err(|error| unreachable(place, &error))?;
    required
        .check(peer.uid())
        .map_err(|reason| ClientError::Connect {
            server: place.describe(),
            reason,
            hint: "name the user that runs the server in requirepeer, or the server's own socket in host".to_owned(),
            source: None,
        })
}

fn tune(stream: &TcpStream, keepalive: &Keepalive) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    if let Some(idle) = keepalive.idle {
        socket.set_tcp_keepalive(
            &TcpKeepalive::new()
                .with_time(idle)
                .with_interval(keepalive.interval)
                .with_retries(keepalive.count),
        )?;
    }
    socket.set_tcp_user_timeout(keepalive.user_timeout)
}

fn unreachable(place: &ServerAddress, error: &std::io::Error) -> ClientError {
    let hint = match error.kind() {
        std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound => {
            "is the server running, and is this its host and port?"
        }
        std::io::ErrorKind::PermissionDenied => {
            "this user may not use the server's socket; try a TCP host"
        }
        _ => "check the host's name and the network",
    };
    ClientError::Connect {
        server: place.describe(),
        reason: error.to_string(),
        hint: hint.to_owned(),
        source: None,
    }
}

/// The hint for SQLSTATE 28000, which has several meanings. The name of the server's function that raised it tells them
/// apart in any language; poolers and servers that only resemble PostgreSQL send other names, or none.
fn not_let_in(routine: Option<&str>) -> &'static str {
    match routine {
        Some("InitializeSessionUserId") => {
            "the server has no such user that may log in: name another one in the URL or in \
             PGUSER; without either, the system's user is used"
        }
        Some("ClientAuthentication" | "auth_failed") => {
            "the server's pg_hba.conf does not allow this login"
        }
        _ => {
            "either the server has no such user that may log in, or its pg_hba.conf does not \
             allow this login"
        }
    }
}

fn refused(
    config: &tokio_postgres::Config,
    place: &ServerAddress,
    watch: &SocketWatch,
    error: tokio_postgres::Error,
) -> ClientError {
    if let Some(violation) = watch.violation() {
        return ClientError::Connect {
            server: place.describe(),
            reason: violation.to_owned(),
            hint: "is this the host and port of the PostgreSQL server, or has somebody put another one in its place?"
                .to_owned(),
            source: None,
        };
    }
    let user = config.get_user().unwrap_or("?");
    let has_password = config.get_password().is_some();
    let (reason, hint) = match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => (
            format!("the server refuses the password of user {user}"),
            "set PGPASSWORD, or a line in ~/.pgpass (mode 0600)".to_owned(),
        ),
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => (
            chain(&error),
            not_let_in(error.as_db_error().and_then(|refusal| refusal.routine())).to_owned(),
        ),
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => (
            chain(&error),
            "name an existing database in the URL".to_owned(),
        ),
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => (
            chain(&error),
            "lower `streams`, or raise the server's max_connections".to_owned(),
        ),
        Some(code) if *code == SqlState::CANNOT_CONNECT_NOW => (
            chain(&error),
            "the server is starting or stopping: try again in a moment".to_owned(),
        ),
        Some(_) => (chain(&error), "the server refused the login".to_owned()),
        None if !has_password && chain(&error).contains("password missing") => (
            format!("the server asks user {user} for a password, but none was given"),
            "set PGPASSWORD, or a line in ~/.pgpass (mode 0600)".to_owned(),
        ),
        None => (
            chain(&error),
            "check sslmode, and that a PostgreSQL server listens there".to_owned(),
        ),
    };
    ClientError::Connect {
        server: place.describe(),
        reason,
        hint,
        source: Some(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_role_and_pg_hba_are_told_apart() {
        let hints = [
            Some("InitializeSessionUserId"),
            Some("ClientAuthentication"),
            Some("auth_failed"),
            None,
        ]
        .map(not_let_in);
        let told = hints.map(|hint| (hint.contains("no such user"), hint.contains("pg_hba.conf")));
        assert_eq!(
            told,
            [(true, false), (false, true), (false, true), (true, true)]
        );
    }
}
