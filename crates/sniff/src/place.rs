//! Where something was seen: by its line, or by its byte where lines before it were not read.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: Arc<PathBuf>,
    /// The line, counted from 1, where it is known.
    pub line: Option<u64>,
    /// Bytes before the record in the (uncompressed) file.
    pub byte_offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self
            .file
            .file_name()
            .map(|name| name.to_string_lossy())
            .unwrap_or_default();
        match self.line {
            Some(line) => write!(f, "{name} line {line}"),
            None => write!(f, "{name} byte {}", self.byte_offset),
        }
    }
}
