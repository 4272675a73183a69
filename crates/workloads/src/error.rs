//! Errors that end a workload.

use std::fmt;
use std::io;
use std::path::PathBuf;

use inrush::ExitStatus;
use inrush::package::PackageError;

/// A workload failed. Its text is one line; [`details`](WorkloadError::details) are printed below it.
#[derive(Debug)]
pub enum WorkloadError {
    /// The settings are not valid.
    Usage {
        /// The problem, by the name of the command's option.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// A file or folder cannot be used.
    File {
        /// The action that failed, such as `cannot read`.
        doing: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The package cannot be used.
    Package(PackageError),
    /// The engine reported an error.
    Engine {
        /// The reason.
        error: inrush::Error,
        /// Notes for the user, such as where the results are.
        notes: Vec<String>,
        /// A hint that replaces the hint of the error itself.
        hint: Option<String>,
    },
    /// The rows in the database differ from the generated ones.
    Contents {
        /// The differences.
        differences: Vec<String>,
    },
    /// The files of TPC-H cannot be made.
    Generate(io::Error),
    /// The workload was asked to stop while it generated files.
    Stopped {
        /// How to resume.
        hint: String,
    },
    /// A disk has too little room.
    Room {
        /// The content that must fit, with its size.
        what: String,
        /// The size of all this content, with its unit.
        all: String,
        /// The free space of the disk, with its unit.
        free: String,
        /// A folder on the disk.
        place: PathBuf,
    },
    /// A server failed to do something that a measurement with clients needs.
    Server(inrush::clients::Error),
    /// Not all clients finished their share, so the run has no result.
    Clients {
        /// The message: how many clients did not finish.
        what: String,
        /// The clients, and the reasons.
        details: Vec<String>,
        /// How to fix it.
        hint: Option<String>,
    },
    /// The table of a measurement does not have the rows that the server confirmed.
    RowsDiffer {
        /// The number of rows of the calls that were answered.
        answered: u64,
        /// The number of rows in the table.
        stored: u64,
    },
    /// The loaded rows differ from dbgen's.
    NotDbgens {
        /// The differences.
        differences: Vec<String>,
        /// The results of the run.
        results: PathBuf,
    },
}

impl WorkloadError {
    /// The exit status of a command that ends with this error.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            WorkloadError::Usage { .. } | WorkloadError::Package(_) => ExitStatus::Usage,
            WorkloadError::Engine { error, .. } => error.exit_status(),
            WorkloadError::Contents { .. }
            | WorkloadError::RowsDiffer { .. }
            | WorkloadError::NotDbgens { .. } => ExitStatus::Verification,
            WorkloadError::Stopped { .. } => ExitStatus::Interrupted,
            WorkloadError::Generate(error) if error.kind() == io::ErrorKind::InvalidInput => {
                ExitStatus::Usage
            }
            WorkloadError::File { .. }
            | WorkloadError::Generate(_)
            | WorkloadError::Server(_)
            | WorkloadError::Clients { .. }
            | WorkloadError::Room { .. } => ExitStatus::Failed,
        }
    }

    /// How to fix it, if that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            WorkloadError::Usage { hint, .. } | WorkloadError::Stopped { hint } => {
                Some(hint.clone())
            }
            WorkloadError::Engine { hint, error, .. } => hint.clone().or_else(|| error.hint()),
            WorkloadError::Server(error) => error.hint().map(str::to_owned),
            WorkloadError::Clients { hint, .. } => hint.clone(),
            WorkloadError::RowsDiffer { .. } => Some(
                "does another session write to the table, or does a trigger or rule of --table-sql? If not, this is a \
                 bug of Inrush or of the server: please report it"
                    .to_owned(),
            ),
            WorkloadError::Contents { .. } => Some(
                "this is a bug of Inrush or a fault of the machine: please report it".to_owned(),
            ),
            WorkloadError::Room { .. } => Some(
                "choose a smaller --scale, fewer parts, or folders on another disk; \
                 --no-disk-check skips this check"
                    .to_owned(),
            ),
            WorkloadError::NotDbgens { .. } => Some(
                "do the files have another scale, or are they cut off? Generate them again in \
                 another folder; if they are right, this is a bug of Inrush: please report it"
                    .to_owned(),
            ),
            // Errors of a package already contain how to fix them.
            WorkloadError::Package(_) | WorkloadError::File { .. } | WorkloadError::Generate(_) => {
                None
            }
        }
    }

    /// The whole message for the user.
    #[cfg(test)]
    pub(crate) fn told(&self) -> String {
        let lines = [self.to_string()].into_iter().chain(self.details());
        let lines: Vec<String> = lines.chain(self.hint()).collect();
        lines.join("\n")
    }

    /// The lines that are printed below the line of the error.
    pub fn details(&self) -> Vec<String> {
        let listed = |points: &[String]| -> Vec<String> {
            points.iter().map(|point| format!("  {point}")).collect()
        };
        match self {
            WorkloadError::Contents { differences } => listed(differences),
            WorkloadError::NotDbgens {
                differences,
                results,
            } => {
                let mut lines = listed(differences);
                lines.push(format!("results: {}", results.display()));
                lines
            }
            WorkloadError::Engine { notes, .. } => notes.clone(),
            WorkloadError::Clients { details, .. } => details.clone(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for WorkloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WorkloadError::Usage { what, .. } => f.write_str(what),
            WorkloadError::File {
                doing,
                path,
                source,
            } => write!(f, "{doing} {}: {source}", path.display()),
            WorkloadError::Package(error) => error.fmt(f),
            WorkloadError::Engine { error, .. } => error.fmt(f),
            WorkloadError::Contents { .. } => {
                f.write_str("the rows in the database differ from the generated rows")
            }
            WorkloadError::Generate(error) => {
                write!(f, "the files of TPC-H cannot be made: {error}")
            }
            WorkloadError::Stopped { .. } => f.write_str("stopped on request"),
            WorkloadError::Server(error) => error.fmt(f),
            WorkloadError::Clients { what, .. } => f.write_str(what),
            WorkloadError::RowsDiffer { answered, stored } => write!(
                f,
                "the table has {stored} rows, but the server confirmed {answered}: there is no result"
            ),
            WorkloadError::Room {
                what,
                all,
                free,
                place,
            } => write!(
                f,
                "not enough space at {}: {what} are needed, about {all} in all, but {free} are free",
                place.display()
            ),
            WorkloadError::NotDbgens { .. } => {
                f.write_str("the loaded rows differ from dbgen's rows")
            }
        }
    }
}

impl std::error::Error for WorkloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WorkloadError::Package(error) => error.source(),
            WorkloadError::Engine { error, .. } => error.source(),
            WorkloadError::Server(error) => error.source(),
            _ => None,
        }
    }
}

impl From<PackageError> for WorkloadError {
    fn from(error: PackageError) -> WorkloadError {
        WorkloadError::Package(error)
    }
}

impl From<inrush::clients::Error> for WorkloadError {
    fn from(error: inrush::clients::Error) -> WorkloadError {
        WorkloadError::Server(error)
    }
}

impl From<inrush::Error> for WorkloadError {
    fn from(error: inrush::Error) -> WorkloadError {
        WorkloadError::Engine {
            error,
            notes: Vec::new(),
            hint: None,
        }
    }
}
