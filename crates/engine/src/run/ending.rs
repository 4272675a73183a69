//! The end of a run, for every destination: writes the report, and returns the result.
//!
//! Once the targets have their rows, nothing later changes that: if the report cannot be written, the run has still
//! succeeded, with a note.

use inrush_plan::earlier::run_folder;

use super::gathering::finished;
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::report::{RunFolder, RunReport};

/// Writes the report, sends the last event, and returns the run, with `error` if it failed.
pub fn end(
    event_sink: EventSink<'_>,
    mut report: RunReport,
    error: Option<Error>,
) -> Result<Success, Failure> {
    let path = event_sink.folder.report_path();
    let report_path = match event_sink.folder.write_report(&mut report) {
        Ok(()) => Some(path),
        Err(reason) => {
            let text = lost_report(&reason, error.is_none());
            event_sink.notice(&Event::Note { text: text.clone() });
            // It is the first note, so that it is shown even if there are many.
            report.notes.insert(0, text);
            None
        }
    };
    let shown = report_path.as_ref().map(|path| path.display().to_string());
    event_sink.notice(&finished(&report, shown));
    match error {
        None => Ok(Success {
            report,
            report_path,
        }),
        Some(error) => Err(Failure {
            error,
            report: Some(Box::new((report, report_path))),
        }),
    }
}

/// Writes the report of a loaded run whose process was killed before it could write one. From then on `again` loads its
/// files again ([`PlanOptions::is_repeated`](inrush_plan::PlanOptions::is_repeated)).
pub fn write_missing_report(report: &mut RunReport, options: &RunOptions<'_>) {
    if !run_folder::lacks_report(&options.runs_folder, &report.run) {
        return;
    }
    if options.again {
        report.notes.push(format!(
            "run {} has loaded these files, but its process was killed before it wrote its report. This command loads \
             nothing and writes the report; the next command with --again loads the files again",
            report.run
        ));
    }
    let folder = RunFolder::open(&options.runs_folder, &report.run);
    if let Err(reason) = folder.and_then(|folder| folder.write_report(report)) {
        report.notes.insert(0, lost_report(&reason, true));
    }
}

fn lost_report(reason: &Error, is_loaded: bool) -> String {
    match is_loaded {
        true => format!(
            "the rows are in their targets; only the report is missing: {reason}; the ledger has \
             the run, and the same command reports \"already loaded\""
        ),
        false => format!("the report is missing: {reason}"),
    }
}
