//! The error of loading rows into the server, in a load or in a trial. Inside this crate the error keeps its type; outside
//! it is an error of the contract.

use inrush_plan::hints;
use inrush_plan::verify::VerifyError;

use crate::PostgresError;
use crate::contract_errors::rows_refused;
use crate::copy::CopyStop;
use crate::ledger::LedgerError;

/// Rows could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The server refused a statement or could not be reached, or a row could not be encoded.
    #[error(transparent)]
    Server(#[from] PostgresError),
    /// The ledger could not be read or written.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The rows in the server are not those that were sent.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The server's row count differs from the number of rows sent.
    #[error(
        "{what}: the server counts {}, but {sent} were sent; nothing was switched",
        inrush_rows::plural::counted(*counted, "row")
    )]
    Count {
        /// The table.
        what: String,
        /// The server's count.
        counted: u64,
        /// The number of rows sent.
        sent: u64,
    },
    /// The run was stopped by its user, or by the engine, which knows the reason.
    #[error("stopped on request; nothing was switched")]
    Interrupted,
}

impl From<CopyStop> for LoadError {
    fn from(stop: CopyStop) -> LoadError {
        match stop {
            CopyStop::Asked => LoadError::Interrupted,
            CopyStop::Failed(error) => LoadError::Server(error),
        }
    }
}

impl LoadError {
    /// How to fix it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            LoadError::Server(error) => error.hint(),
            LoadError::Ledger(error) => error.hint(),
            LoadError::Verify(error) => Some(error.hint()),
            LoadError::Count { .. } => Some(hints::COUNT.to_owned()),
            LoadError::Interrupted => Some(hints::INTERRUPTED.to_owned()),
        }
    }

    /// Converts this error to an error of the contract, about the target with this index.
    pub fn of_target(self, target: usize) -> inrush_destination::Error {
        match self {
            LoadError::Server(error) | LoadError::Ledger(LedgerError::Destination(error)) => {
                refused(error, target)
            }
            other => other.into(),
        }
    }
}

/// Converts an error that is not about a row to an error of the contract.
impl From<LoadError> for inrush_destination::Error {
    fn from(error: LoadError) -> inrush_destination::Error {
        match error {
            LoadError::Server(error) => error.into(),
            LoadError::Ledger(error) => error.into(),
            LoadError::Verify(error) => unverified(error),
            LoadError::Count {
                what,
                counted,
                sent,
            } => inrush_destination::Error::Count {
                what,
                counted,
                sent,
            },
            LoadError::Interrupted => inrush_destination::Error::Interrupted,
        }
    }
}

/// Converts an error of the server. If the server refused a row, the result says so.
fn refused(error: PostgresError, target: usize) -> inrush_destination::Error {
    match error.row_refusal().is_some() {
        true => rows_refused(&error, target),
        false => error.into(),
    }
}

/// The error for loaded rows that differ from the sent rows, or that could not be compared with them.
fn unverified(error: VerifyError) -> inrush_destination::Error {
    let (what, hint) = (error.to_string(), error.hint());
    match error {
        VerifyError::Sums { table, differences } => inrush_destination::Error::Differs {
            table,
            rows: differences,
            columns: None,
        },
        VerifyError::Rows {
            table,
            rows,
            columns,
        } => inrush_destination::Error::Differs {
            table,
            rows,
            columns: Some(columns),
        },
        VerifyError::TargetReplaced { .. } => inrush_destination::Error::Unsuitable { what, hint },
        _ => inrush_destination::Error::Unverified { what, hint },
    }
}
