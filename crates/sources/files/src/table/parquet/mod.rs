//! Parquet: its footer, and the rows of its row groups.

mod footer;
mod twice;

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{ArrowError, DataType, Field, IntervalUnit, Schema, TimeUnit};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{ConvertedType, LogicalType, Type as PhysicalType};
use parquet::file::metadata::{ParquetMetaData, ParquetStatisticsPolicy, RowGroupMetaData};
use parquet::schema::types::ColumnDescriptor;

use super::joined::{JOINED, is_joined};
use super::{Batches, Opened, RowGroup, TableField, field_of, is_in_order, with_first_rows};

/// Why a file with encrypted columns is not read.
pub(super) const ENCRYPTED: &str = "some of its columns are encrypted";

/// The marks where two joined files meet.
const SEAM: &[u8] = b"PAR1PAR1";

/// A Parquet file's footer.
#[derive(Debug)]
pub(super) struct Footer {
    metadata: ArrowReaderMetadata,
    /// The columns that are read: those whose values can be written as text.
    readable: Vec<usize>,
    /// The types for the second read of the columns in `twice`.
    second: Option<ArrowReaderMetadata>,
    /// The indices of columns that no single type can hold completely.
    twice: Vec<usize>,
    /// The number of groups of the file, if they are not in order and are read as one group.
    joined: Option<usize>,
}

/// How a column is read.
enum ColumnReading {
    /// The column is read as the type in its footer.
    AsTold(DataType),
    /// The column is read as two types, each of which lacks a part of the values.
    Twice(DataType, DataType),
}

/// Reads the footer.
pub(super) fn open(file: &File) -> Result<Opened, String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    if footer::says_encrypted(file) {
        return Err(ENCRYPTED.to_owned());
    }
    let told = ArrowReaderMetadata::load(file, options()).map_err(text)?;
    let told = match footer::repaired(told.metadata(), size) {
        None => told,
        Some(metadata) => {
            ArrowReaderMetadata::try_new(Arc::new(metadata), options()).map_err(text)?
        }
    };
    if let Some(footer_start) = footer::start(file, size) {
        let data_end = data_end(told.metadata());
        if is_joined(file, data_end, footer_start, SEAM).map_err(text)? {
            return Err(JOINED.to_owned());
        }
    }
    let descriptor = told.parquet_schema();
    let leaf = |name: &str| {
        let mut columns = descriptor.columns().iter();
        columns.find(|column| column.path().parts() == [name])
    };
    let mut fields: Vec<TableField> = Vec::new();
    let mut first = Vec::new();
    let mut second = Vec::new();
    let mut twice = Vec::new();
    for (index, field) in told.schema().fields().iter().enumerate() {
        let column = leaf(field.name());
        let is_uuid =
            column.is_some_and(|leaf| matches!(leaf.logical_type_ref(), Some(LogicalType::Uuid)));
        let (read_as, then) = match reading(field, column.map(AsRef::as_ref)) {
            ColumnReading::AsTold(data_type) => (data_type.clone(), data_type),
            ColumnReading::Twice(one, other) => {
                twice.push(index);
                (one, other)
            }
        };
        let of_type = |data_type: DataType| Arc::new(Field::clone(field).with_data_type(data_type));
        fields.push(field_of(&of_type(read_as.clone()), is_uuid));
        first.push(of_type(read_as));
        second.push(of_type(then));
    }
    let read_as = |fields: Vec<Arc<Field>>| {
        let schema = Arc::new(Schema::new_with_metadata(
            fields,
            told.schema().metadata().clone(),
        ));
        let options = options().with_schema(schema);
        ArrowReaderMetadata::try_new(Arc::clone(told.metadata()), options).map_err(text)
    };
    let metadata = read_as(first)?;
    let second = match twice.is_empty() {
        true => None,
        false => Some(read_as(second)?),
    };
    let groups = groups(&metadata, size)?;
    let (groups, joined) = match is_in_order(&groups) {
        true => (groups, None),
        false => (vec![join(&groups)], Some(groups.len())),
    };
    let readable = (0..fields.len())
        .filter(|index| fields[*index].is_readable())
        .collect();
    Ok(Opened {
        fields,
        groups,
        shared: Vec::new(),
        footer: super::Footer::Parquet(Footer {
            metadata,
            readable,
            second,
            twice,
            joined,
        }),
    })
}

/// Statistics are skipped: nothing here uses them, and some writers store wrong ones.
fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new()
        .with_column_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_encoding_stats_policy(ParquetStatisticsPolicy::SkipAll)
        .with_size_stats_policy(ParquetStatisticsPolicy::SkipAll)
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// How a column is read without loss. Types that are views are used, because they need no copy of a value in a
/// dictionary, however often it occurs.
fn reading(field: &Field, column: Option<&ColumnDescriptor>) -> ColumnReading {
    let Some(column) = column else {
        return ColumnReading::AsTold(field.data_type().clone());
    };
    let is_words = matches!(column.logical_type_ref(), Some(LogicalType::Enum))
        || column.converted_type() == ConvertedType::ENUM;
    match field.data_type() {
        // Days and nanoseconds, which do not fit in one number of 64 bits.
        _ if column.physical_type() == PhysicalType::INT96 => ColumnReading::Twice(
            DataType::Timestamp(TimeUnit::Nanosecond, None),
            DataType::Timestamp(TimeUnit::Microsecond, None),
        ),
        DataType::Interval(_) => ColumnReading::Twice(
            DataType::Interval(IntervalUnit::DayTime),
            DataType::Interval(IntervalUnit::YearMonth),
        ),
        DataType::Binary if is_words => ColumnReading::AsTold(DataType::Utf8View),
        DataType::Utf8 | DataType::LargeUtf8 => ColumnReading::AsTold(DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary => ColumnReading::AsTold(DataType::BinaryView),
        other => ColumnReading::AsTold(other.clone()),
    }
}

/// The row groups. All must be within the file, and their rows must add up to the file's number of rows.
fn groups(metadata: &ArrowReaderMetadata, size: u64) -> Result<Vec<RowGroup>, String> {
    let all = metadata.metadata();
    let mut groups = Vec::with_capacity(all.num_row_groups());
    for (index, part) in all.row_groups().iter().enumerate() {
        let count = |number: i64, what: &str| {
            u64::try_from(number).map_err(|_| {
                format!(
                    "its row group {} says that it has {number} {what}",
                    index + 1
                )
            })
        };
        let outside = part.columns().iter().find(|column| {
            let (start, length) = column.byte_range();
            start.saturating_add(length) > size
        });
        if let Some(column) = outside {
            return Err(format!(
                "column `{}` of its row group {} is past the end of the file",
                column.column_path(),
                index + 1
            ));
        }
        groups.push(RowGroup {
            start: start_of(part),
            end: end_of(part),
            first_row: 0,
            row_count: count(part.num_rows(), "rows")?,
            decoded_bytes: count(decoded_bytes(part), "bytes")?,
        });
    }
    let rows: u64 = groups.iter().map(|group| group.row_count).sum();
    let told = all.file_metadata().num_rows();
    // Some writers leave the file's number of rows at 0, and set only the numbers of rows of the groups.
    if told != 0 && i128::from(told) != i128::from(rows) {
        return Err(format!(
            "its row groups have {rows} rows, but its footer has {told}"
        ));
    }
    Ok(with_first_rows(groups))
}

/// The end of the data that a footer names: pages, indexes and Bloom filters.
fn data_end(metadata: &ParquetMetaData) -> u64 {
    let groups = metadata.row_groups().iter();
    let ends = groups.flat_map(RowGroupMetaData::columns).map(|column| {
        let end = |start: Option<i64>, length: Option<i32>| {
            let start = start.and_then(|start| u64::try_from(start).ok());
            let length = length.and_then(|length| u64::try_from(length).ok());
            start.unwrap_or(0).saturating_add(length.unwrap_or(0))
        };
        let (start, length) = column.byte_range();
        [
            start.saturating_add(length),
            end(column.column_index_offset(), column.column_index_length()),
            end(column.offset_index_offset(), column.offset_index_length()),
            end(column.bloom_filter_offset(), column.bloom_filter_length()),
        ]
        .into_iter()
        .max()
        .unwrap_or(0)
    });
    ends.max().unwrap_or(0)
}

/// The position of a group's first column.
fn start_of(group: &RowGroupMetaData) -> u64 {
    let starts = group.columns().iter().map(|column| column.byte_range().0);
    starts.min().unwrap_or(0)
}

/// The end of a group's last column.
fn end_of(group: &RowGroupMetaData) -> u64 {
    let ranges = group.columns().iter().map(|column| column.byte_range());
    let ends = ranges.map(|(start, length)| start.saturating_add(length));
    ends.max().unwrap_or(0)
}

/// The number of bytes of a group's pages, decompressed.
fn decoded_bytes(group: &RowGroupMetaData) -> i64 {
    let of_columns: i64 = group
        .columns()
        .iter()
        .map(|column| column.uncompressed_size())
        .sum();
    group.total_byte_size().max(of_columns)
}

fn join(groups: &[RowGroup]) -> RowGroup {
    RowGroup {
        start: 0,
        end: groups.iter().map(|group| group.end).max().unwrap_or(0),
        first_row: 0,
        row_count: groups.iter().map(|group| group.row_count).sum(),
        decoded_bytes: groups
            .iter()
            .map(|group| group.decoded_bytes)
            .max()
            .unwrap_or(0),
    }
}

impl Footer {
    /// The rows of some groups.
    pub(super) fn batches(
        &self,
        file: File,
        groups: Range<usize>,
        batch_rows: usize,
    ) -> Result<Batches, ArrowError> {
        let groups: Vec<usize> = match self.joined {
            Some(count) => (0..count).collect(),
            None => groups.collect(),
        };
        // A group without rows may name positions without data.
        let all = self.metadata.metadata().row_groups();
        let groups: Vec<usize> = groups
            .into_iter()
            .filter(|index| all[*index].num_rows() > 0)
            .collect();
        let reader = |file: File, metadata: &ArrowReaderMetadata, columns: &[usize]| {
            let mask = ProjectionMask::roots(metadata.parquet_schema(), columns.iter().copied());
            let builder =
                ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata.clone());
            let reader: Result<ParquetRecordBatchReader, _> = builder
                .with_row_groups(groups.clone())
                .with_projection(mask)
                .with_batch_size(batch_rows)
                .build();
            reader
        };
        let Some(second) = &self.second else {
            return Ok(Box::new(reader(file, &self.metadata, &self.readable)?));
        };
        let again = reader(file.try_clone()?, second, &self.twice)?;
        let places = self.twice.iter().filter_map(|index| {
            let mut readable = self.readable.iter();
            readable.position(|readable| readable == index)
        });
        Ok(Box::new(twice::Twice {
            first: reader(file, &self.metadata, &self.readable)?,
            second: again,
            places: places.collect(),
        }))
    }
}
