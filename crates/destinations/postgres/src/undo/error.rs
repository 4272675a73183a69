//! Errors of an undo. The targets are as they were.

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
    /// The ledger does not know the run.
    #[error("the ledger in schema {schema} has no run {run}")]
    Unknown {
        /// The name that was given.
        run: RunName,
        /// The ledger's schema.
        schema: String,
    },
    /// The run was not switched.
    #[error("run {run} has switched nothing in (its state is `{state}`): there is nothing to undo")]
    NotSwitched {
        /// The run.
        run: RunName,
        /// Its state.
        state: &'static str,
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
        "undo waited {tries} times for a lock on the target, {waited_ms} ms each; nothing was \
         changed"
    )]
    Blocked {
        /// The number of attempts.
        tries: u32,
        /// The wait of each attempt, in milliseconds.
        waited_ms: u32,
    },
}

impl UndoError {
    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            UndoError::Destination(error) => error.hint(),
            UndoError::Ledger(error) => error.hint(),
            UndoError::Unknown { .. } => Some(
                "`inrush run` prints the name of the run at its end; its folder in runs/ has the \
                 same name"
                    .to_owned(),
            ),
            UndoError::NotSwitched {
                state: "loading", ..
            } => Some("`inrush cleanup` removes the staging tables of a stopped run".to_owned()),
            UndoError::NotSwitched { .. } => None,
            UndoError::Impossible { hint, .. } => Some(hint.clone()),
            UndoError::Blocked { .. } => Some(
                "find the session that holds it (pg_locks); the same command tries again"
                    .to_owned(),
            ),
        }
    }
}
