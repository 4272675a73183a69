//! Handles a resumed run whose folder lacks some rejects of earlier attempts.

use inrush_rows::plural::counted;
use tokio::runtime::Runtime;

use super::plan::RunPlan;
use super::prepared::{DriverRun, places};
use super::steps::LoadSteps;
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::{RunOptions, reject_files};

/// Removes ledger records whose rejects are lost, so that their rows are loaded and rejected again. Notes tell the
/// user.
pub fn forget<S: LoadSteps>(
    steps: &S,
    runtime: &Runtime,
    run: &mut S::Run,
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let folder = run.folder.rejects();
    let mut lost = Vec::new();
    let mut notes = Vec::new();
    for (unit, _) in places(run.plan.flows()) {
        for record in run.kept_records(unit) {
            if record.rows_rejected == 0 {
                continue;
            }
            let found = reject_files::count(folder, &record.reject_files)?;
            if found >= record.rows_rejected {
                continue;
            }
            let missing = record.rows_rejected - found;
            let told = steps.lost_words(run, &record);
            notes.push(format!(
                "{} that run {} had rejected before it stopped {} not in {} (the folder was removed, or the command \
                 runs in another folder): {}",
                counted(missing, "row"),
                run.name,
                if missing == 1 { "is" } else { "are" },
                folder.path().display(),
                told.words
            ));
            if told.is_forgotten {
                lost.push(record);
            }
        }
    }
    for note in notes {
        options.observer.notice(&Event::Note { text: note.clone() });
        run.plan.add_note(note);
    }
    match lost.is_empty() {
        true => Ok(()),
        false => steps.forget(runtime, run, lost),
    }
}
