//! A place in the input.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A place in an input file. Every error and every reject carries one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the user named it.
    pub file: Arc<Path>,
    /// Line, counted from 1; for a record of several lines its first.
    pub line: u64,
    /// Bytes before it in the (uncompressed) file.
    pub byte_offset: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{} (byte {})",
            self.file.display(),
            self.line,
            self.byte_offset
        )
    }
}
