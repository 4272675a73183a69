//! Reads splits of JSON files: turns lines into typed rows of text.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::StringArray;
use inrush_rows::chunk::{Chunk, Places};
use inrush_rows::typed_rows::{RowFault, TypedColumn, TypedRows};
use inrush_scan::Records;
use inrush_source::{
    Chunks, ContentHash, NativeRows, ReadPace, ReadingSession, RecordStart, SourceError,
    SourceMeter, SourceSplit, SourceStream, SplitEnd, SplitReader,
};
use serde_json::{Map, Value};

use super::{Flaw, JsonFile, JsonFolder, JsonForm, Line, Lines};

/// Reads one split after the other.
pub struct JsonStream<'a> {
    folder: &'a JsonFolder,
    chunk_bytes: usize,
    opened_count: usize,
    /// True if a reader was dropped before its end.
    has_dropped: Arc<AtomicBool>,
}

impl<'a> JsonStream<'a> {
    pub fn new(folder: &'a JsonFolder, chunk_bytes: usize) -> JsonStream<'a> {
        JsonStream {
            folder,
            chunk_bytes,
            opened_count: 0,
            has_dropped: Arc::default(),
        }
    }
}

impl SourceStream for JsonStream<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let JsonFolder {
            files,
            form,
            has_cut,
            ..
        } = self.folder;
        if form.flaw == Flaw::ReadsOwnSplitsAlone && !has_cut.load(Ordering::Relaxed) {
            return Err(SourceError::Input {
                input: files[split.input].path.to_path_buf(),
                what: "the split is not known".to_owned(),
                fix: "cut it again".to_owned(),
            });
        }
        self.opened_count += 1;
        let first = split.first_record.unwrap_or(RecordStart {
            byte_offset: 0,
            line: 1,
        });
        let first = RecordStart {
            byte_offset: form.flaw.first_byte(&split.range, first.byte_offset),
            line: form.flaw.line(first.line),
        };
        let mut reader = JsonReader::open(
            &files[split.input],
            form,
            split.range.clone(),
            first,
            self.chunk_bytes,
        )?;
        reader.marks_faults = form.flaw != Flaw::LetsFaultyRowsPass || split.range.start == 0;
        reader.is_done = form.flaw == Flaw::OpensOnce && self.opened_count > 1
            || self.has_dropped.load(Ordering::Relaxed);
        if form.flaw == Flaw::ReadsNothingAfterDrop {
            reader.has_dropped = Some(Arc::clone(&self.has_dropped));
        }
        Ok(Box::new(reader))
    }
}

/// Reads the lines that begin in a range of a file.
pub struct JsonReader {
    form: Arc<JsonForm>,
    file: Arc<JsonFile>,
    lines: Lines,
    range: Range<u64>,
    chunk_bytes: usize,
    is_done: bool,
    marks_faults: bool,
    /// Set when this reader is dropped before its end.
    has_dropped: Option<Arc<AtomicBool>>,
    hash: ContentHash,
    text_range: Option<Range<u64>>,
    meter: SourceMeter,
    pace: ReadPace,
    /// True if all lines were received.
    has_all: bool,
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

impl JsonReader {
    pub fn open(
        file: &Arc<JsonFile>,
        form: &Arc<JsonForm>,
        range: Range<u64>,
        first: RecordStart,
        chunk_bytes: usize,
    ) -> Result<JsonReader, SourceError> {
        file.check_unchanged(form.flaw)?;
        Ok(JsonReader {
            form: Arc::clone(form),
            file: Arc::clone(file),
            lines: Lines::open(&file.path, first.byte_offset, first.line)?,
            range,
            chunk_bytes: form.flaw.chunk_bytes(chunk_bytes),
            is_done: false,
            marks_faults: true,
            has_dropped: None,
            hash: ContentHash::default(),
            text_range: None,
            meter: SourceMeter::default(),
            pace: ReadPace::new(&form.pace),
            has_all: false,
        })
    }

    /// The next lines, up to a chunk; none at the end.
    fn next_lines(&mut self) -> Result<Vec<Line>, SourceError> {
        let mut lines = Vec::new();
        let mut bytes = 0;
        while bytes < self.chunk_bytes && !self.is_done {
            let line = self.lines.next()?;
            match line {
                Some(line) if line.start < self.form.flaw.end(&self.range, &line) => {
                    bytes += line.text.len();
                    lines.push(line);
                }
                _ => self.is_done = true,
            }
        }
        Ok(lines)
    }

    /// The rows of lines: strings unchanged, all other values as in JSON.
    fn rows(&self, lines: &[Line]) -> TypedRows {
        let objects: Vec<Result<Map<String, Value>, String>> =
            lines.iter().map(Line::object).collect();
        let text = |object: &Result<Map<String, Value>, String>, name: &str| match object
            .as_ref()
            .ok()?
            .get(name)?
        {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let column = |name: &String| {
            let values = objects.iter().map(|object| text(object, name));
            TypedColumn {
                values: Some(Arc::new(values.collect::<StringArray>())),
                is_uuid: false,
            }
        };
        let numbered = objects.iter().zip(lines).enumerate();
        let faults = numbered.filter_map(|(row, (object, line))| {
            let what = object.as_ref().err()?;
            Some(RowFault {
                row,
                reason: format!("the line {what}; fix it where the file is made"),
                raw: String::from_utf8_lossy(&line.text).into_owned().into(),
            })
        });
        let faults = faults.filter(|_| self.marks_faults);
        let content: Vec<u8> = lines.iter().flat_map(|line| line.text.clone()).collect();
        TypedRows {
            columns: self.form.names.iter().map(column).collect(),
            row_count: lines.len(),
            bytes_count: content.len() as u64,
            faults: faults.collect(),
            content,
        }
    }
}

impl JsonReader {
    /// The lines of the next chunk; none at the end.
    fn lines_of_chunk(&mut self) -> Result<Vec<Line>, SourceError> {
        let flaw = self.form.flaw;
        if flaw != Flaw::KeepsNoRate {
            self.pace.keep(&self.form.stop);
        }
        if self.form.stop.asked().is_some() && flaw != Flaw::HearsNoStop {
            return Err(SourceError::Stopped {
                path: self.file.path.to_path_buf(),
            });
        }
        let mut lines = self.next_lines()?;
        if flaw.loses_row(self.chunk_bytes) && lines.len() > 2 {
            lines.pop();
        }
        let Some(first) = lines.first() else {
            self.file.check_unchanged(flaw)?;
            self.has_all = true;
            if flaw == Flaw::ReadsOnAfterEnd {
                self.lines = Lines::open(&self.file.path, 0, 1)?;
                self.is_done = false;
            }
            return Ok(lines);
        };
        let start = first.start;
        let text_start = self.text_range.as_ref().map_or(start, |range| range.start);
        let mut bytes = 0;
        for line in &lines {
            self.hash.add(&line.text);
            bytes += line.text.len() as u64;
        }
        self.text_range = Some(text_start..start + bytes);
        self.meter.record_count += flaw.counted(lines.len() as u64);
        self.meter.text_bytes += bytes;
        self.pace.add(bytes as usize);
        self.meter.stored_bytes += bytes;
        self.meter.chunk_count += 1;
        Ok(lines)
    }
}

impl Chunks for JsonReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        let lines = self.lines_of_chunk()?;
        let Some(first) = lines.first() else {
            return Ok(None);
        };
        let rows = self.rows(&lines);
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

impl NativeRows for JsonReader {
    fn append_rows(
        &mut self,
        block: &mut Vec<u8>,
        _until: usize,
    ) -> Result<Option<u64>, SourceError> {
        let mut lines = self.lines_of_chunk()?;
        if lines.is_empty() {
            return Ok(None);
        }
        if self.form.flaw == Flaw::LosesNativeRow && lines.len() > 2 {
            lines.pop();
        }
        for line in &lines {
            block.extend_from_slice(&line.text);
        }
        Ok(Some(lines.len() as u64))
    }
}

impl SplitReader for JsonReader {
    fn native_rows(&mut self) -> Option<&mut dyn NativeRows> {
        Some(self)
    }

    fn session(&self) -> Option<ReadingSession> {
        let form = &self.form;
        let session = || form.server.session(self.file.index, form.flaw);
        (!self.has_all).then(session)
    }

    fn end(mut self: Box<Self>) -> SplitEnd {
        let is_whole = self.range == (0..self.file.state.size_bytes);
        self.form.flaw.at_end(&self.file.path, is_whole);
        SplitEnd {
            hash: self.hash.take(),
            text_range: self.text_range.take(),
            trailer: None,
        }
    }
}

impl Drop for JsonReader {
    fn drop(&mut self) {
        if let Some(has_dropped) = &self.has_dropped {
            has_dropped.fetch_or(!self.is_done, Ordering::Relaxed);
        }
    }
}
