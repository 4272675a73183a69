//! Tests that rows of typed values give the same batch and the same rejects as their text.

use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::i256;
use arrow_schema::DataType;
use inrush_rows::chunk::{Chunk, Places};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::{DefaultFor, FieldDefault, NanPolicy, OnTruncate, Rounding, Trim};
use inrush_rows::padded_text::PaddedText;
use inrush_rows::reject::{Reject, RejectCode};
use inrush_rows::typed_rows::{Cells, RowFault, TypedColumn, TypedRows, append_row};
use inrush_scan::{Record, Records};
use proptest::prelude::*;

use super::{csv, scanned};
use crate::converter::{null_error, typed_null_error};
use crate::{Converter, KeyBounds, KeyValue};

/// Places as from a source.
#[derive(Debug)]
struct Rows(Vec<u32>);

impl Places for Rows {
    fn byte_distance(&self, _text: &[u8], position: usize) -> u64 {
        match self.0.as_slice() {
            [] => position as u64,
            starts => starts.partition_point(|start| (*start as usize) < position) as u64,
        }
    }

    fn are_rows(&self) -> bool {
        true
    }
}

fn with_places(chunk: Chunk, starts: Vec<u32>) -> Chunk {
    Chunk {
        byte_offset: 70,
        line_offset: 0,
        places: Some(Arc::new(Rows(starts))),
        ..chunk
    }
}

fn text_chunk(rows: &TypedRows) -> (Chunk, Records) {
    let cells: Vec<Cells> = rows
        .columns
        .iter()
        .map(|column| match &column.values {
            None => Cells::unread(),
            Some(values) => Cells::of(values, column.is_uuid).expect("a type with a text"),
        })
        .collect();
    let mut text = Vec::new();
    let mut starts = Vec::new();
    for row in 0..rows.row_count {
        starts.push(text.len() as u32);
        append_row(&cells, row, &mut text);
    }
    let (chunk, records) = scanned(&csv(), &text);
    (with_places(chunk, starts), records)
}

fn typed_chunk(rows: &TypedRows) -> (Chunk, Records) {
    let chunk = Chunk {
        text: PaddedText::of(b""),
        file: Arc::from(Path::new("data/orders.csv")),
        byte_offset: 0,
        line_offset: 0,
        invalid_utf8: Vec::new(),
        places: None,
        typed: Some(rows.clone()),
    };
    let mut records = Records::default();
    records
        .records
        .extend((0..rows.row_count as u32).map(|row| Record {
            start: row,
            end: row,
            line: row,
            first_field: 0,
            escaped: false,
        }));
    (with_places(chunk, Vec::new()), records)
}

type Converted = (Vec<RecordBatch>, Vec<Reject>, Vec<u64>);

/// Converts a chunk in batches of this many rows; returns the batches and the number of values that policies changed.
fn converted(
    (chunk, records): (Chunk, Records),
    columns: &[Column],
    bounds: Option<&KeyBounds>,
    field_count: usize,
    batch_rows: usize,
) -> Converted {
    let mut converter = Converter::new(columns, &csv(), field_count).expect("columns");
    if let Some(bounds) = bounds {
        converter = converter.with_key_bounds(bounds.clone());
    }
    let mut rejects = Vec::new();
    let mut batches = Vec::new();
    for start in (0..records.len()).step_by(batch_rows) {
        let range = start..records.len().min(start + batch_rows);
        let batch = converter.convert(&chunk, &records, range, &mut rejects);
        for row in 0..batch.num_rows() {
            let code = inrush_rows::reject::RejectCode::OutOfRange;
            let name = Some(columns[0].name.as_str());
            rejects.push(converter.reject_row(&chunk, &records, row, name, code, String::new()));
        }
        batches.push(batch);
    }
    let changes = converter.changes().map(|(_, changes)| changes.total());
    (batches, rejects, changes.collect())
}

/// A number near a limit of a range.
fn number(seed: u64) -> i128 {
    let rest = (seed >> 16) as i128;
    let near = (seed >> 8) as i128 % 5 - 2;
    let sign = if seed & 4 == 0 { 1 } else { -1 };
    match seed % 4 {
        0 => rest % 400 - 200,
        1 => sign * (1_i128 << (rest % 126)) + near,
        2 => sign * 10_i128.pow((rest % 39) as u32) + near,
        _ => sign * rest,
    }
}

const TEXTS: [&str; 24] = [
    "",
    " ",
    "a",
    "abc",
    "abcd",
    "abc  ",
    "äöü",
    "äöüß",
    "äö   ",
    "nul\0x",
    "a long text without end, ",
    "a long text with a nul \0 in it",
    "🦀🦀🦀🦀🦀",
    "q\"u\"ote",
    "line\nbreak, comma",
    "\\.",
    "12",
    "-7.50",
    "2024-01-02",
    "2024-02-29 12:00:00.5",
    "t",
    "{\"a\": 1}",
    "one",
    "NaN",
];

/// A column of a kind with these values.
fn values(kind: usize, seeds: &[Option<u64>]) -> TypedColumn {
    macro_rules! whole {
        ($array:ident) => {
            Arc::new($array::from_iter(
                seeds.iter().map(|seed| seed.map(|seed| number(seed) as _)),
            )) as ArrayRef
        };
    }
    macro_rules! stamps {
        ($array:ident) => {
            // Most of them are in years of four digits.
            Arc::new($array::from_iter(seeds.iter().map(|seed| {
                seed.map(|seed| match seed % 3 {
                    0 => number(seed >> 2) as i64,
                    1 => (number(seed >> 2) % 100_000_000_000) as i64 * 1_000_000,
                    _ => (number(seed >> 2) % 100_000_000_000) as i64 * 500,
                })
            })))
        };
    }
    let text = |seed: u64| TEXTS[seed as usize % TEXTS.len()];
    let texts = || seeds.iter().map(|seed| seed.map(text));
    let bytes = || {
        seeds
            .iter()
            .map(|seed| seed.map(|seed| text(seed).as_bytes()))
    };
    let doubles = |seed: u64| match seed % 6 {
        0 => f64::from_bits(seed.rotate_left(17)),
        1 => f64::NAN.copysign(-1.0),
        2 => f64::from_bits(f64::INFINITY.to_bits() | ((seed % 2) << 63)),
        3 => -0.0,
        _ => number(seed) as f64 / 100.0,
    };
    let fixed = |size: usize| {
        let value = |seed: u64| {
            (0..size)
                .map(move |at| (seed >> (at % 8)) as u8)
                .collect::<Vec<_>>()
        };
        let values = seeds.iter().map(|seed| seed.map(value));
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, size as i32)
                .expect("sizes"),
        ) as ArrayRef
    };
    let decimals = |precision: u8, scale: i8| {
        let array = Decimal128Array::from_iter(seeds.iter().map(|seed| seed.map(number)));
        Arc::new(array.with_data_type(DataType::Decimal128(precision, scale))) as ArrayRef
    };
    let values: ArrayRef = match kind {
        0 => whole!(Int8Array),
        1 => whole!(Int16Array),
        2 => whole!(Int32Array),
        3 => whole!(Int64Array),
        4 => whole!(UInt8Array),
        5 => whole!(UInt16Array),
        6 => whole!(UInt32Array),
        7 => whole!(UInt64Array),
        8 => Arc::new(Float64Array::from_iter(
            seeds.iter().map(|seed| seed.map(doubles)),
        )),
        9 => Arc::new(Float32Array::from_iter(
            seeds
                .iter()
                .map(|seed| seed.map(|seed| doubles(seed) as f32)),
        )),
        10 => decimals(38, 10),
        11 => decimals(15, 2),
        12 => decimals(38, 0),
        13 => Arc::new(
            Decimal32Array::from_iter(
                seeds
                    .iter()
                    .map(|seed| seed.map(|seed| number(seed) as i32)),
            )
            .with_data_type(DataType::Decimal32(9, 2)),
        ),
        14 => Arc::new(
            Decimal64Array::from_iter(
                seeds
                    .iter()
                    .map(|seed| seed.map(|seed| number(seed) as i64)),
            )
            .with_data_type(DataType::Decimal64(18, 4)),
        ),
        15 => Arc::new(
            Decimal256Array::from_iter(
                seeds
                    .iter()
                    .map(|seed| seed.map(|seed| i256::from_i128(number(seed)))),
            )
            .with_data_type(DataType::Decimal256(50, 5)),
        ),
        16 => Arc::new(StringArray::from_iter(texts())),
        17 => Arc::new(LargeStringArray::from_iter(texts())),
        18 | 19 => Arc::new(StringViewArray::from_iter(texts())),
        20 => Arc::new(texts().collect::<DictionaryArray<Int8Type>>()),
        21 => {
            let words = LargeStringArray::from_iter(
                TEXTS.iter().map(|text| (*text != "one").then_some(*text)),
            );
            let keys = seeds
                .iter()
                .map(|seed| seed.map(|seed| (seed % TEXTS.len() as u64) as i32));
            Arc::new(DictionaryArray::<Int32Type>::new(
                keys.collect(),
                Arc::new(words),
            ))
        }
        22 => Arc::new(BinaryArray::from_iter(bytes())),
        23 => Arc::new(BinaryViewArray::from_iter(bytes())),
        24 => Arc::new(LargeBinaryArray::from_iter(bytes())),
        25 => fixed(3),
        26 => fixed(16),
        27 => whole!(Date32Array),
        28 => whole!(Date64Array),
        29 => Arc::new(Time32SecondArray::from_iter(
            seeds
                .iter()
                .map(|seed| seed.map(|seed| (seed % 90_000) as i32 - 1_000)),
        )),
        30 => {
            Arc::new(Time64MicrosecondArray::from_iter(seeds.iter().map(
                |seed| seed.map(|seed| (seed % 86_500_000_001) as i64 - 1_000),
            )))
        }
        31 => Arc::new(Time64NanosecondArray::from_iter(seeds.iter().map(|seed| {
            seed.map(|seed| (seed % 86_400_000_001) as i64 * 1_000 + (seed % 2) as i64)
        }))),
        32 => stamps!(TimestampSecondArray),
        33 => stamps!(TimestampMillisecondArray),
        34 => stamps!(TimestampMicrosecondArray),
        35 => stamps!(TimestampNanosecondArray),
        36 => {
            let array: Arc<TimestampMicrosecondArray> = stamps!(TimestampMicrosecondArray);
            Arc::new(array.as_ref().clone().with_timezone("Asia/Tokyo"))
        }
        37 => Arc::new(BooleanArray::from_iter(
            seeds.iter().map(|seed| seed.map(|seed| seed % 2 == 0)),
        )),
        38 => Arc::new(NullArray::new(seeds.len())),
        39 => whole!(DurationMillisecondArray),
        _ => {
            return TypedColumn {
                values: None,
                is_uuid: false,
            };
        }
    };
    TypedColumn {
        values: Some(values),
        is_uuid: kind == 26,
    }
}

const KINDS: usize = 41;

fn column_types() -> Vec<ColumnType> {
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    let text = |characters_max, blank_padded| ColumnType::Text {
        characters_max,
        blank_padded,
    };
    vec![
        ColumnType::Bool,
        ColumnType::Int16,
        ColumnType::Int32,
        ColumnType::Int64,
        ColumnType::Float32,
        ColumnType::Float64,
        decimal(10, 2),
        decimal(38, 10),
        decimal(38, 0),
        decimal(4, 4),
        ColumnType::DecimalText { limit: None },
        text(None, false),
        text(Some(4), false),
        text(Some(4), true),
        text(Some(30), true),
        ColumnType::Date,
        ColumnType::Time { fraction_digits: 6 },
        ColumnType::Time { fraction_digits: 0 },
        ColumnType::Timestamp { fraction_digits: 6 },
        ColumnType::Timestamp { fraction_digits: 3 },
        ColumnType::TimestampTz { fraction_digits: 6 },
        ColumnType::Interval {
            fraction_digits: 6,
            has_infinity: true,
        },
        ColumnType::Uuid,
        ColumnType::Binary,
        ColumnType::Json,
        ColumnType::Enum {
            labels: vec!["one".to_owned(), "abc".to_owned()],
        },
        ColumnType::Opaque,
    ]
}

/// Kinds and types that fit each other, so that most rows are not rejects.
const PAIRS: [(usize, usize); 40] = [
    (0, 1),
    (1, 1),
    (2, 1),
    (3, 2),
    (3, 3),
    (4, 1),
    (5, 2),
    (6, 2),
    (6, 3),
    (7, 3),
    (7, 8),
    (3, 8),
    (2, 6),
    (8, 5),
    (9, 4),
    (9, 5),
    (8, 4),
    (10, 7),
    (10, 6),
    (11, 7),
    (11, 6),
    (12, 8),
    (13, 6),
    (14, 7),
    (15, 7),
    (16, 11),
    (17, 12),
    (18, 13),
    (19, 14),
    (20, 11),
    (21, 12),
    (22, 23),
    (25, 23),
    (26, 22),
    (27, 15),
    (30, 16),
    (31, 17),
    (34, 18),
    (35, 18),
    (36, 20),
];

fn pair() -> impl Strategy<Value = (usize, usize)> {
    prop_oneof![
        3 => proptest::sample::select(PAIRS.to_vec()),
        1 => (0..KINDS, 0..column_types().len()),
    ]
}

/// A column's kind and type, whether it may be NULL, and a policy.
fn columns() -> impl Strategy<Value = Vec<((usize, usize), bool, usize)>> {
    proptest::collection::vec((pair(), any::<bool>(), 0..24_usize), 1..5)
}

fn with_policy(mut column: Column, policy: usize) -> Column {
    let takes_rounding = matches!(
        column.column_type,
        ColumnType::Decimal { .. } | ColumnType::Time { .. } | ColumnType::Timestamp { .. }
    );
    match policy {
        0 => column.policies.trim = Some(Trim::Both),
        1 => column.policies.null = Some(vec!["abc".to_owned()]),
        2 if takes_rounding => column.policies.round = Rounding::HalfUp,
        3 if column.column_type == ColumnType::Float64 => column.policies.nan = NanPolicy::Null,
        4 if column.column_type == ColumnType::Float32 => column.policies.exact = true,
        5 if matches!(
            column.column_type,
            ColumnType::Text {
                characters_max: Some(_),
                ..
            }
        ) =>
        {
            column.policies.on_truncate = OnTruncate::Truncate;
        }
        6 if column.column_type == ColumnType::Int32 => {
            column.policies.default = Some(FieldDefault {
                text: "7".to_owned(),
                applies_to: DefaultFor::Null,
            });
        }
        7 if matches!(column.column_type, ColumnType::TimestampTz { .. }) => {
            column.zone = Some("Europe/Vienna".to_owned());
        }
        _ => {}
    }
    column
}

#[test]
fn the_same_types_need_no_text() {
    let seeds: Vec<Option<u64>> = Vec::new();
    let types = column_types();
    // These kinds are not of the column's type: floats for decimals, and decimals of 256 bits, or with too many digits,
    // for decimals of 128 bits.
    let by_text = [(8, 4), (10, 6), (15, 7)];
    for (kind, column_type) in PAIRS {
        let column = Column::new("c", types[column_type].clone(), 0);
        let mut converter = Converter::new(&[column], &csv(), 1).expect("a column");
        let values = values(kind, &seeds);
        let data_type = values.values.expect("values").data_type().clone();
        let names = converter.columns_by_text(&[(data_type.clone(), values.is_uuid)]);
        let is_by_text = !names.is_empty();
        let expected = by_text.contains(&(kind, column_type));
        assert_eq!(is_by_text, expected, "{data_type} {:?}", types[column_type]);
    }
}

/// A field of CSV without its quotes.
fn unquoted(written: &str) -> String {
    let inner = written
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or(written.to_owned(), |inner| inner.replace("\"\"", "\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn values_become_what_their_text_becomes(
        columns in columns(),
        seeds in proptest::collection::vec(
            proptest::collection::vec(proptest::option::weighted(0.9, any::<u64>()), 4..5),
            0..20,
        ),
        batch_rows in 1..24_usize,
        slice in 0..3_usize,
        has_bounds: bool,
    ) {
        let mut typed: Vec<TypedColumn> = Vec::new();
        let types = column_types();
        let mut targets = vec![Column {
            source: inrush_rows::column_policy::ValueSource::Line,
            ..Column::new("row", ColumnType::Int64, 0)
        }];
        for (index, ((kind, column_type), nullable, policy)) in columns.iter().enumerate() {
            let seeds: Vec<Option<u64>> = seeds.iter().map(|row| row[index]).collect();
            typed.push(values(*kind, &seeds));
            let column = Column::new(&format!("c{index}"), types[*column_type].clone(), index);
            targets.push(with_policy(Column { nullable: *nullable, ..column }, *policy));
        }
        // A row whose only field is NULL would be a blank line.
        let numbers = Int32Array::from_iter_values(0..seeds.len() as i32);
        typed.push(TypedColumn { values: Some(Arc::new(numbers)), is_uuid: false });
        let field_count = typed.len();
        let rows = TypedRows {
            columns: typed,
            row_count: seeds.len(),
            content: Vec::new(),
            bytes_count: 0,
            faults: Vec::new(),
        };
        let rows = rows.slice(slice.min(seeds.len())..seeds.len());
        let bounds = has_bounds.then(|| KeyBounds {
            column_index: 0,
            lower: Some(KeyValue::Integer(72)),
            upper: Some(KeyValue::Integer(80)),
            describe: "part 1".to_owned(),
        });
        let converted = |chunk| converted(chunk, &targets, bounds.as_ref(), field_count, batch_rows);
        let mut expected = converted(text_chunk(&rows));
        // The reject of a text contains the field as it is written; the reject of a typed value contains the value.
        for reject in &mut expected.1 {
            reject.value = reject.value.take().map(|written| unquoted(&written));
            // No text stands for NULL among values, unless a policy says so.
            if reject.reason == null_error(&csv()).reason {
                reject.reason = typed_null_error().reason;
            }
        }
        let found = converted(typed_chunk(&rows));
        prop_assert_eq!(&found.0, &expected.0);
        prop_assert_eq!(&found.1, &expected.1);
        prop_assert_eq!(&found.2, &expected.2);
    }
}

#[test]
fn rows_of_wrong_form_become_rejects_in_any_batches() {
    let texts = ["1", "x", "3", "y", "5"].map(|text| text.parse::<i32>().ok());
    let fault = |row: usize, raw: &str| RowFault {
        row,
        reason: format!("{raw} is not an object"),
        raw: raw.into(),
    };
    let rows = TypedRows {
        columns: vec![TypedColumn {
            values: Some(Arc::new(Int32Array::from(texts.to_vec()))),
            is_uuid: false,
        }],
        row_count: texts.len(),
        content: Vec::new(),
        bytes_count: 0,
        faults: vec![fault(1, "x"), fault(3, "y")],
    };
    // If a column is not nullable, a fault in the row's form is still the reported one.
    let columns = [true, false].map(|nullable| Column {
        nullable,
        ..Column::new("n", ColumnType::Int32, 0)
    });
    for column in columns {
        for batch_rows in 1..=texts.len() {
            let chunk = typed_chunk(&rows);
            let (batches, rejects, _) =
                converted(chunk, std::slice::from_ref(&column), None, 1, batch_rows);
            let loaded = batches.iter().flat_map(|batch| {
                let column = batch.column(0).as_primitive::<Int32Type>();
                column.values().to_vec()
            });
            assert_eq!(loaded.collect::<Vec<_>>(), [1, 3, 5]);
            let own = rejects.iter().filter(|one| one.code == RejectCode::RowForm);
            let told: Vec<_> = own
                .map(|one| (one.location.line, &one.raw[..], one.reason.as_str()))
                .collect();
            let expected = [
                (72, &b"x"[..], "x is not an object"),
                (74, &b"y"[..], "y is not an object"),
            ];
            assert_eq!(told, expected, "{batch_rows} rows in a batch");
        }
    }
}
