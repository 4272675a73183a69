//! Tells whether byte ranges of a file can be read independently, from its first bytes and its origin.

use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;

use super::signature::{Beginning, SIGNATURE_BYTES, beginning};
use super::source_file::{FileOrigin, SourceFile};
use super::stored::{Purpose, StoredFile};
use super::table::TableKind;

impl SourceFile {
    /// Whether it is known beforehand that its text is translated: its encoding is declared, or a
    /// mark that nothing hides tells it.
    pub fn is_translated(&self) -> bool {
        let is_plain = self.origin == FileOrigin::File && self.compression == Compression::None;
        match self.encoding {
            Some(encoding) => encoding != TextEncoding::Utf8,
            None => is_plain && !self.reads_in_ranges().unwrap_or(true),
        }
    }

    /// Why byte ranges of it cannot be read by themselves, in words; nothing where they can.
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

    /// Whether byte ranges of it can be read by themselves: it is neither compressed, nor a
    /// pipe, nor in another encoding than UTF-8. What cannot goes through a
    /// [`Feed`](super::Feed).
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
                // What is refused there is refused by whoever reads it, with its reason.
                Ok(!matches!(beginning(&first), Beginning::Marked(encoding, _)
                    if encoding != TextEncoding::Utf8))
            }
        }
    }
}
