//! Tests of the whole step: from text to batches and rejects.

mod batches;
mod fixed;
mod one_value;
mod policies;
mod rejects;
mod splits;
mod typed;

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_rows::chunk::Chunk;
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::padded_text::PaddedText;
use inrush_rows::reject::Reject;
use inrush_scan::{Dialect, Records, Scanner};

use super::Converter;

/// A nullable column for field `field_index`.
fn column(name: &str, field_index: usize, column_type: ColumnType) -> Column {
    Column::new(name, column_type, field_index)
}

fn text(characters_max: u32) -> ColumnType {
    ColumnType::Text {
        characters_max: Some(characters_max),
        blank_padded: false,
    }
}

/// A text scanned as the source does it: the records that are not UTF-8 are listed.
fn scanned(dialect: &Dialect, text: &[u8]) -> (Chunk, Records) {
    let mut records = Records::default();
    Scanner::new(dialect)
        .scan(text, true, &mut records)
        .expect("a text that can be scanned");
    let invalid_utf8 = (0..records.len())
        .filter(|index| {
            let record = &records.records[*index];
            std::str::from_utf8(&text[record.start as usize..record.end as usize]).is_err()
        })
        .map(|index| index as u32)
        .collect();
    let mut padded = PaddedText::of(text);
    padded.check_utf8();
    let chunk = Chunk {
        text: padded,
        file: Arc::from(Path::new("data/orders.csv")),
        byte_offset: 1_000,
        line_offset: 10,
        invalid_utf8,
        places: None,
        typed: None,
    };
    (chunk, records)
}

/// Without the header, which the source has already removed.
fn csv() -> Dialect {
    Dialect {
        header: false,
        ..Dialect::csv()
    }
}

fn converted(
    dialect: &Dialect,
    columns: &[Column],
    field_count: usize,
    text: &[u8],
) -> (RecordBatch, Vec<Reject>) {
    let (chunk, records) = scanned(dialect, text);
    let mut converter =
        Converter::new(columns, dialect, field_count).expect("columns that can be converted");
    let mut rejects = Vec::new();
    let batch = converter.convert(&chunk, &records, 0..records.len(), &mut rejects);
    assert_eq!(batch.num_rows() + rejects.len(), records.len());
    (batch, rejects)
}
