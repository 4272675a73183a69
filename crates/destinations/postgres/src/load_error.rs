//! The error of loading rows into the server, in a load or in a trial. Inside this crate it keeps its type; the traits of the
//! engine erase it.

use inrush_engine::error::Error;
use inrush_engine::verify::VerifyError;
use inrush_source::SourceError;

use crate::PostgresError;
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
