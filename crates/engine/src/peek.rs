//! Shows the rows that leave a step of a flow, and why others were rejected. Nothing is loaded.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use inrush_convert::RunStamp;
use inrush_rows::cancel::Stop;
use inrush_rows::ids::RunId;
use inrush_rows::location::Location;
use inrush_rows::reject::Reject;
use inrush_rows::typed_rows::value_text;
use inrush_scan::Records;
use inrush_source::{ReadSettings, SourceSplit};
use inrush_transform::distinct::RowPlace;
use inrush_transform::error::RunError;
use inrush_transform::outcome;
use inrush_transform::stages::StagedRunner;
use inrush_transform::types::sql_name;

use crate::error::Error;
use crate::pipeline::row_maker::{reject_of_step, steps_error};
use crate::pipeline::rows_at_once::RowsAtOnce;
use crate::pipeline::step_tally::StepTally;
use crate::plan::Reading;

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
    /// What the steps have counted.
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
    let columns = reading.read_columns();
    let mut converter = reading.converter(RunStamp {
        run_id: RunId::new(0),
        started_at_microseconds: 0,
    })?;
    let mut shown = Vec::new();
    let mut runner = match &reading.steps {
        Some(steps) if step > 0 => {
            let prefix = steps.planned.prefix(step);
            let unused = prefix.unused();
            let all = prefix.columns.iter().chain(&prefix.derived).enumerate();
            let left = all.filter(|(index, _)| !unused.contains(index));
            shown.extend(left.map(|(_, own)| (own.name.clone(), sql_name(&own.column_type))));
            prefix.rehearse();
            let runner = StagedRunner::new(&steps.evaluator, &prefix);
            Some(runner.map_err(|error| steps_error(&reading.name, error))?)
        }
        _ => {
            shown.extend(
                columns
                    .iter()
                    .map(|own| (own.name.clone(), sql_name(&own.column_type))),
            );
            None
        }
    };
    let mut peeked = Peeked {
        flow: reading.name.clone(),
        step,
        columns: shown,
        rows: Vec::new(),
        rows_read: 0,
        tally: StepTally::default(),
        rejects: Vec::new(),
    };
    let source = &reading.source;
    let mut stream = source.open_stream(ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    })?;
    let mut records = Records::default();
    let mut rows_at_once = RowsAtOnce::new(reading.fan_out());
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
                let mut at = 0;
                while at < records.len() {
                    let end = records.len().min(at + rows_at_once.get());
                    let mut rejects = Vec::new();
                    let batch = converter.convert(&chunk, &records, at..end, &mut rejects);
                    let (batch, origins, fan_out) =
                        match &mut runner {
                            None => (batch, None, 1),
                            Some(runner) => {
                                let place = |row: usize| RowPlace {
                                    input: input as u32,
                                    offset: converter.row_offset(&chunk, &records, row),
                                    part: 0,
                                };
                                let stepped = match runner.run(&batch, &place) {
                                    Err(RunError::TooManyRows { .. }) => {
                                        rows_at_once.lower(end - at);
                                        continue;
                                    }
                                    stepped => stepped
                                        .map_err(|error| steps_error(&reading.name, error))?,
                                };
                                rows_at_once.note(batch.num_rows(), stepped.added_bytes);
                                peeked.tally.add_batch(&stepped);
                                let faults = stepped.faults.into_iter();
                                rejects.extend(faults.map(|fault| {
                                    reject_of_step(&converter, &chunk, &records, fault)
                                }));
                                (stepped.batch, stepped.origins, stepped.fan_out)
                            }
                        };
                    peeked.rows_read += (end - at) as u64;
                    at = end;
                    let left = row_count - peeked.rows.len();
                    let left = left.min(batch.num_rows());
                    let places = (0..left).map(|row| {
                        let (row, _) = outcome::origin(origins.as_deref(), fan_out, row);
                        converter.row_location(&chunk, &records, row)
                    });
                    let texts = texts(&batch, left);
                    peeked.rows.extend(places.zip(texts));
                    // Rejects after the last row that is shown are left out.
                    if let Some((last, _)) = peeked
                        .rows
                        .last()
                        .filter(|_| peeked.rows.len() == row_count)
                    {
                        rejects.retain(|reject| reject.location.byte_offset < last.byte_offset);
                    }
                    rejects.sort_by_key(|reject| reject.location.byte_offset);
                    peeked.rejects.extend(rejects);
                    let more = peeked.rejects.len().saturating_sub(REJECTS_SHOWN);
                    peeked.rejects.drain(..more);
                    if peeked.rows.len() == row_count {
                        return Ok(peeked);
                    }
                }
                reader.recycle(chunk);
            }
        }
    }
    Ok(peeked)
}

/// The first rows of a batch as texts.
fn texts(batch: &RecordBatch, row_count: usize) -> Vec<Vec<Option<String>>> {
    // A column that became rows has no values.
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
