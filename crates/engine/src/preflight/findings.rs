//! Findings of a preflight: obstacles, hazards and notes. A preflight reports all of them, not only the first.

use inrush_plan::PlanError;
use inrush_rows::ids::RunName;

use super::result::{Finding, PreflightReport, Weight};
use crate::error::Error;

/// The finding for an error that would stop the run.
pub fn of_error(error: &Error) -> Finding {
    Finding {
        weight: Weight::Stops,
        what: words(error),
        hint: error.hint(),
    }
}

/// The finding for a reason to refuse the plan.
pub fn of_refusal(error: &PlanError) -> Finding {
    Finding {
        weight: Weight::Stops,
        what: words(error),
        hint: error.hint(),
    }
}

/// An error and its causes, in one line.
pub fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

/// The finding that there is nothing to do.
pub fn loaded_already(run: &RunName) -> Finding {
    Finding::tells(format!(
        "run {run} has loaded these rows already: a run would do nothing"
    ))
}

/// Records an error of the input files as a finding, so that the preflight can continue; returns other errors.
pub fn record_input_error(
    report: &mut PreflightReport,
    measured: Result<(), Error>,
) -> Result<(), Error> {
    match measured {
        Err(error @ (Error::Source(_) | Error::Header { .. } | Error::Convert { .. })) => {
            report.findings.push(of_error(&error));
            Ok(())
        }
        other => other,
    }
}
