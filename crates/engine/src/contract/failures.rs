//! What the errors of the contract are to those who do not know it, and how this engine knows them again.

use inrush_destination::Error as DestinationError;

use crate::driver_error::DriverError;
use crate::error::Error;
use crate::plan::PlanError;

impl From<DestinationError> for DriverError {
    fn from(error: DestinationError) -> DriverError {
        let hint = error.hint().map(str::to_owned);
        let exit_status = match &error {
            DestinationError::Address { .. } => 2,
            _ => 1,
        };
        DriverError::new(error, hint).with_exit_status(exit_status)
    }
}

/// Being stopped is no failure of the destination, and what it counts is held against what was sent wherever rows go.
impl From<DestinationError> for Error {
    fn from(error: DestinationError) -> Error {
        match error {
            DestinationError::Interrupted => Error::Interrupted,
            DestinationError::Count {
                what,
                counted,
                sent,
            } => Error::Verification {
                what,
                counted,
                sent,
            },
            other => Error::Driver(other.into()),
        }
    }
}

impl From<DestinationError> for PlanError {
    fn from(error: DestinationError) -> PlanError {
        PlanError::Driver(error.into())
    }
}

/// The destination failed while it published, and does not say either whether that was committed.
#[derive(Debug, thiserror::Error)]
#[error("{error}; it is not known yet whether the rows are in their targets: {asking}")]
struct UnknownSwitch {
    error: String,
    asking: String,
}

/// The error of a run that failed with `error` while it published, where the ledger could not be read after that.
pub fn unknown_switch(error: &DestinationError, asking: &DestinationError) -> Error {
    let unknown = UnknownSwitch {
        error: error.to_string(),
        asking: asking.to_string(),
    };
    let hint = "run the same command again when the destination can be read: its ledger knows, and no rows \
                are loaded twice";
    Error::Driver(DriverError::new(unknown, Some(hint.to_owned())))
}

/// Whether there is no such place to load into.
pub fn is_of_address(error: &Error) -> bool {
    match error {
        Error::Driver(error) => {
            matches!(error.own(), Some(DestinationError::Address { .. }))
        }
        _ => false,
    }
}
