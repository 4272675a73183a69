//! Reads a split for a converter: as text, or as typed values if the file format has them.

use inrush_rows::chunk::Chunk;
use inrush_scan::{Dialect, Records};
use inrush_source::Chunks;
use inrush_source::SourceError;
use inrush_source::SourceMeter;

use super::buffers::BufferPool;
use super::reader::TextReader;
use super::source_file::FileOrigin;
use super::split::Split;
use super::table::TypedReader;

/// Reads a split in chunks for a converter.
pub enum RowReader {
    /// Reads a text file.
    Text(Box<TextReader>),
    /// Reads a file of typed rows.
    Typed(Box<TypedRowReader>),
}

/// Reads typed rows.
pub struct TypedRowReader {
    rows: TypedReader,
    /// Buffers of the previous reader, for the next one.
    pool: BufferPool,
}

impl RowReader {
    /// Opens a split, as [`TextReader::open`] does.
    pub fn open(
        split: Split,
        dialect: &Dialect,
        chunk_bytes: usize,
        pool: BufferPool,
    ) -> Result<RowReader, SourceError> {
        Ok(match &split.file.origin {
            FileOrigin::Table(table) => {
                let rows = TypedReader::open(&split.file, table, &split.byte_range, dialect)?;
                RowReader::Typed(Box::new(TypedRowReader { rows, pool }))
            }
            _ => {
                let reader = TextReader::open(split, dialect, chunk_bytes, pool)?;
                RowReader::Text(Box::new(reader))
            }
        })
    }

    /// The names in the file's header, as from [`TextReader::header`].
    pub fn header(&self) -> Option<&[String]> {
        match self {
            RowReader::Text(reader) => reader.header(),
            RowReader::Typed(reader) => reader.rows.header(),
        }
    }

    /// Ends reading, and returns the buffers for the next reader.
    pub fn close(self) -> BufferPool {
        match self {
            RowReader::Text(reader) => reader.close(),
            RowReader::Typed(reader) => reader.pool,
        }
    }
}

impl Chunks for RowReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        match self {
            RowReader::Text(reader) => reader.next_chunk(records),
            RowReader::Typed(reader) => reader.rows.next_chunk(records),
        }
    }

    fn recycle(&mut self, chunk: Chunk) {
        match self {
            RowReader::Text(reader) => reader.recycle(chunk),
            RowReader::Typed(reader) => reader.rows.recycle(chunk),
        }
    }

    fn meter(&self) -> SourceMeter {
        match self {
            RowReader::Text(reader) => reader.meter(),
            RowReader::Typed(reader) => Chunks::meter(&reader.rows),
        }
    }

    fn meter_of_chunks(&mut self) -> SourceMeter {
        match self {
            RowReader::Text(reader) => reader.meter_of_chunks(),
            RowReader::Typed(reader) => reader.rows.meter_of_chunks(),
        }
    }
}
