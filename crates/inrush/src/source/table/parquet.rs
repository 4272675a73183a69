//! Parquet: its footer, and the rows of its row groups.

use std::fs::File;
use std::ops::Range;

use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::LogicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;

use super::{Batches, Opened, RowGroup, TableField, field_of, in_order, is_in_order};

/// A Parquet file's footer.
#[derive(Debug)]
pub(super) struct Footer {
    metadata: ArrowReaderMetadata,
    /// The columns that are read: those that can be written as text.
    readable: Vec<usize>,
    /// Groups of the file, where they do not follow each other and are read as one.
    joined: Option<usize>,
}

/// Reads the footer.
pub(super) fn open(file: &File) -> Result<Opened, ParquetError> {
    let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::new())?;
    let descriptor = metadata.parquet_schema();
    let is_uuid = |name: &str| {
        descriptor.columns().iter().any(|column| {
            column.path().parts() == [name]
                && matches!(column.logical_type_ref(), Some(LogicalType::Uuid))
        })
    };
    let fields: Vec<TableField> = metadata
        .schema()
        .fields()
        .iter()
        .map(|field| field_of(field, is_uuid(field.name())))
        .collect();
    let parts = metadata.metadata().row_groups();
    let groups = parts.iter().map(|part| RowGroup {
        start: start_of(part),
        first_row: 0,
        row_count: u64::try_from(part.num_rows()).unwrap_or(0),
        decoded_bytes: u64::try_from(part.total_byte_size()).unwrap_or(0),
    });
    let mut groups = in_order(groups.collect());
    let mut joined = None;
    if !is_in_order(&groups) {
        joined = Some(groups.len());
        groups = vec![RowGroup {
            start: 0,
            first_row: 0,
            row_count: groups.iter().map(|group| group.row_count).sum(),
            decoded_bytes: groups.iter().map(|g| g.decoded_bytes).max().unwrap_or(0),
        }];
    }
    let readable = (0..fields.len())
        .filter(|index| fields[*index].is_readable())
        .collect();
    Ok(Opened {
        fields,
        groups,
        footer: super::Footer::Parquet(Footer {
            metadata,
            readable,
            joined,
        }),
    })
}

/// Where the first of a group's columns begins.
fn start_of(group: &RowGroupMetaData) -> u64 {
    let starts = group.columns().iter().map(|column| column.byte_range().0);
    starts.min().unwrap_or(0)
}

impl Footer {
    /// The rows of some groups.
    pub(super) fn batches(
        &self,
        file: File,
        groups: Range<usize>,
        batch_rows: usize,
    ) -> Result<Batches, ArrowError> {
        let groups = match self.joined {
            Some(count) => (0..count).collect(),
            None => groups.collect(),
        };
        let mask = ProjectionMask::roots(
            self.metadata.parquet_schema(),
            self.readable.iter().copied(),
        );
        let reader =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
                .with_row_groups(groups)
                .with_projection(mask)
                .with_batch_size(batch_rows)
                .build()?;
        Ok(Box::new(reader))
    }
}
