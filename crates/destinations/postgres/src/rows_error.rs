//! The error of sending rows to the server, in a load or in a trial; typed inside this crate.

use inrush_engine::error::Error;
use inrush_source::SourceError;

use crate::PostgresError;
use crate::copy::CopyStop;

/// Rows could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The server refused or could not be reached, or a row could not be encoded.
    #[error(transparent)]
    Server(#[from] PostgresError),
    /// Any other error: about the files, about the account, or that the user stopped the run.
    #[error(transparent)]
    Engine(#[from] Error),
}

impl From<CopyStop> for RowsError {
    fn from(stop: CopyStop) -> RowsError {
        match stop {
            CopyStop::Asked => RowsError::Engine(Error::Interrupted),
            CopyStop::Failed(error) => RowsError::Server(error),
        }
    }
}

impl From<SourceError> for RowsError {
    fn from(error: SourceError) -> RowsError {
        RowsError::Engine(error.into())
    }
}

/// Outside this crate the error's type is erased.
impl From<RowsError> for Error {
    fn from(error: RowsError) -> Error {
        match error {
            RowsError::Server(error) => error.into(),
            RowsError::Engine(error) => error,
        }
    }
}
