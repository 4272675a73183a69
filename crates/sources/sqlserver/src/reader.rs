//! Reads the rows of one statement: they are decoded as their packets come.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::ArrayRef;
use inrush_rows::chunk::{Chunk, NumberedRows, Places};
use inrush_rows::typed_rows::{RowFault, TypedColumn, TypedRows};
use inrush_scan::Records;
use inrush_source::{
    Chunks, DatabaseInput, KEY_ROW_BITS, KeyPlaces, ReadPace, ReadingSession, RowsHash,
    SessionSampler, SourceError, SourceMeter, SplitEnd, SplitReader, nanoseconds_since,
};
use inrush_tds::result::{DecodedRows, RowDecoder};

use crate::columns::Column;
use crate::error::refused;
use crate::pool::Lease;
use crate::source::Reading;

/// Reads the rows of a split, or all of an input.
pub struct RowReader<'a> {
    reading: &'a Reading,
    input: Arc<DatabaseInput>,
    steps: Range<u64>,
    /// None once all rows were received, or after an error.
    lease: Option<Lease>,
    decoder: RowDecoder,
    chunk_bytes: usize,
    hash: RowsHash,
    meter: SourceMeter,
    pace: ReadPace,
}

impl<'a> RowReader<'a> {
    /// Begins to read.
    pub fn open(
        reading: &'a Reading,
        input: &Arc<DatabaseInput>,
        steps: Range<u64>,
        chunk_bytes: usize,
    ) -> Result<RowReader<'a>, SourceError> {
        let mut meter = SourceMeter::default();
        let mut lease = reading.pool.take(&input.name, &reading.stop)?;
        let statement = reading
            .reads
            .statement(reading.split_by.as_ref(), steps.clone());
        let start = Instant::now();
        let described = lease.session.begin_query(&statement);
        meter.read_ns += nanoseconds_since(start);
        let described =
            described.map_err(|error| refused(&input.name, &input.reading(), &error))?;
        let columns = described.columns().iter().skip(places_of(reading));
        let types: Vec<_> = columns
            .map(|column| Column::new(column).data_type)
            .collect();
        let planned = reading.columns.iter().map(|column| &column.data_type);
        if !types.iter().eq(planned) {
            return Err(SourceError::Changed {
                path: input.name.to_path_buf(),
                what: "its columns have other types than planned".to_owned(),
            });
        }
        Ok(RowReader {
            reading,
            input: Arc::clone(input),
            steps,
            lease: Some(lease),
            decoder: RowDecoder::new(&described),
            chunk_bytes: chunk_bytes.max(1),
            hash: RowsHash::new(types.len()),
            meter,
            pace: ReadPace::new(&reading.pace),
        })
    }

    /// Receives and decodes rows until a chunk is full, and returns the number of their bytes.
    fn receive(&mut self) -> Result<u64, SourceError> {
        let mut bytes = 0;
        while bytes < self.chunk_bytes {
            let Some(lease) = &mut self.lease else {
                break;
            };
            let start = Instant::now();
            let rows = lease.session.next_rows();
            self.meter.read_ns += nanoseconds_since(start);
            let rows = match rows {
                Ok(Some(rows)) => rows,
                Ok(None) => {
                    if let Some(lease) = self.lease.take() {
                        self.reading.pool.give_back(lease);
                    }
                    break;
                }
                Err(error) => {
                    self.lease = None;
                    return Err(refused(&self.input.name, &self.input.reading(), &error));
                }
            };
            let start = Instant::now();
            let decoded = self.decoder.add(rows);
            self.meter.scan_ns += nanoseconds_since(start);
            bytes += rows.len();
            if let Err(error) = decoded {
                self.lease = None;
                let what = format!("{}: {error}", self.input.reading());
                let fix = "run the same command again; if it fails again, leave out columns one by one to find the one that fails, and report it";
                return Err(inrush_source::input_error(&self.input.name, what, fix));
            }
            self.input.check_stop(&self.reading.stop)?;
        }
        self.pace.add(bytes);
        Ok(bytes as u64)
    }

    /// The rows that were decoded, and the keys of their places.
    fn typed_rows(&mut self, bytes: u64) -> (TypedRows, Option<ArrayRef>) {
        let DecodedRows {
            mut columns,
            row_count,
            flaws,
        } = self.decoder.take();
        let places = places_of(self.reading);
        let keys = columns.drain(..places).next();
        self.hash.add(&columns);
        let mut faults: Vec<RowFault> = Vec::with_capacity(flaws.len());
        for flaw in flaws {
            let Some(column) = flaw.column.checked_sub(places) else {
                continue;
            };
            // Keeps one fault for each row. All faults of a row follow each other.
            if faults.last().is_none_or(|last| last.row != flaw.row) {
                let name = &self.reading.columns[column].name;
                faults.push(RowFault {
                    row: flaw.row,
                    reason: format!(
                        "the value of the column `{name}` is not kept: {}",
                        flaw.reason
                    ),
                    raw: flaw.raw,
                });
            }
        }
        let typed = columns.into_iter().zip(&self.reading.columns);
        let typed = typed.map(|(array, column)| TypedColumn {
            values: Some(array),
            is_uuid: column.is_uuid,
        });
        let rows = TypedRows {
            columns: typed.collect(),
            row_count,
            // The reader hashes the values itself.
            content: Vec::new(),
            bytes_count: bytes,
            faults,
        };
        (rows, keys)
    }

    /// The position of the next row, and how rows from there on are found.
    fn places(&self, keys: Option<ArrayRef>) -> (u64, Arc<dyn Places>) {
        let number = self.meter.record_count;
        let first = (self.steps.start << KEY_ROW_BITS) + number;
        match (&self.reading.split_by, keys) {
            (Some(split_by), Some(keys)) => {
                let (column, _) = split_by.place();
                let places = KeyPlaces {
                    column: Arc::from(column),
                    keys,
                };
                (first, Arc::new(places))
            }
            _ => (
                number,
                Arc::new(NumberedRows {
                    order: "in the order in which the server sent them",
                }),
            ),
        }
    }
}

/// A reader that is dropped before its last row ends the query and gives the session back, because it may be the only
/// session that shows this moment.
impl Drop for RowReader<'_> {
    fn drop(&mut self) {
        if let Some(mut lease) = self.lease.take()
            && lease.session.end_query().is_ok()
        {
            self.reading.pool.give_back(lease);
        }
    }
}

/// The number of columns before the columns of the row.
fn places_of(reading: &Reading) -> usize {
    usize::from(reading.split_by.is_some())
}

impl Chunks for RowReader<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        self.input.check_stop(&self.reading.stop)?;
        self.keep_pace();
        let bytes = self.receive()?;
        let start = Instant::now();
        let (rows, keys) = self.typed_rows(bytes);
        self.meter.scan_ns += nanoseconds_since(start);
        if rows.row_count == 0 {
            return Ok(None);
        }
        let (first, places) = self.places(keys);
        self.meter.record_count += rows.row_count as u64;
        self.meter.stored_bytes += bytes;
        self.meter.text_bytes += bytes;
        self.meter.chunk_count += 1;
        Ok(Some(Chunk::of_rows(
            &self.input.name,
            first,
            rows,
            places,
            records,
        )))
    }

    fn keep_pace(&mut self) {
        self.pace.keep(&self.reading.stop);
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        self.meter
    }
}

impl SplitReader for RowReader<'_> {
    fn end(self: Box<Self>) -> SplitEnd {
        SplitEnd::of_rows(self.hash.text())
    }

    fn session(&self) -> Option<ReadingSession> {
        let session = &self.lease.as_ref()?.session;
        Some(ReadingSession {
            server: Arc::clone(self.reading.sampler.as_ref()?.server()),
            process_id: session.number_on_server()?.into(),
            is_remote: session.is_remote(),
            round_trip_us: None,
        })
    }
}
