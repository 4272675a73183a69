//! Measures the encoders of Arrow columns: COPY binary with each instruction set, COPY text, and packets of a SQL
//! Server bulk load.
//!
//! - `copy binary`, `copy text`: the batches of one chunk, with all columns and with each column alone. The rates count
//!   the bytes that COPY sends.
//! - `text to copy binary`: scan, conversion and encoding of lineitem's text on one core. The rates count the bytes of
//!   the text.
//! - `tds rows`, `text to tds rows`: the same measurements for packets of SQL Server, with lineitem's text columns in
//!   UTF-8, in a code page and in UTF-16.

#[path = "shared/columns.rs"]
mod columns;
#[path = "shared/cpu_time.rs"]
mod cpu_time;
#[path = "shared/tds_rows.rs"]
mod tds_rows;
#[path = "shared/way.rs"]
mod way;

use std::hint::black_box;
use std::slice;

use arrow_array::RecordBatch;
use criterion::Criterion;
use inrush_convert::Instructions;
use inrush_kernels::forms::{as_it_is, rewritten, with_nulls};
use inrush_kernels::{instructions, lineitem, types};
use inrush_pgcopy::{BinaryEncoder, InstructionSet, PgType, TextEncoder};
use inrush_rows::chunk::Chunk;
use inrush_rows::column::{Column, ColumnType};
use inrush_scan::Dialect;

use cpu_time::{CpuTime, criterion, measure, time};
use way::{Way, chunk, chunks, csv};

fn main() {
    let mut criterion = criterion();
    let texts = lineitem::texts(1);
    let columns = columns::lineitem();
    whole(&mut criterion, &texts);
    tds_rows::text_to_tds_rows(&mut criterion, &texts, &columns);

    let other_types = columns::other_types();
    let plain = batches(&texts[0], &columns);
    let nullable = columns::nullable(&columns);
    let nulls = batches(&with_nulls(&texts[0], 3), &nullable);
    let others = batches(&types::texts(2)[0], &other_types);
    tds_rows::tds_rows(&mut criterion, (&columns, &plain), (&nullable, &nulls));
    let mut cases = vec![
        Case::new("lineitem", &columns, plain.clone()),
        Case::new("lineitem nulls", &columns, nulls),
    ];
    for (columns, batches) in [(&columns, &plain), (&other_types, &others)] {
        for (index, column) in columns.iter().enumerate() {
            let alone = batches.iter().map(|batch| {
                let alone = batch.project(&[index]);
                alone.expect("a column of the batch")
            });
            let alone = alone.collect();
            cases.push(Case::new(&column.name, slice::from_ref(column), alone));
        }
    }
    copy_binary(&mut criterion, &cases);
    copy_text(&mut criterion, &cases);
    criterion.final_summary();
}

fn whole(criterion: &mut Criterion<CpuTime>, texts: &[String]) {
    let columns = columns::lineitem();
    let types: Vec<PgType> = columns.iter().map(pg_type).collect();
    let plain = chunks(texts, str::to_owned);
    let unquoted = chunks(texts, |text| rewritten(text, ",", "\n", as_it_is));
    let mut group = criterion.benchmark_group("text to copy binary");
    let cases: [(&str, Dialect, &[Chunk]); 2] =
        [("tbl", Dialect::tbl(), &plain), ("csv", csv(), &unquoted)];
    for available in Instructions::available() {
        let instructions = instructions::name(&available);
        let kernel = instructions::at_most(InstructionSet::available(), instructions);
        for (name, dialect, chunks) in &cases {
            let mut way = Way::new(chunks, dialect, lineitem::FIELDS, &columns, available);
            let mut encoder = BinaryEncoder::with_instruction_set(types.clone(), kernel);
            let mut out = Vec::new();
            let bytes = way.bytes();
            measure(&mut group, name, instructions, bytes, |iterations| {
                time(iterations, || {
                    way.run(|batch| {
                        out.clear();
                        encoder.encode(&batch, &mut out).expect("the batch fits");
                        black_box(&mut out);
                    });
                })
            });
        }
    }
}

fn copy_binary(criterion: &mut Criterion<CpuTime>, cases: &[Case]) {
    let mut group = criterion.benchmark_group("copy binary");
    for case in cases {
        for kernel in InstructionSet::available() {
            let mut encoder = BinaryEncoder::with_instruction_set(case.types.clone(), kernel);
            let mut encode = |out: &mut Vec<u8>| {
                encode_each(&case.batches, out, |batch, out| {
                    encoder.encode(batch, out).expect("the batch fits");
                })
            };
            let mut out = Vec::new();
            let bytes = encode(&mut out);
            let instructions = instructions::name(&kernel);
            measure(&mut group, &case.name, instructions, bytes, |iterations| {
                time(iterations, || {
                    encode(&mut out);
                })
            });
        }
    }
}

fn copy_text(criterion: &mut Criterion<CpuTime>, cases: &[Case]) {
    let mut group = criterion.benchmark_group("copy text");
    for case in cases {
        let mut encoder = TextEncoder::new();
        let mut encode = |out: &mut Vec<u8>| {
            encode_each(&case.batches, out, |batch, out| {
                encoder.encode(batch, out).expect("the batch fits");
            })
        };
        let mut out = Vec::new();
        let bytes = encode(&mut out);
        measure(&mut group, &case.name, "portable", bytes, |iterations| {
            time(iterations, || {
                encode(&mut out);
            })
        });
    }
}

/// Encodes all batches into a reused buffer, and returns the number of bytes.
fn encode_each(
    batches: &[RecordBatch],
    out: &mut Vec<u8>,
    mut encode: impl FnMut(&RecordBatch, &mut Vec<u8>),
) -> usize {
    let mut bytes = 0;
    for batch in batches {
        out.clear();
        encode(black_box(batch), out);
        bytes += out.len();
        black_box(&mut *out);
    }
    bytes
}

struct Case {
    name: String,
    types: Vec<PgType>,
    batches: Vec<RecordBatch>,
}

impl Case {
    fn new(name: &str, columns: &[Column], batches: Vec<RecordBatch>) -> Case {
        Case {
            name: name.to_owned(),
            types: columns.iter().map(pg_type).collect(),
            batches,
        }
    }
}

/// The batches of one chunk, as `convert` makes them: text columns are views into the chunk.
fn batches(text: &str, columns: &[Column]) -> Vec<RecordBatch> {
    let chunks = [chunk(text)];
    let mut batches = Vec::new();
    let instructions = Instructions::available()[0];
    Way::new(
        &chunks,
        &Dialect::tbl(),
        columns.len(),
        columns,
        instructions,
    )
    .run(|batch| batches.push(batch));
    batches
}

/// The type of a column in COPY.
fn pg_type(column: &Column) -> PgType {
    match &column.column_type {
        ColumnType::Bool => PgType::Bool,
        ColumnType::Int16 => PgType::Int2,
        ColumnType::Int32 => PgType::Int4,
        ColumnType::Int64 => PgType::Int8,
        ColumnType::Float32 => PgType::Float4,
        ColumnType::Float64 => PgType::Float8,
        ColumnType::Decimal { .. } | ColumnType::DecimalText { .. } => PgType::Numeric,
        ColumnType::Text { .. } | ColumnType::Enum { .. } | ColumnType::Opaque => PgType::Text,
        ColumnType::Date => PgType::Date,
        ColumnType::Time { .. } => PgType::Time,
        ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => PgType::Timestamp,
        ColumnType::Interval { .. } => PgType::Interval,
        ColumnType::Uuid => PgType::Uuid,
        ColumnType::Binary => PgType::Bytea,
        ColumnType::Json => PgType::Jsonb,
        ColumnType::Special(_) => unreachable!("no case has a type of PostgreSQL alone"),
    }
}
