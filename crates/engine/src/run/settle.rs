//! Finds out whether a publish took place, if the connection to the destination was lost before its answer came.

use std::time::Duration;

use inrush_destination::{OpenRun, Result};
use inrush_plan::destination_error::DestinationError;
use inrush_rows::cancel::StopReason;

use super::context::RunContext;
use crate::error::Error;

/// The number of attempts: a server that restarts after a crash gets half a minute.
const TRIES: u32 = 30;
const PAUSE: Duration = Duration::from_secs(1);

/// Asks the ledger until it answers: the server may not be up yet, may go away again, or something may block the run's record.
/// After half a minute, or if the run is interrupted before, returns the last error. Errors before that are not reported.
pub fn settle(context: &RunContext<'_>) -> Result<bool> {
    let open: &dyn OpenRun = &*context.run.open;
    let mut tries = 1;
    loop {
        let asked = open.is_switched();
        let is_over = tries == TRIES || context.stop.asked() == Some(StopReason::Interrupted);
        if asked.is_ok() || is_over {
            return asked;
        }
        tries += 1;
        let pausing = async { tokio::time::sleep(PAUSE).await };
        context.runtime.block_on(pausing);
    }
}

/// The destination failed while it published, and its ledger could not be read afterwards: the rows may be committed or
/// not.
#[derive(Debug, thiserror::Error)]
#[error("{error}; it is not known yet whether the rows are in their targets: {asking}")]
struct UnknownSwitch {
    error: String,
    asking: String,
}

/// The error of a run that failed with `error` while it published, and whose ledger could then not be read (`asking`).
pub fn unknown_switch(
    error: &inrush_destination::Error,
    asking: &inrush_destination::Error,
) -> Error {
    let unknown = UnknownSwitch {
        error: error.to_string(),
        asking: asking.to_string(),
    };
    let hint = "run the same command again when the destination can be read: its ledger says whether \
                the rows are in their targets, and no row is loaded twice";
    Error::Destination(DestinationError::new(unknown, Some(hint.to_owned())))
}
