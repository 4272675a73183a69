//! Encodes Arrow columns as the packets of a SQL Server bulk load.

use std::hint::black_box;

use arrow_array::RecordBatch;
use criterion::Criterion;
use inrush_convert::Instructions;
use inrush_kernels::{instructions, lineitem};
use inrush_rows::column::{Column, ColumnType};
use inrush_scan::Dialect;
use inrush_tds::{BulkEncoder, InstructionSet, PacketSize, RowMetadata};

use crate::cpu_time::{CpuTime, measure, time};
use crate::way::{Way, chunks};

/// Latin1_General_100_CI_AS_SC_UTF8.
const UTF8: [u8; 5] = [0x09, 0x04, 0xd0, 0x24, 0x00];
/// SQL_Latin1_General_CP1_CI_AS.
const CP1252: [u8; 5] = [0x09, 0x04, 0xd0, 0x00, 0x34];

/// The text types of the target's columns.
#[derive(Clone, Copy)]
enum Texts {
    /// `char` and `varchar` in UTF-8.
    Utf8,
    /// `char` and `varchar` in code page 1252.
    CodePage,
    /// `nchar` and `nvarchar`.
    Utf16,
}

/// Measures the encoding of lineitem's batches, without NULLs and with many.
pub fn tds_rows(
    criterion: &mut Criterion<CpuTime>,
    (columns, plain): (&[Column], &[RecordBatch]),
    (nullable, nulls): (&[Column], &[RecordBatch]),
) {
    let cases = [
        ("lineitem utf-8", Texts::Utf8, columns, plain),
        ("lineitem code page", Texts::CodePage, columns, plain),
        ("lineitem utf-16", Texts::Utf16, columns, plain),
        ("lineitem utf-8 nulls", Texts::Utf8, nullable, nulls),
    ];
    let mut group = criterion.benchmark_group("tds rows");
    for (name, texts, columns, batches) in cases {
        for kernel in InstructionSet::available() {
            let target = target(columns, texts);
            let mut encoder = BulkEncoder::with_instruction_set(target, PacketSize::MAX, kernel);
            let bytes = encode(&mut encoder, batches);
            let instructions = instructions::name(&kernel);
            measure(&mut group, name, instructions, bytes, |iterations| {
                time(iterations, || {
                    encode(&mut encoder, batches);
                })
            });
        }
    }
}

/// Measures all steps from these texts of lineitem to packets.
pub fn text_to_tds_rows(criterion: &mut Criterion<CpuTime>, texts: &[String], columns: &[Column]) {
    let chunks = chunks(texts, str::to_owned);
    let mut group = criterion.benchmark_group("text to tds rows");
    let cases = [
        ("utf-8", Texts::Utf8),
        ("code page", Texts::CodePage),
        ("utf-16", Texts::Utf16),
    ];
    for available in Instructions::available() {
        let instructions = instructions::name(&available);
        let kernel = instructions::at_most(InstructionSet::available(), instructions);
        for (name, texts) in cases {
            let mut way = Way::new(
                &chunks,
                &Dialect::tbl(),
                lineitem::FIELDS,
                columns,
                available,
            );
            let mut encoder =
                BulkEncoder::with_instruction_set(target(columns, texts), PacketSize::MAX, kernel);
            let bytes = way.bytes();
            measure(&mut group, name, instructions, bytes, |iterations| {
                time(iterations, || {
                    encoder.begin();
                    way.run(|batch| {
                        encoder.encode(&batch).expect("the batch fits");
                        black_box(encoder.ready());
                        encoder.clear_ready();
                    });
                })
            });
        }
    }
}

/// Encodes all batches as one message, and returns the number of bytes of its packets.
fn encode(encoder: &mut BulkEncoder, batches: &[RecordBatch]) -> usize {
    let mut bytes = 0;
    let mut send = |encoder: &mut BulkEncoder| {
        bytes += black_box(encoder.ready()).len();
        encoder.clear_ready();
    };
    encoder.begin();
    for batch in batches {
        encoder.encode(black_box(batch)).expect("the batch fits");
        send(encoder);
    }
    encoder.end();
    send(encoder);
    bytes
}

/// The target, as a server describes it.
fn target(columns: &[Column], texts: Texts) -> RowMetadata {
    let mut bytes = vec![0x81];
    bytes.extend((columns.len() as u16).to_le_bytes());
    for column in columns {
        // The user's type, and the flags: nullable, and updatable.
        bytes.extend([0, 0, 0, 0, 8 | u8::from(column.nullable), 0]);
        bytes.extend(type_info(column, texts));
        bytes.push(column.name.len() as u8);
        bytes.extend(column.name.bytes().flat_map(|letter| [letter, 0]));
    }
    RowMetadata::parse(&bytes).expect("a description").0
}

fn type_info(column: &Column, texts: Texts) -> Vec<u8> {
    match column.column_type {
        ColumnType::Int32 if column.nullable => vec![0x26, 4],
        ColumnType::Int32 => vec![0x38],
        ColumnType::Int64 if column.nullable => vec![0x26, 8],
        ColumnType::Int64 => vec![0x7f],
        ColumnType::Decimal { precision, scale } => vec![0x6a, 9, precision, scale],
        ColumnType::Date => vec![0x28],
        ColumnType::Text {
            characters_max: Some(characters),
            blank_padded,
        } => {
            let (token, unit_bytes, collation) = match (texts, blank_padded) {
                (Texts::Utf16, true) => (0xef, 2, CP1252),
                (Texts::Utf16, false) => (0xe7, 2, CP1252),
                (Texts::Utf8, true) => (0xaf, 1, UTF8),
                (Texts::Utf8, false) => (0xa7, 1, UTF8),
                (Texts::CodePage, true) => (0xaf, 1, CP1252),
                (Texts::CodePage, false) => (0xa7, 1, CP1252),
            };
            let length = (characters * unit_bytes) as u16;
            [&[token], &length.to_le_bytes()[..], &collation].concat()
        }
        _ => unreachable!("lineitem has no other type"),
    }
}
