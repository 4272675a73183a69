//! The memory of a load, which does not depend on the size of its files.

use std::ops::Deref;

use inrush_rows::plural::counted;
use inrush_rows::quantity::bytes;
use inrush_source::{PART_BYTES, PARTS_AHEAD, Split};
use inrush_transform::evaluator::{BUFFER_BYTES_MAX, LIBRARY_BYTES};
use inrush_transform::room::{OWN_TEXT_COPIES, ROOM_BYTES};

use crate::load_flow::LoadFlow;
use crate::reading::Reading;
use crate::steps::ROWS_MAX;
use crate::units::long_units::work_bytes;

/// The resident memory of the program, Python's interpreter and all libraries, and of everything that every load has:
/// tables of time zones, threads, the evaluator of the ledger, and the ledger rows that are read at a time. Measured: 26
/// MiB.
const PROGRAM_BYTES: u64 = 32 << 20;
/// The memory for each file of an earlier attempt: keys, counts and, for a file whose time has changed, the hashes of
/// its text. Measured for files whose time has not changed: close to nothing.
const RESUMED_FILE_BYTES: u64 = 900;
/// The memory of the ledger's record of each file, if all records are read at the same time because the package
/// promises sums of all files.
const PROMISED_FILE_BYTES: u64 = 1_200;
/// The record of a range of a fed file. The check before the switch reads all records of one file at a time. Measured:
/// 700.
const FED_RECORD_BYTES: u64 = 800;
/// Copies of a path in memory at a time: as opened, as shown, and in the report.
const PATH_COPIES: u64 = 4;
/// Copies of the texts that steps make in memory at a time: DuckDB's result, the batch, and the encoder's buffers.
const STEP_TEXT_COPIES: u64 = 4;

/// The figures of a load and of its destination from which its memory is computed.
#[derive(Clone, Copy, Debug)]
pub struct LoadMemory {
    /// Streams.
    pub streams: usize,
    /// Bytes of a chunk of text.
    pub chunk_bytes: u32,
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Bytes of a stream besides its text and its batch: those that it sends, or that the destination gathers.
    pub own_stream_bytes: u64,
    /// Bytes of the destination's own library; zero if it has none.
    pub library_bytes: u64,
    /// Bytes of each file, or range of a file, from the plan to the report, in addition to its path. Measured for each planner.
    pub file_bytes: u64,
    /// The run resumes an earlier attempt.
    pub is_resumed: bool,
}

/// The memory that a load needs for each file, or range of a file, in addition to its path.
#[derive(Clone, Copy, Debug)]
struct FileCost {
    /// [`LoadMemory::file_bytes`].
    file_bytes: u64,
    /// The run resumes an earlier attempt.
    is_resumed: bool,
    /// The package promises sums of all files together.
    is_promised: bool,
}

impl FileCost {
    fn bytes(self) -> u64 {
        let resumed = u64::from(self.is_resumed) * RESUMED_FILE_BYTES;
        let promised = u64::from(self.is_promised) * PROMISED_FILE_BYTES;
        self.file_bytes + resumed + promised
    }
}

/// The most memory that the loader takes, for files of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// Bytes of the program and its libraries.
    pub program_bytes: u64,
    /// Files and ranges of files.
    pub file_count: u64,
    /// Bytes of memory for them.
    pub files_bytes: u64,
    /// Bytes of the decompressors that are at work at a time; zero if no file is compressed.
    pub decoder_bytes: u64,
    /// Bytes of one stream.
    pub stream_bytes: u64,
    /// Bytes of all streams.
    pub streams_bytes: u64,
    /// Bytes of the one reader that feeds all streams from a file that cannot be cut; zero if there is none.
    pub feed_bytes: u64,
    /// Bytes of the row groups that all streams decode at a time; zero if no file has typed rows.
    pub row_group_bytes: u64,
    /// Bytes of the destination's own library; zero if it has none.
    pub library_bytes: u64,
    /// Bytes of DuckDB, which evaluates the steps of flows; zero if there are none.
    pub steps_bytes: u64,
    /// Bytes by which each stream may grow for one very long record.
    pub long_record_bytes: u64,
}

impl MemoryBound {
    /// The sum of all parts except very long records.
    pub fn total(&self) -> u64 {
        self.program_bytes
            + self.files_bytes
            + self.decoder_bytes
            + self.streams_bytes
            + self.feed_bytes
            + self.row_group_bytes
            + self.library_bytes
            + self.steps_bytes
    }

    /// The bound of a load of these flows.
    pub fn of_flows<F: Deref<Target = LoadFlow>>(flows: &[F], load: &LoadMemory) -> MemoryBound {
        let readings = || flows.iter().map(|flow| &flow.reading);
        let splits = || flows.iter().flat_map(|flow| flow.splits());
        let columns_max = readings().map(|reading| reading.columns.len()).max();
        let has_steps = readings().any(|reading| reading.steps.is_some());
        let kept = readings().filter_map(|reading| reading.steps.as_ref());
        let kept = kept.map(|steps| steps.planned.kept_bytes()).sum::<u64>();
        let record_bytes_max = readings().map(|reading| reading.dialect.record_bytes_max);
        let (chunk_bytes, streams) = (u64::from(load.chunk_bytes), load.streams as u64);
        let batch_rows = load.batch_rows as u64;
        let columns_max = columns_max.unwrap_or(0) as u64;
        let of_steps = readings().map(|reading| stepped_bytes(reading, chunk_bytes));
        let stream_bytes = text_and_batch(chunk_bytes, batch_rows, columns_max)
            + of_steps.max().unwrap_or(0)
            + load.own_stream_bytes;
        let cost = FileCost {
            file_bytes: load.file_bytes,
            is_resumed: load.is_resumed,
            is_promised: readings().any(|reading| !reading.expect.promises.is_empty()),
        };
        MemoryBound {
            stream_bytes,
            streams_bytes: stream_bytes * streams,
            feed_bytes: feed_bytes(splits(), chunk_bytes, streams),
            row_group_bytes: row_group_bytes(splits()) * streams,
            library_bytes: load.library_bytes,
            steps_bytes: match has_steps {
                true => LIBRARY_BYTES + BUFFER_BYTES_MAX + kept,
                false => 0,
            },
            // Up to four copies of the record: its text, the tail that is carried into the next chunk, its value, and
            // the bytes that are sent. Steps may make longer texts of it.
            long_record_bytes: match has_steps {
                true => 4 + STEP_TEXT_COPIES * OWN_TEXT_COPIES as u64,
                false => 4,
            } * record_bytes_max.max().unwrap_or(0) as u64,
            ..MemoryBound::of_files(splits(), load.streams, cost)
        }
    }

    /// The bound of a load of these files, before its streams are counted.
    fn of_files<'a>(
        splits: impl Iterator<Item = &'a Split>,
        streams: usize,
        cost: FileCost,
    ) -> MemoryBound {
        let mut bound = MemoryBound {
            program_bytes: PROGRAM_BYTES,
            file_count: 0,
            files_bytes: 0,
            decoder_bytes: 0,
            stream_bytes: 0,
            streams_bytes: 0,
            feed_bytes: 0,
            row_group_bytes: 0,
            library_bytes: 0,
            steps_bytes: 0,
            long_record_bytes: 0,
        };
        let mut decoder_bytes_max = 0;
        let mut compressed_count = 0;
        for split in splits {
            let path_bytes = split.input.name().as_os_str().len() as u64;
            bound.file_count += 1;
            bound.files_bytes += cost.bytes() + PATH_COPIES * path_bytes + fed_records_bytes(split);
            if let Some(decoder_bytes) = split.input.decoder_bytes() {
                decoder_bytes_max = decoder_bytes_max.max(decoder_bytes);
                compressed_count += 1;
            }
        }
        bound.decoder_bytes = decoder_bytes_max * compressed_count.min(streams as u64);
        bound
    }

    /// Words for the memory that all streams need together, in addition to the memory of each stream.
    pub fn also_for_streams(&self) -> String {
        match (self.feed_bytes, self.row_group_bytes) {
            (0, 0) => String::new(),
            (0, row_group_bytes) => format!(
                ", {} for the row groups that they decode",
                bytes(row_group_bytes)
            ),
            (feed_bytes, _) => format!(", {} for the reader that feeds them", bytes(feed_bytes)),
        }
    }

    /// The parts of the total other than the streams, in words.
    pub fn beside_streams(&self) -> String {
        let mut words = format!(
            "{} for the program and its libraries, {} for the data about {}",
            bytes(self.program_bytes),
            bytes(self.files_bytes),
            counted(self.file_count, "split")
        );
        if self.library_bytes > 0 {
            words.push_str(&format!(
                ", {} for the destination's library",
                bytes(self.library_bytes)
            ));
        }
        if self.steps_bytes > 0 {
            words.push_str(&format!(
                ", {} for the steps: DuckDB, references and keys",
                bytes(self.steps_bytes)
            ));
        }
        if self.decoder_bytes > 0 {
            words.push_str(&format!(
                ", {} for decompressors",
                bytes(self.decoder_bytes)
            ));
        }
        words
    }
}

/// The memory for the records of ranges of a fed file. The length of a pipe is unknown, so its records are not counted.
fn fed_records_bytes(split: &Split) -> u64 {
    match split.is_shared {
        true => work_bytes(split) / PART_BYTES as u64 * FED_RECORD_BYTES,
        false => 0,
    }
}

/// The memory of a stream for text, and for the batch that is made of it.
fn text_and_batch(chunk_bytes: u64, batch_rows: u64, columns_max: u64) -> u64 {
    // Two chunks, because the second takes over the tail of the first; four bytes for each possible field end and
    // sixteen for each record, if every field is empty.
    let text = 2 * chunk_bytes + chunk_bytes * 4 + chunk_bytes / 2 * 16;
    text + batch_rows * columns_max * 17
}

/// The memory of a stream for the rows that pass the steps together: each column that is read, each that is
/// derived, and both again for the rows that are left; and the texts that steps make. A row has at least two bytes of text.
fn stepped_bytes(reading: &Reading, chunk_bytes: u64) -> u64 {
    let Some(steps) = &reading.steps else {
        return 0;
    };
    let columns = steps.read.len() + steps.planned.derived.len();
    let row_text_bytes = 2 * reading.field_count.max(1) as u64;
    let fan_out = reading.fan_out();
    let rows = (chunk_bytes / row_text_bytes).saturating_mul(fan_out);
    let rows = rows.min(fan_out.max(ROWS_MAX as u64));
    // Columns that `unpivot` turns into rows have one value for each record.
    let unused = steps.planned.unused().len();
    let values = rows * (columns - unused) as u64 + rows.div_ceil(fan_out) * unused as u64;
    2 * values * 17 + STEP_TEXT_COPIES * ROOM_BYTES as u64
}

/// The memory of the text that is read ahead for the streams: one file is fed at a time.
fn feed_bytes<'a>(splits: impl Iterator<Item = &'a Split>, chunk_bytes: u64, streams: u64) -> u64 {
    let of_file = splits.filter(|split| split.is_shared).map(|split| {
        let ranges = (streams + PARTS_AHEAD as u64) * (PART_BYTES as u64 + chunk_bytes);
        // The file's own bytes, two for each letter of UTF-16, are in memory beside the translation.
        match split.input.is_translated() {
            true => 3 * ranges,
            false => ranges,
        }
    });
    of_file.max().unwrap_or(0)
}

/// The size of the largest row group, or record batch, of all files of typed rows. At most one is decoded at a time,
/// and usually much less.
fn row_group_bytes<'a>(splits: impl Iterator<Item = &'a Split>) -> u64 {
    let sizes = splits.map(|split| split.input.block_bytes());
    sizes.max().unwrap_or(0)
}
