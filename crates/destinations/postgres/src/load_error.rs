//! The error of loading rows into the server, in a load or in a trial. Inside this crate the error keeps its type; the traits
//! of the engine erase the type.

use inrush_engine::error::Error;
use inrush_plan::verify::VerifyError;
use inrush_source::SourceError;

use crate::PostgresError;
use crate::contract_errors::{NO_HINT, rows_refused};
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
    /// Any other error: about the files, about the account, or that the user stopped the run.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<CopyStop> for LoadError {
    fn from(stop: CopyStop) -> LoadError {
        match stop {
            CopyStop::Asked => LoadError::Engine(Error::Interrupted),
            CopyStop::Failed(error) => LoadError::Server(error),
        }
    }
}

impl From<SourceError> for LoadError {
    fn from(error: SourceError) -> LoadError {
        LoadError::Engine(error.into())
    }
}

impl LoadError {
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
            LoadError::Verify(error) | LoadError::Engine(Error::Verify(error)) => unverified(error),
            LoadError::Engine(Error::Interrupted) => inrush_destination::Error::Interrupted,
            LoadError::Engine(Error::Verification {
                what,
                counted,
                sent,
            }) => inrush_destination::Error::Count {
                what,
                counted,
                sent,
            },
            LoadError::Engine(error) => inrush_destination::Error::Unsuitable {
                hint: error.hint().unwrap_or_else(|| NO_HINT.to_owned()),
                what: error.to_string(),
            },
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

/// Outside this crate the error's type is erased.
impl From<LoadError> for Error {
    fn from(error: LoadError) -> Error {
        match error {
            LoadError::Server(error) => error.into(),
            LoadError::Ledger(error) => error.into(),
            LoadError::Verify(error) => error.into(),
            LoadError::Engine(error) => error,
        }
    }
}
