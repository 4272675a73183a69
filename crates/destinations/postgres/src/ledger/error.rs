//! Errors of the ledger.

use super::schema::{OLDEST_VERSION, VERSION};
use crate::PostgresError;
use inrush_rows::ids::RunName;

/// An error of the ledger.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The destination refused.
    #[error(transparent)]
    Destination(#[from] PostgresError),
    /// Another run of the same package is in progress.
    #[error(
        "{} in progress, held by {holder} since {since}",
        run.as_ref().map_or_else(
            || "this package is".to_owned(),
            |run| format!("run {run} of this package is")
        )
    )]
    Busy {
        /// Its name; `None` if it has none yet.
        run: Option<RunName>,
        /// Process, host and session that hold it.
        holder: String,
        /// When it was started or taken over.
        since: String,
    },
    /// Another process took this run over.
    #[error(
        "run {run} was taken over by another process: this process stops and commits nothing more"
    )]
    TakenOver {
        /// Its name.
        run: RunName,
    },
    /// The ledger was made by a version of Inrush that this version does not know.
    #[error(
        "the ledger in schema {schema} has version {found}; this Inrush knows versions {OLDEST_VERSION} and {VERSION}"
    )]
    Version {
        /// Its schema.
        schema: String,
        /// The version that is stored in it.
        found: i32,
    },
}

impl LedgerError {
    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            LedgerError::Destination(error) => error.hint(),
            LedgerError::Busy { .. } => Some(
                "wait for it, or stop that process; then the same command resumes from the committed units. If the \
                 network was cut, the server may keep the session for about 90 seconds or longer after the process \
                 has ended; pg_terminate_backend with the backend's number ends the session at once"
                    .to_owned(),
            ),
            LedgerError::TakenOver { .. } => {
                Some("`inrush status` shows the process that holds it now".to_owned())
            }
            LedgerError::Version { found, .. } if *found > VERSION => {
                Some("use the newer Inrush".to_owned())
            }
            LedgerError::Version { schema, .. } => Some(format!(
                "finish or clean up its runs with the older Inrush and drop the schema {schema}; \
                 or name another schema with run.ledger_schema"
            )),
        }
    }
}
