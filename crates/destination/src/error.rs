//! Errors of a destination.

use std::error::Error as StdError;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::difference::Difference;

/// An error of a destination.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of the destination is not valid, or nothing is there.
    #[error("{what}")]
    Address {
        /// What is wrong, and where.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// No connection to the destination could be made.
    #[error("cannot connect to {server}: {reason}")]
    Connect {
        /// Host and port, or the socket.
        server: String,
        /// The likely cause in words.
        reason: String,
        /// How to fix it.
        hint: String,
        /// The error of the server or the system.
        #[source]
        source: Option<Box<dyn StdError + Send + Sync>>,
    },
    /// The connection to the destination was lost. What is committed stays there.
    #[error("{doing}: the connection to the server was lost ({reason})")]
    Lost {
        /// The step that failed.
        doing: String,
        /// The cause in words.
        reason: String,
        /// How to proceed.
        hint: String,
    },
    /// The destination waited in vain for a lock that another session has on a table, or ended a deadlock with it.
    #[error("{doing}: {message}")]
    Blocked {
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
        /// How to proceed.
        hint: String,
    },
    /// Another process holds the run or the file.
    #[error("{what}")]
    Held {
        /// The holder, and what it holds.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// This process joined a run that takes no more units from it. Nothing of the unit is committed.
    #[error("{what}")]
    ShutOut {
        /// The run, and why it takes no more units.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The destination cannot load the rows or tables that it was asked to load.
    #[error("{what}")]
    Unsuitable {
        /// What is wrong, and where.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The destination refused a step.
    #[error("{doing}: {message}")]
    Refused {
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
        /// How to fix it, if that is known.
        hint: Option<String>,
    },
    /// A target refuses rows because of its constraints or existing rows. A careful load finds these rows; see
    /// [`LoadMethod::Careful`](crate::LoadMethod::Careful).
    #[error("{doing}: {message}")]
    RowsRefused {
        /// The index of the target among those of the run.
        target: usize,
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
        /// How to fix it, if that is known.
        hint: Option<String>,
    },
    /// The statement with the steps of a flow in it failed: a step may reject one of the rows. None of the rows are
    /// loaded.
    #[error("{doing}: {message}")]
    StepsFailed {
        /// The step that failed.
        doing: String,
        /// The destination's own message.
        message: String,
    },
    /// A file or folder of the destination cannot be read or written.
    #[error("{doing} {path}: {source}")]
    File {
        /// The step that failed: `cannot write`.
        doing: &'static str,
        /// The path.
        path: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The ledger does not have the form that this version writes.
    #[error("{what}")]
    Ledger {
        /// What is wrong, and where.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The destination's row count differs from the number of rows written. None of the rows are committed.
    #[error("{what}: the destination counts {counted} rows, but {sent} were sent")]
    Count {
        /// The table whose rows were counted.
        what: String,
        /// The destination's count.
        counted: u64,
        /// The number of rows sent.
        sent: u64,
    },
    /// The rows that the destination has stored differ from the rows that were sent. None of them are committed.
    #[error("{table}: the rows in the database differ from the rows sent")]
    Differs {
        /// The staging table.
        table: String,
        /// The differences over all rows.
        rows: Vec<Difference>,
        /// The differences in single columns, if rows were compared.
        columns: Option<Vec<Difference>>,
    },
    /// The rows that are stored, or their records, cannot be verified. None of them are committed.
    #[error("{what}")]
    Unverified {
        /// What is wrong, and where.
        what: String,
        /// How to fix it.
        hint: String,
    },
    /// The step was interrupted on request.
    #[error("stopped on request")]
    Interrupted,
}

/// The result of a call to a destination.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes the error of a file or folder. `doing` is what failed: `cannot read`.
    pub fn file(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Error + use<> {
        let path = path.display().to_string();
        move |source| Error::File {
            doing,
            path: path.clone(),
            source,
        }
    }

    /// How to fix it, if that is known and not in the text.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Error::Address { hint, .. }
            | Error::Connect { hint, .. }
            | Error::Lost { hint, .. }
            | Error::Blocked { hint, .. }
            | Error::Held { hint, .. }
            | Error::ShutOut { hint, .. }
            | Error::Unsuitable { hint, .. }
            | Error::Ledger { hint, .. }
            | Error::Unverified { hint, .. } => Some(hint),
            Error::Refused { hint, .. } | Error::RowsRefused { hint, .. } => hint.as_deref(),
            Error::File { source, .. } => fix_of_file(source.kind()),
            Error::StepsFailed { .. }
            | Error::Count { .. }
            | Error::Differs { .. }
            | Error::Interrupted => None,
        }
    }
}

/// The fix for the system's error about a file.
fn fix_of_file(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::NotFound => Some(
            "check that the path is right, and that files can be made there: in /proc, for example, they cannot",
        ),
        ErrorKind::PermissionDenied => Some(
            "the user of this process may not do this there: name another path, or grant the right",
        ),
        ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is mounted for reading only: name another path")
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            Some("free space there, then run the same command again: it resumes the load")
        }
        _ => None,
    }
}
