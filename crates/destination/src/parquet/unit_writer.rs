//! Rows of one unit on their way into files.
//!
//! Without partitions there is one file at a time, and its row group is encoded while rows come. With
//! partitions rows wait in memory, sorted by their folders, and one row group is encoded at a time: the
//! largest, whenever all that wait have reached their limit. So memory does not grow with the number of
//! partitions; the row groups get smaller instead.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use arrow_select::interleave::interleave;

use super::data_file::DataFile;
use super::encoding::{SAMPLE_BYTES, SAMPLE_ROWS};
use super::layout::Layout;
use super::ledger::{STAGED, StagedFile};
use super::options::Options;
use crate::error::{Error, Result};

/// Bytes of rows that wait for their partitions' row groups.
pub(super) const WAITING_BYTES_MAX: usize = 64 << 20;
/// Rows that are sorted into partitions together: fewer make many small copies.
const SORTED_ROWS: usize = 32_768;
/// Bytes of them.
const SORTED_BYTES: usize = 16 << 20;
/// Files that a unit keeps open. Partitions beyond them get a second file when rows come again.
const OPEN_FILES_MAX: usize = 48;

/// Where the files of a unit go.
pub(super) struct Place<'a> {
    pub(super) layout: &'a Layout,
    pub(super) options: &'a Options,
    /// The folder of staging.
    pub(super) folder: PathBuf,
    /// How the files' names begin.
    pub(super) prefix: String,
    /// Counts the files of the run.
    pub(super) counter: &'a AtomicU64,
}

impl Place<'_> {
    fn create(&self, sample: &[RecordBatch], rows: usize) -> Result<(String, DataFile)> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.{STAGED}", self.prefix);
        let path = self.folder.join(&name);
        let file = DataFile::create(path, self.layout, self.options, sample, rows)?;
        Ok((name, file))
    }

    fn is_full(&self, file: &DataFile) -> bool {
        self.options
            .file_bytes_max
            .is_some_and(|max| file.bytes_written() >= max)
    }
}

/// Rows of one unit on their way.
pub(super) enum UnitWriter<'a> {
    /// Into one file after the other.
    Whole(Box<Whole<'a>>),
    /// Into partitions.
    Parted(Parted<'a>),
}

impl<'a> UnitWriter<'a> {
    pub(super) fn new(place: Place<'a>) -> UnitWriter<'a> {
        match place.layout.partitions.is_empty() {
            true => UnitWriter::Whole(Box::new(Whole {
                place,
                sample: Sample::default(),
                open: None,
                closed: Vec::new(),
            })),
            false => UnitWriter::Parted(Parted {
                place,
                unsorted: Vec::new(),
                unsorted_rows: 0,
                unsorted_bytes: 0,
                partitions: Vec::new(),
                waiting_bytes: 0,
                open_files: 0,
                clock: 0,
                closed: Vec::new(),
            }),
        }
    }

    /// Ends all files and returns them.
    pub(super) fn finish(self, name: &dyn Fn(u32) -> String) -> Result<Vec<StagedFile>> {
        match self {
            UnitWriter::Whole(whole) => whole.finish(),
            UnitWriter::Parted(parted) => parted.finish(name),
        }
    }

    /// Removes all that was written.
    pub(super) fn discard(self) -> Result<()> {
        let (place, open, closed) = match self {
            UnitWriter::Whole(whole) => (
                whole.place,
                whole
                    .open
                    .into_iter()
                    .map(|(_, file)| file)
                    .collect::<Vec<_>>(),
                whole
                    .closed
                    .into_iter()
                    .map(|file| file.name)
                    .collect::<Vec<_>>(),
            ),
            UnitWriter::Parted(parted) => (
                parted.place,
                parted
                    .partitions
                    .into_iter()
                    .filter_map(|partition| partition.open.map(|(_, file)| file))
                    .collect(),
                parted
                    .closed
                    .into_iter()
                    .map(|(_, file)| file.name)
                    .collect(),
            ),
        };
        for file in open {
            file.discard()?;
        }
        for name in closed {
            super::files::remove_file(&place.folder.join(name))?;
        }
        Ok(())
    }
}

/// The first rows of a file, which tell how it is encoded.
#[derive(Default)]
struct Sample {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Sample {
    fn is_full(&self) -> bool {
        self.rows >= SAMPLE_ROWS || self.bytes >= SAMPLE_BYTES
    }
}

/// Rows on their way into one file after the other.
pub(super) struct Whole<'a> {
    place: Place<'a>,
    sample: Sample,
    open: Option<(String, DataFile)>,
    closed: Vec<StagedFile>,
}

impl Whole<'_> {
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let Some((_, file)) = &mut self.open else {
            self.sample.rows += batch.num_rows();
            self.sample.bytes += batch.get_array_memory_size();
            self.sample.batches.push(batch);
            return match self.sample.is_full() {
                true => self.open(self.place.options.row_group_rows),
                false => Ok(()),
            };
        };
        file.write(&batch)?;
        match self.place.is_full(file) {
            true => self.close(),
            false => Ok(()),
        }
    }

    fn open(&mut self, rows: usize) -> Result<()> {
        let sample = std::mem::take(&mut self.sample);
        let (name, file) = self.place.create(&sample.batches, rows)?;
        let (_, file) = self.open.insert((name, file));
        for batch in &sample.batches {
            file.write(batch)?;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        if let Some((name, file)) = self.open.take() {
            let (rows, bytes) = file.close()?;
            self.closed.push(StagedFile {
                name,
                partition: String::new(),
                rows,
                bytes,
            });
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<StagedFile>> {
        if self.sample.rows > 0 {
            self.open(self.sample.rows)?;
        }
        self.close()?;
        Ok(self.closed)
    }
}

/// Rows on their way into partitions.
pub(super) struct Parted<'a> {
    place: Place<'a>,
    /// Batches with the partition of each row.
    unsorted: Vec<(RecordBatch, Vec<u32>)>,
    unsorted_rows: usize,
    unsorted_bytes: usize,
    /// By their numbers.
    partitions: Vec<Partition>,
    waiting_bytes: usize,
    open_files: usize,
    /// Counts what is written, to know which file was idle the longest.
    clock: u64,
    closed: Vec<(u32, StagedFile)>,
}

/// A partition, and its rows that wait.
#[derive(Default)]
struct Partition {
    waiting: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    open: Option<(String, DataFile)>,
    used: u64,
}

impl Parted<'_> {
    /// Takes rows, with the partition of each.
    pub(super) fn write(&mut self, batch: RecordBatch, partitions: Vec<u32>) -> Result<()> {
        self.unsorted_rows += batch.num_rows();
        self.unsorted_bytes += batch.get_array_memory_size();
        self.unsorted.push((batch, partitions));
        if self.unsorted_rows >= SORTED_ROWS || self.unsorted_bytes >= SORTED_BYTES {
            self.sort()?;
        }
        Ok(())
    }

    /// Gives all rows to their partitions.
    fn sort(&mut self) -> Result<()> {
        let unsorted = std::mem::take(&mut self.unsorted);
        self.unsorted_rows = 0;
        self.unsorted_bytes = 0;
        let mut rows_of: Vec<(u32, usize, usize)> = Vec::new();
        for (place, (_, partitions)) in unsorted.iter().enumerate() {
            for (row, partition) in partitions.iter().enumerate() {
                rows_of.push((*partition, place, row));
            }
        }
        // Rows of a partition stay in their order.
        rows_of.sort_by_key(|(partition, _, _)| *partition);
        let columns: Vec<Vec<&dyn Array>> = (0..self.place.layout.arrow.fields().len())
            .map(|column| {
                unsorted
                    .iter()
                    .map(|(batch, _)| batch.column(column).as_ref())
                    .collect()
            })
            .collect();
        for rows in rows_of.chunk_by(|left, right| left.0 == right.0) {
            let places: Vec<(usize, usize)> =
                rows.iter().map(|(_, place, row)| (*place, *row)).collect();
            let arrays = columns
                .iter()
                .map(|arrays| interleave(arrays, &places).map(compact))
                .collect::<std::result::Result<Vec<ArrayRef>, _>>()
                .and_then(|arrays| RecordBatch::try_new(self.place.layout.arrow.clone(), arrays))
                .map_err(|error| Error::Refused {
                    doing: "sorting rows into partitions".to_owned(),
                    message: error.to_string(),
                    hint: None,
                })?;
            self.wait(rows[0].0, arrays)?;
        }
        while self.waiting_bytes > WAITING_BYTES_MAX {
            let largest = (0..self.partitions.len())
                .max_by_key(|number| self.partitions[*number].bytes)
                .unwrap_or_default();
            self.write_group(largest)?;
        }
        Ok(())
    }

    fn wait(&mut self, number: u32, batch: RecordBatch) -> Result<()> {
        let number = number as usize;
        if number >= self.partitions.len() {
            self.partitions.resize_with(number + 1, Partition::default);
        }
        let bytes = batch.get_array_memory_size();
        let partition = &mut self.partitions[number];
        partition.rows += batch.num_rows();
        partition.bytes += bytes;
        partition.waiting.push(batch);
        self.waiting_bytes += bytes;
        match partition.rows >= self.place.options.row_group_rows {
            true => self.write_group(number),
            false => Ok(()),
        }
    }

    /// Writes what waits for a partition as a row group.
    fn write_group(&mut self, number: usize) -> Result<()> {
        if self.partitions[number].open.is_none() && self.open_files >= OPEN_FILES_MAX {
            let idle = (0..self.partitions.len())
                .filter(|number| self.partitions[*number].open.is_some())
                .min_by_key(|number| self.partitions[*number].used);
            if let Some(idle) = idle {
                self.close(idle)?;
            }
        }
        self.clock += 1;
        let partition = &mut self.partitions[number];
        let waiting = std::mem::take(&mut partition.waiting);
        let rows = std::mem::take(&mut partition.rows);
        self.waiting_bytes -= std::mem::take(&mut partition.bytes);
        partition.used = self.clock;
        let (_, file) = match &mut partition.open {
            Some(open) => open,
            closed => {
                self.open_files += 1;
                closed.insert(self.place.create(sample(&waiting), rows)?)
            }
        };
        for batch in &waiting {
            file.write(batch)?;
        }
        file.flush()?;
        match self.place.is_full(file) {
            true => self.close(number),
            false => Ok(()),
        }
    }

    fn close(&mut self, number: usize) -> Result<()> {
        if let Some((name, file)) = self.partitions[number].open.take() {
            self.open_files -= 1;
            let (rows, bytes) = file.close()?;
            self.closed.push((
                number as u32,
                StagedFile {
                    name,
                    partition: String::new(),
                    rows,
                    bytes,
                },
            ));
        }
        Ok(())
    }

    fn finish(mut self, name: &dyn Fn(u32) -> String) -> Result<Vec<StagedFile>> {
        self.sort()?;
        for number in 0..self.partitions.len() {
            if self.partitions[number].rows > 0 {
                self.write_group(number)?;
            }
            self.close(number)?;
        }
        Ok(self
            .closed
            .into_iter()
            .map(|(number, file)| StagedFile {
                partition: name(number),
                ..file
            })
            .collect())
    }
}

/// As many batches as a sample has.
fn sample(batches: &[RecordBatch]) -> &[RecordBatch] {
    let mut rows = 0;
    let end = batches.iter().position(|batch| {
        rows += batch.num_rows();
        rows >= SAMPLE_ROWS
    });
    &batches[..end.map_or(batches.len(), |place| place + 1)]
}

/// Without what it shares with rows of other partitions, which would stay in memory with it.
fn compact(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => std::sync::Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => std::sync::Arc::new(array.as_binary_view().gc()),
        _ => array,
    }
}
