//! Detects that a backend is gone if nothing reports its end.
//!
//! The system detects a dead server: it probes the peer of a silent connection
//! ([`Keepalive`](super::keepalive::Keepalive)). But the peer may be a proxy, a tunnel or a balancer. Some of these keep
//! this connection open when their own connection to the server is reset: they answer the probes, and a statement would
//! wait forever. Silence alone proves nothing, because building an index may take hours. But the server knows. So after
//! a connection has been silent for the time in which a dead peer is normally found, this module asks the server over
//! another connection whether the backend still exists.
//!
//! This module and [`connection`](super::connection) need each other: a connection starts such a watch over itself, and
//! the watch asks the server over a second connection, which `connection` makes.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::SimpleQueryMessage;

use super::address::DatabaseAddress;
use super::backend::Backend;
use super::connecting::{Connected, connect};
use super::error::ClientError;
use super::server_address::ServerAddress;
use super::socket::SocketWatch;

/// After this number of failed checks in a row a connection is given up. With the usual settings, it has then been
/// silent for a quarter of an hour, and the server could not be reached.
const UNANSWERED_MAX: u32 = 10;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// The backend exists.
    Alive,
    /// The server does not have it any more.
    Gone,
    /// A server exists, but refuses connections or gives no answer: all its connections may be taken.
    Refused,
    /// No server answered that could know whether the backend exists.
    Unanswered,
}

/// The checks of a blocking session. A check follows each long silence.
#[derive(Debug)]
pub struct SilenceChecks {
    place: ServerAddress,
    backend: Backend,
    unanswered: u32,
}

impl SilenceChecks {
    /// Checks whether this server still has the backend.
    pub fn new(place: ServerAddress, backend: Backend) -> SilenceChecks {
        SilenceChecks {
            place,
            backend,
            unanswered: 0,
        }
    }

    /// Bytes came: the count of checks without an answer starts again.
    pub fn heard(&mut self) {
        self.unanswered = 0;
    }

    /// Asks the server once. If the session has to be given up, returns the reason.
    pub async fn check(&mut self, address: &DatabaseAddress) -> Option<&'static str> {
        let looked = look(address, &self.place, self.backend).await;
        judge(looked, &mut self.unanswered)
    }
}

/// Returns once a connection has to be given up, and notes the reason in its watch.
pub async fn keep(
    address: DatabaseAddress,
    place: ServerAddress,
    patience: Duration,
    watch: Arc<SocketWatch>,
) {
    let mut seen = watch.bytes_passed();
    let mut unanswered = 0;
    loop {
        tokio::time::sleep(patience).await;
        if watch.bytes_passed() != seen {
            seen = watch.bytes_passed();
            unanswered = 0;
            continue;
        }
        // A session that is still applying its settings has a separate time limit.
        let Some(backend) = watch.backend() else {
            continue;
        };
        let looked = look(&address, &place, backend).await;
        if watch.bytes_passed() == seen
            && let Some(reason) = judge(looked, &mut unanswered)
        {
            watch.give_up(reason);
            return;
        }
    }
}

/// The reason to give up a connection after a check; `None` if there is none.
fn judge(looked: Look, unanswered: &mut u32) -> Option<&'static str> {
    *unanswered = match looked {
        Look::Gone => {
            return Some(
                "the backend has ended, but a device between here and the server did not report it",
            );
        }
        Look::Alive | Look::Refused => 0,
        Look::Unanswered => *unanswered + 1,
    };
    (*unanswered >= UNANSWERED_MAX)
        .then_some("the connection is silent, and the server cannot be reached")
}

async fn look(address: &DatabaseAddress, place: &ServerAddress, backend: Backend) -> Look {
    let question = question(backend);
    let asked = ask(address, place, &question);
    match tokio::time::timeout(2 * address.connect_timeout, asked).await {
        Ok(Ok(Some(answer))) => match answer.as_str() {
            "alive" => Look::Alive,
            "gone" => Look::Gone,
            _ => Look::Unanswered,
        },
        Ok(Err(error)) if is_of_a_server(&error) => Look::Refused,
        _ => Look::Unanswered,
    }
}

/// The question to the server. A server that was started after the session began is the same one restarted, or has
/// replaced one that failed; a standby, or another server of a balancer, cannot know.
fn question(backend: Backend) -> String {
    let Backend {
        process_id,
        opened_at,
        server_started_at,
    } = backend;
    format!(
        "SET search_path = pg_catalog; \
         SELECT CASE WHEN started_at = {server_started_at} AND EXISTS ( \
                         SELECT FROM pg_stat_activity WHERE pid = {process_id} \
                         AND (backend_start IS NULL OR \
                              (extract(epoch FROM backend_start) * 1000000)::int8 <= {opened_at})) \
                     THEN 'alive' \
                     WHEN started_at = {server_started_at} THEN 'gone' \
                     WHEN started_at > {opened_at} AND NOT pg_is_in_recovery() THEN 'gone' \
                     ELSE 'elsewhere' END \
         FROM (SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8) \
              AS server(started_at)"
    )
}

/// Asks over a separate connection, which has a time limit because nothing watches it.
async fn ask(
    address: &DatabaseAddress,
    place: &ServerAddress,
    question: &str,
) -> Result<Option<String>, ClientError> {
    let mut config = address.config_for(place);
    config.application_name("inrush liveness");
    let Connected {
        client, mut link, ..
    } = connect(&config, address, place, None).await?;
    let doing = "asking whether a backend is there";
    let answers = tokio::select! {
        biased;
        answers = client.simple_query(question) => {
            answers.map_err(|error| ClientError::from_driver(error, doing))?
        }
        () = &mut link => return Ok(None),
    };
    drop(client);
    link.await;
    Ok(answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    }))
}

/// True if the error comes from a PostgreSQL server, and not from the system or a proxy in between.
fn is_of_a_server(error: &ClientError) -> bool {
    match error {
        ClientError::Connect { source, .. } => source
            .as_ref()
            .is_some_and(|source| source.as_db_error().is_some()),
        ClientError::Refused { .. } => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backend_that_is_gone_is_given_up_at_once() {
        assert!(judge(Look::Gone, &mut 0).is_some());
    }

    #[test]
    fn one_that_lives_is_waited_for_without_an_end() {
        let mut unanswered = 0;
        for _ in 0..10 * UNANSWERED_MAX {
            assert_eq!(judge(Look::Alive, &mut unanswered), None);
            assert_eq!(judge(Look::Refused, &mut unanswered), None);
        }
    }

    #[test]
    fn a_server_that_is_not_reached_is_given_up_in_the_end() {
        let mut unanswered = 0;
        for _ in 1..UNANSWERED_MAX {
            assert_eq!(judge(Look::Unanswered, &mut unanswered), None);
        }
        // Once it answers, the count starts again.
        assert_eq!(judge(Look::Refused, &mut unanswered), None);
        for _ in 1..UNANSWERED_MAX {
            assert_eq!(judge(Look::Unanswered, &mut unanswered), None);
        }
        assert!(judge(Look::Unanswered, &mut unanswered).is_some());
    }
}
