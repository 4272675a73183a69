//! Connects to a server and logs in, with the reason and the advice if that fails.

use std::pin::Pin;
use std::sync::Arc;

use inrush_system::tcp::TcpConnection;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::Client;
use tokio_postgres::config::Host;
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::NoTls;

use super::address::{DatabaseAddress, RequiredPeer};
use super::block_socket::{BLOCK_BYTES, BlockSocket};
use super::error::{ClientError, chain};
use super::keepalive::Keepalive;
use super::server_address::ServerAddress;
use super::socket::{SocketWatch, Watched, WatchedTls};
use super::tls;
use super::tls_settings::SslMode;
use super::tls_stream::{Connector, SessionPlace};

/// The requested send buffer of a unix socket: it holds a whole block of encoded rows with the kernel's own overhead,
/// so that a block is one call and one wake-up. The default holds less than a block, so each block had to wait for the
/// server half way. For TCP nothing is requested, because that would turn off the kernel's own tuning.
const UNIX_SEND_BUFFER_BYTES: usize = 2 * BLOCK_BYTES;

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
        "is the server overloaded, or is a proxy in front of it?",
    )
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
        source: failures
            .into_iter()
            .find(ClientError::is_too_many_connections)
            .and_then(ClientError::into_source),
    }
}

/// Connects and logs in. Bytes move only while the link is polled. If a place for the TLS session is given, the session
/// is put there when the link is dropped.
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
