//! The sums of a table's columns: its files are read, by as many threads as there are cores.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use inrush_destination::{ColumnSums, Error, Measure, Result, SummedColumn};
use inrush_system::threads::on_threads;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::files::failed;

/// A sum under way: the number of values, and their sum in units of the last of `scale` decimal places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    values: u64,
    sum: i128,
    scale: usize,
}

/// The sums of all rows of these files; `None` if a column is not in all of them, or has a type without this measure.
pub(super) fn of_files(
    files: &[PathBuf],
    columns: &[SummedColumn],
) -> Result<Option<Vec<ColumnSums>>> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Option<Vec<Sum>>>> {
        let mut sums = vec![Sum::default(); columns.len()];
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if !add_file(file, columns, &mut sums)? {
                return Ok(vec![None]);
            }
        }
        Ok(vec![Some(sums)])
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = vec![Sum::default(); columns.len()];
    for part in on_threads(cores.min(files.len()), &work)? {
        let Some(part) = part else { return Ok(None) };
        for (sum, own) in all.iter_mut().zip(part) {
            sum.values += own.values;
            sum.sum += own.sum;
            sum.scale = sum.scale.max(own.scale);
        }
    }
    Ok(Some(all.into_iter().map(in_words).collect()))
}

/// Adds the rows of a file; false if a column cannot be summed up.
fn add_file(path: &Path, columns: &[SummedColumn], sums: &mut [Sum]) -> Result<bool> {
    let refused = |message: String| Error::Refused {
        doing: format!("reading {}", path.display()),
        message,
        hint: Some("it is damaged, or was changed since it was loaded".to_owned()),
    };
    let file = File::open(path).map_err(failed("cannot open", path))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .map_err(|error| refused(error.to_string()))?;
    let schema = reader.schema().clone();
    let mut places = Vec::with_capacity(columns.len());
    for column in columns {
        match schema.index_of(&column.name) {
            Ok(place) => places.push(place),
            Err(_) => return Ok(false),
        }
    }
    let mask = ProjectionMask::roots(reader.parquet_schema(), places);
    let reader = reader
        .with_projection(mask)
        .build()
        .map_err(|error| refused(error.to_string()))?;
    for batch in reader {
        let batch = batch.map_err(|error| refused(error.to_string()))?;
        for (column, sum) in columns.iter().zip(&mut *sums) {
            let Some(array) = batch.column_by_name(&column.name) else {
                return Ok(false);
            };
            if !add(array, column.measure, sum) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Adds the values of a batch; false if their type has no such measure.
fn add(array: &ArrayRef, measure: Measure, sum: &mut Sum) -> bool {
    let octets = |text: &str| text.trim_end_matches(' ').len() as i128;
    macro_rules! numbers {
        ($type:ty) => {
            array
                .as_primitive::<$type>()
                .iter()
                .flatten()
                .map(i128::from)
                .sum()
        };
    }
    let own: i128 = match (measure, array.data_type()) {
        (Measure::Number, DataType::Int16) => numbers!(Int16Type),
        (Measure::Number, DataType::Int32) => numbers!(Int32Type),
        (Measure::Number, DataType::Int64) => numbers!(Int64Type),
        (Measure::Number, DataType::Decimal128(_, scale)) if *scale >= 0 => {
            sum.scale = usize::from(scale.unsigned_abs());
            numbers!(Decimal128Type)
        }
        (Measure::Days, DataType::Date32) => numbers!(Date32Type),
        (Measure::Octets, DataType::Utf8) => {
            array.as_string::<i32>().iter().flatten().map(octets).sum()
        }
        (Measure::Octets, DataType::LargeUtf8) => {
            array.as_string::<i64>().iter().flatten().map(octets).sum()
        }
        (Measure::Octets, DataType::Utf8View) => {
            array.as_string_view().iter().flatten().map(octets).sum()
        }
        _ => return false,
    };
    sum.values += (array.len() - array.null_count()) as u64;
    sum.sum += own;
    true
}

/// The sum as a decimal number.
fn in_words(sum: Sum) -> ColumnSums {
    let sign = if sum.sum < 0 { "-" } else { "" };
    let digits = format!("{:0>1$}", sum.sum.unsigned_abs(), sum.scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - sum.scale);
    ColumnSums {
        values: sum.values,
        sum: match fraction {
            "" => format!("{sign}{whole}"),
            fraction => format!("{sign}{whole}.{fraction}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_with_their_decimal_places() {
        let words = |sum, scale| {
            let sum = Sum {
                values: 1,
                sum,
                scale,
            };
            in_words(sum).sum
        };
        assert_eq!(words(0, 0), "0");
        assert_eq!(words(-1234, 0), "-1234");
        assert_eq!(words(-5, 2), "-0.05");
        assert_eq!(words(123_456, 2), "1234.56");
    }
}
