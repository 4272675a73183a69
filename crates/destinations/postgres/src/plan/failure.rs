//! The error of planning, typed inside this crate.

use inrush_package::PackageError;
use inrush_plan::{PlanError, PlanRefusal};
use inrush_source::SourceError;

use crate::PostgresError;
use crate::contract_errors::NO_HINT;
use crate::ledger::LedgerError;
use crate::load_error::LoadError;

/// A plan could not be made.
#[derive(Debug, thiserror::Error)]
pub enum PlanFailure {
    /// The server refused, or could not be reached; also while the ledger was read.
    #[error(transparent)]
    Server(#[from] PostgresError),
    /// Another process holds the ledger, or the ledger has an unknown version.
    #[error(transparent)]
    Ledger(LedgerError),
    /// An error of the contract, from a call of the ledger or from the entry of the run.
    #[error(transparent)]
    Asked(#[from] inrush_destination::Error),
    /// The package, its files or its targets are refused.
    #[error(transparent)]
    Refused(#[from] PlanError),
}

impl From<LedgerError> for PlanFailure {
    fn from(error: LedgerError) -> PlanFailure {
        match error {
            LedgerError::Destination(error) => PlanFailure::Server(error),
            other => PlanFailure::Ledger(other),
        }
    }
}

impl PlanFailure {
    /// True if the cause is a lock of another session.
    pub fn is_blocked(&self) -> bool {
        match self {
            PlanFailure::Server(error) => error.is_blocked(),
            PlanFailure::Asked(error) => matches!(error, inrush_destination::Error::Blocked { .. }),
            PlanFailure::Ledger(_) | PlanFailure::Refused(_) => false,
        }
    }
}

impl From<PackageError> for PlanFailure {
    fn from(error: PackageError) -> PlanFailure {
        PlanFailure::Refused(error.into())
    }
}

/// Outside this crate the error's type is erased.
impl From<PlanFailure> for PlanError {
    fn from(failure: PlanFailure) -> PlanError {
        match failure {
            PlanFailure::Server(error) => PlanError::Destination(error.into()),
            PlanFailure::Ledger(error) => PlanError::Destination(error.into()),
            PlanFailure::Asked(error) => error.into(),
            PlanFailure::Refused(error) => error,
        }
    }
}

/// Converts the error of a question to the ledger, which must be an error of the contract.
impl From<PlanFailure> for inrush_destination::Error {
    fn from(failure: PlanFailure) -> inrush_destination::Error {
        match failure {
            PlanFailure::Server(error) => error.into(),
            PlanFailure::Ledger(error) => error.into(),
            PlanFailure::Asked(error) => error,
            PlanFailure::Refused(error) => inrush_destination::Error::Unsuitable {
                hint: error.hint().unwrap_or_else(|| NO_HINT.to_owned()),
                what: error.to_string(),
            },
        }
    }
}

/// An error of loading rows, or of looking at them, while the run is entered.
impl From<LoadError> for PlanFailure {
    fn from(error: LoadError) -> PlanFailure {
        PlanFailure::Asked(error.into())
    }
}

impl From<SourceError> for PlanFailure {
    fn from(error: SourceError) -> PlanFailure {
        PlanFailure::Refused(error.into())
    }
}

impl PlanRefusal for PlanFailure {
    fn ends_planning(&self) -> bool {
        match self {
            PlanFailure::Server(error) => error.is_lost(),
            PlanFailure::Ledger(_) => false,
            PlanFailure::Asked(error) => matches!(
                error,
                inrush_destination::Error::Lost { .. } | inrush_destination::Error::Interrupted
            ),
            PlanFailure::Refused(error) => error.ends_planning(),
        }
    }
}
