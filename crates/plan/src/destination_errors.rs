//! Converts errors of the contract into those of a plan.

use inrush_rows::exit_status::ExitStatus;

use crate::driver_error::{DriverError, Retry};
use crate::error::PlanError;

impl From<inrush_destination::Error> for DriverError {
    fn from(error: inrush_destination::Error) -> DriverError {
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
        let told = DriverError::new(error, hint)
            .with_exit_status(exit_status)
            .with_retry(retry);
        if is_lost { told.lost() } else { told }
    }
}

impl From<inrush_destination::Error> for PlanError {
    fn from(error: inrush_destination::Error) -> PlanError {
        match error {
            inrush_destination::Error::Interrupted => PlanError::Interrupted,
            other => PlanError::Driver(other.into()),
        }
    }
}
