//! The end of a failed load without staging. Its only transaction has the rows of all flows.

use inrush_plan::destination_error::Retry;
use inrush_plan::hints::NOTHING_KEPT;

use super::context::RunContext;
use crate::error::Error;

/// Rolls the transaction back. Of a failed run, only the records of the ledger are committed. Returns the error that ended the
/// run. The hints for a lost connection and for a lock that was not granted say that loaded units are kept. For such a load
/// that is wrong, so these hints are replaced.
pub fn undo(context: &RunContext<'_>, error: Error) -> Error {
    let flows = &context.run.plan.flows;
    if !flows.iter().any(|flow| flow.commits_at_publish()) {
        return error;
    }
    context.run.open.roll_back();
    match error {
        Error::Destination(error) if error.is_lost() || error.retry() == Retry::Alone => {
            Error::Destination(error.with_hint(NOTHING_KEPT.to_owned()))
        }
        other => other,
    }
}
