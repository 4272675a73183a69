//! A JSON file that all streams share in parts: ranges of whole lines, found by one pass over the file.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_source::{
    NextPart, RecordStart, ShareSettings, SharedPart, SharedSplit, SourceError, SourceMeter,
};

use super::reader::JsonReader;
use super::{Flaw, JsonFile, JsonForm, Lines};

/// The approximate number of bytes of a part, for any number of streams and size of chunks.
const PART_BYTES: u64 = 3_000;

/// The parts of a file that are not handed out yet.
pub struct Parts {
    file: Arc<JsonFile>,
    form: Arc<JsonForm>,
    chunk_bytes: usize,
    /// The parts in reverse order.
    left: Mutex<Vec<Part>>,
    /// A range that should be skipped but is not one of the parts.
    unknown: Option<Range<u64>>,
}

struct Part {
    range: Range<u64>,
    first_line: u64,
}

impl Parts {
    pub fn of(
        file: Arc<JsonFile>,
        form: Arc<JsonForm>,
        settings: ShareSettings,
        finished: &[Range<u64>],
    ) -> Result<Parts, SourceError> {
        let mut parts = cut(&file)?;
        let is_part = |range: &&Range<u64>| parts.iter().any(|part| part.range == **range);
        let unknown = finished.iter().find(|range| !is_part(range)).cloned();
        parts.retain(|part| !finished.contains(&part.range));
        parts.reverse();
        Ok(Parts {
            unknown: unknown.filter(|_| form.flaw != Flaw::PassesOverAnyRange),
            file,
            form,
            chunk_bytes: settings.chunk_bytes,
            left: Mutex::new(parts),
        })
    }

    fn take(&self) -> Result<Option<SharedPart>, SourceError> {
        let path = self.file.path.to_path_buf();
        if self.form.stop.asked().is_some() {
            return Err(SourceError::Stopped { path });
        }
        if let Some(range) = self.unknown.clone() {
            return Err(SourceError::RangesDiffer { path, range });
        }
        let next = self
            .left
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let Some(Part { range, first_line }) = next else {
            return Ok(None);
        };
        let first = RecordStart {
            byte_offset: range.start,
            line: first_line,
        };
        let (file, form) = (&self.file, &self.form);
        let reader = JsonReader::open(file, form, range.clone(), first, self.chunk_bytes)?;
        Ok(Some(SharedPart {
            range,
            reader: Box::new(reader),
        }))
    }
}

/// The parts of a file, in their order.
fn cut(file: &JsonFile) -> Result<Vec<Part>, SourceError> {
    let mut lines = Lines::open(&file.path, 0, 1)?;
    let mut parts: Vec<Part> = Vec::new();
    while let Some(line) = lines.next()? {
        let end = line.start + line.text.len() as u64;
        match parts.last_mut() {
            Some(part) if line.start - part.range.start < PART_BYTES => part.range.end = end,
            _ => parts.push(Part {
                range: line.start..end,
                first_line: line.number,
            }),
        }
    }
    Ok(parts)
}

impl SharedSplit for Parts {
    fn next_part(&self) -> NextPart<'_> {
        Box::pin(std::future::ready(self.take()))
    }

    /// Zero, because the parts count what they read.
    fn meter(&self) -> SourceMeter {
        SourceMeter::default()
    }
}
