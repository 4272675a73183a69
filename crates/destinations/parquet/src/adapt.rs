//! Finds values that Parquet files cannot hold.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Time64MicrosecondType, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use inrush_destination::{Misfit, json_text};
use inrush_rows::column_type::ColumnType;
use inrush_rows::timestamp;

use crate::layout::{FileColumn, Layout};

/// Microseconds of a whole day: PostgreSQL's 24:00:00.
const DAY_MICROSECONDS: i64 = 86_400_000_000;

/// The rows of a batch that cannot be written to a file, in order, each with its first faulty column.
pub(super) fn misfits(layout: &Layout, batch: &RecordBatch) -> Vec<Misfit> {
    let mut misfits = Vec::new();
    for column in layout.columns.iter().chain(&layout.partitions) {
        if let Some(place) = column.source {
            of_column(column, place, batch.column(place).as_ref(), &mut misfits);
        }
    }
    misfits.sort_by_key(|misfit| (misfit.row, misfit.column));
    misfits.dedup_by_key(|misfit| misfit.row);
    misfits
}

fn of_column(column: &FileColumn, place: usize, array: &dyn Array, misfits: &mut Vec<Misfit>) {
    let mut misfit = |row: usize, reason: &str| {
        misfits.push(Misfit {
            row,
            column: place,
            reason: reason.to_owned(),
        });
    };
    if !column.nullable && array.null_count() > 0 {
        for row in (0..array.len()).filter(|row| array.is_null(*row)) {
            misfit(
                row,
                "is NULL, but the column is required in the files of this table: fill it, or make \
                 the column nullable in a new table",
            );
        }
    }
    match column.column_type {
        ColumnType::Date => {
            let dates = array.as_primitive::<Date32Type>();
            for (row, date) in dates.iter().enumerate() {
                if matches!(date, Some(i32::MIN | i32::MAX)) {
                    misfit(
                        row,
                        "is infinite, and Parquet has no infinite dates: load it as NULL or as a \
                         far date, or make the column text",
                    );
                }
            }
        }
        ColumnType::Time { .. } => {
            let times = array.as_primitive::<Time64MicrosecondType>();
            for (row, time) in times.iter().enumerate() {
                if time.is_some_and(|time| !(0..DAY_MICROSECONDS).contains(&time)) {
                    misfit(
                        row,
                        "is not before 24:00:00, where the times of Parquet end: load it as \
                         23:59:59.999999 or 00:00:00, or make the column text",
                    );
                }
            }
        }
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
            let timestamps = array.as_primitive::<TimestampMicrosecondType>();
            for (row, number) in timestamps.iter().enumerate() {
                match number {
                    Some(timestamp::INFINITY | timestamp::MINUS_INFINITY) => misfit(
                        row,
                        "is infinite, and Parquet has no infinite timestamps: load it as NULL or \
                         as a far timestamp, or make the column text",
                    ),
                    Some(number) if !timestamp::is_plain(number) => misfit(
                        row,
                        "is past 294247-01-10 04:00:54.775807, where the timestamps of Parquet end \
                         (64 bits of microseconds since 1970): load it as NULL, or make the column \
                         text",
                    ),
                    _ => {}
                }
            }
        }
        // A reader that parses the file's JSON would refuse the whole table, without naming a row.
        ColumnType::Json => {
            for (row, document) in array.as_string_view().iter().enumerate() {
                if let Some(bad) =
                    document.and_then(|document| json_text::bad_escape(document, true))
                {
                    misfit(row, &bad.reason("DuckDB"));
                }
            }
        }
        _ => {}
    }
}
