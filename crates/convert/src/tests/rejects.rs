//! Tests of the rejects from bad rows: code, place, value, and a reason with the cause and the fix.

use inrush_rows::reject::{RejectCode, VALUE_BYTES_MAX};

use super::*;
use crate::{KeyBounds, KeyValue};

/// The only reject of a text of three fields: `id integer not null`, `name varchar(10)`, and a
/// third of any type.
fn only_reject(dialect: &Dialect, third: ColumnType, input: &[u8]) -> Reject {
    let mut columns = [
        column("id", 0, ColumnType::Int32),
        column("name", 1, text(10)),
        column("third", 2, third),
    ];
    columns[0].nullable = false;
    let (_, mut rejects) = converted(dialect, &columns, 3, input);
    assert_eq!(rejects.len(), 1, "{rejects:?}");
    rejects.pop().expect("one")
}

macro_rules! rejects {
    ($($name:ident: $dialect:expr, $third:expr, $input:expr
        => $code:ident, $column:expr, $value:expr, $($part:expr),+;)*) => {
        $(#[test]
        fn $name() {
            let reject = only_reject(&$dialect, $third, $input.as_ref());
            let column: Option<&str> = $column;
            let value: Option<&str> = $value;
            assert_eq!(reject.code, RejectCode::$code, "{}", reject.reason);
            assert_eq!(reject.column.as_deref(), column);
            assert_eq!(reject.value.as_deref(), value);
            $(assert!(reject.reason.contains($part), "{}", reject.reason);)+
            let input: &[u8] = $input.as_ref();
            assert_eq!(reject.raw, input.trim_ascii_end());
        })*
    };
}

const OPAQUE: ColumnType = ColumnType::Opaque;
const DATE: ColumnType = ColumnType::Date;

rejects! {
    too_few_fields: csv(), OPAQUE, "1,a\n"
        => FieldCount, None, None, "2 fields, but 3 were expected", "line break";
    too_many_fields: csv(), OPAQUE, "1,a,b,c\n"
        => FieldCount, None, None, "4 fields, but 3 were expected", "not quoted with \"";
    trailing_delimiter: csv(), OPAQUE, "1,a,b,\n"
        => FieldCount, None, None, "trailing_delimiter = true";
    another_delimiter: csv(), OPAQUE, "1;a;b\n"
        => FieldCount, None, None, "1 field, but 3 were expected", "delimiter = ';'";
    no_trailing_delimiter: Dialect::tbl(), OPAQUE, "1|a|b\n"
        => TrailingDelimiterMissing, None, None, "trailing_delimiter = false";
    stray_quote: csv(), OPAQUE, "1,a\"b,c\n"
        => StrayQuote, None, None, "byte 4 of the record", "quote = \"\"";
    text_after_quote: csv(), OPAQUE, "1,\"a\"b,c\n"
        => TextAfterQuote, None, None, "byte 6 of the record", "escape";
    unclosed_quote: csv(), OPAQUE, "1,\"a,c"
        => UnclosedQuote, None, None, "byte 3 of the record", "cut off";
    dangling_escape: Dialect::tsv(), OPAQUE, "1\ta\tc\\"
        => DanglingEscape, None, None, "cut off";
    latin_1: csv(), OPAQUE, b"1,M\xfcnchen,c\n"
        => InvalidUtf8, None, None, "byte 4 of the record (0xfc)", "format.encoding";
    escaped_latin_1: Dialect::tsv(), OPAQUE, "1\tM\\xFCnchen\tc\n"
        => InvalidUtf8, Some("name"), Some("M\\xFCnchen"), "escapes are decoded";
    nul_byte: csv(), OPAQUE, "1,a\0b,c\n"
        => NulByte, Some("name"), Some("a\0b"), "NUL byte";
    escaped_nul_byte: Dialect::tsv(), OPAQUE, "1\ta\\0b\tc\n"
        => NulByte, Some("name"), Some("a\\0b"), "NUL byte";
    quoted_nul_byte: csv(), OPAQUE, "1,\"a\0b\",c\n"
        => NulByte, Some("name"), Some("\"a\0b\""), "NUL byte";
    null_not_allowed: csv(), OPAQUE, ",a,c\n"
        => NullNotAllowed, Some("id"), Some(""), "an empty unquoted field means NULL", "nullable";
    null_marker_not_allowed: Dialect::tsv(), OPAQUE, "\\N\ta\tc\n"
        => NullNotAllowed, Some("id"), Some("\\N"), "the unquoted field \\N means NULL";
    empty_is_no_number: csv(), OPAQUE, "\"\",a,c\n"
        => Syntax, Some("id"), Some("\"\""), "not a whole number", "null = \"\"";
    not_an_integer: csv(), OPAQUE, "12.0,a,c\n"
        => Syntax, Some("id"), Some("12.0"), "no decimal point", "numeric";
    exponent: csv(), OPAQUE, "1e3,a,c\n"
        => Syntax, Some("id"), Some("1e3"), "exponent";
    thousands: csv(), OPAQUE, "\"1,234\",a,c\n"
        => Syntax, Some("id"), Some("\"1,234\""), "comma";
    header_line: csv(), OPAQUE, "id,name,third\n"
        => Syntax, Some("id"), Some("id"), "header = true";
    null_word: csv(), OPAQUE, "NULL,a,c\n"
        => Syntax, Some("id"), Some("NULL"), "null marker";
    past_integer: csv(), OPAQUE, "2147483648,a,c\n"
        => OutOfRange, Some("id"), Some("2147483648"), "bigint";
    too_long: csv(), OPAQUE, "1,abcdefghijk,c\n"
        => TooLong, Some("name"), Some("abcdefghijk"), "11 characters", "the column holds 10";
    first_column_at_fault: csv(), DATE, "1,abcdefghijk,c\n"
        => TooLong, Some("name"), Some("abcdefghijk"), "11 characters";
    ambiguous_date: csv(), DATE, "1,a,01/02/2024\n"
        => Syntax, Some("third"), Some("01/02/2024"), "%d/%m/%Y", "%m/%d/%Y";
    no_such_date: csv(), DATE, "1,a,2023-02-29\n"
        => OutOfRange, Some("third"), Some("2023-02-29"), "no day 29", "28 days";
    time_in_date: csv(), DATE, "1,a,2024-02-29 10:00:00\n"
        => FractionLost, Some("third"), Some("2024-02-29 10:00:00"), "time of day", "timestamp";
    decimal_fraction: csv(), ColumnType::Decimal { precision: 5, scale: 2 }, "1,a,1.005\n"
        => FractionLost, Some("third"), Some("1.005"), "3 digits", "numeric(5,2)", "scale";
    decimal_range: csv(), ColumnType::Decimal { precision: 5, scale: 2 }, "1,a,1000\n"
        => OutOfRange, Some("third"), Some("1000"), "4 digits", "numeric(5,2)";
    float_range: csv(), ColumnType::Float32, "1,a,1e39\n"
        => OutOfRange, Some("third"), Some("1e39"), "real", "double precision";
    offset_without_zone: csv(), ColumnType::Timestamp { fraction_digits: 6 },
        "1,a,2024-01-01 00:00:00+01\n"
        => Syntax, Some("third"), Some("2024-01-01 00:00:00+01"), "timestamptz", "silently";
    zone_missing: csv(), ColumnType::TimestampTz { fraction_digits: 6 }, "1,a,2024-01-01 00:00:00\n"
        => ZoneMissing, Some("third"), Some("2024-01-01 00:00:00"), "zone = ";
    fraction_of_second: csv(), ColumnType::Time { fraction_digits: 0 }, "1,a,00:00:00.5\n"
        => FractionLost, Some("third"), Some("00:00:00.5"), "keeps 0";
    unknown_label: csv(), ColumnType::Enum { labels: vec!["new".to_owned(), "done".to_owned()] },
        "1,a,New\n"
        => UnknownLabel, Some("third"), Some("New"), "\"new\"";
    not_json: csv(), ColumnType::Json, "1,a,{a}\n"
        => Syntax, Some("third"), Some("{a}"), "not JSON", "column 2";
    empty_decimal: csv(), ColumnType::Decimal { precision: 5, scale: 2 }, "1,a,\"\"\n"
        => Syntax, Some("third"), Some("\"\""), "empty", "null = \"\"";
    empty_decimal_text: csv(), ColumnType::DecimalText { limit: None }, "1,a,\"\"\n"
        => Syntax, Some("third"), Some("\"\""), "empty", "null = \"\"";
    empty_json: csv(), ColumnType::Json, "1,a,\"\"\n"
        => Syntax, Some("third"), Some("\"\""), "empty", "null = \"\"";
    empty_label: csv(), ColumnType::Enum { labels: vec!["a".to_owned()] }, "1,a,\"\"\n"
        => UnknownLabel, Some("third"), Some("\"\""), "empty", "null = \"\"";
    empty_date: csv(), DATE, "1,a,\"\"\n"
        => Syntax, Some("third"), Some("\"\""), "empty", "null = \"\"";
    empty_interval: csv(), ColumnType::Interval { fraction_digits: 6, has_infinity: true }, "1,a,\"\"\n"
        => Syntax, Some("third"), Some("\"\""), "empty", "null = \"\"";
    not_a_uuid: csv(), ColumnType::Uuid, "1,a,123\n"
        => Syntax, Some("third"), Some("123"), "32 hex digits";
    not_bytes: csv(), ColumnType::Binary, "1,a,\\x4g\n"
        => Syntax, Some("third"), Some("\\x4g"), "character 4";
    not_an_interval: csv(), ColumnType::Interval { fraction_digits: 6, has_infinity: true }, "1,a,5\n"
        => Syntax, Some("third"), Some("5"), "no unit";
    not_a_boolean: csv(), ColumnType::Bool, "1,a,ja\n"
        => Syntax, Some("third"), Some("ja"), "true or false";
}

#[test]
fn ambiguous_local_time() {
    let mut columns = [column(
        "at",
        0,
        ColumnType::TimestampTz { fraction_digits: 6 },
    )];
    columns[0].zone = Some("Europe/Vienna".to_owned());
    let (batch, rejects) = converted(
        &csv(),
        &columns,
        1,
        b"2024-03-31 02:30:00\n2024-03-31 03:30:00\n",
    );
    assert_eq!(batch.num_rows(), 1);
    assert_eq!(rejects[0].code, RejectCode::AmbiguousLocalTime);
    assert!(
        rejects[0].reason.contains("Europe/Vienna skips"),
        "{}",
        rejects[0].reason
    );
}

#[test]
fn places_and_order() {
    let columns = [
        column("a", 0, ColumnType::Int32),
        column("b", 1, ColumnType::Int32),
    ];
    let input = b"1,2\nx,2\n\"3\n\n\",4\n5\n6,y\n7,8\nz,z\n";
    let (batch, rejects) = converted(&csv(), &columns, 2, input);
    assert_eq!(batch.num_rows(), 3);
    let seen: Vec<_> = rejects
        .iter()
        .map(|reject| {
            (
                reject.location.line,
                reject.location.byte_offset,
                reject.column.as_deref(),
                reject.value.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (12, 1_004, Some("a"), Some("x")),
            (16, 1_016, None, None),
            (17, 1_018, Some("b"), Some("y")),
            (19, 1_026, Some("a"), Some("z")),
        ]
    );
    assert_eq!(
        rejects[0].location.to_string(),
        "data/orders.csv:12 (byte 1004)"
    );
}

#[test]
fn long_values_are_shortened_between_characters() {
    let value = "\u{e4}".repeat(300);
    let columns = [column("a", 0, ColumnType::Int32)];
    let (_, rejects) = converted(&csv(), &columns, 1, format!("x{value}\n").as_bytes());
    let shown = rejects[0].value.as_deref().expect("a value");
    assert!(shown.len() <= VALUE_BYTES_MAX && shown.len() >= VALUE_BYTES_MAX - 3);
    assert!(format!("x{value}").starts_with(shown));
    assert_eq!(rejects[0].raw.len(), 601);
}

#[test]
fn keys_outside_of_their_partition() {
    let columns = [column("k", 0, ColumnType::Int64), column("v", 1, text(5))];
    let bounds = KeyBounds {
        column_index: 0,
        lower: Some(KeyValue::Integer(10)),
        upper: Some(KeyValue::Integer(20)),
        describe: "orders.2, [10, 20)".to_owned(),
    };
    let dialect = csv();
    let (chunk, records) = scanned(&dialect, b"9,a\n10,b\n19,c\n20,d\n,e\nx,f\n");
    let mut converter = Converter::new(&columns, &dialect, 2)
        .expect("a converter")
        .with_key_bounds(bounds);
    let mut rejects = Vec::new();
    let batch = converter.convert(&chunk, &records, 0..6, &mut rejects);
    assert_eq!(batch.num_rows(), 2);
    let codes: Vec<_> = rejects.iter().map(|reject| reject.code).collect();
    assert_eq!(
        codes,
        [
            RejectCode::OutsidePartition,
            RejectCode::OutsidePartition,
            RejectCode::OutsidePartition,
            RejectCode::Syntax
        ]
    );
    assert!(
        rejects[0].reason.contains("orders.2, [10, 20)"),
        "{}",
        rejects[0].reason
    );
    assert!(rejects[2].reason.contains("NULL"), "{}", rejects[2].reason);
}

#[test]
fn keys_of_dates_and_timestamps() {
    let dialect = csv();
    let columns = [
        column("d", 0, ColumnType::Date),
        column("t", 1, ColumnType::Timestamp { fraction_digits: 6 }),
    ];
    let input =
        b"1970-01-01,1970-01-01 00:00:01\n1970-01-02,1970-01-01 00:00:00\n-infinity,infinity\n";
    let (chunk, records) = scanned(&dialect, input);
    let kept = |column_index, lower, upper| {
        let mut converter = Converter::new(&columns, &dialect, 2)
            .expect("a converter")
            .with_key_bounds(KeyBounds {
                column_index,
                lower,
                upper,
                describe: "p".to_owned(),
            });
        converter
            .convert(&chunk, &records, 0..3, &mut Vec::new())
            .num_rows()
    };
    assert_eq!(kept(0, Some(KeyValue::Date(1)), None), 1);
    assert_eq!(kept(0, None, Some(KeyValue::Date(1))), 2);
    assert_eq!(kept(1, None, Some(KeyValue::Timestamp(1))), 1);
    assert_eq!(kept(1, Some(KeyValue::Timestamp(1)), None), 2);
    assert_eq!(kept(1, None, None), 3);
}
