//! Converts PostgreSQL's errors to [`DestinationError`].

use inrush_pgclient::ClientError;
use inrush_plan::destination_error::{DestinationError, Retry};
use inrush_rows::exit_status::ExitStatus;

use super::PostgresError;
use super::ledger::LedgerError;

impl From<PostgresError> for DestinationError {
    fn from(error: PostgresError) -> DestinationError {
        let hint = error.hint();
        let exit_status = match &error {
            PostgresError::Client(ClientError::Address { .. }) => ExitStatus::Usage,
            _ => ExitStatus::Failed,
        };
        let is_lost = error.is_lost();
        let retry = match error.row_refusal() {
            Some(_) => Retry::WithoutRows,
            None if error.is_blocked() => Retry::Alone,
            None => Retry::Never,
        };
        let told = DestinationError::new(error, hint)
            .with_exit_status(exit_status)
            .with_retry(retry);
        if is_lost { told.lost() } else { told }
    }
}

/// Keeps an error of the server as such, because its type tells whether the connection is lost and whether a retry may
/// succeed.
impl From<LedgerError> for DestinationError {
    fn from(error: LedgerError) -> DestinationError {
        if let LedgerError::Destination(error) = error {
            return error.into();
        }
        let hint = error.hint();
        DestinationError::new(error, hint)
    }
}
