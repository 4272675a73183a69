//! An error of any destination, for callers that treat all destinations alike.

use std::error::Error as StdError;
use std::fmt;

use inrush_rows::exit_status::ExitStatus;

use crate::error::PlanError;

/// An error of a destination, in the destination's own words. A caller prints the text and the hint, and ends with the exit status.
#[derive(Debug)]
pub struct DestinationError {
    error: Box<dyn StdError + Send + Sync>,
    hint: Option<String>,
    exit_status: ExitStatus,
    is_lost: bool,
    retry: Retry,
}

/// Another way to load the same rows after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Retry {
    /// No other way can succeed.
    #[default]
    Never,
    /// The destination refused a row: load carefully, so that such rows are found and rejected.
    WithoutRows,
    /// The steps of the flow failed in the destination: load with our own steps, which know the rows that they reject.
    WithOwnSteps,
    /// Another transaction was in the way: load again while no other transaction runs.
    Alone,
}

impl DestinationError {
    /// An error, with a hint how to fix it if there is one. Its exit status is 1, unless the destination sets another.
    pub fn new(
        error: impl StdError + Send + Sync + 'static,
        hint: Option<String>,
    ) -> DestinationError {
        DestinationError {
            error: Box::new(error),
            hint,
            exit_status: ExitStatus::Failed,
            is_lost: false,
            retry: Retry::Never,
        }
    }

    /// This error with another way to load the rows.
    pub fn with_retry(self, retry: Retry) -> DestinationError {
        DestinationError { retry, ..self }
    }

    /// The other way in which the same rows may be loaded after this error.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// This error with its exit status.
    pub fn with_exit_status(self, exit_status: ExitStatus) -> DestinationError {
        DestinationError {
            exit_status,
            ..self
        }
    }

    /// This error with another hint, if the destination knows more than the error.
    pub fn with_hint(self, hint: String) -> DestinationError {
        DestinationError {
            hint: Some(hint),
            ..self
        }
    }

    /// This error, if the connection to the destination was lost.
    pub fn lost(self) -> DestinationError {
        DestinationError {
            is_lost: true,
            ..self
        }
    }

    /// How to fix it; `None` if the text says it already, or if no fix is known.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// The exit status of a command that ends with this error.
    pub fn exit_status(&self) -> ExitStatus {
        self.exit_status
    }

    /// True if the connection to the destination was lost. Committed work is kept, and the same command may resume.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }
}

impl fmt::Display for DestinationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

/// `source` is the source of the error inside, so that its text is not printed twice.
impl StdError for DestinationError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

impl From<inrush_destination::Error> for DestinationError {
    fn from(error: inrush_destination::Error) -> DestinationError {
        let hint = error.hint().map(str::to_owned);
        let exit_status = match &error {
            inrush_destination::Error::Address { .. } => ExitStatus::Usage,
            inrush_destination::Error::Count { .. }
            | inrush_destination::Error::Differs { .. }
            | inrush_destination::Error::Unverified { .. } => ExitStatus::Verification,
            _ => ExitStatus::Failed,
        };
        let retry = match &error {
            inrush_destination::Error::RowsRefused { .. } => Retry::WithoutRows,
            inrush_destination::Error::StepsFailed { .. } => Retry::WithOwnSteps,
            inrush_destination::Error::Blocked { .. } => Retry::Alone,
            _ => Retry::Never,
        };
        let is_lost = matches!(error, inrush_destination::Error::Lost { .. });
        let told = DestinationError::new(error, hint)
            .with_exit_status(exit_status)
            .with_retry(retry);
        if is_lost { told.lost() } else { told }
    }
}

impl From<inrush_destination::Error> for PlanError {
    fn from(error: inrush_destination::Error) -> PlanError {
        match error {
            inrush_destination::Error::Interrupted => PlanError::Interrupted,
            other => PlanError::Destination(other.into()),
        }
    }
}
