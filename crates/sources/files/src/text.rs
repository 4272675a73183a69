//! The text of one file, from a text file or from typed rows.

use std::ops::Range;
use std::sync::Arc;

use inrush_rows::chunk::Places;
use inrush_rows::encoding::TextEncoding;
use inrush_source::SourceError;
use inrush_source::SourceMeter;

use super::file_text::FileText;
use super::source_file::{FileOrigin, SourceFile};
use super::stored::Purpose;
use super::table::TableText;

/// The text of one file, in UTF-8.
pub(super) enum Text {
    /// The text of a text file.
    File(Box<FileText>),
    /// The text of a file of typed rows.
    Table(Box<TableText>),
}

impl Text {
    /// Opens a file from its beginning.
    pub(super) fn open(file: &Arc<SourceFile>, purpose: Purpose) -> Result<Text, SourceError> {
        Text::open_range(file, purpose, &(0..file.size_bytes))
    }

    /// Opens a text file from its beginning, or the rows of a range of a file of typed rows.
    pub(super) fn open_range(
        file: &Arc<SourceFile>,
        purpose: Purpose,
        range: &Range<u64>,
    ) -> Result<Text, SourceError> {
        Ok(match &file.origin {
            FileOrigin::Table(table) => Text::Table(Box::new(TableText::open(file, table, range)?)),
            _ => Text::File(Box::new(FileText::open(file, purpose)?)),
        })
    }

    /// Opens a plain file in its middle.
    pub(super) fn open_at(file: &Arc<SourceFile>, start: u64) -> Result<Text, SourceError> {
        Ok(Text::File(Box::new(FileText::open_at(file, start)?)))
    }

    /// The number of bytes, or rows, of the file before the text.
    pub(super) fn start(&self) -> u64 {
        match self {
            Text::File(text) => text.start(),
            Text::Table(text) => text.start(),
        }
    }

    /// True if places are row numbers.
    pub(super) fn counts_rows(&self) -> bool {
        matches!(self, Text::Table(_))
    }

    /// The encoding, if only the text itself shows it and it is not UTF-8.
    pub(super) fn encoding_found(&self) -> Option<TextEncoding> {
        match self {
            Text::File(text) => text.encoding_found(),
            Text::Table(_) => None,
        }
    }

    /// The encoding from which the text is translated; `None` if it is read as UTF-8.
    pub(super) fn translated_from(&self) -> Option<TextEncoding> {
        match self {
            Text::File(text) => text.translated_from(),
            Text::Table(_) => None,
        }
    }

    /// Reads some text. Returns 0 only at the end.
    pub(super) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        match self {
            Text::File(text) => text.read(bytes),
            Text::Table(text) => text.read(bytes),
        }
    }

    /// Takes `text`, the next text that was read, for a chunk. Returns its number of bytes, or rows, in the file, and
    /// the way to find places in it if they are not simply counted.
    pub(super) fn take(&mut self, text: &[u8]) -> (u64, Option<Arc<dyn Places>>) {
        match self {
            Text::File(file) => file.take(text),
            Text::Table(table) => table.take(text.len()),
        }
    }

    /// The number of bytes, or rows, of the file between the beginning of `text`, the next text that was read, and
    /// `position`.
    pub(super) fn distance(&self, text: &[u8], position: usize) -> u64 {
        match self {
            Text::File(file) => file.distance(text, position),
            Text::Table(table) => table.distance(position),
        }
    }

    /// Checks that the file has not changed since it was planned.
    pub(super) fn check_unchanged(&self) -> Result<(), SourceError> {
        match self {
            Text::File(text) => text.check_unchanged(),
            Text::Table(text) => text.check_unchanged(),
        }
    }

    /// Subtracts from a meter what was read beyond the first `text_bytes` of the file's text.
    pub(super) fn leave_out_ahead(&mut self, text_bytes: u64, meter: &mut SourceMeter) {
        match self {
            Text::File(text) => text.leave_out_ahead(text_bytes, meter),
            // Bytes of typed rows are already counted by rows.
            Text::Table(_) => {}
        }
    }

    /// Adds the cost of reading so far.
    pub(super) fn add_to(&self, meter: &mut SourceMeter) {
        match self {
            Text::File(text) => text.add_to(meter),
            Text::Table(text) => text.add_to(meter),
        }
    }
}
