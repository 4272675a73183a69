//! Assigns rows to folders by the values of the partition columns.

use std::collections::HashMap;
use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use inrush_destination::Misfit;
use inrush_rows::calendar::civil_from_days;
use inrush_rows::column_type::ColumnType;
use inrush_rows::timestamp;

use crate::layout::FileColumn;
use crate::names;

/// The folders of a unit, numbered.
#[derive(Debug, Default)]
pub(super) struct Folders {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// The folder of the previous row.
    last: Option<u32>,
}

impl Folders {
    /// The folder's name; names of several columns are joined by `/`.
    pub(super) fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    /// The folder of each row, and the rows whose values cannot be a folder's name.
    pub(super) fn of(
        &mut self,
        columns: &[FileColumn],
        batch: &RecordBatch,
    ) -> (Vec<u32>, Vec<Misfit>) {
        let arrays: Vec<(&FileColumn, usize, &dyn Array)> = columns
            .iter()
            .filter_map(|column| {
                let place = column.source?;
                Some((column, place, batch.column(place).as_ref()))
            })
            .collect();
        let mut numbers = Vec::with_capacity(batch.num_rows());
        let mut misfits = Vec::new();
        let mut name = String::new();
        let mut value = String::new();
        for row in 0..batch.num_rows() {
            name.clear();
            let mut fault = None;
            for (column, place, array) in &arrays {
                if !name.is_empty() {
                    name.push('/');
                }
                let begin = name.len();
                value.clear();
                let has_value = !array.is_null(row);
                if has_value {
                    push_value(&mut value, *array, row, &column.column_type);
                }
                names::push_partition(&mut name, &column.name, has_value.then_some(value.as_str()));
                if names::is_too_long(&name[begin..]) {
                    fault.get_or_insert((
                        *place,
                        "is too long for the name of a folder, which its partition would be (255 \
                         bytes with the column's name): shorten it, or partition by another column",
                    ));
                }
                if value == names::NULL_PARTITION {
                    fault.get_or_insert((
                        *place,
                        "is the folder name for NULL: change it, or partition by another column",
                    ));
                }
            }
            if let Some((column, reason)) = fault {
                misfits.push(Misfit {
                    row,
                    column,
                    reason: reason.to_owned(),
                });
                numbers.push(u32::MAX);
                continue;
            }
            numbers.push(self.number(&name));
        }
        (numbers, misfits)
    }

    fn number(&mut self, name: &str) -> u32 {
        if let Some(last) = self.last
            && self.names[last as usize] == name
        {
            return last;
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None => {
                // The number fits: memory limits the number of folders long before `u32` does.
                let number = self.names.len() as u32;
                self.names.push(name.to_owned());
                self.numbers.insert(name.to_owned(), number);
                number
            }
        };
        self.last = Some(number);
        number
    }
}

/// Appends the value as SQL writes it; programs that read partitions cast it back.
fn push_value(out: &mut String, array: &dyn Array, row: usize, column_type: &ColumnType) {
    // Writing into a String cannot fail.
    let _ = match array.data_type() {
        DataType::Boolean => write!(out, "{}", array.as_boolean().value(row)),
        DataType::Int16 => write!(out, "{}", array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => write!(out, "{}", array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => write!(out, "{}", array.as_primitive::<Int64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            push_decimal(
                out,
                array.as_primitive::<Decimal128Type>().value(row),
                *scale as usize,
            );
            Ok(())
        }
        DataType::Date32 => {
            push_date(
                out,
                i64::from(array.as_primitive::<Date32Type>().value(row)),
            );
            Ok(())
        }
        DataType::Timestamp(_, _) => {
            let number = array.as_primitive::<TimestampMicrosecondType>().value(row);
            push_timestamp(out, number);
            match column_type {
                ColumnType::TimestampTz { .. } => write!(out, "+00"),
                _ => Ok(()),
            }
        }
        DataType::FixedSizeBinary(_) => {
            for (place, byte) in array.as_fixed_size_binary().value(row).iter().enumerate() {
                if matches!(place, 4 | 6 | 8 | 10) {
                    out.push('-');
                }
                let _ = write!(out, "{byte:02x}");
            }
            Ok(())
        }
        DataType::Utf8View => {
            out.push_str(array.as_string_view().value(row));
            Ok(())
        }
        // No other type can be a partition column in this layout.
        other => unreachable!("{other} makes no partitions"),
    };
}

fn push_decimal(out: &mut String, value: i128, scale: usize) {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    out.push_str(sign);
    out.push_str(whole);
    if scale > 0 {
        out.push('.');
        out.push_str(fraction);
    }
}

fn push_date(out: &mut String, days: i64) {
    let (year, month, day) = civil_from_days(days);
    let sign = if year < 0 { "-" } else { "" };
    let _ = write!(out, "{sign}{:04}-{month:02}-{day:02}", year.abs());
}

fn push_timestamp(out: &mut String, number: i64) {
    const SECOND: i64 = 1_000_000;
    const DAY: i64 = 86_400 * SECOND;
    debug_assert!(timestamp::is_plain(number));
    push_date(out, number.div_euclid(DAY));
    let time = number.rem_euclid(DAY);
    let seconds = time / SECOND;
    let _ = write!(
        out,
        " {:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    );
    let fraction = time % SECOND;
    if fraction > 0 {
        let digits = format!("{fraction:06}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut String)) -> String {
        let mut out = String::new();
        push(&mut out);
        out
    }

    #[test]
    fn values_are_written_as_sql_writes_them() {
        assert_eq!(text(|out| push_date(out, 0)), "1970-01-01");
        assert_eq!(text(|out| push_date(out, 19_782)), "2024-02-29");
        assert_eq!(text(|out| push_date(out, -719_529)), "-0001-12-31");
        assert_eq!(text(|out| push_date(out, 2_932_897)), "10000-01-01");
        assert_eq!(
            text(|out| push_timestamp(out, -1)),
            "1969-12-31 23:59:59.999999"
        );
        assert_eq!(
            text(|out| push_timestamp(out, 3_661_500_000)),
            "1970-01-01 01:01:01.5"
        );
        assert_eq!(text(|out| push_decimal(out, -5, 2)), "-0.05");
        assert_eq!(text(|out| push_decimal(out, 12_345, 0)), "12345");
        assert_eq!(
            text(|out| push_decimal(out, i128::MAX, 38)),
            format!("{}.{}", 1, "70141183460469231731687303715884105727")
        );
    }
}
