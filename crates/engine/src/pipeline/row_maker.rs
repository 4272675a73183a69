//! Makes rows of the target from the records of a source: by one converter or, for a flow with steps, by a converter, the
//! steps, and a converter behind them.
//!
//! ```text
//! records ─> first converter ─> batch ─> steps ─> rows that are left ─> last converter ─> batch of the target
//!             columns read                        and derived columns    columns loaded
//! ```
//!
//! The first converter gives each column its type; NULL is allowed there, because a step may filter such rows. The last
//! one takes unchanged columns as they are, converts derived columns whose type differs from that of the target, and
//! checks NULL and the keys of partitions. Each row of the target is traced back to its record, so that its rejects
//! have its place and its text.
//!
//! Thousands of records pass the steps together ([`RowSteps`]).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use inrush_convert::{AfterSteps, Converter, RunStamp};
use inrush_plan::Reading;
use inrush_plan::step_tally::StepTally;
use inrush_plan::steps::{OutputPart, StepPlan};
use inrush_plan::units::load_unit::LoadUnit;
use inrush_rows::chunk::{Chunk, RowNumbers};
use inrush_rows::column::ColumnType;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::reject::{Reject, RejectCode, VALUE_BYTES_MAX};
use inrush_rows::typed_rows::{TypedColumn, TypedRows, odd_times_as_text, value_text};
use inrush_scan::Records;
use inrush_transform::outcome::{self, FaultKind, RowFault, Stepped};
use inrush_transform::unpivot::Groups;
use inrush_verdict::Phase;

use super::row_steps::{Passed, RowSteps};
use crate::error::Error;
use crate::gauge::Gauge;

/// Makes rows of the target, for one stream.
pub struct RowMaker {
    flow: String,
    /// Makes the columns that are read.
    first: Converter,
    after: Option<AfterFirst>,
}

/// The steps of a flow, and the converter behind them.
struct AfterFirst {
    steps: RowSteps,
    /// True if the steps know which rows are the first of their keys, or do not need it.
    is_ready: bool,
    last: Converter,
    /// For each column of the rows that leave the steps: true if it holds UUIDs.
    are_uuids: Vec<bool>,
    /// For each of these columns: true if the column that it fills has another type.
    are_converted: Vec<bool>,
    /// The columns of the target, each with the index of the column that fills it.
    filled: Vec<(String, usize)>,
    /// What the steps have counted so far.
    tally: StepTally,
    /// [`StepPlan::output`].
    output: Option<OutputPart>,
    /// The columns that steps make rows of.
    groups: Arc<Groups>,
}

/// Rows of the target, and the way back to their records.
pub struct MadeRows<'a> {
    /// The rows.
    pub batch: RecordBatch,
    /// The index of the record after the last one that was taken.
    pub end: usize,
    /// Rows that the steps have filtered.
    pub rows_filtered: u64,
    /// Rows that the steps have made in addition to the records.
    pub rows_added: u64,
    first: &'a Converter,
    chunk: &'a Chunk,
    records: &'a Records,
    /// A row goes to each output that takes it, so others may have a row that this target does not take.
    goes_to_each: bool,
    /// For each row, the index of its row in the first converter, multiplied by `fan_out`, plus its index among the
    /// rows that were made of that one. `None` if the rows are those of the first converter.
    origins: Option<Vec<u64>>,
    /// The largest number of rows that are made of one record.
    fan_out: u64,
    /// The columns that steps make these rows of.
    groups: Arc<Groups>,
}

impl RowMaker {
    /// The maker of the rows of a flow. Fails if its columns do not fit its fields.
    pub fn new(reading: &Reading, stamp: RunStamp) -> Result<RowMaker, Error> {
        Ok(RowMaker {
            flow: reading.name.clone(),
            first: converter(reading, stamp)?,
            after: match &reading.steps {
                None => None,
                Some(steps) => Some(AfterFirst::new(reading, steps)?),
            },
        })
    }

    /// The maker of the rows of a unit of this flow. Rows whose keys are not the unit's become rejects.
    pub fn of_unit(unit: &LoadUnit, reading: &Reading, stamp: RunStamp) -> Result<RowMaker, Error> {
        let maker = RowMaker::new(reading, stamp)?;
        let maker = match &unit.key_set {
            Some(set) => maker.with_target(|target| target.with_key_set(set.clone())),
            None => maker,
        };
        Ok(match &unit.key_bounds {
            Some(bounds) => maker.with_target(|target| target.with_key_bounds(bounds.clone())),
            None => maker,
        })
    }

    /// The maker of the rows before the steps, for a destination that evaluates these itself.
    pub fn before_steps(reading: &Reading, stamp: RunStamp) -> Result<RowMaker, Error> {
        Ok(RowMaker {
            flow: reading.name.clone(),
            first: converter(reading, stamp)?,
            after: None,
        })
    }

    /// Changes the converter that makes the columns of the target: its key bounds, for example.
    pub fn with_target(mut self, change: impl FnOnce(Converter) -> Converter) -> RowMaker {
        match self.after {
            None => self.first = change(self.first),
            Some(after) => {
                self.after = Some(AfterFirst {
                    last: change(after.last),
                    ..after
                });
            }
        }
        self
    }

    /// Called before the rows of an input are made, with its index.
    pub fn begin_input(&mut self, input: usize) {
        if let Some(after) = &mut self.after {
            after.steps.begin_input(input);
        }
    }

    /// True if its rows may be loaded. A step that keeps the first of several rows needs a pass over all rows before
    /// ([`first_rows`](crate::run::first_rows)); without it the rows are those of a sample.
    pub fn is_ready(&self) -> bool {
        self.after.as_ref().is_none_or(|after| after.is_ready)
    }

    /// The end of the records that are made into rows together, from `at` on.
    pub fn end(&self, at: usize, record_count: usize, batch_rows: usize) -> usize {
        match &self.after {
            None => record_count.min(at + batch_rows),
            Some(after) => after.steps.end(at, record_count),
        }
    }

    /// Makes rows of the records `range`. If the texts that steps make are long, only the first of these records are
    /// taken, up to [`MadeRows::end`]. Records that do not become rows are counted, or appended to `rejects` in their
    /// order. The gauge gets the time of converting and of the steps.
    pub fn make<'m>(
        &'m mut self,
        chunk: &'m Chunk,
        records: &'m Records,
        range: Range<usize>,
        rejects: &mut Vec<Reject>,
        gauge: &Gauge,
    ) -> Result<MadeRows<'m>, Error> {
        let _converting = gauge.enter(Phase::Convert);
        let known = rejects.len();
        let (batch, stepped, end) = match &mut self.after {
            None => {
                let end = range.end;
                let batch = self.first.convert(chunk, records, range, rejects);
                (batch, None, end)
            }
            Some(after) => {
                let steps = &mut after.steps;
                let passed = steps.pass(&mut self.first, chunk, records, range, rejects, gauge)?;
                let Passed { read, stepped, end } = passed;
                (read, Some(stepped), end)
            }
        };
        let mut rows_filtered = 0;
        let output = self.after.as_ref().and_then(|after| after.output);
        if output.is_some_and(|output| !output.reports) {
            // Another flow reads the same records, and reports these rejects.
            rows_filtered = (rejects.len() - known) as u64;
            rejects.truncate(known);
        }
        if lacks_alone(output) {
            rejects[known..]
                .iter_mut()
                .for_each(|own| own.of_target = true);
        }
        let mut made = MadeRows {
            batch,
            end,
            rows_filtered,
            rows_added: 0,
            first: &self.first,
            chunk,
            records,
            goes_to_each: output.is_some_and(|output| output.each),
            origins: None,
            fan_out: 1,
            groups: self
                .after
                .as_ref()
                .map_or_else(Arc::default, |after| Arc::clone(&after.groups)),
        };
        if let (Some(after), Some(stepped)) = (&mut self.after, stepped) {
            after.take(stepped, &self.flow, &mut made, rejects)?;
        }
        Ok(made)
    }

    /// The number of values of each column that policies have changed so far.
    pub fn changes(&self) -> impl Iterator<Item = (&str, ColumnChanges)> {
        self.first.changes()
    }

    /// What the steps have counted so far; empty without steps.
    pub fn step_tally(&self) -> StepTally {
        let after = self.after.as_ref();
        after.map_or_else(StepTally::default, |after| after.tally.clone())
    }
}

/// The converter of a flow's records. Fails if the columns do not fit the fields.
pub fn converter(reading: &Reading, stamp: RunStamp) -> Result<Converter, Error> {
    let converter = reading.converter(stamp);
    converter.map_err(|error| Error::convert(reading, error))
}

impl AfterFirst {
    fn new(reading: &Reading, steps: &Arc<StepPlan>) -> Result<AfterFirst, Error> {
        let field_count = steps.read.len() + steps.planned.derived.len();
        let last = Converter::after_steps(&reading.columns, &steps.after, field_count);
        let read = steps.read.iter().map(|column| &column.column_type);
        let derived = steps.planned.derived.iter();
        let types = read.chain(derived.map(|column| &column.column_type));
        let are_uuids = types.map(|own| *own == ColumnType::Uuid).collect();
        let is_converted = |index| steps.after.contains(&AfterSteps::Converted(index));
        let mut distinct = steps.planned.distinct_steps();
        Ok(AfterFirst {
            steps: RowSteps::new(&reading.name, &steps.evaluator, &steps.planned)?,
            is_ready: distinct.all(|(_, step)| step.has_first_rows()),
            last: last.map_err(|error| Error::convert(reading, error))?,
            are_uuids,
            are_converted: (0..field_count).map(is_converted).collect(),
            filled: reading
                .columns
                .iter()
                .zip(&steps.after)
                .map(|(column, after)| match after {
                    AfterSteps::Taken(index) | AfterSteps::Converted(index) => {
                        (column.name.clone(), *index)
                    }
                })
                .collect(),
            tally: StepTally::default(),
            output: steps.output,
            groups: Arc::new(steps.planned.groups()),
        })
    }

    /// Takes the rows that have passed the steps through the last converter.
    fn take(
        &mut self,
        mut stepped: Stepped,
        flow: &str,
        made: &mut MadeRows<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        if self.output.is_some_and(|output| !output.reports) {
            let is_fatal = |fault: &RowFault| fault.kind == FaultKind::FatalCheck;
            stepped.faults.retain(is_fatal);
            for count in &mut stepped.counts {
                count.filtered += std::mem::take(&mut count.rejected);
            }
        }
        self.tally.add_batch(&stepped);
        let filtered = stepped.counts.iter().map(|count| count.filtered);
        made.rows_filtered += filtered.sum::<u64>();
        made.rows_added = stepped.counts.iter().map(|count| count.added).sum();
        for fault in stepped.faults {
            let is_fatal = fault.kind == FaultKind::FatalCheck;
            let reject = Reject {
                of_target: lacks_alone(self.output),
                ..reject_of_step(made.first, made.chunk, made.records, fault)
            };
            if is_fatal {
                return Err(Error::CheckFailed {
                    flow: flow.to_owned(),
                    reject: Box::new(reject),
                });
            }
            rejects.push(reject);
        }
        made.origins = stepped.origins;
        made.fan_out = stepped.fan_out;
        self.convert(made, &stepped.batch, rejects);
        rejects.sort_by_key(|reject| reject.location.byte_offset);
        Ok(())
    }

    /// Makes the columns of the target. A row whose values cannot be converted is a reject.
    fn convert(
        &mut self,
        made: &mut MadeRows<'_>,
        stepped: &RecordBatch,
        rejects: &mut Vec<Reject>,
    ) {
        let columns = stepped.columns().iter().zip(&self.are_uuids);
        let rows = TypedRows {
            columns: columns
                .zip(&self.are_converted)
                .map(|((values, is_uuid), is_converted)| TypedColumn {
                    // A column that became rows has no values.
                    values: (*values.data_type() != DataType::Null).then(|| match is_converted {
                        true => odd_times_as_text(values).unwrap_or_else(|| Arc::clone(values)),
                        false => Arc::clone(values),
                    }),
                    is_uuid: *is_uuid,
                })
                .collect(),
            row_count: stepped.num_rows(),
            content: Vec::new(),
            bytes_count: 0,
            faults: Vec::new(),
        };
        let mut numbers = Records::default();
        let chunk = Chunk::of_rows(
            &made.chunk.file,
            0,
            rows,
            Arc::new(RowNumbers),
            &mut numbers,
        );
        let mut misfits = Vec::new();
        let all = 0..stepped.num_rows();
        let batch = self.last.convert(&chunk, &numbers, all, &mut misfits);
        rejects.extend(misfits.into_iter().map(|misfit| {
            // In a row that comes from the steps, the index of the row stands in place of the byte offset.
            let row = misfit.location.byte_offset as usize;
            let reason = match misfit.code {
                RejectCode::NullNotAllowed => NULL_AFTER_STEPS.to_owned(),
                _ => misfit.reason,
            };
            let own = made.reject(row, None, misfit.code, reason);
            let column = misfit.column.as_deref();
            let shown = |value| time_of(&self.filled, column, stepped, row, value);
            let value = misfit.value.map(shown);
            Reject {
                column: misfit.column,
                value,
                ..own
            }
        }));
        if batch.num_rows() < stepped.num_rows() {
            let left = 0..batch.num_rows();
            let number = |row| self.last.row_offset(&chunk, &numbers, row) as usize;
            made.origins = Some(left.map(|row| made.id(number(row))).collect());
        }
        made.batch = batch;
    }
}

/// The value of a row, for a reject. Infinite times are shown as infinite, although Arrow arrays hold the number of an
/// ordinary date or time in their place.
fn time_of(
    filled: &[(String, usize)],
    column: Option<&str>,
    rows: &RecordBatch,
    row: usize,
    value: String,
) -> String {
    let is_it = |(name, _): &&(String, usize)| column == Some(name.as_str());
    let at = filled.iter().find(is_it).map(|(_, index)| *index);
    let own = at.and_then(|at| odd_times_as_text(&rows.column(at).slice(row, 1)));
    let own = own.and_then(|own| value_text(&own, 0, false));
    own.unwrap_or(value)
}

const NULL_AFTER_STEPS: &str = "the value is NULL after the steps, and the column does not allow it; filter such rows by a \
                                `where`, give the column a value with coalesce(...), or allow NULL in the target";

impl MadeRows<'_> {
    /// A number that identifies the row within its input: the byte offset of its record, unless steps make several rows
    /// of a record.
    pub fn row_id(&self, row: usize) -> u64 {
        let (record, part) = outcome::origin(self.origins.as_deref(), self.fan_out, row);
        let offset = self.first.row_offset(self.chunk, self.records, record);
        offset * self.fan_out + part
    }

    /// The byte offset of a row's record. It is known at once; the record's line may have to be counted in the file.
    pub fn byte_offset(&self, row: usize) -> u64 {
        let (record, _) = outcome::origin(self.origins.as_deref(), self.fan_out, row);
        self.first.row_offset(self.chunk, self.records, record)
    }

    /// A reject of a row, for a reason that was found after it was made.
    pub fn reject(
        &self,
        row: usize,
        column: Option<&str>,
        code: RejectCode,
        mut reason: String,
    ) -> Reject {
        let (record, part) = outcome::origin(self.origins.as_deref(), self.fan_out, row);
        self.groups.say(&mut reason, part);
        let own = Reject {
            of_target: self.goes_to_each,
            ..self
                .first
                .reject_row(self.chunk, self.records, record, column, code, reason)
        };
        match (&own.column, column) {
            // The column is derived, so the record has no field of it.
            (None, Some(column)) => Reject {
                column: Some(column.into()),
                ..own
            },
            _ => own,
        }
    }

    fn id(&self, row: usize) -> u64 {
        let origins = self.origins.as_ref();
        origins.map_or(row as u64, |origins| origins[row])
    }
}

/// The reject of a row that a step refuses. `first` has made the rows that went into the steps.
pub fn reject_of_step(
    first: &Converter,
    chunk: &Chunk,
    records: &Records,
    fault: RowFault,
) -> Reject {
    let code = match fault.kind {
        FaultKind::Check | FaultKind::FatalCheck => RejectCode::CheckFailed,
        FaultKind::Expression => RejectCode::StepFailed,
        FaultKind::OutOfRange => RejectCode::OutOfRange,
        FaultKind::NulByte => RejectCode::NulByte,
        FaultKind::Unmatched => RejectCode::LookupUnmatched,
    };
    let own = first.reject_row(chunk, records, fault.row, None, code, fault.reason);
    Reject {
        column: fault.column.map(Into::into),
        value: fault.value.map(shortened),
        ..own
    }
}

/// True if only this target lacks the rejected rows: other targets may have them.
fn lacks_alone(output: Option<OutputPart>) -> bool {
    output.is_some_and(|output| output.each && output.is_alone)
}

fn shortened(mut value: String) -> String {
    if value.len() > VALUE_BYTES_MAX {
        let mut end = VALUE_BYTES_MAX;
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        value.truncate(end);
    }
    value
}
