//! A piece of a file in memory, and the unit of work of a stream.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_scan::{Record, Records};

use crate::encoding::TextEncoding;
use crate::location::Location;
use crate::padded_text::PaddedText;
use crate::typed_rows::TypedRows;

/// Whole records of one file. Text columns of the batches made of it are views into `text`, or into the
/// arrays of `typed`.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The text.
    pub text: PaddedText,
    /// The file.
    pub file: Arc<Path>,
    /// Bytes of the uncompressed file before the chunk.
    pub byte_offset: u64,
    /// Lines of the file before the chunk, without those that `places` counts in `lines_before`.
    pub line_offset: u64,
    /// Indices, ascending, of the records that are not valid UTF-8; almost always empty.
    pub invalid_utf8: Vec<u32>,
    /// The places of its records in the file; `None` if they can be counted in its text.
    pub places: Option<Arc<dyn Places>>,
    /// Its rows, if they are typed values without text; a position is then the number of a row in them.
    pub typed: Option<TypedRows>,
}

/// Finds places in the file for a chunk whose text differs from the file's bytes, or whose first line number is not
/// known beforehand.
pub trait Places: fmt::Debug + Send + Sync {
    /// Bytes of the file between the chunk's first byte and the byte at `position` of its text.
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        position as u64
    }

    /// True if places are row numbers, counted from 0, because the file has no lines.
    fn are_rows(&self) -> bool {
        false
    }

    /// False if row numbers only order the rows, and a person can find a row only by its key.
    fn have_numbers(&self) -> bool {
        true
    }

    /// The key of the row at `position` in its source (`id = 17`), if line and byte are not enough to find the row.
    fn key(&self, _position: usize) -> Option<Arc<str>> {
        None
    }

    /// Lines of the file before the place from which the chunk's `line_offset` counts.
    fn lines_before(&self) -> u64 {
        0
    }

    /// The encoding from which the text was translated; `None` if it was not translated.
    fn encoding(&self) -> Option<TextEncoding> {
        None
    }

    /// The file's own bytes of a part of the text, if they differ from the text's.
    fn original(&self, _text: &[u8], _part: Range<usize>) -> Option<&[u8]> {
        None
    }
}

/// Places of rows without text: a position in the chunk is a row number.
#[derive(Debug)]
pub struct RowNumbers;

impl Places for RowNumbers {
    fn are_rows(&self) -> bool {
        true
    }
}

/// Places of rows without a key. The rows are numbered, and a message names the order of the numbers.
#[derive(Debug)]
pub struct NumberedRows {
    /// The order, as in `row 17 in the order in which the server sent them`.
    pub order: &'static str,
}

impl Places for NumberedRows {
    fn are_rows(&self) -> bool {
        true
    }

    fn key(&self, _position: usize) -> Option<Arc<str>> {
        Some(self.order.into())
    }
}

impl Chunk {
    /// Rows of typed values. `first_row` is the number of rows of their source before the first one; `records` gets one
    /// record for each row. `places` finds the rows in their source; [`RowNumbers`] finds them by their numbers alone.
    pub fn of_rows(
        name: &Arc<Path>,
        first_row: u64,
        rows: TypedRows,
        places: Arc<dyn Places>,
        records: &mut Records,
    ) -> Chunk {
        records.clear();
        records
            .records
            .extend((0..rows.row_count as u32).map(|row| Record {
                start: row,
                end: row,
                line: row,
                first_field: 0,
                escaped: false,
            }));
        Chunk {
            text: PaddedText::of(b""),
            file: Arc::clone(name),
            byte_offset: first_row,
            line_offset: 0,
            invalid_utf8: Vec::new(),
            places: Some(places),
            typed: Some(rows),
        }
    }

    /// The bytes of the text.
    pub fn text(&self) -> &[u8] {
        self.text.as_slice()
    }

    /// The bytes that the hash of the content covers: the text, or a digest of the rows.
    pub fn content(&self) -> &[u8] {
        match &self.typed {
            Some(rows) => &rows.content,
            None => self.text(),
        }
    }

    /// Bytes of its text, or of its rows' values.
    pub fn size_bytes(&self) -> u64 {
        match &self.typed {
            Some(rows) => rows.bytes_count,
            None => self.text.len() as u64,
        }
    }

    /// The text of a record.
    pub fn record_text(&self, record: &Record) -> Cow<'_, [u8]> {
        match &self.typed {
            Some(rows) => Cow::Owned(rows.row_text(record.start as usize).0),
            None => Cow::Borrowed(&self.text()[record.start as usize..record.end as usize]),
        }
    }

    /// The line where the chunk begins, counted from 1.
    pub fn first_line(&self) -> u64 {
        let lines_before = self
            .places
            .as_ref()
            .map_or(0, |places| places.lines_before());
        lines_before + self.line_offset + 1
    }

    /// Bytes of the (uncompressed) file before a byte of this chunk; for rows without bytes, the number of rows.
    pub fn byte_offset_of(&self, position: u32) -> u64 {
        let byte_distance = match &self.places {
            None => u64::from(position),
            Some(places) => places.byte_distance(self.text(), position as usize),
        };
        self.byte_offset + byte_distance
    }

    /// The place of a byte of this chunk; `line` is the number of line ends of the chunk before that byte.
    pub fn location(&self, position: u32, line: u32) -> Location {
        let byte_offset = self.byte_offset_of(position);
        Location {
            file: Arc::clone(&self.file),
            line: match &self.places {
                Some(places) if !places.have_numbers() => 0,
                Some(places) if places.are_rows() => byte_offset + 1,
                _ => self.first_line() + u64::from(line),
            },
            byte_offset,
            key: self
                .places
                .as_ref()
                .and_then(|places| places.key(position as usize)),
        }
    }

    /// True if its places are row numbers, and there are no lines.
    pub fn counts_rows(&self) -> bool {
        self.places.as_ref().is_some_and(|places| places.are_rows())
    }

    /// The encoding from which the file's text was translated; `None` if it was not translated.
    pub fn encoding(&self) -> Option<TextEncoding> {
        self.places.as_ref().and_then(|places| places.encoding())
    }

    /// A part of the text as in the file, before any translation.
    pub fn original(&self, part: Range<usize>) -> &[u8] {
        let places = self.places.as_ref();
        places
            .and_then(|places| places.original(self.text(), part.clone()))
            .unwrap_or(&self.text()[part])
    }
}
