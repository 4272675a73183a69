//! Errors of a connection: refusals by the server, losses, and wrong addresses.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::refusal::RefusalFacts;

/// An error of a connection to a server.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The URL is not valid.
    #[error("the connection URL {url} cannot be used: {reason}")]
    Address {
        /// The URL without its password.
        url: String,
        /// The environment variable that caused the error, if the URL did not.
        variable: Option<&'static str>,
        /// The problem.
        reason: String,
    },
    /// No connection could be made.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// Host and port, or the socket.
        server: String,
        /// The likely cause in words.
        reason: String,
        /// How to fix it.
        hint: String,
        /// The error of the server or the system.
        #[source]
        source: Option<tokio_postgres::Error>,
    },
    /// The server refused a statement.
    #[error("{doing}: the server says: {message}{}", context.as_ref().map(|c| format!(" ({c})")).unwrap_or_default())]
    Refused {
        /// The action that failed.
        doing: String,
        /// SQLSTATE.
        code: SqlState,
        /// The server's message with its detail.
        message: String,
        /// The server's context, such as the line of a COPY.
        context: Option<String>,
        /// The server's own hint.
        hint: Option<String>,
        /// The whole refusal, field by field.
        facts: Box<RefusalFacts>,
    },
    /// The connection was lost.
    #[error("{doing}: the connection to the server was lost ({reason})")]
    Lost {
        /// The action that failed.
        doing: String,
        /// The system's error.
        reason: String,
    },
    /// An object that existed a moment ago is gone.
    #[error("{what}")]
    Gone {
        /// The object.
        what: String,
        /// How to fix it.
        hint: String,
    },
}

impl ClientError {
    /// Converts an error of the driver: distinguishes refusals by the server from a lost connection.
    pub fn from_driver(error: tokio_postgres::Error, doing: impl Into<String>) -> ClientError {
        match error.as_db_error() {
            Some(refusal) => ClientError::from_facts(RefusalFacts::from(refusal), doing),
            None => ClientError::Lost {
                doing: doing.into(),
                reason: chain(&error),
            },
        }
    }

    /// The error for an error message of the server: a refusal, or the end of the connection.
    pub fn from_facts(facts: RefusalFacts, doing: impl Into<String>) -> ClientError {
        let doing = doing.into();
        let code = SqlState::from_code(&facts.code);
        if connection_ended(&code) {
            return ClientError::Lost {
                doing,
                reason: facts.message,
            };
        }
        ClientError::Refused {
            doing,
            code,
            message: match &facts.detail {
                Some(detail) => format!("{}; {detail}", facts.message),
                None => facts.message.clone(),
            },
            context: facts.context.as_deref().map(place),
            hint: facts.hint.clone(),
            facts: Box::new(facts),
        }
    }

    /// The SQLSTATE, if the server refused.
    pub fn code(&self) -> Option<&SqlState> {
        match self {
            ClientError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// True if a lock of another session was in the way, so that a later attempt may succeed.
    pub fn is_blocked(&self) -> bool {
        let blocked = [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        self.code().is_some_and(|code| blocked.contains(code))
    }

    /// True if the server, the database or the user has as many connections as it may have; of several servers, one.
    pub fn is_too_many_connections(&self) -> bool {
        let code = match self {
            ClientError::Connect { source, .. } => source.as_ref().and_then(|error| error.code()),
            other => other.code(),
        };
        code == Some(&SqlState::TOO_MANY_CONNECTIONS)
    }

    /// The error of the server or the system by which a connection failed.
    pub(crate) fn into_source(self) -> Option<tokio_postgres::Error> {
        match self {
            ClientError::Connect { source, .. } => source,
            _ => None,
        }
    }

    /// The same error, which says for how long a connection was tried.
    pub(crate) fn tried_for(mut self, time: Duration) -> ClientError {
        if let ClientError::Connect { reason, .. } = &mut self {
            *reason = format!("{reason} (tried for {} s)", time.as_secs());
        }
        self
    }

    /// The server's facts about a row that it refused, if the error is about a row.
    pub fn row_refusal(&self) -> Option<&RefusalFacts> {
        match self {
            ClientError::Refused { facts, .. } if facts.is_of_a_row() => Some(facts),
            _ => None,
        }
    }

    /// How to fix it, if known; for a refusal, the server's own hint.
    pub fn hint(&self) -> Option<String> {
        match self {
            ClientError::Connect { hint, .. } | ClientError::Gone { hint, .. } => {
                Some(hint.clone())
            }
            ClientError::Refused { hint, .. } => hint.clone(),
            ClientError::Address { variable, .. } => {
                variable.map(|variable| format!("correct {variable}, or unset it"))
            }
            ClientError::Lost { .. } => None,
        }
    }
}

/// The server's context in words that a user can follow: COPY counts the rows that it was sent, not
/// the lines of a file, and names a staging table.
fn place(context: &str) -> String {
    let row = context
        .strip_prefix("COPY ")
        .and_then(|rest| rest.split_once(", line "))
        .map(|(_, rest)| rest);
    match row {
        Some(rest) => {
            format!("row {rest} of those sent; blank lines, rejects and the header are not counted")
        }
        None => context.to_owned(),
    }
}

/// Codes by which a server says that this connection is over.
fn connection_ended(code: &SqlState) -> bool {
    *code == SqlState::ADMIN_SHUTDOWN
        || *code == SqlState::CRASH_SHUTDOWN
        || *code == SqlState::CANNOT_CONNECT_NOW
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
}

/// An error and its causes in one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = error.source();
    }
    text
}
