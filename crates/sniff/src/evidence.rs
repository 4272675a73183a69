//! The evidence from the rows: facts about each column, and rows with faults.

use std::sync::Arc;

use inrush_convert::Values;
use inrush_files::{BufferPool, SourceFile, Split, TextReader};
use inrush_rows::chunk::Chunk;
use inrush_rows::plural::counted;
use inrush_scan::{Dialect, FaultKind, FieldText, Records, decode_field};
use inrush_source::SourceError;

use super::cut_sample::{Cut, cut};
use super::facts::ColumnFacts;
use super::form::Form;
use super::mapping;
use super::sample::Samples;
use super::sentence_parts::FilePlace;
use super::tally::{is_comment, title_records};

/// The first rows are tried in small batches, so that wrong types are excluded early.
const FIRST_ROWS: usize = 16;

/// The number of rows whose values are tried together.
const BLOCK_ROWS: usize = 1024;

/// The number of bytes of text whose values are tried together.
const BLOCK_BYTES: usize = 4 << 20;

/// The evidence of the rows.
pub(super) struct Evidence {
    pub columns: Vec<ColumnFacts>,
    /// The number of rows that were read, without rows that have a fault.
    pub rows: u64,
    /// The rows with faults, by kind, with the first row of each kind.
    pub bad_rows: Vec<BadRows>,
    /// The number of lines that begin with the sign of a comment; they are not counted as rows.
    pub comments: u64,
    /// The first comment line.
    pub first_comment: Option<FilePlace>,
    /// The number of records before the first good record of a file.
    pub title_records: u64,
    /// The texts of the title lines of the first file.
    pub titles: Vec<String>,
    /// The number of lines before the first good record, in the first file that has records before it; `None` if files
    /// differ in this number.
    pub title_lines: Option<u64>,
    /// The first record of each file as text, if that record is good.
    pub first_records: Vec<FirstRecord>,
    /// True if rows of files that are read as UTF-8 contain bytes that are not UTF-8.
    pub not_utf8: bool,
    /// The number of sampled places that were left out, because it is not clear where their records begin.
    pub places_unused: u64,
    /// The number of places that were read.
    pub places: u64,
    values: Values,
}

/// Rows with the same fault.
#[derive(Clone, Debug)]
pub(super) struct BadRows {
    pub what: String,
    pub count: u64,
    pub first: FilePlace,
}

/// The first good record of a file.
#[derive(Clone, Debug)]
pub(super) struct FirstRecord {
    pub file: Arc<SourceFile>,
    /// NULL is an empty text.
    pub fields: Vec<String>,
}

impl Evidence {
    /// Empty evidence for files with this many columns.
    pub fn new(column_count: usize) -> Evidence {
        Evidence {
            columns: (0..column_count).map(|_| ColumnFacts::default()).collect(),
            rows: 0,
            bad_rows: Vec::new(),
            comments: 0,
            first_comment: None,
            title_records: 0,
            titles: Vec::new(),
            title_lines: None,
            first_records: Vec::new(),
            not_utf8: false,
            places_unused: 0,
            places: 0,
            values: Values::default(),
        }
    }

    /// The evidence of the samples. With `skip_first`, the first record of each file is not a row.
    pub fn of_samples(
        samples: &Samples,
        form: &Form,
        column_count: usize,
        skip_first: bool,
    ) -> Evidence {
        let mut evidence = Evidence::new(column_count);
        // The trailing delimiter's empty field is not listed by a scan.
        let dialect = mapping::dialect(form);
        for sample in &samples.samples {
            evidence.places += 1;
            let Some(cut) = cut(sample, form, column_count) else {
                // A file without a record is not counted as a place that was left out.
                if !sample.bytes.is_empty() {
                    evidence.places_unused += 1;
                }
                continue;
            };
            evidence.take_cut(&cut, &dialect, form, &sample.file, skip_first);
        }
        evidence
    }

    /// The evidence of all rows of all files. If the form has a header, the header is not a row.
    pub fn of_files(
        files: &[Arc<SourceFile>],
        form: &Form,
        column_count: usize,
    ) -> Result<Evidence, SourceError> {
        const CHUNK_BYTES: usize = 1 << 20;
        let mut evidence = Evidence::new(column_count);
        // The header may follow a title, so `take_cut` leaves it out, not the reader.
        let dialect = Dialect {
            header: false,
            ..mapping::dialect(form)
        };
        let mut pool = BufferPool::default();
        let mut records = Records::default();
        for file in files {
            let split = Split::whole(Arc::clone(file));
            let mut reader = TextReader::open(split, &dialect, CHUNK_BYTES, pool)?;
            let mut is_first = true;
            let translated_from = reader.translated_from();
            evidence.places += 1;
            while let Some(chunk) = reader.next_chunk(&mut records)? {
                let cut = Cut {
                    chunk,
                    records: std::mem::take(&mut records),
                    starts_file: is_first,
                    is_line_known: true,
                    translated_from,
                };
                evidence.take_cut(&cut, &dialect, form, file, form.header);
                is_first &= cut.records.is_empty();
                records = cut.records;
                reader.recycle(cut.chunk);
            }
            pool = reader.close();
        }
        Ok(evidence)
    }

    fn take_cut(
        &mut self,
        cut: &Cut,
        dialect: &Dialect,
        form: &Form,
        file: &Arc<SourceFile>,
        skip_first: bool,
    ) {
        let column_count = self.columns.len();
        let text = cut.chunk.text();
        let title = match cut.starts_file {
            true => title_records(&cut.records, column_count),
            false => 0,
        };
        if title > 0 {
            let lines = cut.chunk.line_offset + u64::from(cut.records.records[title].line);
            self.title_lines = match (self.title_records, self.title_lines) {
                (0, _) => Some(lines),
                (_, known) => known.filter(|known| *known == lines),
            };
        }
        let mut rows: Vec<usize> = Vec::with_capacity(cut.records.len());
        let mut faults = cut.records.faults.iter().peekable();
        let mut invalid = cut.chunk.invalid_utf8.iter().peekable();
        let mut is_first_good = cut.starts_file;
        for index in 0..cut.records.len() {
            let record = &cut.records.records[index];
            let fault = faults.next_if(|fault| fault.record_index as usize == index);
            let is_invalid = invalid
                .next_if(|record| **record as usize == index)
                .is_some();
            let fields = cut.records.field_count(index);
            let written = &text[record.start as usize..record.end as usize];
            let is_header_of_less = is_first_good
                && fault.is_some_and(|fault| fault.kind == FaultKind::TrailingDelimiterMissing);
            let what = if is_header_of_less && fields == column_count {
                None
            } else if let Some(fault) = fault {
                Some(fault_words(fault.kind).to_owned())
            } else if fields != column_count {
                Some(format!(
                    "{} and not {column_count}",
                    counted(fields as u64, "field")
                ))
            } else if is_invalid {
                self.not_utf8 |= cut.translated_from.is_none();
                Some(match cut.translated_from {
                    None => "bytes that are not UTF-8".to_owned(),
                    Some(encoding) => format!("bytes that are not characters of {encoding}"),
                })
            } else if written.contains(&0) {
                Some("a NUL byte".to_owned())
            } else {
                None
            };
            if let Some(what) = what {
                let place = || place(cut, index);
                if is_comment(text, &cut.records, index) {
                    self.comments += 1;
                    self.first_comment.get_or_insert_with(place);
                } else if index < title {
                    self.title_records += 1;
                    if self.titles.len() < 3 {
                        self.titles.push(super::sentence_parts::shortened(written));
                    }
                } else {
                    self.add_bad(what, place);
                }
                continue;
            }
            if std::mem::take(&mut is_first_good) {
                self.add_first_record(cut, index, dialect, file);
                if skip_first {
                    continue;
                }
            }
            rows.push(index);
        }
        self.rows += rows.len() as u64;
        let mut rest = rows.as_slice();
        let mut is_early = self.rows == rows.len() as u64;
        while !rest.is_empty() {
            let count = match std::mem::take(&mut is_early) {
                true => FIRST_ROWS,
                false => block_rows(&cut.records, rest),
            };
            let (block, after) = rest.split_at(count.min(rest.len()));
            self.take_block(cut, dialect, form, block);
            rest = after;
        }
    }

    /// Adds the values of some rows, column by column.
    fn take_block(&mut self, cut: &Cut, dialect: &Dialect, form: &Form, rows: &[usize]) {
        let text = cut.chunk.text();
        let mut scratch = Vec::new();
        let mut kept: Vec<usize> = Vec::with_capacity(rows.len());
        for (field, facts) in self.columns.iter_mut().enumerate() {
            self.values.clear();
            kept.clear();
            for row in rows {
                let written = &text[cut.records.field(*row, field)];
                let decoded = match cut.records.records[*row].escaped {
                    true => decode_field(written, dialect, &mut scratch),
                    false if is_null(dialect, written) => FieldText::Null,
                    false => FieldText::Written(written),
                };
                let Some(value) = decoded.text() else {
                    facts.add_null(|| place(cut, *row));
                    continue;
                };
                if form.quote.is_some() && written.first() == form.quote.as_ref() {
                    facts.quoted += 1;
                }
                // An escape means a NUL, or bytes that are not UTF-8. Such a value says nothing about the type.
                if value.contains(&0) || std::str::from_utf8(value).is_err() {
                    continue;
                }
                if !facts.add_word(value, || place(cut, *row)) {
                    self.values.push(value);
                    kept.push(*row);
                }
            }
            facts.add(&mut self.values, &|index| place(cut, kept[index]));
        }
    }

    fn add_bad(&mut self, what: String, place: impl FnOnce() -> FilePlace) {
        const KINDS_MAX: usize = 20;
        let known = self.bad_rows.iter().position(|bad| bad.what == what);
        // If there are very many kinds, the last one counts for all others.
        let full = (self.bad_rows.len() == KINDS_MAX).then_some(KINDS_MAX - 1);
        match known.or(full) {
            Some(index) => self.bad_rows[index].count += 1,
            None => self.bad_rows.push(BadRows {
                what,
                count: 1,
                first: place(),
            }),
        }
    }

    fn add_first_record(
        &mut self,
        cut: &Cut,
        index: usize,
        dialect: &Dialect,
        file: &Arc<SourceFile>,
    ) {
        let text = cut.chunk.text();
        let mut scratch = Vec::new();
        let fields = (0..self.columns.len())
            .map(|field| {
                let written = &text[cut.records.field(index, field)];
                let decoded = decode_field(written, dialect, &mut scratch);
                String::from_utf8_lossy(decoded.text().unwrap_or_default()).into_owned()
            })
            .collect();
        self.first_records.push(FirstRecord {
            file: Arc::clone(file),
            fields,
        });
    }
}

/// The number of rows that are converted together.
fn block_rows(records: &Records, rows: &[usize]) -> usize {
    let start = records.records[rows[0]].start as usize;
    let fits = |row: &&usize| (records.records[**row].end as usize) < start + BLOCK_BYTES;
    rows.iter().take(BLOCK_ROWS).take_while(fits).count().max(1)
}

fn is_null(dialect: &Dialect, written: &[u8]) -> bool {
    dialect.is_null(written)
}

fn place(cut: &Cut, index: usize) -> FilePlace {
    let record = &cut.records.records[index];
    let chunk: &Chunk = &cut.chunk;
    FilePlace {
        file: Arc::clone(&chunk.file),
        line: cut
            .is_line_known
            .then(|| chunk.line_offset + u64::from(record.line) + 1),
        byte_offset: chunk.byte_offset + u64::from(record.start),
    }
}

fn fault_words(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::StrayQuote => "a quote inside an unquoted field",
        FaultKind::TextAfterQuote => "text after a closing quote",
        FaultKind::UnclosedQuote => "a quote that is not closed",
        FaultKind::DanglingEscape => "an escape at their end",
        FaultKind::TrailingDelimiterMissing => "no delimiter at their end",
        FaultKind::BareCarriageReturn => "a carriage return without a line feed",
        FaultKind::EndMarker => "COPY's end-of-data marker",
        FaultKind::RecordLength => "another length than declared",
    }
}
