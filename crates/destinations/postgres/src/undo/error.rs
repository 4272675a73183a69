//! Errors of an undo. An undo that fails leaves the targets unchanged.

use std::time::Duration;

use crate::PostgresError;
use crate::ledger::LedgerError;
use inrush_rows::ids::RunName;

/// An error of undoing.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The destination refused.
    #[error(transparent)]
    Destination(#[from] PostgresError),
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The run was not switched any more when its tables were locked.
    #[error("run {run} is not in its targets any more: another process has undone it meanwhile")]
    NotSwitched {
        /// The run.
        run: RunName,
    },
    /// The work of the run cannot be undone exactly.
    #[error("run {run} cannot be undone: {what}; nothing was changed")]
    Impossible {
        /// The run.
        run: RunName,
        /// The obstacle, in words.
        what: String,
        /// How to fix it, or what to do instead.
        hint: String,
    },
    /// A lock was not granted.
    #[error(
        "undo waited {tries} times for a lock on the target, {} ms each; nothing was changed",
        waited.as_millis()
    )]
    Blocked {
        /// The number of attempts.
        tries: u32,
        /// The wait of each attempt.
        waited: Duration,
    },
}

impl UndoError {
    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            UndoError::Destination(error) => error.hint(),
            UndoError::Ledger(error) => error.hint(),
            UndoError::NotSwitched { .. } => {
                Some("there is nothing left to do: the same command says so".to_owned())
            }
            UndoError::Impossible { hint, .. } => Some(hint.clone()),
            UndoError::Blocked { .. } => Some(
                "find the session that holds it (pg_locks); the same command tries again"
                    .to_owned(),
            ),
        }
    }
}
