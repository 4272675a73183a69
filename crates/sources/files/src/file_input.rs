//! A file as an input of a source, with the properties that plans need.

use std::io;
use std::path::Path;
use std::sync::Arc;

use inrush_rows::compression::Compression;
use inrush_source::{Input, InputState, SourceError};

use super::source_file::{FileOrigin, SourceFile};

/// The approximate bytes of text for each byte of a compressed file, or of typed rows.
const TEXT_FACTOR: u64 = 4;

impl Input for SourceFile {
    fn index(&self) -> usize {
        self.index as usize
    }

    fn name(&self) -> &Arc<Path> {
        &self.path
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn modified_ns(&self) -> i64 {
        self.modified_ns
    }

    fn mark(&self) -> String {
        self.state.to_string()
    }

    fn state_now(&self) -> Option<InputState> {
        let (size_bytes, modified_ns, state) = self.stat_now()?;
        Some(InputState {
            size_bytes,
            modified_ns,
            mark: state.to_string(),
        })
    }

    fn identity(&self) -> Vec<String> {
        SourceFile::identity(self)
    }

    fn row_count(&self) -> Option<u64> {
        self.table().map(|table| table.row_count())
    }

    fn is_read_once(&self) -> bool {
        self.is_pipe()
    }

    fn is_read_again(&self) -> bool {
        SourceFile::is_read_again(self)
    }

    fn keep_in(&self, folder: &Path) -> io::Result<()> {
        SourceFile::keep_in(self, folder)
    }

    fn is_shareable(&self) -> bool {
        self.table().is_none()
    }

    fn is_typed(&self) -> bool {
        self.table().is_some()
    }

    fn is_stored_as_text(&self) -> bool {
        self.origin == FileOrigin::File && self.compression == Compression::None
    }

    fn reads_in_ranges(&self) -> Result<bool, SourceError> {
        SourceFile::reads_in_ranges(self)
    }

    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        SourceFile::whole_because(self)
    }

    fn is_translated(&self) -> bool {
        SourceFile::is_translated(self)
    }

    fn text_bytes(&self, stored_bytes: u64) -> u64 {
        match self.compression {
            Compression::None if self.table().is_none() => stored_bytes,
            _ => stored_bytes.saturating_mul(TEXT_FACTOR),
        }
    }

    fn decoder_bytes(&self) -> Option<u64> {
        (self.compression != Compression::None).then(|| SourceFile::decoder_bytes(self))
    }

    fn block_bytes(&self) -> u64 {
        self.table().map_or(0, |table| table.decoded_bytes_max())
    }

    fn stored_at(&self) -> Option<(&Path, u64)> {
        SourceFile::stored_at(self)
    }
}
