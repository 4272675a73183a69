//! Why a switch did not happen. The targets are as they were.

use crate::destination::postgres::DestinationError;
use crate::ledger::LedgerError;

/// An error of the switch.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The destination refused.
    #[error(transparent)]
    Destination(#[from] DestinationError),
    /// The ledger refused.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// Two partitions would hold the same keys.
    #[error("{target}: the keys of {first} and {second} overlap ({overlap}); nothing was attached")]
    Overlap {
        /// The target.
        target: String,
        /// The files of one, or a partition that exists.
        first: String,
        /// The files of the other.
        second: String,
        /// Both ranges.
        overlap: String,
    },
    /// Somebody else filled the target while the load ran.
    #[error("{target} got rows from somebody else while the load ran; nothing was switched")]
    Filled {
        /// The target.
        target: String,
    },
    /// The server counts other rows in the target than were loaded.
    #[error(
        "{target} holds {} after the copy from staging, and {expected} were expected; nothing was \
         switched",
        crate::plural::counted(*counted, "row")
    )]
    Count {
        /// The target.
        target: String,
        /// Rows that the server copied.
        counted: u64,
        /// Rows that were loaded.
        expected: u64,
    },
    /// The connection was lost around the COMMIT, and the server does not answer.
    #[error("{reason}; whether the switch was committed is not known yet")]
    Unknown {
        /// What was lost.
        reason: String,
    },
    /// A lock could not be had.
    #[error(
        "the switch waited {tries} times for a lock of {waited_ms} ms and gave way each time{}",
        blockers.as_ref().map(|who| format!("; it is held by {who}")).unwrap_or_default()
    )]
    Blocked {
        /// How often it was tried.
        tries: u32,
        /// How long each try waited.
        waited_ms: u32,
        /// Who holds it.
        blockers: Option<String>,
    },
}

impl SwitchError {
    /// How to mend it.
    pub fn hint(&self) -> Option<String> {
        match self {
            SwitchError::Destination(error) => error.hint(),
            SwitchError::Ledger(error) => error.hint(),
            SwitchError::Overlap { .. } => Some(
                "sort and cut the files by the key, or declare `bounds` and let each file lie \
                 within one partition; `inrush cleanup` removes what is staged"
                    .to_owned(),
            ),
            SwitchError::Filled { .. } => {
                Some("see who writes to it; then the same command, or mode = \"append\"".to_owned())
            }
            SwitchError::Count { .. } => Some(
                "a trigger or rule of the target changed the copy: drop it for the load".to_owned(),
            ),
            SwitchError::Unknown { .. } => Some(
                "run the same command again when the server answers: the ledger knows, and what \
                 is switched is not loaded twice"
                    .to_owned(),
            ),
            SwitchError::Blocked { .. } => Some(
                "all units are loaded and kept: the same command tries the switch again, once \
                 the lock is free"
                    .to_owned(),
            ),
        }
    }
}
