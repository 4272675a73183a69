//! Tests of files on a real disk, read in every way.

mod archive_layout;
mod archives;
mod beginnings;
mod changed;
mod compressed;
mod encodings;
mod feeds;
mod finding;
mod kinds;
mod pipes;
mod previews;
mod ranges;
mod reading;
mod skip_lines;
mod stops;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use inrush_rows::chunk::Chunk;
use inrush_rows::location::Location;
use inrush_rows::padded_text::PADDING_BYTES;
use inrush_scan::{Dialect, FaultKind, Records};
use inrush_source::{SourceError, SourceMeter};

use super::{BufferPool, SourceFile, Split, TextReader};

/// A stream may continue on another thread than it began on.
const fn is_send<T: Send>() {}
const _: () = is_send::<TextReader>();

/// What a reader finds in a file, independent of the chunks.
#[derive(Debug, Default, PartialEq)]
struct Read {
    header: Option<Vec<String>>,
    records: Vec<ReadRecord>,
    skipped_line_count: u64,
}

#[derive(Debug, PartialEq)]
struct ReadRecord {
    line: u64,
    byte_offset: u64,
    fields: Vec<Vec<u8>>,
    fault: Option<(FaultKind, u64)>,
    is_utf8: bool,
}

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> Arc<SourceFile> {
    let path = folder.join(name);
    fs::write(&path, text).expect("the test folder can be written");
    Arc::new(SourceFile::open(path).expect("a file just written is there"))
}

fn read(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    chunk_bytes: usize,
) -> Result<Read, SourceError> {
    read_metered(file, dialect, chunk_bytes).map(|(read, _)| read)
}

/// Reads a whole file, and checks the invariants of every chunk.
fn read_metered(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    chunk_bytes: usize,
) -> Result<(Read, SourceMeter), SourceError> {
    let split = Split::whole(Arc::clone(file));
    let (found, meter) = read_split(split, dialect, chunk_bytes)?;
    assert_eq!(meter.stored_bytes, file.size_bytes);
    Ok((found, meter))
}

/// Reads a split, and checks the invariants of every chunk.
fn read_split(
    split: Split,
    dialect: &Dialect,
    chunk_bytes: usize,
) -> Result<(Read, SourceMeter), SourceError> {
    let mut reader = TextReader::open(split, dialect, chunk_bytes, BufferPool::default())?;
    let mut records = Records::default();
    let mut found = Read {
        header: reader.header().map(<[String]>::to_vec),
        ..Read::default()
    };
    let mut next_byte = None;
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        let expected = next_byte.unwrap_or(chunk.byte_offset);
        assert_eq!(chunk.byte_offset, expected, "chunks follow each other");
        next_byte = Some(chunk.location(chunk.text.len() as u32, 0).byte_offset);
        add_chunk(&mut found, &chunk, &records);
        reader.recycle(chunk);
    }
    assert!(
        reader.next_chunk(&mut records)?.is_none(),
        "the end stays the end"
    );
    let meter = reader.meter();
    assert_eq!(meter.record_count, found.records.len() as u64);
    assert_eq!(meter.buffer_lost_count, 0);
    found.skipped_line_count = meter.skipped_line_count;
    Ok((found, meter))
}

/// Adds the records of a chunk, and checks the invariants of a chunk.
fn add_chunk(found: &mut Read, chunk: &Chunk, records: &Records) {
    assert!(!chunk.text.is_empty());
    let text = chunk.text();
    for (index, record) in records.records.iter().enumerate() {
        let Location {
            line, byte_offset, ..
        } = chunk.location(record.start, record.line);
        let field = |at| text[records.field(index, at)].to_vec();
        let fault = records
            .faults
            .iter()
            .find(|f| f.record_index as usize == index);
        found.records.push(ReadRecord {
            line,
            byte_offset,
            fields: (0..records.field_count(index)).map(field).collect(),
            fault: fault.map(|f| (f.kind, chunk.location(f.position, 0).byte_offset)),
            is_utf8: !chunk.invalid_utf8.contains(&(index as u32)),
        });
    }
}

/// One text for each record: its fields, joined with `·`.
fn rows(read: &Read) -> Vec<String> {
    let shown = |field: &Vec<u8>| field.escape_ascii().to_string();
    let row = |record: &ReadRecord| {
        let fields: Vec<_> = record.fields.iter().map(shown).collect();
        fields.join("·")
    };
    read.records.iter().map(row).collect()
}

fn message(error: SourceError, folder: &Path) -> String {
    error
        .to_string()
        .replace(&*folder.to_string_lossy(), "FOLDER")
}
