//! Errors of the destination, with the fix for the user of a load.

use std::io;

use inrush_pgclient::{ClientError, RefusalFacts};
use inrush_plan::hints;
use tokio_postgres::error::SqlState;

/// An error of the destination or of its connection.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// The server refused, or could not be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The server is of a kind that Inrush cannot load into.
    #[error("{what}")]
    Unsuitable {
        /// The problem, in words.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// A batch cannot be encoded for its table.
    #[error("a batch does not fit its table: {0}")]
    Encode(#[from] inrush_pgcopy::EncodeError),
    /// A thread that serves connections could not be started.
    #[error("cannot start a thread: {0}; nothing was switched")]
    Threads(#[source] io::Error),
}

impl PostgresError {
    /// The error of the connection, if it is one.
    pub fn client(&self) -> Option<&ClientError> {
        match self {
            PostgresError::Client(error) => Some(error),
            _ => None,
        }
    }

    /// The SQLSTATE, if the server refused.
    pub fn code(&self) -> Option<&SqlState> {
        self.client()?.code()
    }

    /// True if the connection went away.
    pub fn is_lost(&self) -> bool {
        matches!(self, PostgresError::Client(ClientError::Lost { .. }))
    }

    /// True if another session's lock was the cause, so that a later attempt may succeed.
    pub fn is_blocked(&self) -> bool {
        self.client().is_some_and(ClientError::is_blocked)
    }

    /// The server's facts about a row that it refused, if a row is at fault.
    pub fn row_refusal(&self) -> Option<&RefusalFacts> {
        self.client()?.row_refusal()
    }

    /// How to fix it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            PostgresError::Unsuitable { hint, .. } => Some(hint.clone()),
            PostgresError::Encode(_) => None,
            PostgresError::Threads(_) => Some(hints::THREADS.to_owned()),
            PostgresError::Client(ClientError::Lost { .. }) => Some(
                "once the server answers again, the same command resumes from the committed units"
                    .to_owned(),
            ),
            // The bounds of a partition are not a named constraint.
            PostgresError::Client(ClientError::Refused { code, facts, .. })
                if *code == SqlState::CHECK_VIOLATION && facts.constraint.is_none() =>
            {
                Some(
                    "a row has no partition, or the default partition has rows that belong to a \
                     new one: create the partition, or move those rows out of the default \
                     partition"
                        .to_owned(),
                )
            }
            PostgresError::Client(error @ ClientError::Refused { code, .. }) => {
                mend(code).map(str::to_owned).or_else(|| error.hint())
            }
            PostgresError::Client(error) => error.hint(),
        }
    }
}

/// The fix for a refusal with this code, for the user of a load.
fn mend(code: &SqlState) -> Option<&'static str> {
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        Some("`inrush check` lists the privileges that the plan needs and those that the role has")
    } else if *code == SqlState::DISK_FULL {
        Some("free space in the server's tablespace; then the same command resumes")
    } else if *code == SqlState::TOO_MANY_CONNECTIONS {
        Some("lower `streams`, or raise the server's max_connections")
    } else if *code == SqlState::UNDEFINED_OBJECT {
        Some(
            "name a type that the database knows, such as bigint, numeric(12,2), date or text, or make \
             this one there first (CREATE TYPE, CREATE DOMAIN)",
        )
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
        Some("the row breaks a constraint of the target: fix the row or the constraint")
    } else {
        None
    }
}
