//! The folder of a measurement: created at its beginning, locked while the command runs, written after each run, and
//! found again by a command that resumes the measurement.

use std::fs::File;
use std::path::{Path, PathBuf};

use inrush_system::lock_file::{LockAttempt, try_take};
use inrush_system::small_file::SmallFile;

use super::results::{RESULTS_VERSION, Results};
use super::summary;
use crate::error::WorkloadError;
use crate::whole_file::write_whole;

const RESULTS_FILE: &str = "results.json";
const LOCK_FILE: &str = "lock";

const FILE: SmallFile = SmallFile {
    what: "a file of results (JSON)",
    bytes_max: 256 << 20,
    may_be_pipe: false,
};

/// A folder that no other process writes to.
pub struct ResultsFolder {
    path: PathBuf,
    /// Releases the lock when it is dropped.
    _lock: File,
}

impl ResultsFolder {
    /// Makes a folder of this name.
    pub fn make(parent: &Path, name: &str) -> Result<ResultsFolder, WorkloadError> {
        let mut path = parent.join(name);
        // Another measurement may have begun in the same second.
        for number in 2..100 {
            if !path.exists() {
                break;
            }
            path = parent.join(format!("{name}-{number}"));
        }
        let failed = |source| WorkloadError::File {
            doing: "cannot write results into",
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(&path).map_err(failed)?;
        match try_take(&path.join(LOCK_FILE), &holder()).map_err(failed)? {
            LockAttempt::Ours(lock) => Ok(ResultsFolder { path, _lock: lock }),
            LockAttempt::Others(other) => Err(failed(std::io::Error::other(format!(
                "{other} writes into it"
            )))),
        }
    }

    /// The newest folder with incomplete results of the same command that no living process writes to.
    pub fn find_stopped(parent: &Path, command: &str) -> Option<(ResultsFolder, Results)> {
        let entries = std::fs::read_dir(parent).ok()?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        paths.into_iter().rev().find_map(|path| {
            let text = FILE.read_text(&path.join(RESULTS_FILE)).ok()?;
            let results: Results = serde_json::from_str(&text).ok()?;
            let is_it = !results.complete
                && results.command == command
                && results.results_version == RESULTS_VERSION
                && results.inrush_version == env!("CARGO_PKG_VERSION");
            if !is_it {
                return None;
            }
            match try_take(&path.join(LOCK_FILE), &holder()) {
                Ok(LockAttempt::Ours(lock)) => Some((ResultsFolder { path, _lock: lock }, results)),
                _ => None,
            }
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all forms of the results: JSON for programs, the page, and Markdown.
    pub fn write(&self, results: &Results) -> Result<(), WorkloadError> {
        let failed = |error: serde_json::Error| WorkloadError::File {
            doing: "cannot write",
            path: self.path.clone(),
            source: std::io::Error::other(error),
        };
        let value = serde_json::to_value(results).map_err(failed)?;
        let text = serde_json::to_string_pretty(&value).map_err(failed)?;
        write_whole(&self.path.join("report.html"), &inrush_page::page(&value))?;
        write_whole(&self.path.join("summary.md"), &summary::markdown(results))?;
        // This file is written last: if it exists, the others do too.
        write_whole(&self.path.join(RESULTS_FILE), &format!("{text}\n"))
    }
}

/// The name of this process for a lock.
fn holder() -> String {
    format!("process {}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::results::tests::begun;

    #[test]
    fn a_measurement_that_was_stopped_is_found_again() {
        let parent = tempfile::tempdir().expect("a folder");
        let find = |command: &str| {
            let found = ResultsFolder::find_stopped(parent.path(), command);
            found.map(|(folder, _)| folder.path().to_owned())
        };
        assert_eq!(find("inrush bench calls"), None);
        let folder = ResultsFolder::make(parent.path(), "a").expect("made");
        let second = ResultsFolder::make(parent.path(), "a").expect("made");
        assert_ne!(folder.path(), second.path());
        let mut results = begun("inrush bench calls");
        folder.write(&results).expect("written");
        assert_eq!(find("inrush bench calls"), None, "somebody writes into it");
        let path = folder.path().to_owned();
        drop(folder);
        assert_eq!(find("inrush bench calls"), Some(path.clone()));
        assert_eq!(find("inrush bench calls --clients 2"), None);
        results.complete = true;
        let folder = ResultsFolder {
            _lock: File::open(path.join(LOCK_FILE)).expect("there"),
            path,
        };
        folder.write(&results).expect("written");
        assert_eq!(find("inrush bench calls"), None, "it is complete");
    }
}
