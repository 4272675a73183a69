//! The folder of a run, as far as a plan looks into it.

use std::path::Path;

use inrush_rows::ids::RunName;

/// The report, in a run's folder.
pub const REPORT_FILE: &str = "report.json";

/// True if a run has a folder, but no report in it: its process is still working, or was killed before it wrote one.
pub fn lacks_report(runs_folder: &Path, run: &RunName) -> bool {
    let path = runs_folder.join(run.as_str());
    path.is_dir() && !path.join(REPORT_FILE).exists()
}
