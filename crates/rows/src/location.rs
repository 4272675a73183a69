//! A place in the input.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A place in a source. Every error and every reject carries one, so that a person finds the row again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the user named it; for another source, the name of its table or query.
    pub file: Arc<Path>,
    /// Line, counted from 1; for a record of several lines, its first line. For rows without lines, the number of the
    /// row; 0 if only the key identifies the row.
    pub line: u64,
    /// Bytes before it in the (uncompressed) file. For rows without bytes, the number of rows before it.
    pub byte_offset: u64,
    /// Finds the row in a source without lines and bytes: `id = 17`.
    pub key: Option<Arc<str>>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        match &self.key {
            Some(key) if self.line == 0 => write!(f, "{file}, row with {key}"),
            Some(key) => write!(f, "{file}, row {} ({key})", self.line),
            None => write!(f, "{file}:{} (byte {})", self.line, self.byte_offset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_names_line_and_byte_or_row_and_key() {
        let mut place = Location {
            file: Path::new("orders").into(),
            line: 3,
            byte_offset: 20,
            key: None,
        };
        assert_eq!(place.to_string(), "orders:3 (byte 20)");
        place.key = Some("id = 17".into());
        assert_eq!(place.to_string(), "orders, row 3 (id = 17)");
        place.line = 0;
        place.key = Some("ctid (12,3)".into());
        assert_eq!(place.to_string(), "orders, row with ctid (12,3)");
    }
}
