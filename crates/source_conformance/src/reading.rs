//! Reads an input in different ways, and returns its rows in the order of the input.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{
    ReadSettings, ShareSettings, Source, SourceError, SourceMeter, SourceSplit, SplitContent,
    SplitEnd, SplitReader, wait,
};

use super::random::Random;

/// A row from a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The place where it begins, as in messages.
    pub place: String,
    /// Its fields: for text, as they are written, with quotes; for typed rows, their exact text. Bytes that are not
    /// ASCII are escaped ([`Row::text`]).
    pub fields: Vec<String>,
    /// True if its form is wrong, or it is not UTF-8.
    pub is_faulty: bool,
}

impl Row {
    /// The text of a field, as in [`Row::fields`].
    pub fn text(bytes: &[u8]) -> String {
        bytes.escape_ascii().to_string()
    }
}

/// How an input is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The bytes of a split.
    pub(crate) split_bytes: u64,
    pub(crate) chunk_bytes: usize,
    pub(crate) streams: usize,
}

impl Way {
    /// One stream reads the whole input.
    pub(crate) const SERIAL: Way = Way {
        split_bytes: u64::MAX,
        chunk_bytes: 1 << 16,
        streams: 1,
    };
}

/// The result of reading a split, or a part of a shared split.
pub(crate) struct Piece {
    pub(crate) range: Range<u64>,
    pub(crate) rows: Vec<Row>,
    pub(crate) meter: SourceMeter,
    pub(crate) end: SplitEnd,
}

impl Piece {
    /// Its content, as the ledger keeps it.
    pub(crate) fn content(&self) -> SplitContent {
        SplitContent {
            start: self.range.start,
            end: Some(self.range.end),
            hash: Some(self.end.hash.clone()),
            text_range: self.end.text_range.clone(),
        }
    }
}

/// All rows of the pieces.
pub(crate) fn rows(pieces: &[Piece]) -> Vec<Row> {
    let rows = pieces.iter().flat_map(|piece| &piece.rows);
    rows.cloned().collect()
}

/// Reads a split to its end.
pub(crate) fn read_split(
    range: Range<u64>,
    mut reader: Box<dyn SplitReader + '_>,
) -> Result<Piece, SourceError> {
    let mut rows = Vec::new();
    let mut records = Records::default();
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        add_rows(&mut rows, &chunk, &records);
        reader.recycle(chunk);
    }
    Ok(Piece {
        range,
        rows,
        meter: reader.meter(),
        end: reader.end(),
    })
}

/// Adds the rows of a chunk.
pub(crate) fn add_rows(rows: &mut Vec<Row>, chunk: &Chunk, records: &Records) {
    for (index, record) in records.records.iter().enumerate() {
        let fields: Vec<String> = match &chunk.typed {
            Some(typed) => {
                let (text, fields) = typed.row_text(record.start as usize);
                let fields = fields.into_iter();
                fields.map(|field| Row::text(&text[field])).collect()
            }
            None => (0..records.field_count(index))
                .map(|field| Row::text(&chunk.text()[records.field(index, field)]))
                .collect(),
        };
        let index = index as u32;
        let has_fault = records.faults.iter().any(|f| f.record_index == index);
        let is_typed_fault = chunk.typed.as_ref().is_some_and(|typed| {
            let row = record.start as usize;
            typed.faults.iter().any(|fault| fault.row == row)
        });
        rows.push(Row {
            place: chunk.location(record.start, record.line).to_string(),
            fields,
            is_faulty: has_fault || is_typed_fault || chunk.invalid_utf8.contains(&index),
        });
    }
}

/// The splits of an input, ready to be read.
pub(crate) fn splits_of(
    source: &dyn Source,
    input: usize,
    split_bytes: u64,
) -> Result<Vec<SourceSplit>, String> {
    let mut splits = source.splits(input, split_bytes).map_err(told)?;
    source.locate(&mut splits, 2).map_err(told)?;
    Ok(splits)
}

/// Reads the splits of an input in any order; returns the pieces in the order of the input.
pub(crate) fn read(
    source: &dyn Source,
    input: usize,
    way: Way,
    random: &mut Random,
) -> Result<Vec<Piece>, String> {
    let splits = splits_of(source, input, way.split_bytes)?;
    if let [split] = &splits[..]
        && split.is_shared
    {
        return read_shared(source, split, way, &[]);
    }
    let mut order: Vec<usize> = (0..splits.len()).collect();
    random.shuffle(&mut order);
    let next = AtomicUsize::new(0);
    on_streams(way.streams, &|found: &Found| {
        let mut stream = source.open_stream(ReadSettings {
            chunk_bytes: way.chunk_bytes,
        })?;
        while let Some(at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let split = &splits[*at];
            let piece = read_split(split.range.clone(), stream.open(split)?)?;
            found.push(piece);
        }
        Ok(())
    })
}

/// Reads a shared split with all streams, without the finished parts.
pub(crate) fn read_shared(
    source: &dyn Source,
    split: &SourceSplit,
    way: Way,
    finished: &[Range<u64>],
) -> Result<Vec<Piece>, String> {
    let settings = ShareSettings {
        chunk_bytes: way.chunk_bytes,
        streams: way.streams,
    };
    let shared = source.share(split, settings, finished).map_err(told)?;
    on_streams(way.streams, &|found: &Found| {
        while let Some(part) = wait(shared.next_part())? {
            let piece = read_split(part.range, part.reader)?;
            found.push(piece);
        }
        Ok(())
    })
}

/// The pieces that all streams have read.
#[derive(Default)]
struct Found(Mutex<Vec<Piece>>);

impl Found {
    fn push(&self, piece: Piece) {
        let mut found = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        found.push(piece);
    }
}

/// Runs the same work on several threads.
fn on_streams(
    streams: usize,
    work: &(impl Fn(&Found) -> Result<(), SourceError> + Sync),
) -> Result<Vec<Piece>, String> {
    let found = Found::default();
    std::thread::scope(|scope| {
        let found = &found;
        let spawn = |_| scope.spawn(move || work(found));
        let threads: Vec<_> = (0..streams).map(spawn).collect();
        let mut ended = Ok(());
        for thread in threads {
            let own = thread.join();
            let own = own.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            ended = ended.and(own);
        }
        ended
    })
    .map_err(told)?;
    let found = found.0.into_inner();
    let mut found: Vec<Piece> = found.unwrap_or_else(PoisonError::into_inner);
    // Empty pieces at the same position may be in any order.
    found.sort_by_key(|piece| (piece.range.start, piece.range.end));
    Ok(found)
}

/// An error in words.
pub(crate) fn told(error: SourceError) -> String {
    error.to_string()
}

/// The first difference between rows, comparing the property that `of` returns.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    found: &[Row],
    expected: &[Row],
    of: impl Fn(&Row) -> T,
) -> Result<(), String> {
    for (number, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (shown, wanted) = (of(found), of(expected));
        if shown != wanted {
            let place = &expected.place;
            return Err(format!(
                "row {number} at {place} is {shown:?}, expected {wanted:?}"
            ));
        }
    }
    match found.len() == expected.len() {
        true => Ok(()),
        false => Err(format!("{} rows, expected {}", found.len(), expected.len())),
    }
}
