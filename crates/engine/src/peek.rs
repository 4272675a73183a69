//! Shows the rows that leave a step of a flow, and why others were rejected. Nothing is loaded.

use std::ops::ControlFlow;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use inrush_convert::{Converter, RunStamp};
use inrush_plan::Reading;
use inrush_plan::step_tally::StepTally;
use inrush_plan::steps::ROWS_MAX;
use inrush_rows::cancel::Stop;
use inrush_rows::chunk::Chunk;
use inrush_rows::ids::RunId;
use inrush_rows::location::Location;
use inrush_rows::reject::Reject;
use inrush_rows::typed_rows::value_text;
use inrush_scan::Records;
use inrush_source::{ReadSettings, SourceSplit};
use inrush_transform::outcome;
use inrush_transform::types::sql_name;

use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::row_maker;
use crate::pipeline::row_maker::reject_of_step;
use crate::pipeline::row_steps::RowSteps;

/// Bytes of text that are read at a time.
const CHUNK_BYTES: usize = 256 << 10;

/// The most rejected rows that are shown.
const REJECTS_SHOWN: usize = 5;

/// Rows as they leave a step.
#[derive(Clone, Debug)]
pub struct Peeked {
    /// The flow.
    pub flow: String,
    /// The number of the step, counted from 1; 0 before the first step.
    pub step: usize,
    /// The columns, each with its type.
    pub columns: Vec<(String, String)>,
    /// The rows, each with its place; NULL is `None`.
    pub rows: Vec<(Location, Vec<Option<String>>)>,
    /// Rows that were read to find them.
    pub rows_read: u64,
    /// The counts of the steps.
    pub tally: StepTally,
    /// The last rejected rows among those that were read.
    pub rejects: Vec<Reject>,
}

/// Reads a flow from its beginning until `row_count` rows have left the step. `step` is counted from 1, and 0 means the rows
/// before the first step.
pub fn peek(
    reading: &Reading,
    step: usize,
    row_count: usize,
    stop: &Stop,
) -> Result<Peeked, Error> {
    let mut peeking = Peeking::new(reading, step, row_count)?;
    let source = &reading.source;
    let mut stream = source.open_stream(ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    })?;
    let mut records = Records::default();
    for input in 0..source.input_count() {
        for split in source.splits(input, u64::MAX)? {
            let whole = SourceSplit {
                is_shared: false,
                ..split
            };
            let mut reader = stream.open(&whole)?;
            while let Some(chunk) = reader.next_chunk(&mut records)? {
                if stop.asked().is_some() {
                    return Err(Error::Interrupted);
                }
                if peeking.take(input, &chunk, &records)?.is_break() {
                    return Ok(peeking.peeked);
                }
                reader.recycle(chunk);
            }
        }
    }
    Ok(peeking.peeked)
}

/// The rows that were taken so far, and the state that is needed to take more.
struct Peeking {
    peeked: Peeked,
    /// The number of rows that are wanted.
    row_count: usize,
    converter: Converter,
    /// The steps up to the one whose rows are shown; `None` before the first step.
    steps: Option<RowSteps>,
    gauge: Gauge,
}

impl Peeking {
    fn new(reading: &Reading, step: usize, row_count: usize) -> Result<Peeking, Error> {
        let mut shown = Vec::new();
        let mut row_steps = None;
        match &reading.steps {
            Some(steps) if step > 0 => {
                let prefix = steps.planned.prefix(step);
                let unused = prefix.unused();
                let all = prefix.columns.iter().chain(&prefix.derived).enumerate();
                let left = all.filter(|(index, _)| !unused.contains(index));
                shown.extend(left.map(|(_, own)| (own.name.clone(), sql_name(&own.column_type))));
                prefix.rehearse();
                row_steps = Some(RowSteps::new(&reading.name, &steps.evaluator, &prefix)?);
            }
            _ => {
                let columns = reading.read_columns();
                let columns = columns.iter();
                shown.extend(columns.map(|own| (own.name.clone(), sql_name(&own.column_type))));
            }
        }
        Ok(Peeking {
            peeked: Peeked {
                flow: reading.name.clone(),
                step,
                columns: shown,
                rows: Vec::new(),
                rows_read: 0,
                tally: StepTally::default(),
                rejects: Vec::new(),
            },
            row_count,
            converter: row_maker::converter(
                reading,
                RunStamp {
                    run_id: RunId::new(0),
                    started_at_microseconds: 0,
                },
            )?,
            steps: row_steps,
            gauge: Gauge::default(),
        })
    }

    /// Takes the rows of a chunk, until there are enough.
    fn take(
        &mut self,
        input: usize,
        chunk: &Chunk,
        records: &Records,
    ) -> Result<ControlFlow<()>, Error> {
        if let Some(steps) = &mut self.steps {
            steps.begin_input(input);
        }
        let mut at = 0;
        while at < records.len() {
            at = self.take_some(chunk, records, at)?;
            if self.peeked.rows.len() == self.row_count {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes rows from the record `at` on. Returns the index of the record after the last one that was taken.
    fn take_some(&mut self, chunk: &Chunk, records: &Records, at: usize) -> Result<usize, Error> {
        let mut rejects = Vec::new();
        let converter = &mut self.converter;
        let (batch, origins, fan_out, end) = match &mut self.steps {
            None => {
                let end = records.len().min(at + ROWS_MAX);
                let batch = converter.convert(chunk, records, at..end, &mut rejects);
                (batch, None, 1, end)
            }
            Some(steps) => {
                let range = at..steps.end(at, records.len());
                let passed =
                    steps.pass(converter, chunk, records, range, &mut rejects, &self.gauge)?;
                let stepped = passed.stepped;
                self.peeked.tally.add_batch(&stepped);
                let faults = stepped.faults.into_iter();
                rejects
                    .extend(faults.map(|fault| reject_of_step(converter, chunk, records, fault)));
                (stepped.batch, stepped.origins, stepped.fan_out, passed.end)
            }
        };
        self.peeked.rows_read += (end - at) as u64;
        let left = (self.row_count - self.peeked.rows.len()).min(batch.num_rows());
        let places = (0..left).map(|row| {
            let (row, _) = outcome::origin(origins.as_deref(), fan_out, row);
            self.converter.row_location(chunk, records, row)
        });
        self.peeked.rows.extend(places.zip(texts(&batch, left)));
        if self.peeked.rows.len() == self.row_count
            && let Some((last, _)) = self.peeked.rows.last()
        {
            // Rejects after the last row that is shown are left out.
            rejects.retain(|reject| reject.location.byte_offset < last.byte_offset);
        }
        rejects.sort_by_key(|reject| reject.location.byte_offset);
        self.peeked.rejects.extend(rejects);
        let more = self.peeked.rejects.len().saturating_sub(REJECTS_SHOWN);
        self.peeked.rejects.drain(..more);
        Ok(end)
    }
}

/// The first rows of a batch as texts.
fn texts(batch: &RecordBatch, row_count: usize) -> Vec<Vec<Option<String>>> {
    // A column whose values became rows is empty here.
    let columns = batch.columns().iter();
    let columns: Vec<Vec<Option<String>>> = columns
        .filter(|column| *column.data_type() != DataType::Null)
        .map(|column| column_texts(&column.slice(0, row_count)))
        .collect();
    (0..row_count)
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

fn column_texts(column: &ArrayRef) -> Vec<Option<String>> {
    let is_uuid = matches!(column.data_type(), DataType::FixedSizeBinary(16));
    let text = |row: usize| {
        let text = value_text(column, row, is_uuid);
        text.or_else(|| (!column.is_null(row)).then(|| "(has no text)".to_owned()))
    };
    (0..column.len()).map(text).collect()
}
