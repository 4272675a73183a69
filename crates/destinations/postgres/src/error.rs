//! Errors of a connection: refusals by the server, losses, and wrong addresses.

use tokio_postgres::error::SqlState;

use super::refusal::RefusalFacts;

/// An error of the destination, or of the way to it.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The URL is not one.
    #[error("the connection URL {url} cannot be used: {reason}")]
    Address {
        /// The URL without its password.
        url: String,
        /// What is wrong with it.
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
        /// What the server or the system said.
        #[source]
        source: Option<tokio_postgres::Error>,
    },
    /// The server refused a statement.
    #[error("{doing}: the server says: {message}{}", context.as_ref().map(|c| format!(" ({c})")).unwrap_or_default())]
    Refused {
        /// What was being done.
        doing: String,
        /// SQLSTATE.
        code: SqlState,
        /// The server's message with its detail.
        message: String,
        /// The server's context, such as the line of a COPY.
        context: Option<String>,
        /// The server's own hint.
        hint: Option<String>,
        /// All of it, field by field.
        facts: Box<RefusalFacts>,
    },
    /// The connection went away.
    #[error("{doing}: the connection to the server was lost ({reason})")]
    Lost {
        /// What was being done.
        doing: String,
        /// What the system said.
        reason: String,
    },
    /// The server is of a kind that Inrush cannot load into.
    #[error("{what}")]
    Unsuitable {
        /// What it is.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// A batch cannot be encoded for its table.
    #[error("a batch does not fit its table: {0}")]
    Encode(#[from] inrush_pgcopy::EncodeError),
}

impl PostgresError {
    /// Sorts an error of the driver: the server's refusals apart from a lost connection.
    pub fn from_driver(error: tokio_postgres::Error, doing: impl Into<String>) -> PostgresError {
        let doing = doing.into();
        match error.as_db_error() {
            Some(refusal) if connection_ended(refusal.code()) => PostgresError::Lost {
                doing,
                reason: refusal.message().to_owned(),
            },
            Some(refusal) => PostgresError::Refused {
                doing,
                code: refusal.code().clone(),
                message: match refusal.detail() {
                    Some(detail) => format!("{}; {detail}", refusal.message()),
                    None => refusal.message().to_owned(),
                },
                context: refusal.where_().map(place),
                hint: refusal.hint().map(str::to_owned),
                facts: Box::new(RefusalFacts::from(refusal)),
            },
            None => PostgresError::Lost {
                doing,
                reason: chain(&error),
            },
        }
    }

    /// The SQLSTATE, where the server refused.
    pub fn code(&self) -> Option<&SqlState> {
        match self {
            PostgresError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether somebody else's lock was in the way: later it may be gone.
    pub fn is_blocked(&self) -> bool {
        let blocked = [
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ];
        self.code().is_some_and(|code| blocked.contains(code))
    }

    /// What the server said of a row that it refused, where a row is at fault.
    pub fn row_refusal(&self) -> Option<&RefusalFacts> {
        match self {
            PostgresError::Refused { facts, .. } if facts.is_of_a_row() => Some(facts),
            _ => None,
        }
    }

    /// How to fix it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            PostgresError::Address { .. } | PostgresError::Encode(_) => None,
            PostgresError::Connect { hint, .. } | PostgresError::Unsuitable { hint, .. } => {
                Some(hint.clone())
            }
            PostgresError::Lost { .. } => Some(
                "once the server answers again, the same command resumes from the committed units, \
                 if there are any"
                    .to_owned(),
            ),
            // A partition's own bounds are no constraint with a name.
            PostgresError::Refused { code, facts, .. }
                if *code == SqlState::CHECK_VIOLATION && facts.constraint.is_none() =>
            {
                Some(
                    "a row has no partition, or the default partition has rows that belong to a \
                     new one: create the partition, or move those rows out of the default \
                     partition"
                        .to_owned(),
                )
            }
            PostgresError::Refused { code, hint, .. } => {
                mend(code).map(str::to_owned).or_else(|| hint.clone())
            }
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
            format!(
                "row {rest} of the rows sent; blank lines, rejects and the header are not counted"
            )
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

fn mend(code: &SqlState) -> Option<&'static str> {
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        Some("`inrush check` lists the privileges that the plan needs and those that the role has")
    } else if *code == SqlState::DISK_FULL {
        Some("free space in the server's tablespace; then the same command resumes")
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        Some("lower `streams`, or raise the server's max_connections")
    } else if *code == SqlState::UNDEFINED_OBJECT {
        Some("name a type that the database knows, such as bigint, numeric(12,2), date or text")
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        Some(
            "another session held a lock for longer than run.lock_timeout_ms; the same command \
             tries again, and keeps the loaded units",
        )
    } else if *code == SqlState::CHECK_VIOLATION
        || *code == SqlState::UNIQUE_VIOLATION
        || *code == SqlState::NOT_NULL_VIOLATION
        || *code == SqlState::EXCLUSION_VIOLATION
    {
        Some("the row breaks a constraint of the target: fix the file or the constraint")
    } else {
        None
    }
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
