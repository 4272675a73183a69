//! Reads splits of JSON files: lines to typed rows of text.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::StringArray;
use inrush_rows::chunk::{Chunk, Places};
use inrush_rows::typed_rows::{TypedColumn, TypedRows};
use inrush_scan::Records;
use inrush_source::{
    Chunks, ContentHash, RecordStart, SourceError, SourceMeter, SourceSplit, SourceStream,
    SplitEnd, SplitReader,
};
use serde_json::Value;

use super::{Flaw, JsonFile, JsonFolder, Line, Lines};

/// Reads one split after the other.
pub struct JsonStream<'a> {
    folder: &'a JsonFolder,
    chunk_bytes: usize,
    opened_count: usize,
}

impl<'a> JsonStream<'a> {
    pub fn new(folder: &'a JsonFolder, chunk_bytes: usize) -> JsonStream<'a> {
        JsonStream {
            folder,
            chunk_bytes,
            opened_count: 0,
        }
    }
}

impl SourceStream for JsonStream<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let folder = self.folder;
        let file = &folder.files[split.input];
        self.opened_count += 1;
        if folder.flaw != Flaw::ReadsWhatChanged {
            file.check_unchanged()?;
        }
        let first = split.first_record.unwrap_or(RecordStart {
            byte_offset: 0,
            line: 1,
        });
        let first_byte = folder.flaw.first_byte(&split.range, first.byte_offset);
        Ok(Box::new(JsonReader {
            lines: Lines::open(&file.path, first_byte, folder.flaw.line(first.line))?,
            names: match folder.flaw == Flaw::OpensOnce && self.opened_count > 1 {
                true => &[],
                false => &folder.names,
            },
            folder,
            file,
            range: split.range.clone(),
            chunk_bytes: self.chunk_bytes,
            is_done: false,
            hash: ContentHash::default(),
            text_range: None,
            meter: SourceMeter::default(),
        }))
    }
}

struct JsonReader<'a> {
    folder: &'a JsonFolder,
    file: &'a JsonFile,
    lines: Lines,
    names: &'a [String],
    range: Range<u64>,
    chunk_bytes: usize,
    is_done: bool,
    hash: ContentHash,
    text_range: Option<Range<u64>>,
    meter: SourceMeter,
}

/// Finds rows by their bytes.
#[derive(Debug)]
struct LineStarts(Vec<u64>);

impl Places for LineStarts {
    fn are_rows(&self) -> bool {
        true
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        Some(format!("byte {}", self.0[position]).into())
    }
}

impl JsonReader<'_> {
    /// The next lines, as many as a chunk has; none at the end.
    fn next_lines(&mut self) -> Result<Vec<Line>, SourceError> {
        let mut lines = Vec::new();
        let mut bytes = 0;
        while bytes < self.chunk_bytes && !self.is_done {
            let line = self.lines.next()?;
            match line {
                Some(line) if line.start < self.folder.flaw.end(&self.range, &line) => {
                    bytes += line.text.len();
                    lines.push(line);
                }
                _ => self.is_done = true,
            }
        }
        Ok(lines)
    }

    /// A column of rows: strings as they are, all other values as JSON writes them.
    fn column(&self, name: &str, lines: &[Line]) -> Result<TypedColumn, SourceError> {
        let mut values = Vec::with_capacity(lines.len());
        for line in lines {
            let object = line.object(&self.file.path)?;
            values.push(match object.get(name) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(text.clone()),
                Some(other) => Some(other.to_string()),
            });
        }
        Ok(TypedColumn {
            values: Some(Arc::new(StringArray::from(values))),
            is_uuid: false,
        })
    }
}

impl Chunks for JsonReader<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        if self.folder.stop.asked().is_some() && self.folder.flaw != Flaw::HearsNoStop {
            return Err(SourceError::Stopped {
                path: self.file.path.to_path_buf(),
            });
        }
        let mut lines = self.next_lines()?;
        if self.folder.flaw == Flaw::LosesRowOfChunk && lines.len() > 2 {
            lines.pop();
        }
        let Some(first) = lines.first() else {
            if self.folder.flaw != Flaw::ReadsWhatChanged {
                self.file.check_unchanged()?;
            }
            self.folder.flaw.at_end(&self.file.path);
            if self.folder.flaw == Flaw::ReadsOnAfterEnd {
                self.lines = Lines::open(&self.file.path, 0, 1)?;
                self.is_done = false;
            }
            return Ok(None);
        };
        let content: Vec<u8> = lines.iter().flat_map(|line| line.text.clone()).collect();
        let text_start = self
            .text_range
            .as_ref()
            .map_or(first.start, |range| range.start);
        let text_end = first.start + content.len() as u64;
        self.text_range = Some(text_start..text_end);
        self.hash.add(&content);
        let columns = self.names.iter().map(|name| self.column(name, &lines));
        let rows = TypedRows {
            columns: columns.collect::<Result<_, _>>()?,
            row_count: lines.len(),
            bytes_count: content.len() as u64,
            content,
        };
        self.meter.record_count += self.folder.flaw.counted(lines.len() as u64);
        self.meter.text_bytes += rows.bytes_count;
        self.meter.stored_bytes += rows.bytes_count;
        self.meter.chunk_count += 1;
        let starts = lines.iter().map(|line| line.start).collect();
        let name: &Arc<Path> = &self.file.path;
        let places = Arc::new(LineStarts(starts));
        Ok(Some(Chunk::of_rows(
            name,
            first.number - 1,
            rows,
            places,
            records,
        )))
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        self.meter
    }
}

impl SplitReader for JsonReader<'_> {
    fn end(mut self: Box<Self>) -> SplitEnd {
        SplitEnd {
            hash: self.hash.take(),
            text_range: self.text_range,
            trailer: None,
        }
    }
}
