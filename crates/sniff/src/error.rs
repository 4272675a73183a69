//! Errors of guessing.

use std::path::PathBuf;

use inrush_package::PackageError;
use inrush_source::SourceError;

/// The files' format could not be guessed.
#[derive(Debug, thiserror::Error)]
pub enum SniffError {
    /// A file cannot be found or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The declared format cannot be used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// No file has a byte in it.
    #[error(
        "{}: empty, so its columns cannot be guessed; give them: --columns \"id bigint, ...\"",
        path.display()
    )]
    Empty {
        /// The first of the files.
        path: PathBuf,
    },
    /// Files of typed rows that do not fit each other, or the declared format.
    #[error("{}: {what}; {mend}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The problem, in words.
        what: String,
        /// The fix.
        mend: &'static str,
    },
    /// The text is not UTF-8, and no encoding is declared.
    #[error("{}:{line} (byte {byte_offset}): {what}", path.display())]
    Encoding {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// Bytes of the (uncompressed) file before the one at fault.
        byte_offset: u64,
        /// The byte, the likely encoding, and the setting.
        what: String,
    },
    /// The bytes are not those of text.
    #[error(
        "{}: not text: {what}; name files with delimited text, or make the export write text",
        path.display()
    )]
    NotText {
        /// The file.
        path: PathBuf,
        /// The observation.
        what: String,
    },
    /// The records cannot be told apart.
    #[error("{}: {what}; {mend}", path.display())]
    Records {
        /// The file.
        path: PathBuf,
        /// The observation.
        what: String,
        /// The fix.
        mend: String,
    },
}
