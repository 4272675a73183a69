//! Converts errors of this crate to the engine's, where preparing a run, entering it and preflights still return these.

use inrush_engine::error::Error;

use super::PostgresError;
use super::ledger::LedgerError;
use super::load_error::LoadError;

/// Converts errors of this crate into those of a run.
macro_rules! told_as_errors_of_a_run {
    ($($own:ident),*) => {$(
        impl From<$own> for Error {
            fn from(error: $own) -> Error {
                Error::Driver(error.into())
            }
        }
    )*};
}

told_as_errors_of_a_run!(PostgresError, LedgerError);

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Error {
        match error {
            LoadError::Server(error) => error.into(),
            LoadError::Ledger(error) => error.into(),
            LoadError::Verify(error) => error.into(),
            LoadError::Count {
                what,
                counted,
                sent,
            } => Error::Verification {
                what,
                counted,
                sent,
            },
            LoadError::Interrupted => Error::Interrupted,
        }
    }
}

/// Measuring the network can fail because the engine cannot start a thread.
impl From<Error> for LoadError {
    fn from(error: Error) -> LoadError {
        match error {
            Error::Threads { source } => LoadError::Server(PostgresError::Threads(source)),
            other => LoadError::Server(PostgresError::Unsuitable {
                hint: other.hint().unwrap_or_default(),
                what: other.to_string(),
            }),
        }
    }
}
