//! Tests of Parquet footers that some writers fill in wrongly.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use ::parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader, ParquetMetaDataWriter,
    RowGroupMetaData,
};
use arrow_array::{Int64Array, StringArray};

use super::tests::{Folder, batch, read, write_parquet};
use crate::Split;

/// Rewrites the footer of a file.
fn with_footer(path: &Path, change: impl Fn(Vec<RowGroupMetaData>) -> Vec<RowGroupMetaData>) {
    let bytes = fs::read(path).expect("readable");
    let mut reader = ParquetMetaDataReader::new();
    reader
        .try_parse(&fs::File::open(path).expect("there"))
        .expect("a footer");
    let metadata: ParquetMetaData = reader.finish().expect("a footer");
    let tail = bytes.len() - 8;
    let footer_bytes = u32::from_le_bytes(bytes[tail..tail + 4].try_into().expect("four"));
    let mut file = bytes[..tail - footer_bytes as usize].to_vec();
    let groups = change(metadata.row_groups().to_vec());
    let rows = groups.iter().map(|group| group.num_rows()).sum::<i64>();
    assert_eq!(rows, metadata.file_metadata().num_rows());
    let metadata = metadata.into_builder().set_row_groups(groups).build();
    let mut footer = Vec::new();
    ParquetMetaDataWriter::new(&mut footer, &metadata)
        .finish()
        .expect("written");
    file.extend(footer);
    fs::write(path, file).expect("can be written");
}

fn with_columns(
    group: RowGroupMetaData,
    change: impl Fn(ColumnChunkMetaData) -> ColumnChunkMetaData,
) -> RowGroupMetaData {
    let columns = group.columns().iter().cloned().map(change).collect();
    let group = group.into_builder().set_column_metadata(columns);
    group.build().expect("a group")
}

fn sample(folder: &Folder) -> (std::path::PathBuf, Vec<u8>) {
    let rows = batch(vec![
        (
            "id",
            Arc::new(Int64Array::from((0..60).collect::<Vec<_>>())),
        ),
        (
            "word",
            Arc::new(StringArray::from(
                (0..60)
                    .map(|row| ["a", "b", "c"][row % 3])
                    .collect::<Vec<_>>(),
            )),
        ),
    ]);
    let path = folder.path("a.parquet");
    write_parquet(&path, &rows, 20);
    let file = folder.find("a.parquet").expect("readable");
    let (text, places) = read(Split::whole(file)).expect("readable");
    assert_eq!(places.len(), 60);
    (path, text)
}

#[test]
fn a_dictionary_that_is_told_at_no_place_is_none() {
    for place in [0, -1, i64::MAX] {
        let folder = Folder::new();
        let (path, expected) = sample(&folder);
        with_footer(&path, |groups| {
            let of_group = |group| {
                with_columns(group, |column| {
                    // Like such writers: the first page is the dictionary's, or there is no dictionary.
                    let first = column.byte_range().0 as i64;
                    let column = column.into_builder();
                    let column = column.set_data_page_offset(first);
                    column
                        .set_dictionary_page_offset(Some(place))
                        .build()
                        .expect("a column")
                })
            };
            groups.into_iter().map(of_group).collect()
        });
        let file = folder.find("a.parquet").expect("readable");
        let (text, _) = read(Split::whole(file)).expect("readable");
        assert_eq!(text, expected, "{place}");
    }
}

#[test]
fn groups_without_rows_are_passed_over() {
    let folder = Folder::new();
    let (path, expected) = sample(&folder);
    with_footer(&path, |groups| {
        let mut changed = Vec::new();
        for group in groups {
            let empty = with_columns(group.clone(), |column| {
                let column = column.into_builder();
                let column = column.set_num_values(0).set_total_compressed_size(0);
                let column = column
                    .set_total_uncompressed_size(0)
                    .set_data_page_offset(0);
                column
                    .set_dictionary_page_offset(None)
                    .build()
                    .expect("a column")
            });
            let empty = empty.into_builder().set_num_rows(0).set_total_byte_size(0);
            changed.push(empty.build().expect("a group"));
            changed.push(group);
        }
        changed
    });
    let file = folder.find("a.parquet").expect("readable");
    let (text, _) = read(Split::whole(file)).expect("readable");
    assert_eq!(text, expected);
}
