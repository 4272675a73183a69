//! Columns that no single Arrow type can hold completely: they are read as two types at once and combined.
//!
//! INT96 timestamps are days and nanoseconds. Read as nanoseconds they wrap around outside of the years 1677 to 2262;
//! read as microseconds they lose three digits. Parquet's intervals have months, days and milliseconds, and are read
//! once as months and once as days and milliseconds.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    IntervalDayTimeType, IntervalMonthDayNano, IntervalYearMonthType, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, IntervalMonthDayNanoArray, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema};

/// Batches in which some columns are read twice.
pub(super) struct Twice<R> {
    pub(super) first: R,
    /// The same batches, with only the columns that are read twice, as their second type.
    pub(super) second: R,
    /// The indices of these columns in the batches of `first`.
    pub(super) places: Vec<usize>,
}

impl<R> Iterator for Twice<R>
where
    R: Iterator<Item = Result<RecordBatch, ArrowError>>,
{
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match (self.first.next()?, self.second.next()) {
            (Ok(first), Some(Ok(second))) if first.num_rows() == second.num_rows() => {
                self.put_together(&first, &second)
            }
            (Err(error), _) | (_, Some(Err(error))) => Err(error),
            _ => Err(damaged("its columns have different numbers of rows")),
        })
    }
}

impl<R> Twice<R> {
    fn put_together(
        &self,
        first: &RecordBatch,
        second: &RecordBatch,
    ) -> Result<RecordBatch, ArrowError> {
        let mut columns = first.columns().to_vec();
        let mut fields = first.schema().fields().to_vec();
        for (place, other) in self.places.iter().zip(second.columns()) {
            let whole = match columns[*place].data_type() {
                DataType::Interval(_) => interval(&columns[*place], other)?,
                _ => timestamp(&columns[*place], other)?,
            };
            let field = Field::clone(&fields[*place]).with_data_type(whole.data_type().clone());
            fields[*place] = Arc::new(field);
            columns[*place] = whole;
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

/// The intervals of months, days and milliseconds.
fn interval(days: &ArrayRef, months: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let months = months.as_primitive::<IntervalYearMonthType>();
    let days = days.as_primitive::<IntervalDayTimeType>();
    let values = months.iter().zip(days.iter()).map(|pair| match pair {
        (Some(months), Some(days)) => {
            // Parquet's amounts are unsigned. One that is negative here is past 2^31, or its writer meant a
            // negative amount, which Parquet does not have.
            if months < 0 || days.days < 0 || days.milliseconds < 0 {
                return Err(damaged(
                    "one of its intervals has a negative amount of a unit, or one of 2^31 or more, which cannot be read",
                ));
            }
            let nanoseconds = i64::from(days.milliseconds) * 1_000_000;
            let whole = IntervalMonthDayNano::new(months, days.days, nanoseconds);
            Ok(Some(whole))
        }
        _ => Ok(None),
    });
    let values: IntervalMonthDayNanoArray = values.collect::<Result<_, ArrowError>>()?;
    Ok(Arc::new(values))
}

/// The type that holds all of the timestamps exactly. `wrapped` are their nanoseconds modulo 2^64, `cut` their
/// microseconds.
fn timestamp(wrapped: &ArrayRef, cut: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let nanoseconds = wrapped.as_primitive::<TimestampNanosecondType>();
    let microseconds = cut.as_primitive::<TimestampMicrosecondType>();
    let (mut any_fraction, mut any_wrapped) = (false, false);
    for (nanoseconds, microseconds) in nanoseconds.iter().zip(microseconds.iter()) {
        let (Some(nanoseconds), Some(microseconds)) = (nanoseconds, microseconds) else {
            continue;
        };
        let fraction = nanoseconds.wrapping_sub(microseconds.wrapping_mul(1_000));
        if !(-999..1_000).contains(&fraction) {
            return Err(damaged("one of its INT96 values is not a timestamp"));
        }
        any_fraction |= fraction != 0;
        any_wrapped |= microseconds.checked_mul(1_000) != Some(nanoseconds.wrapping_sub(fraction));
    }
    match (any_fraction, any_wrapped) {
        (false, _) => Ok(Arc::clone(cut)),
        (true, false) => Ok(Arc::clone(wrapped)),
        (true, true) => Err(damaged(
            "INT96 timestamps of it have nanoseconds and lie outside of the years 1677 to 2262",
        )),
    }
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::ParquetError(what.to_owned())
}
