//! The error of rows on their way to the server, in a load or in a trial of one; it has its type until the border.

use inrush_source::SourceError;

use crate::PostgresError;
use crate::copy::CopyStop;
use crate::engine::error::Error;

/// Rows could not be sent.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    /// The server refused, or could not be reached; or a row could not be encoded.
    #[error(transparent)]
    Server(#[from] PostgresError),
    /// Any other error: of the files, of the account, or that the user stopped the run.
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

/// The border: from here on its type is not known any more.
impl From<RowsError> for Error {
    fn from(error: RowsError) -> Error {
        match error {
            RowsError::Server(error) => error.into(),
            RowsError::Engine(error) => error,
        }
    }
}
