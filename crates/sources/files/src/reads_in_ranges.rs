//! Decides from a file's first bytes and origin whether byte ranges of it can be read independently.

use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;

use super::signature::{Beginning, SIGNATURE_BYTES, beginning};
use super::source_file::{FileOrigin, SourceFile};
use super::stored::{Purpose, StoredFile};
use super::table::TableKind;

impl SourceFile {
    /// True if it is known before reading that the text must be translated: by the declared encoding, or by a byte
    /// order mark that is not hidden by compression.
    pub fn is_translated(&self) -> bool {
        let is_plain = self.origin == FileOrigin::File && self.compression == Compression::None;
        match self.encoding {
            Some(encoding) => encoding != TextEncoding::Utf8,
            None => is_plain && !self.reads_in_ranges().unwrap_or(true),
        }
    }

    /// Why byte ranges of it cannot be read independently, in words; `None` if they can.
    pub fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(match (&self.origin, self.compression) {
            _ if self.reads_in_ranges()? => None,
            (FileOrigin::Pipe(_), _) => Some("a pipe"),
            (FileOrigin::Table(table), _) => Some(match table.kind {
                TableKind::Parquet => "a Parquet file",
                TableKind::Arrow => "an Arrow IPC file",
            }),
            (FileOrigin::ZipMember(_), _) => Some("a member of an archive"),
            (_, Compression::None) => Some("not in UTF-8"),
            _ => Some("compressed"),
        })
    }

    /// True if byte ranges of it can be read independently: it is not compressed, not a pipe, and in UTF-8. Other files
    /// are read through a [`Feed`](super::Feed).
    pub fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        let is_plain = self.origin == FileOrigin::File && self.compression == Compression::None;
        match self.encoding {
            _ if !is_plain => Ok(false),
            Some(encoding) => Ok(encoding == TextEncoding::Utf8),
            None => {
                let mut file = StoredFile::open(self, Purpose::Look, 0)?;
                let first = file.peek(SIGNATURE_BYTES).map(<[u8]>::to_vec);
                let first = first.map_err(|cause| match file.is_stopped() {
                    true => SourceError::Stopped {
                        path: self.path.to_path_buf(),
                    },
                    false => SourceError::read(&self.path, 0, cause),
                })?;
                // If it is refused here, its reader refuses it, too, and gives the reason.
                Ok(!matches!(beginning(&first), Beginning::Marked(encoding, _)
                    if encoding != TextEncoding::Utf8))
            }
        }
    }
}
