//! Writes the rows of one unit into files.
//!
//! Without partitions there is one file at a time, and its row group is encoded as rows arrive. With partitions rows
//! wait in memory. Whenever they have reached the limit, the row groups of the largest partitions are encoded, one at a
//! time. So memory does not grow with the number of partitions; the row groups get smaller instead.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::concat::concat_batches;
use arrow_select::interleave::interleave_record_batch;
use inrush_destination::{Error, Result};

use crate::data_file::DataFile;
use crate::encoding::{SAMPLE_BYTES, SAMPLE_ROWS};
use crate::layout::Layout;
use crate::ledger::{STAGED, StagedFile};
use crate::options::Options;

/// The least number of rows that are written together.
const GATHERED_ROWS: usize = 4096;
/// The most bytes of memory for rows that wait to be written together.
const GATHERED_BYTES: usize = 4 << 20;
/// The most open files of a unit: each uses some kilobytes. A partition whose file was closed gets a second file when
/// more of its rows arrive.
const OPEN_FILES_MAX: usize = 4096;

/// Where the files of a unit are written.
pub(super) struct UnitFiles<'a> {
    pub(super) layout: &'a Layout,
    pub(super) options: &'a Options,
    /// The staging folder.
    pub(super) folder: PathBuf,
    /// The prefix of the files' names.
    pub(super) prefix: String,
    /// Counts the files of the run.
    pub(super) counter: &'a AtomicU64,
}

impl UnitFiles<'_> {
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

/// The writer of a unit's rows.
pub(super) enum UnitWriter<'a> {
    /// Writes one file after the other.
    Whole(Box<Whole<'a>>),
    /// Writes partitions.
    Parted(Box<Parted<'a>>),
}

impl<'a> UnitWriter<'a> {
    pub(super) fn new(place: UnitFiles<'a>) -> UnitWriter<'a> {
        match place.layout.partitions.is_empty() {
            true => UnitWriter::Whole(Box::new(Whole {
                place,
                waiting: Waiting::default(),
                open: None,
                closed: Vec::new(),
            })),
            false => UnitWriter::Parted(Box::new(Parted {
                place,
                came: Waiting::default(),
                partitions_of: Vec::new(),
                batches: Vec::new(),
                bytes: 0,
                partitions: Vec::new(),
                open_files: 0,
                clock: 0,
                closed: Vec::new(),
            })),
        }
    }

    /// Completes all files and returns them.
    pub(super) fn finish(self, name: &dyn Fn(u32) -> String) -> Result<Vec<StagedFile>> {
        match self {
            UnitWriter::Whole(whole) => whole.finish(),
            UnitWriter::Parted(parted) => parted.finish(name),
        }
    }

    /// Removes all files.
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
            crate::files::remove_file(&place.folder.join(name))?;
        }
        Ok(())
    }
}

/// Rows that wait: the first rows of a file until its encoding is chosen, later rows until there are enough, because
/// each call of the writer has a cost for each column.
#[derive(Default)]
struct Waiting {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
}

impl Waiting {
    fn push(&mut self, batch: RecordBatch) {
        self.rows += batch.num_rows();
        self.bytes += batch.get_array_memory_size();
        self.batches.push(batch);
    }
}

/// The rows of several batches as one batch.
fn gathered(schema: &SchemaRef, mut batches: Vec<RecordBatch>) -> Result<RecordBatch> {
    if batches.len() == 1
        && let Some(batch) = batches.pop()
    {
        return Ok(batch);
    }
    concat_batches(schema, &batches).map_err(|error| Error::Refused {
        doing: "gathering rows".to_owned(),
        message: error.to_string(),
        hint: None,
    })
}

/// Writes rows into one file after the other.
pub(super) struct Whole<'a> {
    place: UnitFiles<'a>,
    waiting: Waiting,
    open: Option<(String, DataFile)>,
    closed: Vec<StagedFile>,
}

impl Whole<'_> {
    pub(super) fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.waiting.push(batch);
        let is_due = match &self.open {
            None => self.waiting.rows >= SAMPLE_ROWS || self.waiting.bytes >= SAMPLE_BYTES,
            Some(_) => self.waiting.rows >= GATHERED_ROWS || self.waiting.bytes >= GATHERED_BYTES,
        };
        match is_due {
            true => self.write_waiting(self.place.options.row_group_rows),
            false => Ok(()),
        }
    }

    /// Writes the waiting rows. If no file is open, creates one whose row groups have this many rows.
    fn write_waiting(&mut self, rows: usize) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let (_, file) = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(self.place.create(&waiting.batches, rows)?),
        };
        file.write(&gathered(&self.place.layout.arrow, waiting.batches)?)?;
        match self.place.is_full(file) {
            true => self.close(),
            false => Ok(()),
        }
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
        if self.waiting.rows > 0 {
            self.write_waiting(self.waiting.rows)?;
        }
        self.close()?;
        Ok(self.closed)
    }
}

/// Writes rows into partitions.
pub(super) struct Parted<'a> {
    place: UnitFiles<'a>,
    /// Batches that have arrived, with the partition of each row.
    came: Waiting,
    partitions_of: Vec<u32>,
    /// Rows that wait for their row groups, in batches that share no memory.
    batches: Vec<RecordBatch>,
    bytes: usize,
    /// The partitions, by number.
    partitions: Vec<Partition>,
    open_files: usize,
    /// A counter of writes, which shows the file that was idle longest.
    clock: u64,
    closed: Vec<(u32, StagedFile)>,
}

/// A partition and its waiting rows, each with its batch and its index there.
#[derive(Default)]
struct Partition {
    rows: Vec<(u32, u32)>,
    open: Option<(String, DataFile)>,
    used: u64,
}

impl Parted<'_> {
    /// Adds rows, with the partition of each.
    pub(super) fn write(&mut self, batch: RecordBatch, partitions: &[u32]) -> Result<()> {
        self.came.push(batch);
        self.partitions_of.extend_from_slice(partitions);
        match self.came.rows >= GATHERED_ROWS || self.came.bytes >= GATHERED_BYTES {
            true => self.gather(),
            false => Ok(()),
        }
    }

    /// Keeps the arrived rows; writes the largest partitions if there are too many.
    fn gather(&mut self) -> Result<()> {
        let came = std::mem::take(&mut self.came);
        let partitions_of = std::mem::take(&mut self.partitions_of);
        let batch = gathered(&self.place.layout.arrow, came.batches)?;
        let number = self.keep(batch)?;
        for (row, partition) in partitions_of.iter().enumerate() {
            let partition = *partition as usize;
            if partition >= self.partitions.len() {
                self.partitions
                    .resize_with(partition + 1, Partition::default);
            }
            self.partitions[partition].rows.push((number, row as u32));
        }
        match self.bytes > self.place.options.partition_buffer_bytes {
            true => self.make_room(),
            false => Ok(()),
        }
    }

    /// Copies a batch into new memory, and returns its number.
    fn keep(&mut self, batch: RecordBatch) -> Result<u32> {
        let columns = batch.columns().iter().map(compact).collect();
        let batch = RecordBatch::try_new(batch.schema(), columns).map_err(sorting)?;
        self.bytes += batch.get_array_memory_size() + batch.num_rows() * size_of::<(u32, u32)>();
        self.batches.push(batch);
        // The number fits: each batch has at least 4,096 rows or some megabytes.
        Ok((self.batches.len() - 1) as u32)
    }

    /// Writes the largest partitions, until half of all rows are written, and compacts the others.
    fn make_room(&mut self) -> Result<()> {
        let mut numbers: Vec<usize> = (0..self.partitions.len())
            .filter(|number| !self.partitions[*number].rows.is_empty())
            .collect();
        numbers.sort_by_key(|number| std::cmp::Reverse(self.partitions[*number].rows.len()));
        let rows = |number: &usize| self.partitions[*number].rows.len();
        let all: usize = numbers.iter().map(rows).sum();
        let mut written = 0;
        let mut stays = Vec::new();
        for number in numbers {
            if written * 2 < all {
                written += self.partitions[number].rows.len();
                self.write_group(number)?;
            } else {
                stays.push(number);
            }
        }
        let old = std::mem::take(&mut self.batches);
        self.bytes = 0;
        let mut places: Vec<(u32, u32)> = Vec::new();
        let mut owners: Vec<usize> = Vec::new();
        for number in stays {
            let rows = std::mem::take(&mut self.partitions[number].rows);
            owners.resize(owners.len() + rows.len(), number);
            places.extend(rows);
        }
        for (places, owners) in places
            .chunks(GATHERED_ROWS)
            .zip(owners.chunks(GATHERED_ROWS))
        {
            let batch = self.picked(&old, places)?;
            let batch = self.keep(batch)?;
            for (row, owner) in owners.iter().enumerate() {
                self.partitions[*owner].rows.push((batch, row as u32));
            }
        }
        Ok(())
    }

    fn picked(&self, batches: &[RecordBatch], places: &[(u32, u32)]) -> Result<RecordBatch> {
        let places: Vec<(usize, usize)> = places
            .iter()
            .map(|(batch, row)| (*batch as usize, *row as usize))
            .collect();
        let batches: Vec<&RecordBatch> = batches.iter().collect();
        interleave_record_batch(&batches, &places).map_err(sorting)
    }

    /// Writes the waiting rows of a partition as row groups.
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
        let places = std::mem::take(&mut self.partitions[number].rows);
        for rows in places.chunks(SAMPLE_ROWS) {
            let batch = self.picked(&self.batches, rows)?;
            let partition = &mut self.partitions[number];
            let (_, file) = match &mut partition.open {
                Some(open) => open,
                closed => {
                    self.open_files += 1;
                    let sample = std::slice::from_ref(&batch);
                    closed.insert(self.place.create(sample, places.len())?)
                }
            };
            file.write(&batch)?;
        }
        let partition = &mut self.partitions[number];
        partition.used = self.clock;
        if let Some((_, file)) = &mut partition.open {
            file.rest()?;
            if self.place.is_full(file) {
                self.close(number)?;
            }
        }
        Ok(())
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
        if self.came.rows > 0 {
            self.gather()?;
        }
        for number in 0..self.partitions.len() {
            if !self.partitions[number].rows.is_empty() {
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

fn sorting(error: ArrowError) -> Error {
    Error::Refused {
        doing: "sorting rows into partitions".to_owned(),
        message: error.to_string(),
        hint: None,
    }
}

/// Copies an array, so that it does not keep the memory of other partitions' rows.
fn compact(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => array.clone(),
    }
}
