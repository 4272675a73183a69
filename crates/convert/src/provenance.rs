//! Columns that take no field: the origin of a row, the time and number of its run, or one text of the package for all
//! rows.

use std::sync::Arc;

use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, PrimitiveArray};
use inrush_rows::chunk::Chunk;
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::{ColumnPolicies, ValueSource};
use inrush_rows::ids::RunId;

use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::exact_float::ExactFloat;
use super::fields::{GatherInput, Gatherer};
use super::kernel::Fault;
use super::output::Output;
use super::policies::FieldPolicy;
use super::rows::Row;

/// The values of the columns `load_time` and `run`: the same in all streams of a run, also after it was resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunStamp {
    /// Its number in the ledger.
    pub run_id: RunId,
    /// When it began, in microseconds since 1970-01-01T00:00:00Z.
    pub started_at_microseconds: i64,
}

/// The source of a column that takes no field.
pub(super) enum Provenance {
    File,
    Line,
    ByteOffset,
    LoadTime {
        /// Digits of the second's fraction that the column keeps.
        fraction_digits: u8,
    },
    Run,
    /// The text that the kernel reads.
    Constant(Vec<u8>),
}

/// The facts that the rows of a batch share.
pub(super) struct Origin<'a> {
    pub chunk: &'a Chunk,
    pub stamp: Option<RunStamp>,
}

impl Provenance {
    /// The source of a column that takes no field. Its type must be able to hold the values.
    pub fn of(
        column: &Column,
        converter: &ColumnConverter,
        policy: Option<&FieldPolicy>,
    ) -> Result<Option<Provenance>, ConvertError> {
        let is_text = matches!(column.column_type, ColumnType::Text { .. });
        let is_count = matches!(column.column_type, ColumnType::Int32 | ColumnType::Int64);
        let (provenance, is_right, reason) = match &column.source {
            ValueSource::Field(_) => return Ok(None),
            ValueSource::Derived => {
                return Err(ConvertError::SourceType {
                    column: column.name.clone(),
                    source_word: column.source.word(),
                    reason: "its values come from a step, and not from the records",
                });
            }
            ValueSource::Constant(text) => {
                return constant(column, text, converter, policy).map(Some);
            }
            ValueSource::File => (
                Provenance::File,
                is_text,
                "the path of a file is a text: make the column text",
            ),
            ValueSource::Line => (
                Provenance::Line,
                is_count,
                "a line is a number: make the column bigint, or integer for files below 2147483648 \
                 lines",
            ),
            ValueSource::ByteOffset => (
                Provenance::ByteOffset,
                is_count,
                "a byte offset is a number: make the column bigint, or integer for files below 2 GiB",
            ),
            ValueSource::LoadTime => (
                Provenance::LoadTime {
                    fraction_digits: match column.column_type {
                        ColumnType::TimestampTz { fraction_digits } => fraction_digits,
                        _ => 0,
                    },
                },
                matches!(column.column_type, ColumnType::TimestampTz { .. }),
                "it is a point in time: make the column timestamptz",
            ),
            ValueSource::Run => (
                Provenance::Run,
                column.column_type == ColumnType::Int64,
                "a run has a number in the ledger: make the column bigint",
            ),
        };
        if !is_right {
            return Err(ConvertError::SourceType {
                column: column.name.clone(),
                source_word: column.source.word(),
                reason,
            });
        }
        if column.policies != ColumnPolicies::default()
            || !column.formats.is_empty()
            || column.zone.is_some()
        {
            return Err(ConvertError::PolicyInvalid {
                column: column.name.clone(),
                setting: "source",
                reason: format!(
                    "{:?} is not a field, so settings for reading have no effect; remove the other \
                     settings",
                    column.source.word()
                ),
            });
        }
        Ok(Some(provenance))
    }

    /// The array of a column over the rows of a batch.
    pub fn output(
        &self,
        converter: &ColumnConverter,
        gatherer: &mut Gatherer,
        input: &GatherInput<'_>,
        origin: &Origin<'_>,
        faults: &mut Vec<Fault>,
    ) -> Output {
        let stamp = || {
            origin
                .stamp
                .expect("a converter with columns of its run was given the run")
        };
        match self {
            Provenance::Constant(text) => {
                let fields = gatherer.repeat(input, text);
                converter.array(&fields, faults)
            }
            Provenance::File => {
                let path = origin.chunk.file.to_string_lossy();
                let fields = gatherer.repeat(input, path.as_bytes());
                converter.array(&fields, faults)
            }
            Provenance::Line => {
                if origin.chunk.counts_rows() {
                    return counts(converter, input, "number", faults, |row| {
                        let record = &input.records.records[row.record as usize];
                        byte_offset(origin.chunk, record.start) + 1
                    });
                }
                // Called once per batch, because a reader may have to compute it.
                let first_line = origin.chunk.first_line();
                counts(converter, input, "line", faults, |row| {
                    first_line + u64::from(input.records.records[row.record as usize].line)
                })
            }
            Provenance::ByteOffset => counts(converter, input, "byte offset", faults, |row| {
                let record = &input.records.records[row.record as usize];
                byte_offset(origin.chunk, record.start)
            }),
            Provenance::Run => {
                let run_ids = vec![stamp().run_id.number(); input.rows.len()];
                Output::Array(Arc::new(PrimitiveArray::<Int64Type>::new(
                    run_ids.into(),
                    None,
                )))
            }
            Provenance::LoadTime { fraction_digits } => {
                // Cut off, not rounded, so that the time is never later than the run's start.
                let step = 10i64.pow(6 - u32::from((*fraction_digits).min(6)));
                let time = stamp().started_at_microseconds.div_euclid(step) * step;
                let times = vec![time; input.rows.len()];
                let array = PrimitiveArray::<TimestampMicrosecondType>::new(times.into(), None);
                Output::Array(Arc::new(array.with_timezone("UTC")))
            }
        }
    }
}

/// The number of bytes in the file before a byte of the chunk.
fn byte_offset(chunk: &Chunk, position: u32) -> u64 {
    match &chunk.places {
        None => chunk.byte_offset + u64::from(position),
        Some(_) => chunk.location(position, 0).byte_offset,
    }
}

fn constant(
    column: &Column,
    text: &str,
    converter: &ColumnConverter,
    policy: Option<&FieldPolicy>,
) -> Result<Provenance, ConvertError> {
    let invalid = |error: ValueError| ConvertError::TextInvalid {
        column: column.name.clone(),
        setting: "value",
        text: text.to_owned(),
        reason: error.reason,
    };
    let text = match policy {
        Some(policy) => policy.rewritten(text).map_err(invalid)?,
        None => text.as_bytes().to_vec(),
    };
    converter.check_text(&text).map_err(invalid)?;
    ExactFloat::check_text(column, &text).map_err(invalid)?;
    Ok(Provenance::Constant(text))
}

/// Numbers of the rows, in the width of their column.
fn counts(
    converter: &ColumnConverter,
    input: &GatherInput<'_>,
    what: &str,
    faults: &mut Vec<Fault>,
    count: impl Fn(&Row) -> u64,
) -> Output {
    let mut limited = |row: usize, max: u64| {
        let count = count(&input.rows[row]);
        if count > max {
            faults.push(Fault {
                row,
                error: ValueError::out_of_range(format!(
                    "the {what} of the row, {count}, is outside the range of the column's type; \
                     make the column bigint"
                )),
            });
            return 0;
        }
        count
    };
    let rows = 0..input.rows.len();
    Output::Array(match converter {
        ColumnConverter::Int32(_) => {
            let values: Vec<i32> = rows
                .map(|row| limited(row, i32::MAX as u64) as i32)
                .collect();
            Arc::new(PrimitiveArray::<Int32Type>::new(values.into(), None)) as ArrayRef
        }
        _ => {
            let values: Vec<i64> = rows
                .map(|row| limited(row, i64::MAX as u64) as i64)
                .collect();
            Arc::new(PrimitiveArray::<Int64Type>::new(values.into(), None))
        }
    })
}
