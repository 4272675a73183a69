//! A test case: a source with known rows.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};

use super::reading::Row;

/// A source with rows that are known beforehand, for one test. When it is dropped, it leaves nothing behind.
pub trait Case {
    /// Opens the source in its present state. Its reads and waits end when `stop` is requested. `rate_bytes_max` is
    /// the most bytes that are read in a second; only a source that [limits its rate](Case::limits_rate) gets it.
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError>;

    /// True if the bytes that are read in a second can be limited.
    fn limits_rate(&self) -> bool {
        false
    }

    /// Opens the source without a limit.
    fn open(&self, stop: &Stop) -> Result<Box<dyn Source>, SourceError> {
        self.open_at(stop, None)
    }

    /// Opens the source as a resumed run does: with the marks of the inputs of the stopped run. Only a source whose
    /// inputs can be loaded again one by one uses the marks.
    fn open_again(&self, stop: &Stop, _marks: &[String]) -> Result<Box<dyn Source>, SourceError> {
        self.open(stop)
    }

    /// The rows of each input, in order.
    fn rows(&self) -> Vec<Vec<Row>>;

    /// Texts that the source must not show: passwords.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes the first input. Returns false if the source has no such change.
    fn change(&self, change: Change) -> bool;

    /// Moves a row from the first input to the last one. Returns false if rows cannot be moved.
    fn move_row(&self) -> bool {
        false
    }
}

/// Makes a case with about this many rows in its first input. It has at least one input.
pub type MakeCase<'a> = dyn Fn(usize) -> Box<dyn Case> + 'a;

/// A change of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is written again with the same rows.
    Touched,
    /// One value becomes another one of the same size; the size and time of the input stay the same.
    Rewritten,
    /// Rows are added at its end.
    Grown,
    /// It is removed.
    Removed,
}

impl Change {
    /// All changes.
    pub(crate) const ALL: [Change; 4] = [
        Change::Touched,
        Change::Rewritten,
        Change::Grown,
        Change::Removed,
    ];
}

/// Writes to a file until its time changes: two writes within one tick of the system's clock have the same time. For
/// cases with files.
///
/// # Panics
///
/// If the file is not there.
pub fn written_later(path: &Path, write: &dyn Fn()) {
    let changed = || {
        let file = std::fs::metadata(path).expect("a file of the case");
        (file.ctime(), file.ctime_nsec())
    };
    let before = changed();
    write();
    while changed() == before {
        write();
    }
}
