//! Reads the reports of past runs from their folders.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inrush_plan::earlier::run_folder::REPORT_FILE;
use inrush_system::small_file::SmallFile;
use serde_json::Value;

use super::folder::PAGE_FILE;
use super::types::{REPORT_VERSION, RunReport};

/// The name of a report's file. A report of a hundred thousand files is about 50 MB long.
const FILE: SmallFile = SmallFile {
    what: "a report (JSON)",
    bytes_max: 256 << 20,
    may_be_pipe: false,
};

/// A report that was written by a run.
#[derive(Clone, Debug)]
pub struct KeptReport {
    /// The file.
    pub path: PathBuf,
    /// The JSON of the report, including fields that this version does not know.
    value: Value,
}

/// Why a report cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeptReportError {
    /// There is no run with this name.
    #[error("{} is neither a run folder with a {REPORT_FILE} nor a {REPORT_FILE}", path.display())]
    NoRun {
        /// The path that was searched.
        path: PathBuf,
    },
    /// No run has left a report in this folder.
    #[error("no folder in {} has a {REPORT_FILE}", path.display())]
    NoRuns {
        /// The folder of runs.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not JSON.
    #[error("{}: not JSON: {source}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The parser's error, with its position.
        source: serde_json::Error,
    },
    /// The file is not a report.
    #[error("{}: JSON, but not the report of a run: {reason}", path.display())]
    NotReport {
        /// The file.
        path: PathBuf,
        /// The missing or wrong part.
        reason: String,
    },
    /// A later version of Inrush wrote the file.
    #[error(
        "{}: the report has format version {version}, and this Inrush knows versions up to {REPORT_VERSION}",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its format.
        version: u64,
    },
}

impl KeptReportError {
    /// How to fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            KeptReportError::NoRun { .. } => {
                "give the name of the run, its folder or its report.json; --runs-folder names the \
                 folder of the runs"
            }
            KeptReportError::NoRuns { .. } => {
                "--runs-folder names the folder of the runs; a run that found all files loaded \
                 writes no report, and neither does a run that was killed: the same command \
                 resumes it and writes one"
            }
            KeptReportError::Unreadable { .. } => "the user of the run can read it",
            KeptReportError::NotJson { .. } => {
                "a run writes the whole report: it was changed or cut off later, likely by a copy"
            }
            KeptReportError::NotReport { .. } => "name the report.json of a run",
            KeptReportError::Newer { .. } => {
                "use the version of Inrush that wrote it (inrush_version in the report), or a later version"
            }
        }
    }
}

impl KeptReport {
    /// Finds a run's report: by the run's name in a folder of runs, by the path of its folder, or by the path of the
    /// report; without any of them, the newest one.
    pub fn find(runs_folder: &Path, run: Option<&str>) -> Result<PathBuf, KeptReportError> {
        let Some(run) = run else {
            return newest(runs_folder).ok_or_else(|| KeptReportError::NoRuns {
                path: runs_folder.to_owned(),
            });
        };
        let named = Path::new(run);
        [
            runs_folder.join(run).join(REPORT_FILE),
            named.join(REPORT_FILE),
            named.to_owned(),
        ]
        .into_iter()
        .find(|path| path.is_file())
        .ok_or_else(|| KeptReportError::NoRun {
            path: match named.exists() {
                true => named.to_owned(),
                false => runs_folder.join(run),
            },
        })
    }

    /// Reads a report.
    pub fn read(path: &Path) -> Result<KeptReport, KeptReportError> {
        let path = path.to_owned();
        let text = match FILE.read(&path) {
            Ok(text) => text,
            Err(source) => return Err(KeptReportError::Unreadable { path, source }),
        };
        let value: Value = match serde_json::from_slice(&text) {
            Ok(value) => value,
            Err(source) => return Err(KeptReportError::NotJson { path, source }),
        };
        let no_report = |reason: String| KeptReportError::NotReport {
            path: path.clone(),
            reason,
        };
        let version = value
            .get("report_version")
            .and_then(Value::as_u64)
            .ok_or_else(|| no_report("it has no `report_version`".to_owned()))?;
        if version > u64::from(REPORT_VERSION) {
            return Err(KeptReportError::Newer { path, version });
        }
        if let Err(error) = serde_json::from_value::<RunReport>(value.clone()) {
            return Err(no_report(error.to_string()));
        }
        Ok(KeptReport { path, value })
    }

    /// The HTML page of the report.
    pub fn page(&self) -> String {
        inrush_page::page(&self.value)
    }

    /// The path of its page, which is beside it.
    pub fn page_path(&self) -> PathBuf {
        match self.path.file_name() {
            Some(name) if name == REPORT_FILE => self.path.with_file_name(PAGE_FILE),
            _ => self.path.with_extension("html"),
        }
    }
}

/// Orders the folders of runs by age. Their names begin with the second; within one second the folders' creation times
/// decide.
pub fn age(folder: &Path) -> (String, Option<SystemTime>, PathBuf) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let second = name.split('-').next().unwrap_or_default().to_owned();
    let facts = fs::metadata(folder).ok();
    let made = facts.and_then(|facts| facts.created().or_else(|_| facts.modified()).ok());
    (second, made, folder.to_owned())
}

/// The newest run's report.
fn newest(runs_folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(runs_folder).ok()?;
    let reports = entries.filter_map(|entry| Some(entry.ok()?.path().join(REPORT_FILE)));
    reports
        .filter(|path| path.is_file())
        .max_by_key(|path| path.parent().map(age))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    #[test]
    fn a_run_is_found_by_its_name_its_folder_and_its_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path().join("runs");
        let old = written(&runs, "20260101T000000Z-a-1/report.json", "{}");
        let new = written(&runs, "20260102T000000Z-a-2/report.json", "{}");
        written(&runs, "20260103T000000Z-a-3/log.jsonl", "");
        let find = |run: Option<&str>| KeptReport::find(&runs, run).ok();
        assert_eq!(find(None), Some(new));
        assert_eq!(find(Some("20260101T000000Z-a-1")), Some(old.clone()));
        for path in [old.parent().expect("its folder"), &old] {
            assert_eq!(find(path.to_str()), Some(old.clone()));
        }
        for (run, part) in [
            (Some("20260103T000000Z-a-3"), "a-3 is neither a run folder"),
            (runs.to_str(), "runs is neither a run folder"),
        ] {
            let error = KeptReport::find(&runs, run).expect_err("it is none");
            assert!(error.to_string().contains(part), "{error}");
        }
        let none = KeptReport::find(&folder.path().join("none"), None).expect_err("no folder");
        assert!(none.to_string().contains("no folder in"), "{none}");
        // A killed run has a folder that contains only its log.
        let killed = folder.path().join("killed");
        written(&killed, "20260103T000000Z-a-3/log.jsonl", "");
        let none = KeptReport::find(&killed, None).expect_err("no report");
        assert!(none.to_string().contains("no folder in"), "{none}");
        assert!(none.hint().contains("killed"), "{}", none.hint());
    }

    /// Creates a run's folder until its time is later than that of another one, because file systems have a coarse clock.
    fn made_after(runs: &Path, name: &str, other: &Path) -> PathBuf {
        let other = fs::metadata(other).expect("it is there");
        let made = |facts: &fs::Metadata| facts.created().or_else(|_| facts.modified()).ok();
        loop {
            let report = written(runs, &format!("{name}/{REPORT_FILE}"), "{}");
            let folder = report.parent().expect("its folder").to_owned();
            if made(&fs::metadata(&folder).expect("just made")) > made(&other) {
                return folder;
            }
            fs::remove_dir_all(&folder).expect("just made");
        }
    }

    #[test]
    fn of_runs_of_one_second_the_last_one_made_is_the_newest() {
        let folder = tempfile::tempdir().expect("a folder");
        let runs = folder.path();
        let zebra = "20260101T000000Z-zebra-9/report.json";
        let first = written(runs, zebra, "{}");
        let first = first.parent().expect("its folder").to_owned();
        // If names decided, these two would be older than the first, and the last one would be newer.
        let second = made_after(runs, "20260101T000000Z-ant-1", &first);
        let third = made_after(runs, "20260101T000000Z-mouse-1", &second);
        assert_eq!(
            KeptReport::find(runs, None).ok(),
            Some(third.join(REPORT_FILE))
        );
        let mut all = [third.clone(), first.clone(), second.clone()];
        all.sort_by_key(|folder| age(folder));
        assert_eq!(all, [first, second, third]);
        // The second in the name takes precedence over the folder's creation time.
        written(runs, "20251231T235959Z-zebra-9/report.json", "{}");
        let found = KeptReport::find(runs, None).expect("a run");
        assert!(found.to_string_lossy().contains("mouse"), "{found:?}");
    }

    #[test]
    fn what_is_no_report_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for (text, part) in [
            ("", "not JSON: EOF"),
            ("{\"report_version\": 1,", "not JSON: EOF"),
            ("[]", "it has no `report_version`"),
            ("{\"run\": \"x\"}", "it has no `report_version`"),
            ("{\"report_version\": 1}", "missing field"),
            ("{\"report_version\": 99}", "format version 99"),
        ] {
            let path = written(folder.path(), "report.json", text);
            let error = KeptReport::read(&path).expect_err(text);
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
