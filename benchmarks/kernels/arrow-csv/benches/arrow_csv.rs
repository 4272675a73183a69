//! The peer of `text to columns`: arrow-csv over the same text of lineitem, into the same Arrow types.
//!
//! arrow-csv makes views of text, as Inrush does, or one buffer with offsets; it copies the text in both cases. The
//! form of text and the number of rows of a batch are parameters, because arrow-csv's best setting is compared.

#[path = "../../benches/shared/cpu_time.rs"]
mod cpu_time;

use std::hint::black_box;
use std::sync::Arc;

use arrow_csv::ReaderBuilder;
use arrow_schema::{DataType, Field, Schema};
use inrush_kernels::forms::{all_quoted, as_it_is, rewritten, text_quoted};
use inrush_kernels::{BATCH_ROWS, lineitem};

use cpu_time::{criterion, measure, time};

fn main() {
    let mut criterion = criterion();
    let mut group = criterion.benchmark_group("arrow-csv");
    let texts = lineitem::texts(1);
    let rows: usize = texts.iter().map(|text| text.lines().count()).sum();
    type Write = fn(&mut String, usize, &str);
    let cases: [(&str, Write); 3] = [
        ("csv", as_it_is),
        ("csv text quoted", text_quoted),
        ("csv all quoted", all_quoted),
    ];
    for (name, write) in cases {
        let texts: Vec<String> = texts
            .iter()
            .map(|text| rewritten(text, ",", "\n", write))
            .collect();
        let bytes = texts.iter().map(String::len).sum();
        let batches = [BATCH_ROWS, 8 * BATCH_ROWS];
        let texts_as = [DataType::Utf8View, DataType::Utf8];
        let settings = batches
            .into_iter()
            .flat_map(|rows| texts_as.clone().map(|text| (rows, text)));
        for (batch_rows, text) in settings {
            let settings = format!("batches of {batch_rows}, text as {text}");
            let mut decoder = ReaderBuilder::new(Arc::new(schema(&text)))
                .with_batch_size(batch_rows)
                .build_decoder();
            measure(&mut group, name, &settings, bytes, |iterations| {
                time(iterations, || {
                    let mut found = 0;
                    for text in &texts {
                        let mut left = text.as_bytes();
                        loop {
                            let read = decoder.decode(left).expect("a text without faults");
                            left = &left[read..];
                            if read > 0 && decoder.capacity() > 0 {
                                continue;
                            }
                            match decoder.flush().expect("values of their types") {
                                Some(batch) => found += black_box(batch).num_rows(),
                                None => break,
                            }
                        }
                    }
                    assert_eq!(found, rows);
                })
            });
        }
    }
    group.finish();
    criterion.final_summary();
}

/// The Arrow types of lineitem's columns, the same as in Inrush except for text.
fn schema(text: &DataType) -> Schema {
    let types: [(DataType, usize); 6] = [
        (DataType::Int64, 1),
        (DataType::Int32, 3),
        (DataType::Decimal128(15, 2), 4),
        (text.clone(), 2),
        (DataType::Date32, 3),
        (text.clone(), 3),
    ];
    let fields = types
        .into_iter()
        .flat_map(|(data_type, count)| std::iter::repeat_n(data_type, count))
        .enumerate()
        .map(|(index, data_type)| Field::new(format!("field_{index}"), data_type, false));
    Schema::new(fields.collect::<Vec<_>>())
}
