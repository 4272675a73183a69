//! A source over known rows.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};

use super::reading::Row;

/// A source over rows that are known beforehand, for one test. Dropped, it leaves nothing.
pub trait Case {
    /// Opens the source as it is now. Its reads and waits end when `stop` is asked.
    fn open(&self, stop: &Stop) -> Result<Box<dyn Source>, SourceError>;

    /// The rows of each input, in their order.
    fn rows(&self) -> Vec<Vec<Row>>;

    /// Texts that the source must not tell: passwords.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Changes the first input. False where the source has no such change.
    fn change(&self, change: Change) -> bool;
}

/// Makes a case with about so many rows in its first input. It has one input at least.
pub type MakeCase<'a> = dyn Fn(usize) -> Box<dyn Case> + 'a;

/// What happens to an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is written again with the same rows.
    Touched,
    /// One value becomes another one of the same size; size and time of the input are what they were.
    Rewritten,
    /// Rows are added at its end.
    Grown,
    /// It is gone.
    Removed,
}

impl Change {
    /// All of them.
    pub(crate) const ALL: [Change; 4] = [
        Change::Touched,
        Change::Rewritten,
        Change::Grown,
        Change::Removed,
    ];
}

/// Writes to a file until the system's clock shows it: two writes within one tick have the same time. For cases of files.
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
