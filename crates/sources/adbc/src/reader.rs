//! Reads a split: the batches of one statement, passed on as they come.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, Int64Array};
use inrush_rows::chunk::{Chunk, NumberedRows, Places};
use inrush_rows::typed_rows::{RowFault, TypedColumn, TypedRows};
use inrush_scan::Records;
use inrush_source::{
    Chunks, DatabaseInput, KEY_ROW_BITS, KeyPlaces, ReadPace, RowsHash, SourceError, SourceMeter,
    SplitEnd, SplitReader, nanoseconds_since,
};

use crate::arrays::{values_bytes, with_valid_texts};
use crate::error::{input_error, of_driver};
use crate::pool::Lease;
use crate::session::Answer;
use crate::source::Reading;
use crate::stopping::Watched;
use crate::table::Block;

/// The least number of rows in a chunk, unless fewer are left. It is the number of rows that are converted at a time.
pub const CHUNK_ROWS: usize = 1_024;

/// Rows that are found by their number in the table.
#[derive(Debug)]
struct RowIdPlaces {
    ids: Int64Array,
    first: u64,
}

impl Places for RowIdPlaces {
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        (self.ids.value(position) as u64).wrapping_sub(self.first)
    }

    fn are_rows(&self) -> bool {
        true
    }

    fn have_numbers(&self) -> bool {
        false
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        Some(format!("rowid {}", self.ids.value(position)).into())
    }
}

/// Rows that are found by their number in a partition of the driver.
#[derive(Debug)]
struct PartitionPlaces {
    /// The number of the partition, counted from 1.
    partition: u64,
    /// The number of the first row, counted from 1.
    first: u64,
}

impl Places for PartitionPlaces {
    fn are_rows(&self) -> bool {
        true
    }

    fn have_numbers(&self) -> bool {
        false
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        let row = self.first + position as u64;
        Some(format!("row {row} of partition {}", self.partition).into())
    }
}

/// A batch that is cut into chunks.
struct Batch {
    rows: TypedRows,
    ids: Option<Int64Array>,
    keys: Option<ArrayRef>,
    /// The number of rows that were handed out.
    taken: usize,
    /// The number of rows of a chunk.
    step: usize,
}

/// Reads a range of rows of an input, or all of it.
pub struct RangeReader<'a> {
    reading: &'a Reading,
    input: Arc<DatabaseInput>,
    batch: Option<Batch>,
    /// The rows of the statement; `None` once it has ended.
    answer: Option<Answer>,
    watched: Option<Watched>,
    lease: Option<Lease>,
    is_first: bool,
    /// The upper part of the positions of its rows: the first range of the key, or the partition.
    first_position: u64,
    /// Partitions that are still to be read after the present one.
    partitions: Range<u64>,
    /// The number of rows of the partitions before the present one.
    rows_before: u64,
    chunk_bytes: usize,
    hash: RowsHash,
    meter: SourceMeter,
    pace: ReadPace,
}

impl<'a> RangeReader<'a> {
    /// Begins to read a range.
    pub fn open(
        reading: &'a Reading,
        input: &Arc<DatabaseInput>,
        range: Range<u64>,
        chunk_bytes: usize,
    ) -> Result<RangeReader<'a>, SourceError> {
        let mut reader = RangeReader {
            reading,
            input: Arc::clone(input),
            batch: None,
            answer: None,
            watched: None,
            lease: None,
            is_first: true,
            first_position: match reading.table.keys() {
                Some(_) => range.start << KEY_ROW_BITS,
                None => 0,
            },
            partitions: match reading.table.partitions() {
                Some(_) => range.clone(),
                None => 0..0,
            },
            rows_before: 0,
            chunk_bytes: chunk_bytes.max(1),
            hash: RowsHash::new(reading.table.columns().len()),
            meter: SourceMeter::default(),
            pace: ReadPace::new(&reading.pace),
        };
        input.check_stop(&reading.stop)?;
        let doing = input.reading();
        let refused = |error| {
            let Reading { database, stop, .. } = reading;
            database.refused(&input.name, &doing, &error, stop)
        };
        let lease = reading
            .pool
            .take(&reading.database, &input.name, &reading.stop)?;
        let lease = reader.lease.insert(lease.map_err(refused)?);
        if reading.table.partitions().is_some() {
            reader.next_partition()?;
            return Ok(reader);
        }
        let start = Instant::now();
        let answer = lease.session.read(&reading.table.statement(range));
        reader.meter.read_ns += nanoseconds_since(start);
        reader.begin(answer.map_err(refused)?);
        Ok(reader)
    }

    /// Continues with the rows of `answer`.
    fn begin(&mut self, answer: Answer) {
        self.watched = Some(self.reading.stopping.watch(answer.cancel_handle()));
        self.answer = Some(answer);
    }

    /// Begins to read the next partition. False if there is none.
    fn next_partition(&mut self) -> Result<bool, SourceError> {
        let reading = self.reading;
        let (Some(partitions), Some(lease)) = (reading.table.partitions(), &mut self.lease) else {
            return Ok(false);
        };
        let Some(partition) = self.partitions.next() else {
            return Ok(false);
        };
        // The previous partition is closed before its connection is used again.
        self.watched = None;
        self.answer = None;
        let start = Instant::now();
        let answer = lease
            .session
            .read_partition(&partitions.names[partition as usize]);
        self.meter.read_ns += nanoseconds_since(start);
        self.first_position = partition << KEY_ROW_BITS;
        self.rows_before = self.meter.record_count;
        let answer = answer.map_err(|error| {
            let doing = format!(
                "reading partition {} of {}",
                partition + 1,
                self.input.name.display()
            );
            let Reading { database, stop, .. } = reading;
            database.refused(&self.input.name, &doing, &error, stop)
        })?;
        self.begin(answer);
        Ok(true)
    }

    /// The next batch with rows; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Batch>, SourceError> {
        while let Some(answer) = &mut self.answer {
            let start = Instant::now();
            let batch = answer.batches.next();
            self.meter.read_ns += nanoseconds_since(start);
            self.input.check_stop(&self.reading.stop)?;
            let Some(batch) = batch else {
                if self.next_partition()? {
                    continue;
                }
                self.close();
                return Ok(None);
            };
            let batch = batch.map_err(|error| {
                let Reading { database, stop, .. } = self.reading;
                let message = database.without_secrets(&error.to_string());
                let status = adbc_core::error::Status::IO;
                of_driver(
                    &self.input.name,
                    &self.input.reading(),
                    status,
                    &message,
                    stop,
                )
            })?;
            let start = Instant::now();
            let block = self
                .reading
                .table
                .block(&batch, std::mem::take(&mut self.is_first));
            let block = block.map_err(|what| {
                let fix = "update the driver, or read the rows by a query that casts them";
                input_error(
                    &self.input.name,
                    format!("the driver cannot be used: {what}"),
                    fix,
                )
            })?;
            let batch = self.batch_of(block)?;
            self.meter.scan_ns += nanoseconds_since(start);
            if batch.rows.row_count > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn batch_of(&mut self, block: Block) -> Result<Batch, SourceError> {
        let Block {
            columns: arrays,
            row_ids,
            keys,
            mut faults,
        } = block;
        let columns = self.reading.table.columns();
        let row_count = arrays.first().map_or(0, Array::len);
        if arrays.len() != columns.len() || arrays.iter().any(|array| array.len() != row_count) {
            return Err(SourceError::Changed {
                path: self.input.name.to_path_buf(),
                what: format!("{} columns, planned {}", arrays.len(), columns.len()),
            });
        }
        self.hash.add(&arrays);
        let bytes = arrays.iter().map(values_bytes).sum::<u64>();
        self.meter.stored_bytes += bytes;
        self.meter.text_bytes += bytes;
        self.meter.record_count += row_count as u64;
        let typed = arrays
            .into_iter()
            .zip(columns)
            .map(|(array, column)| TypedColumn {
                values: Some(with_valid_texts(array, &column.name, &mut faults)),
                is_uuid: column.is_uuid,
            });
        let typed: Vec<TypedColumn> = typed.collect();
        let row_bytes = (bytes / (row_count as u64).max(1)).max(1);
        let step = usize::try_from(self.chunk_bytes as u64 / row_bytes).unwrap_or(CHUNK_ROWS);
        Ok(Batch {
            rows: TypedRows {
                columns: typed,
                row_count,
                // The reader hashes the values itself.
                content: Vec::new(),
                bytes_count: bytes,
                faults: one_for_each_row(faults),
            },
            ids: row_ids,
            keys,
            taken: 0,
            step: step.max(CHUNK_ROWS),
        })
    }

    /// Ends the statement before its connection is used again.
    fn close(&mut self) {
        self.watched = None;
        self.answer = None;
        if let Some(lease) = self.lease.take() {
            self.reading.pool.give_back(lease);
        }
    }
}

impl Drop for RangeReader<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

/// One fault for each row, in the order of rows.
pub fn one_for_each_row(mut faults: Vec<RowFault>) -> Vec<RowFault> {
    faults.sort_by_key(|fault| fault.row);
    faults.dedup_by_key(|fault| fault.row);
    faults
}

impl Chunks for RangeReader<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        self.input.check_stop(&self.reading.stop)?;
        let first_number = match &self.batch {
            Some(batch) => self.meter.record_count - (batch.rows.row_count - batch.taken) as u64,
            None => self.meter.record_count,
        };
        self.keep_pace();
        if self.batch.is_none() {
            self.batch = self.next_batch()?;
        }
        let Some(batch) = &mut self.batch else {
            return Ok(None);
        };
        let range = batch.taken..batch.rows.row_count.min(batch.taken + batch.step);
        let share = batch.rows.bytes_count * range.len() as u64 / batch.rows.row_count as u64;
        let rows = TypedRows {
            bytes_count: share,
            ..batch.rows.slice(range.clone())
        };
        let (first, places): (u64, Arc<dyn Places>) = match (&batch.ids, &batch.keys) {
            (_, Some(keys)) => {
                let column = self.reading.table.keys();
                let column = column.map_or("", |keys| keys.ranges.column.as_str());
                let keys = keys.slice(range.start, range.len());
                let column = Arc::from(column);
                (
                    self.first_position + first_number,
                    Arc::new(KeyPlaces { column, keys }),
                )
            }
            (Some(ids), None) => {
                let ids = ids.slice(range.start, range.len());
                let first = ids.value(0) as u64;
                (first, Arc::new(RowIdPlaces { ids, first }))
            }
            (None, None) if self.reading.table.partitions().is_some() => {
                let number = first_number - self.rows_before;
                let places = PartitionPlaces {
                    partition: (self.first_position >> KEY_ROW_BITS) + 1,
                    first: number + 1,
                };
                (self.first_position + number, Arc::new(places))
            }
            (None, None) => (
                first_number,
                Arc::new(NumberedRows {
                    order: "in the order in which the database sent them",
                }),
            ),
        };
        batch.taken = range.end;
        if batch.taken == batch.rows.row_count {
            self.batch = None;
        }
        self.meter.chunk_count += 1;
        self.pace.add(usize::try_from(share).unwrap_or(usize::MAX));
        Ok(Some(Chunk::of_rows(
            &self.input.name,
            first,
            rows,
            places,
            records,
        )))
    }

    /// A driver may send all rows of a split as one batch, so the reader waits between chunks. The next batch is
    /// received after all chunks of the current one were handed out.
    fn keep_pace(&mut self) {
        self.pace.keep(&self.reading.stop);
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        self.meter
    }
}

impl SplitReader for RangeReader<'_> {
    fn end(self: Box<Self>) -> SplitEnd {
        SplitEnd::of_rows(self.hash.text())
    }
}
