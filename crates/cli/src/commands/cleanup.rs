//! `inrush cleanup`.

use inrush::ExitStatus;
use inrush::printable::line;

use super::destination::find;
use super::status::{json, table};
use crate::Surroundings;
use crate::arguments::CleanupArguments;
use crate::errors::CommandError;
use crate::numbers::{bytes, counted};
use crate::{output, signals};

/// Removes what stopped runs left.
pub fn cleanup(
    arguments: &CleanupArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let _guard = signals::end_at_once(None);
    let mut destination = find(&arguments.ledger, surroundings)?;
    destination.which.run = arguments.run.clone();
    let removed = destination.ledger.discard(&destination.which)?;
    let left = destination.ledger.stopped(&destination.which)?;
    if arguments.ledger.json {
        let _ = output::json(&json(&removed));
    } else {
        if removed.is_empty() {
            output::say("nothing to remove\n");
        } else {
            let staging_bytes = removed.iter().map(|run| run.staging_bytes).sum();
            output::say(&table(&removed));
            output::say(&format!(
                "\nremoved what {} left: {}\n",
                counted(removed.len() as u64, "run"),
                bytes(staging_bytes)
            ));
        }
        for run in removed.iter().filter(|run| run.rows_straight > 0) {
            output::say(&line(&format!(
                "rows that run {} wrote directly to its targets stay there: {} (atomic = false)",
                run.run.name,
                counted(run.rows_straight, "row")
            )));
        }
        for run in left.iter().filter(|run| !run.held && run.rows_straight > 0) {
            output::say(&line(&format!(
                "left alone: run {} has written {} directly to its targets (atomic = false), and \
                 clean-up does not remove them; its command loads the rest, `inrush cleanup --run \
                 {}` gives it up and leaves the rows",
                run.run.name,
                counted(run.rows_straight, "row"),
                run.run.name
            )));
        }
        for run in left.iter().filter(|run| run.held) {
            output::say(&line(&format!(
                "left alone: run {} is in progress ({})",
                run.run.name, run.run.holder
            )));
        }
    }
    output::notes(destination.reached.stop_after_commit());
    Ok(ExitStatus::Clean)
}
