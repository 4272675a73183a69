//! Arrow streams that a program hands over, held to the contract of a source (`docs/specs/source.md`).

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, Int32Array, RecordBatch, RecordBatchIterator,
    StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};
use inrush_source_adbc::RowStream;
use inrush_source_conformance::{Case, Change, Row, hold};

/// The number of rows in a batch. A chunk has another number of rows, so chunks end inside of batches.
const BATCH_ROWS: usize = 700;

/// A program that hands over the same rows each time it is asked.
struct Program {
    rows: usize,
}

fn note(n: usize) -> Option<String> {
    match n % 50 {
        20 => None,
        21 => Some(String::new()),
        22 => Some("say \"yes\", ü".to_owned()),
        _ => Some(format!("note {n}")),
    }
}

/// The day with this number since 1970-01-01: 2024-01-01 to 2024-01-28.
fn day(n: usize) -> i32 {
    19_723 + i32::try_from(n % 28).expect("a small number")
}

fn batch(schema: &Arc<Schema>, numbers: std::ops::Range<usize>) -> Result<RecordBatch, ArrowError> {
    let ids = numbers
        .clone()
        .map(|n| i32::try_from(n).expect("few rows"))
        .collect::<Int32Array>();
    let prices = numbers.clone().map(|n| n as i128 * 100 + 25);
    let prices = Decimal128Array::from_iter_values(prices).with_precision_and_scale(12, 2)?;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(ids),
        Arc::new(numbers.clone().map(note).collect::<StringArray>()),
        Arc::new(prices),
        Arc::new(Date32Array::from_iter_values(numbers.map(day))),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns)
}

impl Case for Program {
    fn open_at(&self, stop: &Stop, _: Option<u64>) -> Result<Box<dyn Source>, SourceError> {
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int32, false),
            Field::new("note", DataType::Utf8, true),
            Field::new("price", DataType::Decimal128(12, 2), false),
            Field::new("day", DataType::Date32, false),
        ]));
        let own = Arc::clone(&schema);
        let rows = self.rows;
        let batches = (0..rows)
            .step_by(BATCH_ROWS)
            .map(move |start| batch(&own, start..(start + BATCH_ROWS).min(rows)));
        let stream = RowStream::new(Box::new(RecordBatchIterator::new(batches, schema)))?;
        Ok(stream.source(stop))
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        let row = |n: usize| Row {
            place: format!("the Arrow stream, row {} (in its order)", n + 1),
            fields: vec![
                n.to_string(),
                match note(n).as_deref() {
                    None => String::new(),
                    Some("") => Row::text(b"\"\""),
                    Some(other) if other.contains('"') => {
                        Row::text("\"say \"\"yes\"\", ü\"".as_bytes())
                    }
                    Some(other) => other.to_owned(),
                },
                format!("{n}.25"),
                format!("2024-01-{:02}", n % 28 + 1),
            ],
            is_faulty: false,
        };
        vec![(0..self.rows).map(row).collect()]
    }

    /// Nobody else can change a stream that was handed over.
    fn change(&self, _: Change) -> bool {
        false
    }
}

#[test]
fn streams_of_arrow_hold() {
    let seed = u64::from(std::process::id());
    let make = |rows| -> Box<dyn Case> { Box::new(Program { rows }) };
    hold("an Arrow stream", &make, seed);
}
