//! A stream of Arrow batches that a program hands over, as a source: one input, which is read once.
//!
//! Several streams of a load take parts of it, in its order. A part is a slice of the program's own batches; no value
//! is copied here. While a stream waits for the next batch, all other streams that need one wait, too.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use arrow_array::{RecordBatch, RecordBatchReader};
use inrush_rows::cancel::Stop;
use inrush_rows::chunk::{Chunk, NumberedRows, Places};
use inrush_rows::typed_rows::{TypedColumn, TypedRows};
use inrush_scan::Records;
use inrush_source::{
    Chunks, Input, InputKind, InputState, NextPart, PART_BYTES, ReadSettings, RowsHash,
    ShareSettings, SharedPart, SharedSplit, Source, SourceColumn, SourceError, SourceMeter,
    SourceSplit, SourceStream, SplitContent, SplitEnd, SplitReader, nanoseconds_since,
};

use crate::arrays::{values_bytes, with_valid_texts};
use crate::columns::Column;
use crate::error::{input_error, unsuitable};
use crate::reader::{CHUNK_ROWS, one_for_each_row};

/// Its name in messages.
const NAME: &str = "the Arrow stream";

/// Rows that a program hands over. Clones are the same rows, which are read once.
#[derive(Clone)]
pub struct RowStream {
    columns: Arc<[Column]>,
    identity: Arc<str>,
    state: Arc<Mutex<State>>,
}

struct State {
    batches: Box<dyn RecordBatchReader + Send>,
    /// A batch with rows that were not taken yet, and the number of its rows that were taken.
    current: Option<(RecordBatch, usize)>,
    /// The number of rows taken so far, from all batches.
    taken: u64,
    is_begun: bool,
    is_over: bool,
    meter: SourceMeter,
}

impl fmt::Debug for RowStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowStream")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

/// Rows of a part, in slices of batches.
struct Slices {
    range: Range<u64>,
    batches: VecDeque<RecordBatch>,
}

impl RowStream {
    /// The rows of a reader. Types whose values have no text are refused.
    pub fn new(batches: Box<dyn RecordBatchReader + Send>) -> Result<RowStream, SourceError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let schema = batches.schema();
        let mut columns: Vec<Column> = Vec::with_capacity(schema.fields().len());
        for field in schema.fields() {
            let column = Column::of_field(field);
            if column.check(Path::new(NAME)).is_err() {
                return Err(unsuitable(
                    Path::new(NAME),
                    format!(
                        "the column `{}` has the type {}, which has no counterpart",
                        column.name, column.data_type
                    ),
                    "cast it to text, or leave it out, before the rows are handed over",
                ));
            }
            if column.name.is_empty() {
                return Err(unsuitable(
                    Path::new(NAME),
                    format!("its column {} has no name", columns.len() + 1),
                    "give each column a name",
                ));
            }
            if columns.iter().any(|other| other.name == column.name) {
                return Err(unsuitable(
                    Path::new(NAME),
                    format!("two of its columns are called `{}`", column.name),
                    "give each column a name of its own",
                ));
            }
            columns.push(column);
        }
        if columns.is_empty() {
            return Err(unsuitable(
                Path::new(NAME),
                "it has no columns",
                "hand over rows with columns",
            ));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let identity = format!(
            "Arrow stream {} {} {}",
            std::process::id(),
            now.unwrap_or_default().as_nanos(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        Ok(RowStream {
            columns: columns.into(),
            identity: identity.into(),
            state: Arc::new(Mutex::new(State {
                batches,
                current: None,
                taken: 0,
                is_begun: false,
                is_over: false,
                meter: SourceMeter::default(),
            })),
        })
    }

    /// Its columns, with the facts that a new target needs.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The rows as a source. Its reads end when a stop is requested.
    pub fn source(&self, stop: &Stop) -> Box<dyn Source> {
        Box::new(StreamSource {
            rows: self.clone(),
            input: Arc::new(StreamInput {
                name: Arc::from(Path::new(NAME)),
                identity: Arc::clone(&self.identity),
            }),
            stop: stop.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to read. The rows come once.
    fn begin(&self) -> Result<(), SourceError> {
        match std::mem::replace(&mut self.state().is_begun, true) {
            false => Ok(()),
            true => Err(input_error(
                Path::new(NAME),
                "its rows were read already, and can be read only once",
                "call inrush.load again, with a new stream",
            )),
        }
    }

    /// The next rows, of about this many bytes.
    fn next_slices(&self, stop: &Stop) -> Result<Option<Slices>, SourceError> {
        let mut state = self.state();
        let start = state.taken;
        let mut batches = VecDeque::new();
        let mut bytes_left = PART_BYTES as u64;
        while bytes_left > 0 && !state.is_over {
            if stop.asked().is_some() {
                return Err(stopped());
            }
            let Some((batch, taken)) = state.current.take() else {
                state.pull(&self.columns)?;
                continue;
            };
            let bytes: u64 = batch.columns().iter().map(values_bytes).sum();
            let row_bytes = (bytes / (batch.num_rows() as u64).max(1)).max(1);
            let rows = usize::try_from(bytes_left.div_ceil(row_bytes)).unwrap_or(usize::MAX);
            let rows = rows.min(batch.num_rows() - taken);
            batches.push_back(batch.slice(taken, rows));
            state.taken += rows as u64;
            bytes_left = bytes_left.saturating_sub(rows as u64 * row_bytes);
            if taken + rows < batch.num_rows() {
                state.current = Some((batch, taken + rows));
            }
        }
        Ok((!batches.is_empty()).then_some(Slices {
            range: start..state.taken,
            batches,
        }))
    }
}

impl State {
    /// Takes the next batch with rows from the program.
    fn pull(&mut self, columns: &[Column]) -> Result<(), SourceError> {
        let start = Instant::now();
        let batch = self.batches.next();
        self.meter.read_ns += nanoseconds_since(start);
        let Some(batch) = batch else {
            self.is_over = true;
            return Ok(());
        };
        let batch = batch.map_err(|error| {
            self.is_over = true;
            input_error(
                Path::new(NAME),
                format!(
                    "after {} rows the program returned an error: {error}",
                    self.taken
                ),
                "correct the program, then call inrush.load again",
            )
        })?;
        if batch.num_columns() != columns.len() {
            self.is_over = true;
            return Err(SourceError::Changed {
                path: NAME.into(),
                what: format!("{} columns, planned {}", batch.num_columns(), columns.len()),
            });
        }
        self.meter.stored_bytes += batch.columns().iter().map(values_bytes).sum::<u64>();
        if batch.num_rows() > 0 {
            self.current = Some((batch, 0));
        }
        Ok(())
    }
}

fn stopped() -> SourceError {
    SourceError::Stopped { path: NAME.into() }
}

#[derive(Debug)]
struct StreamInput {
    name: Arc<Path>,
    identity: Arc<str>,
}

impl Input for StreamInput {
    fn index(&self) -> usize {
        0
    }

    fn name(&self) -> &Arc<Path> {
        &self.name
    }

    fn kind(&self) -> InputKind {
        InputKind::Stream
    }

    fn size_bytes(&self) -> u64 {
        0
    }

    fn modified_ns(&self) -> i64 {
        0
    }

    fn mark(&self) -> String {
        self.identity.to_string()
    }

    fn state_now(&self) -> Option<InputState> {
        Some(self.state())
    }

    fn identity(&self) -> Vec<String> {
        vec![self.identity.to_string()]
    }

    fn is_read_once(&self) -> bool {
        true
    }

    fn is_shareable(&self) -> bool {
        true
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn whole_because(&self) -> Result<Option<&'static str>, SourceError> {
        Ok(Some("an Arrow stream"))
    }
}

/// The rows as a source.
#[derive(Debug)]
struct StreamSource {
    rows: RowStream,
    input: Arc<StreamInput>,
    stop: Stop,
}

impl StreamSource {
    fn reader(&self, slices: Slices, chunk_bytes: usize, is_part: bool) -> SlicesReader {
        SlicesReader {
            rows: self.rows.clone(),
            name: Arc::clone(&self.input.name),
            stop: self.stop.clone(),
            next_row: slices.range.start,
            batches: slices.batches,
            is_part,
            chunk_bytes: chunk_bytes.max(1),
            hash: RowsHash::new(self.rows.columns.len()),
            meter: SourceMeter::default(),
        }
    }
}

impl Source for StreamSource {
    fn describe(&self) -> String {
        format!("{NAME}, {} columns", self.rows.columns.len())
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        Ok(self.rows.columns.iter().map(Column::in_source).collect())
    }

    fn input_count(&self) -> usize {
        1
    }

    fn input(&self, _index: usize) -> Arc<dyn Input> {
        self.input.clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        SourceSplit {
            input,
            range: 0..0,
            first_record: None,
            is_shared: false,
            size_bytes: 0,
        }
    }

    fn splits(&self, input: usize, _wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        Ok(vec![self.whole(input)])
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(Box::new(Stream {
            source: self,
            chunk_bytes: settings.chunk_bytes,
        }))
    }

    fn share(
        &self,
        _split: &SourceSplit,
        settings: ShareSettings,
        _finished: &[Range<u64>],
    ) -> Result<Box<dyn SharedSplit>, SourceError> {
        self.rows.begin()?;
        Ok(Box::new(Shared {
            source: StreamSource {
                rows: self.rows.clone(),
                input: Arc::clone(&self.input),
                stop: self.stop.clone(),
            },
            chunk_bytes: settings.chunk_bytes,
        }))
    }

    /// No later run has this input.
    fn has_same_content(&self, _input: usize, _read: &[SplitContent]) -> Result<bool, SourceError> {
        Ok(false)
    }
}

/// The stream as a single thread reads it.
struct Stream<'a> {
    source: &'a StreamSource,
    chunk_bytes: usize,
}

impl SourceStream for Stream<'_> {
    fn open(&mut self, _split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        self.source.rows.begin()?;
        let none = Slices {
            range: 0..0,
            batches: VecDeque::new(),
        };
        Ok(Box::new(self.source.reader(none, self.chunk_bytes, false)))
    }
}

/// The stream as several threads read it: each takes the next part.
struct Shared {
    source: StreamSource,
    chunk_bytes: usize,
}

impl SharedSplit for Shared {
    fn next_part(&self) -> NextPart<'_> {
        Box::pin(async move {
            let StreamSource { rows, stop, .. } = &self.source;
            let slices = rows.next_slices(stop)?;
            Ok(slices.map(|slices| SharedPart {
                range: slices.range.clone(),
                reader: Box::new(self.source.reader(slices, self.chunk_bytes, true)),
            }))
        })
    }

    fn meter(&self) -> SourceMeter {
        self.source.rows.state().meter
    }
}

/// Reads a part, or all of the stream.
struct SlicesReader {
    rows: RowStream,
    name: Arc<Path>,
    stop: Stop,
    batches: VecDeque<RecordBatch>,
    next_row: u64,
    /// True if the reader ends after these batches.
    is_part: bool,
    chunk_bytes: usize,
    hash: RowsHash,
    meter: SourceMeter,
}

impl Chunks for SlicesReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        if self.stop.asked().is_some() {
            return Err(stopped());
        }
        if self.batches.is_empty() && !self.is_part {
            let slices = self.rows.next_slices(&self.stop)?;
            self.batches = slices.map(|slices| slices.batches).unwrap_or_default();
        }
        let Some(batch) = self.batches.pop_front() else {
            return Ok(None);
        };
        let start = Instant::now();
        let bytes: u64 = batch.columns().iter().map(values_bytes).sum();
        let row_bytes = (bytes / (batch.num_rows() as u64).max(1)).max(1);
        let step = usize::try_from(self.chunk_bytes as u64 / row_bytes).unwrap_or(CHUNK_ROWS);
        let step = step.max(CHUNK_ROWS).min(batch.num_rows());
        let own = batch.slice(0, step);
        if step < batch.num_rows() {
            let rest = batch.slice(step, batch.num_rows() - step);
            self.batches.push_front(rest);
        }
        self.hash.add(own.columns());
        let bytes = own.columns().iter().map(values_bytes).sum();
        let mut faults = Vec::new();
        let columns = own.columns().iter().zip(self.rows.columns.iter());
        let columns = columns.map(|(array, column)| TypedColumn {
            values: Some(with_valid_texts(array.clone(), &column.name, &mut faults)),
            is_uuid: column.is_uuid,
        });
        let rows = TypedRows {
            columns: columns.collect(),
            row_count: step,
            content: Vec::new(),
            bytes_count: bytes,
            faults: one_for_each_row(faults),
        };
        self.meter.text_bytes += bytes;
        self.meter.record_count += step as u64;
        self.meter.chunk_count += 1;
        self.meter.scan_ns += nanoseconds_since(start);
        let first = self.next_row;
        self.next_row += step as u64;
        let places: Arc<dyn Places> = Arc::new(NumberedRows {
            order: "in its order",
        });
        Ok(Some(Chunk::of_rows(
            &self.name, first, rows, places, records,
        )))
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        if self.is_part {
            return self.meter;
        }
        let of_stream = self.rows.state().meter;
        SourceMeter {
            stored_bytes: of_stream.stored_bytes,
            read_ns: of_stream.read_ns,
            ..self.meter
        }
    }
}

impl SplitReader for SlicesReader {
    fn end(self: Box<Self>) -> SplitEnd {
        SplitEnd::of_rows(self.hash.text())
    }
}
