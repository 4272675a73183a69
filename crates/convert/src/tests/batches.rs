//! Tests of the batches from good rows.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, StringViewArray};
use inrush_rows::column::schema;

use super::*;

fn strings(array: &StringViewArray) -> Vec<Option<&str>> {
    array.iter().collect()
}

#[test]
fn every_type_has_the_type_of_its_column() {
    let types = [
        ("b", ColumnType::Bool, "true"),
        ("i2", ColumnType::Int16, "-1"),
        ("i4", ColumnType::Int32, "2"),
        ("i8", ColumnType::Int64, "3"),
        ("f4", ColumnType::Float32, "1.5"),
        ("f8", ColumnType::Float64, "-2.5"),
        (
            "n",
            ColumnType::Decimal {
                precision: 15,
                scale: 2,
            },
            "12.5",
        ),
        ("nt", ColumnType::DecimalText { limit: None }, "1e3"),
        ("v", text(10), "text"),
        ("d", ColumnType::Date, "2024-02-29"),
        ("t", ColumnType::Time { fraction_digits: 6 }, "12:00:00"),
        (
            "ts",
            ColumnType::Timestamp { fraction_digits: 6 },
            "2024-02-29 12:00:00",
        ),
        (
            "tz",
            ColumnType::TimestampTz { fraction_digits: 6 },
            "2024-02-29 12:00:00Z",
        ),
        (
            "iv",
            ColumnType::Interval {
                fraction_digits: 6,
                has_infinity: true,
            },
            "1 mon 2 days 00:00:03",
        ),
        (
            "u",
            ColumnType::Uuid,
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        ("by", ColumnType::Binary, "\\x00ff"),
        ("j", ColumnType::Json, "[1]"),
        (
            "e",
            ColumnType::Enum {
                labels: vec!["new".to_owned()],
            },
            "new",
        ),
        ("o", ColumnType::Opaque, "(1 2)"),
    ];
    let columns: Vec<Column> = types
        .iter()
        .enumerate()
        .map(|(index, (name, column_type, _))| column(name, index, column_type.clone()))
        .collect();
    let fields: Vec<&str> = types.iter().map(|(_, _, text)| *text).collect();
    let nulls = vec![""; types.len()].join("|");
    let input = format!("{}|\n{nulls}|\n", fields.join("|"));
    let (batch, rejects) = converted(&Dialect::tbl(), &columns, types.len(), input.as_bytes());
    assert_eq!(rejects, []);
    assert_eq!(*batch.schema(), schema(&columns));
    assert_eq!(batch.num_rows(), 2);
    for (index, array) in batch.columns().iter().enumerate() {
        assert!(array.is_valid(0) && array.is_null(1), "{}", types[index].0);
        array.to_data().validate_full().expect("a valid array");
    }
    assert!(batch.column(0).as_boolean().value(0));
    assert_eq!(
        batch.column(6).as_primitive::<Decimal128Type>().value(0),
        1250
    );
    assert_eq!(batch.column(7).as_string_view().value(0), "1000");
    assert_eq!(
        batch
            .column(13)
            .as_struct()
            .column(1)
            .as_primitive::<Int32Type>()
            .value(0),
        2
    );
    assert_eq!(
        batch.column(14).as_fixed_size_binary().value(0)[..2],
        [0xa0, 0xee]
    );
    assert_eq!(batch.column(15).as_binary_view().value(0), [0, 0xff]);
}

#[test]
fn lineitem() {
    let money = ColumnType::Decimal {
        precision: 15,
        scale: 2,
    };
    let columns = [
        column("l_orderkey", 0, ColumnType::Int64),
        column("l_extendedprice", 5, money),
        column("l_shipdate", 10, ColumnType::Date),
        column("l_comment", 15, text(44)),
    ];
    let input = b"1|155190|7706|1|17|21168.23|0.04|0.02|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular courts above the|\n\
                  1|67310|7311|2|36|45983.16|0.09|0.06|N|O|1996-04-12|1996-02-28|1996-04-20|TAKE BACK RETURN|MAIL|ly final|\n";
    let (batch, rejects) = converted(&Dialect::tbl(), &columns, 16, input);
    assert_eq!(rejects, []);
    assert_eq!(
        batch.column(0).as_primitive::<Int64Type>().values(),
        &[1, 1]
    );
    assert_eq!(
        batch.column(1).as_primitive::<Decimal128Type>().values(),
        &[2_116_823, 4_598_316]
    );
    assert_eq!(
        batch.column(2).as_primitive::<Date32Type>().values(),
        &[9_568, 9_598]
    );
    assert_eq!(
        strings(batch.column(3).as_string_view()),
        [Some("egular courts above the"), Some("ly final")]
    );
    assert!(batch.columns().iter().all(|array| array.nulls().is_none()));
}

#[test]
fn quoted_fields_and_nulls() {
    let columns = [
        column("id", 0, ColumnType::Int32),
        column("name", 1, text(40)),
        column("when", 2, ColumnType::TimestampTz { fraction_digits: 6 }),
    ];
    let input = "1,plain,2024-01-01 00:00:00Z\n\
                 \"2\",\"a \"\"quoted\"\" text, longer than twelve\",\"2024-01-01 00:00:00Z\"\n\
                 3,,\n\
                 4,\"\",\n\
                 5,\"two\nlines \u{e4}\",2024-01-01 00:00:00Z\r\n";
    let (batch, rejects) = converted(&csv(), &columns, 3, input.as_bytes());
    assert_eq!(rejects, []);
    assert_eq!(
        batch.column(0).as_primitive::<Int32Type>().values(),
        &[1, 2, 3, 4, 5]
    );
    assert_eq!(
        strings(batch.column(1).as_string_view()),
        [
            Some("plain"),
            Some("a \"quoted\" text, longer than twelve"),
            None,
            Some(""),
            Some("two\nlines \u{e4}"),
        ]
    );
    let when = batch.column(2).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(
        when.iter().collect::<Vec<_>>(),
        [
            Some(1_704_067_200_000_000),
            Some(1_704_067_200_000_000),
            None,
            None,
            Some(1_704_067_200_000_000)
        ]
    );
    batch
        .column(1)
        .to_data()
        .validate_full()
        .expect("valid views");
}

#[test]
fn escapes_of_copy() {
    let columns = [
        column("a", 0, text(40)),
        column("b", 1, ColumnType::Float64),
        column("c", 2, ColumnType::Binary),
        column("d", 3, ColumnType::DecimalText { limit: None }),
    ];
    let input = "tab\\tand\\\\backslash\t1.5\t\\\\x41\t1e2\n\
                 \\N\t\\N\t\\N\t\\N\n\
                 \\x41\\303\\244\t\\x32\tplain\t-007\n";
    let (batch, rejects) = converted(&Dialect::tsv(), &columns, 4, input.as_bytes());
    assert_eq!(rejects, []);
    assert_eq!(
        strings(batch.column(0).as_string_view()),
        [Some("tab\tand\\backslash"), None, Some("A\u{e4}")]
    );
    let floats = batch.column(1).as_primitive::<Float64Type>();
    assert_eq!(
        floats.iter().collect::<Vec<_>>(),
        [Some(1.5), None, Some(2.0)]
    );
    let bytes = batch.column(2).as_binary_view();
    assert_eq!(
        bytes.iter().collect::<Vec<_>>(),
        [Some(&b"A"[..]), None, Some(b"plain")]
    );
    assert_eq!(
        strings(batch.column(3).as_string_view()),
        [Some("100"), None, Some("-7")]
    );
    for array in batch.columns() {
        array.to_data().validate_full().expect("a valid array");
    }
}

#[test]
fn text_is_not_copied() {
    let input = b"a text that is longer than twelve bytes\n";
    let dialect = csv();
    let (chunk, records) = scanned(&dialect, input);
    let columns = [column("a", 0, text(100))];
    let mut converter = Converter::new(&columns, &dialect, 1).expect("a converter");
    let batch = converter.convert(&chunk, &records, 0..1, &mut Vec::new());
    let buffers = batch.column(0).as_string_view().data_buffers();
    assert_eq!(buffers.len(), 1);
    assert_eq!(buffers[0].as_ptr(), chunk.text().as_ptr());
}

/// If a caller drops the list of records that are not UTF-8, it gets no batch, instead of one with such a text in it.
#[test]
#[should_panic(expected = "views of valid text")]
fn invalid_text_is_in_no_batch() {
    let dialect = csv();
    let (mut chunk, records) = scanned(&dialect, b"gr\xfcn is not UTF-8 here\n");
    chunk.invalid_utf8.clear();
    let mut converter =
        Converter::new(&[column("a", 0, text(100))], &dialect, 1).expect("a converter");
    converter.convert(&chunk, &records, 0..1, &mut Vec::new());
}

#[test]
fn views_of_every_length() {
    let dialect = Dialect::tbl();
    let input: String = (0..40)
        .map(|length| {
            format!(
                "{}|\n",
                "\u{e4}bcdefghij\u{1F980}lmnopqrstuvwxyzABCDEFGHIJKLMNOP"
                    .chars()
                    .take(length)
                    .collect::<String>()
            )
        })
        .collect();
    let columns = [column("a", 0, text(100))];
    let (batch, _) = converted(
        &Dialect {
            nulls: Vec::new(),
            ..dialect
        },
        &columns,
        1,
        input.as_bytes(),
    );
    let array = batch.column(0).as_string_view();
    array.to_data().validate_full().expect("valid views");
    for (line, value) in input.lines().zip(array.iter()) {
        assert_eq!(value, Some(&line[..line.len() - 1]));
    }
}

#[test]
fn a_converter_is_used_again() {
    let dialect = csv();
    let columns = [column("a", 0, ColumnType::Int32), column("b", 1, text(20))];
    let mut converter = Converter::new(&columns, &dialect, 2).expect("a converter");
    let mut rejects = Vec::new();
    for round in 0..3 {
        let input = format!("{round},\"x\"\"y\"\nbad,z\n7,w\n");
        let (chunk, records) = scanned(&dialect, input.as_bytes());
        let batch = converter.convert(&chunk, &records, 0..3, &mut rejects);
        assert_eq!(
            batch.column(0).as_primitive::<Int32Type>().values(),
            &[round, 7]
        );
        assert_eq!(
            strings(batch.column(1).as_string_view()),
            [Some("x\"y"), Some("w")]
        );
    }
    assert_eq!(rejects.len(), 3);
}

#[test]
fn no_rows_and_no_columns() {
    let (batch, rejects) = converted(&csv(), &[column("a", 0, ColumnType::Int32)], 1, b"");
    assert_eq!((batch.num_rows(), rejects.len()), (0, 0));
    let (batch, rejects) = converted(&csv(), &[], 2, b"1,2\n3,4\n");
    assert_eq!((batch.num_rows(), rejects.len()), (2, 0));
}

#[test]
fn fields_in_another_order_and_twice() {
    let columns = [
        column("a", 1, ColumnType::Int32),
        column("b", 0, ColumnType::Int32),
        column("c", 1, text(5)),
    ];
    let (batch, _) = converted(&csv(), &columns, 2, b"1,2\n");
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values(), &[2]);
    assert_eq!(batch.column(1).as_primitive::<Int32Type>().values(), &[1]);
    assert_eq!(strings(batch.column(2).as_string_view()), [Some("2")]);
}
