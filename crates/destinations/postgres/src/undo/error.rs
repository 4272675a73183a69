//! Errors of an undo. The targets are as they were.

use crate::PostgresError;
use crate::ledger::LedgerError;

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
    #[error("the ledger in schema {schema} knows no run {run}")]
    Unknown {
        /// The name that was given.
        run: String,
        /// The ledger's schema.
        schema: String,
    },
    /// The run switched nothing in.
    #[error("run {run} has switched nothing in (its state is `{state}`): there is nothing to undo")]
    NotSwitched {
        /// The run.
        run: String,
        /// Its state.
        state: &'static str,
    },
    /// What the run did cannot be taken back exactly.
    #[error("run {run} cannot be undone: {what}; nothing was changed")]
    Impossible {
        /// The run.
        run: String,
        /// What stands in the way.
        what: String,
        /// How to fix it, or what to do instead.
        hint: String,
    },
    /// A lock could not be had.
    #[error(
        "{tries} times a lock of the target was waited for, {waited_ms} ms each; nothing was \
         changed"
    )]
    Blocked {
        /// How often it was tried.
        tries: u32,
        /// How long each try waited.
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
                "runs are named in what `inrush run` prints at its end, and as their folders in \
                 runs/"
                    .to_owned(),
            ),
            UndoError::NotSwitched {
                state: "loading", ..
            } => Some("`inrush cleanup` removes what a stopped run left".to_owned()),
            UndoError::NotSwitched { .. } => None,
            UndoError::Impossible { hint, .. } => Some(hint.clone()),
            UndoError::Blocked { .. } => {
                Some("see who holds it (pg_locks); the same command tries again".to_owned())
            }
        }
    }
}
