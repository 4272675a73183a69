//! Files of typed rows.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use inrush_source_conformance::Row;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// The number of rows of a group.
const GROUP_ROWS: usize = 100;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
    ]))
}

/// The rows of a file, one group at a time.
fn groups(rows: usize, is_altered: bool) -> impl Iterator<Item = RecordBatch> {
    (0..rows).step_by(GROUP_ROWS).map(move |start| {
        let own = start..rows.min(start + GROUP_ROWS);
        let id = |row: usize| match (row, is_altered) {
            (1, true) => 2,
            _ => row as i64,
        };
        let ids = Int64Array::from_iter(own.clone().map(|row| (row % 10 != 9).then(|| id(row))));
        let names: StringArray = own.map(|row| Some(format!("name {row}"))).collect();
        let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(names)];
        RecordBatch::try_new(schema(), columns).expect("columns of one length")
    })
}

pub fn write_parquet(path: &Path, rows: usize, is_altered: bool) {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let file = File::create(path).expect("created");
    let mut writer = ArrowWriter::try_new(file, schema(), Some(properties)).expect("a writer");
    for group in groups(rows, is_altered) {
        writer.write(&group).expect("written");
    }
    writer.close().expect("closed");
}

pub fn write_arrow(path: &Path, rows: usize, is_altered: bool) {
    let file = File::create(path).expect("created");
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &schema()).expect("a writer");
    for group in groups(rows, is_altered) {
        writer.write(&group).expect("written");
    }
    writer.finish().expect("finished");
}

/// The rows of a file at this path.
pub fn rows(path: &Path, rows: usize) -> Vec<Row> {
    let row = |row: usize| Row {
        place: format!("{}:{} (byte {row})", path.display(), row + 1),
        fields: vec![
            match row % 10 {
                9 => String::new(),
                _ => row.to_string(),
            },
            format!("name {row}"),
        ],
        is_faulty: false,
    };
    (0..rows).map(row).collect()
}
