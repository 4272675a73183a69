//! Makes rows of records and passes them through steps, as many at a time as the memory of the steps allows.
//!
//! A load, the pass before `distinct_on`, and `inrush peek` all use this code to pass rows through steps. If the steps
//! ask for fewer rows, the same records are made into rows once more, fewer at a time.

use std::ops::Range;

use arrow_array::RecordBatch;
use inrush_convert::Converter;
use inrush_rows::chunk::Chunk;
use inrush_rows::reject::Reject;
use inrush_scan::Records;
use inrush_transform::distinct::RowPlace;
use inrush_transform::error::RunError;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::outcome::Stepped;
use inrush_transform::stages::{Staged, StagedRunner};
use inrush_verdict::Phase;

use super::rows_at_once::RowsAtOnce;
use crate::error::Error;
use crate::gauge::Gauge;

/// The steps of a flow, for one stream.
pub struct RowSteps {
    flow: String,
    runner: StagedRunner,
    /// The index of the input whose rows pass.
    input: u32,
    rows_at_once: RowsAtOnce,
}

/// Rows that have passed the steps together.
pub struct Passed {
    /// The rows as they were read.
    pub read: RecordBatch,
    /// The rows that have left the steps.
    pub stepped: Stepped,
    /// The index of the record after the last one that was taken.
    pub end: usize,
}

impl RowSteps {
    /// The steps `staged` of a flow.
    pub fn new(flow: &str, evaluator: &Evaluator, staged: &Staged) -> Result<RowSteps, Error> {
        let runner = StagedRunner::new(evaluator, staged);
        Ok(RowSteps {
            flow: flow.to_owned(),
            runner: runner.map_err(|error| steps_error(flow, error))?,
            input: 0,
            rows_at_once: RowsAtOnce::new(staged.fan_out()),
        })
    }

    /// Called before the rows of an input pass, with its index.
    pub fn begin_input(&mut self, input: usize) {
        self.input = input as u32;
    }

    /// The end of the records that pass together, from `at` on.
    pub fn end(&self, at: usize, record_count: usize) -> usize {
        record_count.min(at + self.rows_at_once.get())
    }

    /// Makes rows of the records `range`, and passes them through the steps. If the steps need too much memory, only
    /// the first of the records are taken. Records that do not become rows are appended to `rejects`; rows that a step
    /// refuses are not.
    pub fn pass(
        &mut self,
        converter: &mut Converter,
        chunk: &Chunk,
        records: &Records,
        mut range: Range<usize>,
        rejects: &mut Vec<Reject>,
        gauge: &Gauge,
    ) -> Result<Passed, Error> {
        let known = rejects.len();
        let input = self.input;
        loop {
            let read = converter.convert(chunk, records, range.clone(), rejects);
            let place = |row: usize| place(input, converter, chunk, records, row);
            let stepping = gauge.enter(Phase::Transform);
            let stepped = self.runner.run(&read, &place);
            drop(stepping);
            match stepped {
                Err(RunError::TooManyRows { .. }) => {
                    range.end = range.start + self.rows_at_once.lower(range.len());
                    converter.forget_last_changes();
                    rejects.truncate(known);
                }
                Err(error) => return Err(steps_error(&self.flow, error)),
                Ok(stepped) => {
                    self.rows_at_once.note(read.num_rows(), stepped.added_bytes);
                    return Ok(Passed {
                        read,
                        stepped,
                        end: range.end,
                    });
                }
            }
        }
    }

    /// The place of a row that has left the steps, in its source.
    pub fn place(
        &self,
        converter: &Converter,
        chunk: &Chunk,
        records: &Records,
        stepped: &Stepped,
        row: usize,
    ) -> RowPlace {
        let (row, part) = stepped.origin(row);
        RowPlace {
            part,
            ..place(self.input, converter, chunk, records, row)
        }
    }
}

/// The place of a row before the steps.
fn place(
    input: u32,
    converter: &Converter,
    chunk: &Chunk,
    records: &Records,
    row: usize,
) -> RowPlace {
    RowPlace {
        input,
        offset: converter.row_offset(chunk, records, row),
        part: 0,
    }
}

/// The error of steps that could not be evaluated.
pub fn steps_error(flow: &str, source: RunError) -> Error {
    match source {
        RunError::Interrupted => Error::Interrupted,
        source => Error::Steps {
            flow: flow.to_owned(),
            source,
        },
    }
}
