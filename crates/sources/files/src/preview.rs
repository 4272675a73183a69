//! Reads a file's first rows for the planner.

use std::sync::Arc;

use inrush_rows::encoding::TextEncoding;
use inrush_rows::location::Location;
use inrush_scan::{Dialect, FaultKind, Records, decode_field};
use inrush_source::SourceError;

use super::buffers::BufferPool;
use super::reader::TextReader;
use super::source_file::SourceFile;
use super::split::Split;
use super::stored::Purpose;

/// How many bytes are read: enough for many rows, and cheap for many files.
const PREVIEW_BYTES: usize = 64 << 10;

/// The beginning of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The names in its header, if the dialect has one.
    pub header: Option<Vec<String>>,
    /// Its first records, without the header; empty if the file has no rows.
    pub records: Vec<PreviewRecord>,
    /// The encoding, if it is not UTF-8 and only the text shows it: by a byte order mark or the byte order of UTF-16.
    pub encoding_found: Option<TextEncoding>,
}

/// A record of the preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewRecord {
    /// The place where it begins.
    pub location: Location,
    /// Its fields' text, without quotes and escapes; `None` is NULL. Bytes that are not UTF-8
    /// are replaced.
    pub fields: Vec<Option<String>>,
    /// The fault of its form.
    pub fault: Option<FaultKind>,
    /// True if it is valid UTF-8, before unescaping.
    pub is_utf8: bool,
}

impl Preview {
    /// Reads up to `records_max` records from the beginning of a file. It reads no more of the file than these records
    /// and a buffer need.
    pub fn read(
        file: &Arc<SourceFile>,
        dialect: &Dialect,
        records_max: usize,
    ) -> Result<Preview, SourceError> {
        Preview::read_split(Split::whole(Arc::clone(file)), dialect, records_max)
    }

    /// Like [`Preview`], but from the beginning of a split.
    pub fn read_split(
        split: Split,
        dialect: &Dialect,
        records_max: usize,
    ) -> Result<Preview, SourceError> {
        let mut reader = TextReader::open_for(
            Purpose::Look,
            split,
            dialect,
            PREVIEW_BYTES,
            BufferPool::default(),
        )?;
        let mut records = Records::default();
        let mut found = Vec::new();
        let mut scratch = Vec::new();
        while found.len() < records_max {
            let Some(chunk) = reader.next_chunk(&mut records)? else {
                break;
            };
            let text = chunk.text();
            for index in 0..records.len().min(records_max - found.len()) {
                let record = &records.records[index];
                let mut decoded = |field| {
                    let written = &text[records.field(index, field)];
                    let field = decode_field(written, dialect, &mut scratch);
                    let shown = |text| String::from_utf8_lossy(text).into_owned();
                    field.text().map(shown)
                };
                let fault = |fault: &&inrush_scan::Fault| fault.record_index as usize == index;
                found.push(PreviewRecord {
                    location: chunk.location(record.start, record.line),
                    fields: (0..records.field_count(index)).map(&mut decoded).collect(),
                    fault: records.faults.iter().find(fault).map(|fault| fault.kind),
                    is_utf8: !chunk.invalid_utf8.contains(&(index as u32)),
                });
            }
            reader.recycle(chunk);
        }
        Ok(Preview {
            header: reader.header().map(<[String]>::to_vec),
            records: found,
            encoding_found: reader.encoding_found(),
        })
    }
}
