//! Parts of the sentences about a guess: a quoted value, and the place of a record in its file.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A value as a message quotes it.
pub(super) fn shortened(value: &[u8]) -> String {
    const CHARACTERS_MAX: usize = 40;
    let text = String::from_utf8_lossy(value);
    let mut shown: String = text.chars().take(CHARACTERS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('\u{2026}');
    }
    shown
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub file: Arc<Path>,
    /// The line, counted from 1, if it is known.
    pub line: Option<u64>,
    /// The number of bytes before the record in the (uncompressed) file.
    pub byte_offset: u64,
}

impl fmt::Display for FilePlace {
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
