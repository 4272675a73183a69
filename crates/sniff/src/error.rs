//! Errors of guessing.

use std::path::PathBuf;

use inrush_package::PackageError;
use inrush_source::SourceError;

/// The reasons why a format could not be guessed.
#[derive(Debug, thiserror::Error)]
pub enum SniffError {
    /// A file cannot be found or read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The declared format cannot be used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// All files are empty.
    #[error(
        "{}: empty, so its columns cannot be guessed; give them: --columns \"id bigint, ...\"",
        path.display()
    )]
    Empty {
        /// The first of the files.
        path: PathBuf,
    },
    /// Files of typed rows differ from each other, or from the declared format.
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
        /// The number of bytes of the (uncompressed) file before the wrong one.
        byte_offset: u64,
        /// The byte, the likely encoding, and the setting.
        what: String,
    },
    /// The file is not text.
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
    /// The boundaries of records cannot be found.
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
