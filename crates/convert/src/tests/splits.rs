//! Tests that batches of any size give the same rows and rejects, and that no input causes a panic.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use inrush_rows::column_policy::{
    DefaultFor, FieldDefault, NanPolicy, NegativeForm, NumberForm, OnTruncate, Rounding, Trim,
    ValueSource,
};
use proptest::prelude::*;

use super::*;

/// All types over four fields.
fn columns() -> Vec<Column> {
    let types = vec![
        ColumnType::Bool,
        ColumnType::Int16,
        ColumnType::Int64,
        ColumnType::Float32,
        ColumnType::Float64,
        ColumnType::Decimal {
            precision: 9,
            scale: 2,
        },
        ColumnType::DecimalText { limit: None },
        ColumnType::DecimalText {
            limit: Some((50, 3)),
        },
        text(3),
        ColumnType::Text {
            characters_max: Some(3),
            blank_padded: true,
        },
        ColumnType::Date,
        ColumnType::Time { fraction_digits: 3 },
        ColumnType::Timestamp { fraction_digits: 6 },
        ColumnType::TimestampTz { fraction_digits: 6 },
        ColumnType::Interval {
            fraction_digits: 6,
            has_infinity: true,
        },
        ColumnType::Uuid,
        ColumnType::Binary,
        ColumnType::Json,
        ColumnType::Enum {
            labels: vec!["a".to_owned(), "1".to_owned()],
        },
        ColumnType::Opaque,
    ];
    types
        .into_iter()
        .enumerate()
        .map(|(index, column_type)| Column {
            nullable: index % 3 != 0,
            ..column(&format!("c{index}"), index % 4, column_type)
        })
        .chain(policies())
        .collect()
}

/// Values as text, for comparison: views of equal texts may differ.
fn rendered(array: &ArrayRef) -> Vec<String> {
    (0..array.len())
        .map(|row| match array.as_string_view_opt() {
            Some(views) if views.is_valid(row) => views.value(row).to_owned(),
            _ => format!("{:?}", array.slice(row, 1)),
        })
        .collect()
}

/// Columns that are gathered in another way, or that use no field.
fn policies() -> Vec<Column> {
    let with = |name: &str, column_type, change: fn(&mut Column)| {
        let mut column = column(name, name.len() % 4, column_type);
        change(&mut column);
        column
    };
    let money = ColumnType::Decimal {
        precision: 9,
        scale: 2,
    };
    vec![
        with("trimmed", text(30), |column| {
            column.policies.trim = Some(Trim::Both);
            column.policies.trim_quoted = true;
            column.policies.null = Some(vec!["-".to_owned(), "1".to_owned()]);
            column.nullable = false;
        }),
        with("cut", text(2), |column| {
            column.policies.on_truncate = OnTruncate::Truncate;
            column.policies.default = Some(FieldDefault {
                text: "ab".to_owned(),
                applies_to: DefaultFor::Null,
            });
        }),
        with("rounded", money.clone(), |column| {
            column.policies.round = Rounding::HalfEven;
            column.policies.nan = NanPolicy::Null;
        }),
        with("grouped", money, |column| {
            column.policies.numbers = NumberForm {
                decimal_separator: Some(' '),
                group_separator: Some('.'),
                negative: NegativeForm::Trailing,
            };
        }),
        with("whole", ColumnType::Int16, |column| {
            column.policies.round = Rounding::HalfUp;
        }),
        with("line", ColumnType::Int64, |column| {
            column.source = ValueSource::Line;
        }),
        with("file", text(30), |column| {
            column.source = ValueSource::File;
        }),
        with("constant", ColumnType::Json, |column| {
            column.source = ValueSource::Constant("{\"a\": \"a text of some length\"}".to_owned());
        }),
    ]
}

fn all_batches(
    dialect: &Dialect,
    columns: &[Column],
    chunk: &Chunk,
    records: &Records,
    batch_rows: usize,
) -> (Vec<Vec<String>>, Vec<Reject>) {
    let mut converter = Converter::new(columns, dialect, 4).expect("a converter");
    let mut rejects = Vec::new();
    let mut values = vec![Vec::new(); columns.len()];
    let mut first = 0;
    while first < records.len() {
        let end = (first + batch_rows).min(records.len());
        let before = rejects.len();
        let batch = converter.convert(chunk, records, first..end, &mut rejects);
        assert_eq!(batch.num_rows() + rejects.len() - before, end - first);
        for (values, array) in values.iter_mut().zip(batch.columns()) {
            array.to_data().validate_full().expect("a valid array");
            values.extend(rendered(array));
        }
        first = end;
    }
    (values, rejects)
}

fn check(dialect: &Dialect, input: &[u8]) {
    let (chunk, records) = scanned(dialect, input);
    // Each type alone, so that rows are not rejected by other columns, and all together.
    let all = columns();
    let alone = all.iter().map(std::slice::from_ref);
    for columns in alone.chain([all.as_slice()]) {
        let whole = all_batches(dialect, columns, &chunk, &records, usize::MAX >> 1);
        for batch_rows in [1, 2, 3] {
            let split = all_batches(dialect, columns, &chunk, &records, batch_rows);
            assert_eq!(split, whole, "batches of {batch_rows}");
        }
        let lines = whole
            .1
            .windows(2)
            .all(|pair| pair[0].location.byte_offset < pair[1].location.byte_offset);
        assert!(lines, "rejects stand in the order of their records");
    }
}

/// Pieces of values and of the forms of records.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = |bytes: &'static [u8]| Just(bytes);
    let piece = prop_oneof![
        4 => piece(b"1"),
        1 => piece(b"0.5"),
        1 => piece(b"-"),
        1 => piece(b"true"),
        1 => piece(b"2024-02-29"),
        1 => piece(b"12:30:00"),
        1 => piece(b" "),
        1 => piece(b"\\x41"),
        1 => piece(b"1 day"),
        1 => piece(b"e3"),
        1 => piece("\u{e4}".as_bytes()),
        1 => piece(b"\xff"),
        1 => piece(b"\0"),
        1 => piece(b"\\"),
        1 => piece(b"\\N"),
        2 => piece(b"\""),
        8 => piece(b","),
        8 => piece(b"|"),
        8 => piece(b"\t"),
        6 => piece(b"\n"),
        1 => piece(b"\r\n"),
        1 => piece(b"a text of more than twelve bytes"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Records of four fields, so that the values of most records are converted.
fn regular_input(delimiter: u8) -> impl Strategy<Value = Vec<u8>> {
    let value = prop_oneof![
        "[0-9]{1,3}",
        "-?[0-9]{1,4}[.][0-9]{1,3}",
        Just(String::new()),
        Just("true".to_owned()),
        Just("2024-02-29".to_owned()),
        Just("2024-02-29 12:00:00.25".to_owned()),
        Just("2024-02-29T12:00:00Z".to_owned()),
        Just("12:30:00".to_owned()),
        Just("1 day".to_owned()),
        Just("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11".to_owned()),
        Just("\\\\x41".to_owned()),
        Just("\\N".to_owned()),
        "\"[a-z0-9]{0,3}(\"\"|,)?[0-9]{0,12}\"",
        "[a\u{e4} ]{0,5}",
    ];
    let record = prop::collection::vec(value, 4).prop_map(move |fields| {
        let mut record = fields
            .join(&*char::from(delimiter).to_string())
            .into_bytes();
        if delimiter == b'|' {
            record.push(delimiter);
        }
        record.push(b'\n');
        record
    });
    prop::collection::vec(record, 0..12).prop_map(|records| records.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn anything_as_csv(input in input()) {
        check(&csv(), &input);
    }

    #[test]
    fn anything_as_tsv(input in input()) {
        check(&Dialect::tsv(), &input);
    }

    #[test]
    fn anything_as_tbl(input in input()) {
        check(&Dialect::tbl(), &input);
    }

    #[test]
    fn values_as_csv(input in regular_input(b',')) {
        check(&csv(), &input);
    }

    #[test]
    fn values_as_tsv(input in regular_input(b'\t')) {
        check(&Dialect::tsv(), &input);
    }

    #[test]
    fn values_as_tbl(input in regular_input(b'|')) {
        check(&Dialect::tbl(), &input);
    }
}
