//! Checks for one file that reading it in pieces finds the same records as one reader that reads all of it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush_rows::cancel::Stop;
use inrush_rows::chunk::Chunk;
use inrush_scan::{Dialect, Records};
use inrush_source::Chunks;
use inrush_source::{RecordStart, SourceError, wait};

use super::buffers::BufferPool;
use super::feed::{Feed, FeedSettings};
use super::reader::TextReader;
use super::source_file::SourceFile;
use super::split::Split;
use super::split_starts::{first_records, needs_pass};
use super::table::TableFile;
use inrush_system::threads::on_threads;

/// The number of bytes of a chunk. It is odd, so that chunks end at arbitrary positions.
const CHUNK_BYTES: usize = 100_003;

/// How a file is divided for the check.
#[derive(Clone, Copy, Debug)]
pub struct SplitCheckSettings {
    /// The number of bytes of a range.
    pub range_bytes: u64,
    /// The number of threads that read at the same time.
    pub threads: usize,
}

/// How the pieces of a file were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitMethod {
    /// Each range's first record was found from the line end before it, or by arithmetic.
    Local,
    /// A pass over the whole file found them.
    Pass,
    /// One reader fed all others.
    Fed,
    /// The file's footer has the positions of its row groups.
    RowGroups,
}

/// The result of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitCheck {
    /// How the pieces were found.
    pub method: SplitMethod,
    /// The number of pieces.
    pub range_count: usize,
    /// The number of records that one reader finds.
    pub record_count: u64,
    /// The number of lines that it skips.
    pub skipped_count: u64,
    /// The first range with a difference.
    pub difference: Option<SplitDifference>,
}

/// A range in which pieces and one reader differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitDifference {
    /// Its byte range.
    pub range: Range<u64>,
    /// The number of its records that one reader finds.
    pub serial_count: u64,
    /// The number of its records that are found in pieces.
    pub split_count: u64,
}

/// The records of a range: their number, and a sum over the text, fields, place and faults of each. The sum does not
/// depend on the order of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Digest {
    count: u64,
    sum: u128,
}

impl Digest {
    fn take(&mut self, chunk: &Chunk, records: &Records, index: usize) {
        let mut hasher = DefaultHasher::new();
        place(chunk, records, index).hash(&mut hasher);
        let record = &records.records[index];
        chunk.text()[record.start as usize..record.end as usize].hash(&mut hasher);
        for field in 0..records.field_count(index) {
            let range = records.field(index, field);
            (
                range.start as u32 - record.start,
                range.end as u32 - record.start,
            )
                .hash(&mut hasher);
        }
        let first = hasher.finish();
        index_of_fault(records, index).hash(&mut hasher);
        self.count += 1;
        self.sum = self
            .sum
            .wrapping_add(u128::from(first) << 64 | u128::from(hasher.finish()));
    }
}

fn index_of_fault(records: &Records, index: usize) -> Option<(u8, u32)> {
    let start = records.records[index].start;
    let found = records
        .faults
        .binary_search_by_key(&(index as u32), |fault| fault.record_index)
        .ok()?;
    let fault = &records.faults[found];
    Some((fault.kind as u8, fault.position.wrapping_sub(start)))
}

/// The byte and the line at which a record begins.
fn place(chunk: &Chunk, records: &Records, index: usize) -> (u64, u64) {
    let record = &records.records[index];
    if chunk.encoding().is_none() && !chunk.counts_rows() {
        let byte_offset = chunk.byte_offset + u64::from(record.start);
        return (byte_offset, chunk.first_line() + u64::from(record.line));
    }
    let place = chunk.location(record.start, record.line);
    (place.byte_offset, place.line)
}

/// Reads a file in pieces and by one reader, and compares the results. Returns `None` if a stop was requested. A pipe
/// cannot be read twice: the caller refuses it.
pub fn check_split(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    settings: SplitCheckSettings,
    stop: &Stop,
) -> Result<Option<SplitCheck>, SourceError> {
    if let Some(table) = file.table() {
        return check_row_groups(file, table, dialect, stop);
    }
    let is_cut = file.reads_in_ranges()?;
    let found = if is_cut {
        in_ranges(file, dialect, settings, stop)?
    } else {
        fed(file, dialect, settings)?
    };
    let Some((found, skipped)) = found else {
        return Ok(None);
    };
    let Some((serial, record_count, skipped_count)) = serially(file, dialect, &found, stop)? else {
        return Ok(None);
    };
    let mut difference = found
        .iter()
        .zip(&serial)
        .find(|(split, serial)| split.1 != **serial)
        .map(|((range, split), serial)| SplitDifference {
            range: range.clone(),
            serial_count: serial.count,
            split_count: split.count,
        });
    if difference.is_none() && skipped != skipped_count {
        difference = Some(SplitDifference {
            range: 0..file.size_bytes,
            serial_count: skipped_count,
            split_count: skipped,
        });
    }
    Ok(Some(SplitCheck {
        method: match (is_cut, needs_pass(dialect)) {
            (false, _) => SplitMethod::Fed,
            (true, true) => SplitMethod::Pass,
            (true, false) => SplitMethod::Local,
        },
        range_count: found.len(),
        record_count,
        skipped_count,
        difference,
    }))
}

/// Reads a file of typed rows group by group, and in one go. Its places are row numbers.
fn check_row_groups(
    file: &Arc<SourceFile>,
    table: &TableFile,
    dialect: &Dialect,
    stop: &Stop,
) -> Result<Option<SplitCheck>, SourceError> {
    let read = |split: Split, digest: &mut Digest| -> Result<(), SourceError> {
        let mut reader = TextReader::open(split, dialect, CHUNK_BYTES, BufferPool::default())?;
        all(&mut reader, |chunk, records, at| {
            digest.take(chunk, records, at)
        })
    };
    let ranges = table.ranges(1);
    let range_count = ranges.len();
    let mut split = Digest::default();
    for range in ranges {
        if stop.asked().is_some() {
            return Ok(None);
        }
        read(Split::range(Arc::clone(file), range, None), &mut split)?;
    }
    let mut serial = Digest::default();
    read(Split::whole(Arc::clone(file)), &mut serial)?;
    Ok(Some(SplitCheck {
        method: SplitMethod::RowGroups,
        range_count,
        record_count: serial.count,
        skipped_count: 0,
        difference: (split != serial).then_some(SplitDifference {
            range: 0..serial.count,
            serial_count: serial.count,
            split_count: split.count,
        }),
    }))
}

/// Ranges in order, each with its records, and the number of lines skipped in all of them.
type RangeDigests = (Vec<(Range<u64>, Digest)>, u64);

fn in_ranges(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    settings: SplitCheckSettings,
    stop: &Stop,
) -> Result<Option<RangeDigests>, SourceError> {
    let size_bytes = file.size_bytes;
    let count = size_bytes.div_ceil(settings.range_bytes).max(1);
    let ranges: Vec<Range<u64>> = (0..count)
        .map(|index| {
            let start = index * settings.range_bytes;
            start..(start + settings.range_bytes).min(size_bytes)
        })
        .collect();
    let starts = match ranges.len() {
        1 => vec![None],
        _ => match first_records(file, dialect, &ranges, settings.threads, stop)? {
            Some(starts) => starts,
            None => return Ok(None),
        },
    };
    let next = AtomicUsize::new(0);
    let read = |index: usize, range: &Range<u64>, start: Option<RecordStart>| {
        let split = Split::range(Arc::clone(file), range.clone(), start);
        let mut reader = TextReader::open(split, dialect, CHUNK_BYTES, BufferPool::default())?;
        let mut digest = Digest::default();
        all(&mut reader, |chunk, records, at| {
            digest.take(chunk, records, at)
        })?;
        Ok((index, digest, Chunks::meter(&reader).skipped_line_count))
    };
    let work = || -> Result<Vec<(usize, Digest, u64)>, SourceError> {
        let mut found = Vec::new();
        while stop.asked().is_none() {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(index) else {
                break;
            };
            found.push(read(index, range, starts[index])?);
        }
        Ok(found)
    };
    let mut found = on_threads(settings.threads, &work)?;
    if stop.asked().is_some() {
        return Ok(None);
    }
    found.sort_unstable_by_key(|(index, ..)| *index);
    let skipped = found.iter().map(|(_, _, skipped)| skipped).sum();
    let digests = found.into_iter().map(|(_, digest, _)| digest);
    Ok(Some((ranges.into_iter().zip(digests).collect(), skipped)))
}

fn fed(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    settings: SplitCheckSettings,
) -> Result<Option<RangeDigests>, SourceError> {
    let feed = FeedSettings {
        range_bytes: usize::try_from(settings.range_bytes).unwrap_or(usize::MAX),
        chunk_bytes: CHUNK_BYTES,
        streams: settings.threads,
    };
    let feed = Feed::start(file, dialect, feed, &[])?;
    let work = || -> Result<Vec<(Range<u64>, Digest, u64)>, SourceError> {
        let mut found = Vec::new();
        while let Some(mut range) = wait(feed.next_range())? {
            let mut digest = Digest::default();
            all(&mut range, |chunk, records, at| {
                digest.take(chunk, records, at);
            })?;
            let skipped = Chunks::meter(&range).skipped_line_count;
            found.push((range.text_range.clone(), digest, skipped));
        }
        Ok(found)
    };
    let mut found = on_threads(settings.threads, &work)?;
    found.sort_unstable_by_key(|(range, ..)| range.start);
    let skipped = found.iter().map(|(.., skipped)| skipped).sum();
    let found = found.into_iter().map(|(range, digest, _)| (range, digest));
    Ok(Some((found.collect(), skipped)))
}

/// Calls a function for every record of a source.
fn all(
    source: &mut impl Chunks,
    mut show: impl FnMut(&Chunk, &Records, usize),
) -> Result<(), SourceError> {
    let mut records = Records::default();
    while let Some(chunk) = source.next_chunk(&mut records)? {
        for index in 0..records.len() {
            show(&chunk, &records, index);
        }
        source.recycle(chunk);
    }
    Ok(())
}

/// The records that one reader finds, assigned to the ranges in which they begin; and the numbers of all records and of
/// skipped lines.
fn serially(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    ranges: &[(Range<u64>, Digest)],
    stop: &Stop,
) -> Result<Option<(Vec<Digest>, u64, u64)>, SourceError> {
    let starts: Vec<u64> = ranges.iter().map(|(range, _)| range.start).collect();
    let mut digests = vec![Digest::default(); ranges.len()];
    let whole = Split::whole(Arc::clone(file));
    let mut reader = TextReader::open(whole, dialect, CHUNK_BYTES, BufferPool::default())?;
    let mut is_stopped = false;
    all(&mut reader, |chunk, records, at| {
        is_stopped |= at == 0 && stop.asked().is_some();
        let (byte_offset, _) = place(chunk, records, at);
        // The last range that begins at or before the record.
        let range = starts.partition_point(|start| *start <= byte_offset) - 1;
        digests[range].take(chunk, records, at);
    })?;
    let meter = Chunks::meter(&reader);
    let found = (digests, meter.record_count, meter.skipped_line_count);
    Ok((!is_stopped).then_some(found))
}
