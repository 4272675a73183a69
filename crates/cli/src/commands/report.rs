//! `inrush report`.

use std::path::Path;

use inrush::ExitStatus;
use inrush::printable::line;
use inrush::report::{KeptReport, KeptReportError, write_whole};

use crate::arguments::ReportArguments;
use crate::errors::CommandError;
use crate::output;

/// Makes the page of a run's report.
pub fn report(arguments: &ReportArguments) -> Result<ExitStatus, CommandError> {
    let path = KeptReport::find(&arguments.runs_folder, arguments.run.as_deref())?;
    let kept = KeptReport::read(&path)?;
    let page = kept.page();
    let target = match &arguments.output {
        Some(file) if file == Path::new("-") => {
            output::document(&page);
            return Ok(ExitStatus::Clean);
        }
        Some(file) => file.clone(),
        None => kept.page_path(),
    };
    refuse_the_report(&path, &target)?;
    write_whole(&target, &[page.as_bytes()]).map_err(|source| CommandError::File {
        doing: "cannot write",
        path: target.clone(),
        source,
    })?;
    output::say(&line(&target.to_string_lossy()));
    Ok(ExitStatus::Clean)
}

/// Refuses to overwrite the report: for a report called `x.html`, the page would have the same name.
fn refuse_the_report(path: &Path, target: &Path) -> Result<(), CommandError> {
    let is_the_report = match (path.canonicalize(), target.canonicalize()) {
        (Ok(report), Ok(target)) => report == target,
        // A path that does not exist yet cannot be a report.
        _ => false,
    };
    match is_the_report {
        true => Err(CommandError::Usage {
            what: format!(
                "the page would overwrite its own report, {}",
                path.display()
            ),
            hint: "name another file with --output, such as report.html beside it".to_owned(),
        }),
        false => Ok(()),
    }
}

impl From<KeptReportError> for CommandError {
    fn from(error: KeptReportError) -> CommandError {
        CommandError::Usage {
            what: error.to_string(),
            hint: error.hint().to_owned(),
        }
    }
}
