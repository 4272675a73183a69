//! `inrush cleanup`.

use inrush::ExitStatus;
use inrush::ids::RunName;
use inrush::printable::line;
use inrush::upkeep::StoppedRun;

use super::destination::find;
use super::status::{json, table};
use crate::arguments::CleanupArguments;
use crate::errors::CommandError;
use crate::numbers::{bytes, counted};
use crate::{Surroundings, output, signals};

/// Why the rows that a stopped run wrote directly to its targets stay, and how to proceed.
fn left_alone(run: &StoppedRun) -> String {
    let (name, rows) = (&run.run.name, counted(run.rows_straight, "row"));
    let next = match run.is_of_another_version {
        false => format!(
            "run its command again to load the rest, or give the run up with `inrush cleanup --run {name}`: these rows stay"
        ),
        // The plan refuses such a run in the same words.
        true => format!(
            "another version of Inrush loaded them, so the command of this version refuses the run: resume it with the \
             version that began it; or delete these rows and give the run up: inrush cleanup --run {name}"
        ),
    };
    format!(
        "left alone: run {name} wrote {rows} directly to its targets (atomic = false), and `inrush cleanup` does not \
         remove them; {next}"
    )
}

/// Removes what stopped runs left.
pub fn cleanup(
    arguments: &CleanupArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let _guard = signals::end_at_once(None);
    let mut destination = find(&arguments.ledger, surroundings)?;
    destination.which.run = arguments.run.as_deref().map(RunName::new);
    let removed = destination.runs.discard(&destination.which)?;
    let left = destination.runs.stopped(&destination.which)?;
    if let Some(run) = &arguments.run
        && removed.is_empty()
        && left.is_empty()
    {
        return Err(CommandError::Usage {
            what: format!("--run: the ledger has no stopped run `{run}`"),
            hint: "`inrush status` lists the stopped runs; a run that was switched has left nothing to remove"
                .to_owned(),
        });
    }
    if arguments.ledger.json {
        let _ = output::json(&json(&removed));
    } else {
        if removed.is_empty() {
            output::say("nothing to remove\n");
        } else {
            let sizes = removed.iter().map(|run| run.staging_bytes);
            let size = match sizes.sum::<Option<u64>>() {
                Some(size) => format!(": {}", bytes(size)),
                None => String::new(),
            };
            output::say(&table(&removed));
            output::say(&format!(
                "\nremoved what {} left{size}\n",
                counted(removed.len() as u64, "run"),
            ));
        }
        for run in removed.iter().filter(|run| run.rows_straight > 0) {
            output::say(&line(&format!(
                "rows that run {} wrote directly to its targets stay there: {} (atomic = false)",
                run.run.name,
                counted(run.rows_straight, "row")
            )));
        }
        for run in &left {
            output::say(&line(&match run.held {
                Some(true) => format!(
                    "left alone: run {} is in progress ({})",
                    run.run.name, run.run.holder
                ),
                _ if run.rows_straight > 0 => left_alone(run),
                _ => format!(
                    "left alone: run {}: another process has the lock, for this run or for another one; run `inrush \
                     cleanup` again once it is done",
                    run.run.name
                ),
            }));
        }
    }
    output::notes(destination.stop_after_commit());
    Ok(ExitStatus::Clean)
}
