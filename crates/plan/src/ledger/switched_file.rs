//! A file that a run has loaded.

use inrush_rows::ids::{FileKey, RunId};

/// A file that a run has switched in completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedFile {
    /// The run.
    pub run_id: RunId,
    /// The hash of the run's package.
    pub package_hash: String,
    /// The target, `schema.table`, quoted.
    pub target: String,
    /// Identifies the file.
    pub file_key: FileKey,
    /// The file's size at that time.
    pub file_bytes: u64,
    /// When the file had been changed last, in nanoseconds since 1970.
    pub file_modified_ns: i64,
    /// Its other metadata at that time; for a table, the moment whose rows were read.
    pub file_state: String,
    /// Rows that were loaded from it.
    pub rows_loaded: u64,
}
