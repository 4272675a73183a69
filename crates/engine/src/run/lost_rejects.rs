//! Handles a resumed run whose folder lacks some rejects of earlier attempts.

use inrush_rows::ids::UnitKey;
use inrush_rows::plural::counted;

use super::prepared::{self, KeptRecord, PreparedRun, kept_records, places};
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::{RunOptions, reject_files};

/// Removes ledger records whose rejects are lost, so that their rows are loaded and rejected again. The user gets a note for
/// each of them.
pub fn forget(run: &mut PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let folder = run.folder.rejects();
    let mut lost = Vec::new();
    let mut notes = Vec::new();
    for (unit, _) in places(&run.plan.flows) {
        for record in kept_records(run, unit) {
            let found = reject_files::count(folder, &record.reject_files)?;
            if found >= record.rows_rejected {
                continue;
            }
            let missing = record.rows_rejected - found;
            let told = words(run, &record);
            notes.push(format!(
                "{} that run {} had rejected before it stopped {} not in {} (the folder was removed, or the command \
                 runs in another folder): {}",
                counted(missing, "row"),
                run.name,
                if missing == 1 { "is" } else { "are" },
                folder.path().display(),
                told
            ));
            if !record.is_direct {
                lost.push(record);
            }
        }
    }
    for note in notes {
        options.observer.notice(&Event::Note { text: note.clone() });
        run.notes.push(note);
    }
    let lost: Vec<UnitKey> = lost.into_iter().map(|record| record.key).collect();
    prepared::forget(run, &lost)
}

/// What becomes of the rows of a record whose rejects are lost. Rows that were written directly to a target cannot be loaded
/// again.
fn words(run: &PreparedRun, record: &KeptRecord) -> String {
    let (flow, unit) = record.unit;
    let flow = &run.plan.flows[flow];
    let (unit, target) = (&flow.units[unit], &flow.reading.target);
    if record.is_direct {
        let file = unit.splits.first().map_or_else(
            || "their file".to_owned(),
            |split| split.input.name().display().to_string(),
        );
        return format!(
            "only the former folder has these rows, because the loaded rows of {file} stay in {target} (atomic = false) and \
             are not loaded again"
        );
    }
    let part = match record.key == unit.key {
        true => "",
        false => "a part of ",
    };
    format!(
        "{part}unit {} of {target} is loaded again, so that its rejects are written again",
        unit.number
    )
}
