//! Errors of showing or loading kept rejects.

use std::path::PathBuf;

use inrush_package::PackageError;
use inrush_rows::ids::RunName;

/// An error of showing or replaying rejects.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such run here.
    #[error("there is no run folder at {}", path.display())]
    NoRun {
        /// The folder that was searched.
        path: PathBuf,
    },
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A line of a `.jsonl` does not have the form that Inrush writes.
    #[error("{}:{line}: this line is not a reject: {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The system's error.
        source: std::io::Error,
    },
    /// The package in the folder cannot be used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The package in the folder has no flow for a file.
    #[error("{}: the run's package.toml has no flow `{flow}`", file.display())]
    UnknownFlow {
        /// The file.
        file: PathBuf,
        /// The flow in the file's name.
        flow: String,
    },
    /// The folder has both rows that no output took and rows that only one target lacks.
    #[error("the rows of {} are in no target, but those of {} may be in some targets of their flow; one run cannot load both",
        shared.display(), refused.display())]
    Mixed {
        /// A file of rows that no output got.
        shared: PathBuf,
        /// A file of rows that one target refused.
        refused: PathBuf,
    },
    /// The rejects of a flow are whole records, and other rows of these records may be loaded.
    #[error(
        "flow `{flow}` makes several rows of each record (`unpivot`): its rejects are whole \
         records, and other rows of these records are loaded already"
    )]
    Unpivoted {
        /// The flow.
        flow: String,
    },
    /// The run's embedded database was removed when its command ended.
    #[error("run {run} loaded into an embedded server that ended with its command")]
    Gone {
        /// The run.
        run: RunName,
    },
}

impl ReplayError {
    /// How to fix it.
    pub fn hint(&self) -> Option<String> {
        match self {
            ReplayError::NoRun { .. } => Some(
                "give the name of the run or its folder; --runs-folder names the folder of the runs"
                    .to_owned(),
            ),
            ReplayError::Line { .. } => {
                Some("fix the rows in the file beside it; do not edit the reasons".to_owned())
            }
            ReplayError::UnknownFlow { .. } => {
                Some("give the file its original name, or remove it from the folder".to_owned())
            }
            ReplayError::Unpivoted { .. } => Some(
                "correct the source, and load it again: with mode = \"replace\" or \"upsert\", or \
                 after `inrush undo`"
                    .to_owned(),
            ),
            ReplayError::Gone { .. } => Some(
                "load the corrected file with `inrush load`; embedded:FOLDER keeps the data"
                    .to_owned(),
            ),
            ReplayError::Mixed { .. } => Some(
                "copy the run's folder; keep the files with .target. in their names only in the \
                 copy, and all other files only in the original; then replay both folders"
                    .to_owned(),
            ),
            ReplayError::Unreadable { .. } | ReplayError::Package(_) => None,
        }
    }
}
