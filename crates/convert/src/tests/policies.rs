//! Tests of columns' policies on whole records: values, counts and rejects.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::column::SpecialType;
use inrush_rows::column_policy::{
    BooleanWords, ColumnChanges, DefaultFor, FieldDefault, NanPolicy, NegativeForm, NumberForm,
    OnTruncate, Rounding, Trim, ValueSource,
};
use inrush_rows::ids::RunId;
use inrush_scan::{Escape, MissingFields};

use super::*;
use crate::{ConvertError, RunStamp};

const STAMP: RunStamp = RunStamp {
    run_id: RunId::new(7),
    started_at_microseconds: 1_700_000_000_123_456,
};

fn with(column_type: ColumnType, change: impl FnOnce(&mut Column)) -> Column {
    let mut column = column("c", 0, column_type);
    change(&mut column);
    column
}

/// The values of the only column, NULL as `NULL`; its rejects as `!code: part of the reason`.
fn values(dialect: &Dialect, column: &Column, input: &str) -> (Vec<String>, ColumnChanges) {
    let (chunk, records) = scanned(dialect, input.as_bytes());
    let field_count = records.field_count(0);
    let mut converter = Converter::new(std::slice::from_ref(column), dialect, field_count)
        .unwrap_or_else(|error| panic!("{error}"))
        .with_run(STAMP);
    let mut rejects = Vec::new();
    let batch = converter.convert(&chunk, &records, 0..records.len(), &mut rejects);
    let array = batch.column(0);
    let mut shown: Vec<String> = (0..array.len()).map(|row| value(array, row)).collect();
    for reject in rejects {
        assert_eq!(reject.column.as_deref(), Some("c"), "{}", reject.reason);
        let value = reject.value.as_deref().unwrap_or("-");
        shown.push(format!("!{:?} {value}: {}", reject.code, reject.reason));
    }
    let (_, changes) = converter.changes().next().expect("one column");
    (shown, changes)
}

fn value(array: &ArrayRef, row: usize) -> String {
    const SHOWN: &str = "a value of its type";
    if array.is_null(row) {
        return "NULL".to_owned();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Date32 => {
            let date = array.as_primitive::<Date32Type>().value_as_date(row);
            format!("{:?}", date.expect(SHOWN))
        }
        DataType::Time64(_) => {
            let time = array
                .as_primitive::<Time64MicrosecondType>()
                .value_as_time(row);
            format!("{:?}", time.expect(SHOWN))
        }
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let array = array.as_primitive::<TimestampMicrosecondType>();
            let time = array.value_as_datetime(row).expect(SHOWN);
            format!("{time:?}{}", zone.as_ref().map_or("", |_| "Z"))
        }
        other => panic!("no test has a column of {other}"),
    }
}

/// Checks the values and the rejects. The expected text of a reject is a part of its shown text.
fn check(dialect: &Dialect, column: &Column, input: &str, expected: &[&str]) -> ColumnChanges {
    let (found, changes) = values(dialect, column, input);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        match expected.strip_prefix('!') {
            None => assert_eq!(found, expected),
            Some(part) => assert!(found.starts_with('!') && found.contains(part), "{found}"),
        }
    }
    changes
}

macro_rules! policies {
    ($($name:ident: $dialect:expr, $type:expr, $change:expr, $input:expr
        => [$($expected:expr),*] $(, $counts:ident = $count:expr)*;)*) => {$(
        #[test]
        fn $name() {
            let column = with($type, $change);
            let changes = check(&$dialect, &column, $input, &[$($expected),*]);
            let expected = ColumnChanges { $($counts: $count,)* ..ColumnChanges::default() };
            assert_eq!(changes, expected);
        }
    )*};
}

const TEXT: ColumnType = ColumnType::Text {
    characters_max: None,
    blank_padded: false,
};
const MONEY: ColumnType = ColumnType::Decimal {
    precision: 9,
    scale: 2,
};
const SECONDS: ColumnType = ColumnType::Timestamp { fraction_digits: 0 };

fn char_of(characters: u32) -> ColumnType {
    ColumnType::Text {
        characters_max: Some(characters),
        blank_padded: true,
    }
}

fn semicolons() -> Dialect {
    Dialect {
        delimiter: b';'.into(),
        ..csv()
    }
}

/// Records may lack fields at their end.
fn short() -> Dialect {
    Dialect {
        missing_fields: MissingFields::Null,
        ..csv()
    }
}

/// Trims all fields, and recognizes NULL also in quotes.
fn trimming() -> Dialect {
    Dialect {
        trim: inrush_scan::DialectTrim::Both,
        nulls: vec!["NA".to_owned()],
        null_quoted: true,
        ..csv()
    }
}

fn backslashes() -> Dialect {
    Dialect {
        delimiter: b';'.into(),
        nulls: vec!["\\N".to_owned()],
        escape: Escape::Byte(b'\\'),
        ..Dialect::tsv()
    }
}

fn nulls(markers: &[&str]) -> Option<Vec<String>> {
    Some(markers.iter().map(|marker| (*marker).to_owned()).collect())
}

fn default_of(text: &str, applies_to: DefaultFor) -> Option<FieldDefault> {
    Some(FieldDefault {
        text: text.to_owned(),
        applies_to,
    })
}

fn german(column: &mut Column) {
    column.policies.numbers = NumberForm {
        decimal_separator: Some(','),
        group_separator: Some('.'),
        negative: NegativeForm::Trailing,
    };
}

fn half_even(column: &mut Column) {
    column.policies.round = Rounding::HalfEven;
}

fn words(column: &mut Column) {
    column.policies.words = Some(BooleanWords {
        true_words: vec!["Y".to_owned(), "ja".to_owned()],
        false_words: vec!["N".to_owned(), "nein".to_owned()],
    });
}

policies! {
    trim_both: csv(), TEXT, |c| c.policies.trim = Some(Trim::Both),
        " a ,1\n\t,1\nb c\t,1\n\" d \",1\n" => ["a", "NULL", "b c", " d "];
    trim_start: csv(), TEXT, |c| c.policies.trim = Some(Trim::Start), " a ,1\n" => ["a "];
    trim_end: csv(), TEXT, |c| c.policies.trim = Some(Trim::End), " a ,1\n" => [" a"];
    trim_quotes: csv(), TEXT, |c| { c.policies.trim = Some(Trim::Both); c.policies.trim_quoted = true; },
        "\" \"\"a \",1\n\"  \",1\n\" \"\"\",1\n" => ["\"a", "", "\""];
    trim_stops_at_escapes: backslashes(), TEXT, |c| c.policies.trim = Some(Trim::Both),
        " a\\  ;1\n \\N ;1\na\\\\  ;1\n" => ["a ", "NULL", "a\\"];
    null_markers: csv(), ColumnType::Int32, |c| c.policies.null = nulls(&["NA", "-"]),
        "NA,1\n-,1\n5,1\n-5,1\n" => ["NULL", "NULL", "5", "-5"];
    null_markers_replace: csv(), TEXT, |c| c.policies.null = nulls(&["NA"]),
        ",1\n\"NA\",1\nNA,1\nna,1\n" => ["", "NA", "NULL", "na"];
    null_never: csv(), TEXT, |c| c.policies.null = nulls(&[]), ",1\n\"\",1\n" => ["", ""];
    null_after_trim: csv(), TEXT, |c| { c.policies.null = nulls(&["NA"]); c.policies.trim = Some(Trim::Both); },
        " NA ,1\n" => ["NULL"];
    null_not_allowed: csv(), TEXT, |c| { c.policies.null = nulls(&["NA"]); c.nullable = false; },
        "NA,1\n" => ["!NullNotAllowed NA: the field means NULL (\"NA\""];
    default_for_null: csv(), ColumnType::Int32, |c| c.policies.default = default_of("12", DefaultFor::Null),
        ",1\n5,1\n" => ["12", "5"], defaulted = 1;
    default_for_null_fits: csv(), ColumnType::Int32,
        |c| { c.policies.default = default_of("12", DefaultFor::Null); c.nullable = false; },
        ",1\n" => ["12"], defaulted = 1;
    default_not_for_null: short(), ColumnType::Int32,
        |c| c.policies.default = default_of("12", DefaultFor::Missing), ",1\n" => ["NULL"];
    default_for_missing: short(), ColumnType::Int32,
        |c| { c.source = ValueSource::Field(1); c.policies.default = default_of("12", DefaultFor::Missing); },
        "1,5\n2\n3,\n" => ["5", "12", "NULL"], defaulted = 1;
    missing_is_null: short(), ColumnType::Int32,
        |c| { c.source = ValueSource::Field(1); c.policies.null = nulls(&["-"]); c.nullable = false; },
        "1,5\n2\n3,-\n" => ["5", "!NullNotAllowed", "!NullNotAllowed"];
    trimmed_by_the_format: trimming(), MONEY, half_even, " NA ,1\n 1.005 ,1\n" => ["NULL", "1.00"],
        rounded = 1;
    quotes_trimmed_as_the_format_says: trimming(), TEXT, |c| c.policies.trim_quoted = true,
        "\" a \",1\n b ,1\n" => ["a", "b"];
    not_trimmed_for_the_column: trimming(), TEXT, |c| c.policies.trim = Some(Trim::None),
        " NA ,1\nNA,1\n" => [" NA ", "NULL"];
    quoted_nulls: trimming(), TEXT, |c| c.policies.null = nulls(&["-"]),
        "\"-\",1\n\"NA\",1\n - ,1\n" => ["NULL", "NA", "NULL"];
    default_empty: csv(), TEXT, |c| c.policies.default = default_of("", DefaultFor::Null),
        ",1\na,1\n" => ["", "a"], defaulted = 1;
    default_written_as_the_file: semicolons(), MONEY,
        |c| { german(c); c.policies.default = default_of("1.234,5", DefaultFor::Null); },
        ";1\n" => ["1234.50"], defaulted = 1;
    numbers: semicolons(), MONEY, german,
        "1.234,5;1\n12;1\n-0,25;1\n1.000,50-;1\n\"2.000\";1\n1.23.456;1\n12.5;1\n1,234;1\n"
        => ["1234.50", "12.00", "-0.25", "-1000.50", "2000.00",
            "!Syntax 1.23.456: not a number in groups", "!Syntax 12.5: not a number in groups",
            "!FractionLost 1,234: the number has 3 digits"];
    numbers_of_integers: semicolons(), ColumnType::Int64, german,
        "1.234;1\n1,5;1\n" => ["1234", "!Syntax 1,5: a whole number has no decimal point"];
    numbers_of_floats: semicolons(), ColumnType::Float64, german, "-1.234,5;1\nNaN;1\n" => ["-1234.5", "NaN"];
    numbers_of_any_length: semicolons(), ColumnType::DecimalText { limit: None }, german,
        "1.234,50;1\n" => ["1234.50"];
    nan_null: csv(), MONEY, |c| c.policies.nan = NanPolicy::Null,
        "NaN,1\nnan,1\n1.5,1\nInfinity,1\n" => ["NULL", "NULL", "1.50", "!OutOfRange Infinity: a decimal here cannot hold NaN"],
        nulled = 2;
    nan_kept: csv(), MONEY, |_| (), "NaN,1\n" => ["!OutOfRange NaN: a decimal here cannot hold NaN or infinities"];
    round_numeric: csv(), MONEY, half_even,
        "1.005,1\n1.015,1\n1.0,1\n9999999.999,1\n" => ["1.00", "1.02", "1.00", "!OutOfRange 9999999.999: the number has 8 digits"],
        rounded = 2;
    round_keeps_no_codes: csv(), MONEY, |c| { half_even(c); c.policies.lossless = true; },
        "1.005,1\n+1.005,1\n007.005,1\n-00.005,1\n"
        => ["1.00", "!FormLost +1.005: it begins with a plus", "!FormLost 007.005: it begins with a zero", "!FormLost -00.005"],
        rounded = 1;
    round_integers: csv(), ColumnType::Int32, half_even,
        "12.00,1\n12.5,1\n13.5,1\n7,1\n1e2,1\n" => ["12", "12", "14", "7", "!Syntax 1e2: a whole number"],
        rounded = 2;
    round_long_numeric: csv(), ColumnType::DecimalText { limit: Some((50, 1)) }, half_even,
        "123456789012345678901234567890123456789012.25,1\n"
        => ["123456789012345678901234567890123456789012.2"], rounded = 1;
    round_thousands: csv(), ColumnType::DecimalText { limit: Some((3, -2)) }, half_even,
        "1250,1\n1251,1\n" => ["1200", "1300"], rounded = 2;
    round_seconds: csv(), SECONDS, half_even,
        "2024-01-01 23:59:59.5,1\n2024-01-01 00:00:00.5,1\n2024-01-01 00:00:00.0,1\n"
        => ["2024-01-02T00:00:00", "2024-01-01T00:00:00", "2024-01-01T00:00:00"], rounded = 2;
    round_seconds_of_a_format: csv(), SECONDS,
        |c| { half_even(c); c.formats = vec!["%d.%m.%Y %H:%M:%S%.f".to_owned()]; },
        "31.12.2024 23:59:59.51,1\n" => ["2025-01-01T00:00:00"], rounded = 1;
    round_times: csv(), ColumnType::Time { fraction_digits: 3 }, |c| c.policies.round = Rounding::HalfUp,
        "12:00:00.1234,1\n12:00:00.1235,1\n" => ["12:00:00.123", "12:00:00.124"], rounded = 2;
    round_nothing: csv(), MONEY, |_| (), "1.005,1\n" => ["!FractionLost 1.005: the number has 3 digits"];
    truncate: csv(), text(3), |c| c.policies.on_truncate = OnTruncate::Truncate,
        "abcd,1\nabc,1\näöüß,1\n\"a\"\"bc\",1\n" => ["abc", "abc", "äöü", "a\"b"], truncated = 3;
    truncate_char: csv(), char_of(3), |c| c.policies.on_truncate = OnTruncate::Truncate,
        "abcd,1\nabc  ,1\n" => ["abc", "abc"], truncated = 1;
    truncate_nothing: csv(), text(3), |_| (), "abcd,1\n" => ["!TooLong abcd: 4 characters"];
    boolean_words: csv(), ColumnType::Bool, words,
        "y,1\nNein,1\n,1\ntrue,1\n" => ["true", "false", "NULL", "!Syntax true: not one of the column's words"];
    formats_in_order: csv(), ColumnType::Date,
        |c| c.formats = vec!["%d.%m.%Y".to_owned(), "%d %b %Y".to_owned()],
        "29.02.2024,1\n29 feb 2024,1\n2024-02-29,1\n"
        => ["2024-02-29", "2024-02-29", "!Syntax 2024-02-29: does not match any"];
    source_file: csv(), TEXT, |c| c.source = ValueSource::File, "a,1\nb,1\n"
        => ["data/orders.csv", "data/orders.csv"];
    source_file_too_long: csv(), text(4), |c| c.source = ValueSource::File, "a,1\n"
        => ["!TooLong -: 15 characters"];
    source_line: csv(), ColumnType::Int32, |c| c.source = ValueSource::Line, "\"a\nb\",1\nc,1\n\nd,1\n"
        => ["11", "13", "15"];
    source_byte_offset: csv(), ColumnType::Int64, |c| c.source = ValueSource::ByteOffset, "a,1\nb,1\n"
        => ["1000", "1004"];
    source_run: csv(), ColumnType::Int64, |c| c.source = ValueSource::Run, "a,1\n" => ["7"];
    source_load_time: csv(), ColumnType::TimestampTz { fraction_digits: 3 },
        |c| c.source = ValueSource::LoadTime, "a,1\n" => ["2023-11-14T22:13:20.123Z"];
    source_constant: csv(), ColumnType::Date,
        |c| { c.source = ValueSource::Constant("31.12.2024".to_owned()); c.formats = vec!["%d.%m.%Y".to_owned()]; },
        "a,1\nb,1\n" => ["2024-12-31", "2024-12-31"];
    source_constant_of_text: csv(), TEXT, |c| c.source = ValueSource::Constant(String::new()), "a,1\n" => [""];
    source_constant_number: csv(), MONEY,
        |c| { german(c); c.source = ValueSource::Constant("1.234,5".to_owned()); }, "a,1\n" => ["1234.50"];
}

/// Rows that are converted a second time without the bad ones count once.
#[test]
fn changes_are_counted_once() {
    let columns = [
        with(MONEY, half_even),
        column("other", 1, ColumnType::Int32),
    ];
    let (chunk, records) = scanned(&csv(), b"1.005,1\n2.005,x\n3.005,3\n");
    let mut converter = Converter::new(&columns, &csv(), 2).expect("columns");
    let mut rejects = Vec::new();
    for _ in 0..2 {
        converter.convert(&chunk, &records, 0..records.len(), &mut rejects);
    }
    assert_eq!(rejects.len(), 2);
    let changes: Vec<(&str, u64)> = converter
        .changes()
        .map(|(name, changes)| (name, changes.total()))
        .collect();
    assert_eq!(changes, [("c", 4), ("other", 0)]);
}

/// A line number outside the range of the column's type is a reject, which shows no field.
#[test]
fn lines_past_an_integer() {
    let (mut chunk, records) = scanned(&csv(), b"a,1\n");
    chunk.line_offset = 1 << 40;
    let line = |column_type| with(column_type, |column| column.source = ValueSource::Line);
    let mut rejects = Vec::new();
    let mut converter = Converter::new(&[line(ColumnType::Int32)], &csv(), 2).expect("a column");
    converter.convert(&chunk, &records, 0..1, &mut rejects);
    assert!(
        rejects[0].reason.contains("1099511627777"),
        "{}",
        rejects[0].reason
    );
    assert_eq!(rejects[0].value, None);
    let mut converter = Converter::new(&[line(ColumnType::Int64)], &csv(), 2).expect("a column");
    let batch = converter.convert(&chunk, &records, 0..1, &mut rejects);
    assert_eq!(
        batch.column(0).as_primitive::<Int64Type>().value(0),
        (1 << 40) + 1
    );
}

#[test]
#[should_panic(expected = "was given the run")]
fn a_run_that_was_not_told() {
    let column = with(ColumnType::Int64, |column| column.source = ValueSource::Run);
    let _ = converted(&csv(), &[column], 2, b"a,1\n");
}

#[test]
fn times_of_the_run_are_one_value() {
    let time = with(ColumnType::TimestampTz { fraction_digits: 6 }, |column| {
        column.source = ValueSource::LoadTime;
    });
    let (chunk, records) = scanned(&csv(), b"a,1\nb,2\n");
    let mut converter = Converter::new(&[time], &csv(), 2)
        .expect("a column")
        .with_run(STAMP);
    let batch = converter.convert(&chunk, &records, 0..2, &mut Vec::new());
    let times = batch.column(0).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(times.values().as_ref(), [STAMP.started_at_microseconds; 2]);
}

fn refusal(column_type: ColumnType, change: impl FnOnce(&mut Column)) -> String {
    let column = with(column_type, change);
    match Converter::new(&[column], &csv(), 1) {
        Err(error) => {
            assert!(!matches!(error, ConvertError::FieldMissing { .. }));
            error.to_string()
        }
        Ok(_) => panic!("the column is refused"),
    }
}

macro_rules! refused {
    ($($name:ident: $type:expr, $change:expr => $($part:expr),+;)*) => {$(
        #[test]
        fn $name() {
            let reason = refusal($type, $change);
            assert!(reason.contains("\"c\""), "{reason}");
            $(assert!(reason.contains($part), "{reason}");)+
        }
    )*};
}

refused! {
    default_for_nothing: ColumnType::Int32,
        |c| c.policies.default = default_of("1", DefaultFor::Missing) => "missing_fields = \"null\"";
    default_that_does_not_fit: ColumnType::Int32,
        |c| c.policies.default = default_of("x", DefaultFor::Null)
        => "default \"x\" does not fit", "not a whole number";
    default_out_of_range: ColumnType::Int16,
        |c| c.policies.default = default_of("70000", DefaultFor::Null) => "outside the range of smallint";
    default_too_long: text(2), |c| c.policies.default = default_of("abc", DefaultFor::Null)
        => "3 characters";
    default_in_another_form: MONEY,
        |c| { german(c); c.policies.default = default_of("1.5", DefaultFor::Null); } => "groups of three";
    default_not_to_be_rounded_away: MONEY,
        |c| c.policies.default = default_of("1.005", DefaultFor::Null) => "3 digits";
    constant_that_does_not_fit: ColumnType::Date, |c| c.source = ValueSource::Constant("x".to_owned())
        => "value \"x\" does not fit", "not a date";
    file_in_a_number: ColumnType::Int32, |c| c.source = ValueSource::File => "source = \"file\"", "text";
    line_in_a_smallint: ColumnType::Int16, |c| c.source = ValueSource::Line => "bigint";
    line_in_a_text: TEXT, |c| c.source = ValueSource::Line => "bigint";
    time_in_a_date: ColumnType::Date, |c| c.source = ValueSource::LoadTime => "timestamptz";
    run_in_an_integer: ColumnType::Int32, |c| c.source = ValueSource::Run => "bigint";
    source_and_policy: ColumnType::Int64,
        |c| { c.source = ValueSource::Line; c.policies.trim = Some(Trim::Both); } => "not a field";
    separators_of_a_text: TEXT, german => "decimal_separator", "only numbers";
    separators_alike: MONEY, |c| c.policies.numbers.group_separator = Some('.') => "group_separator";
    separator_digit: MONEY, |c| c.policies.numbers.decimal_separator = Some('5') => "decimal_separator";
    trim_of_an_array: ColumnType::Special(SpecialType::Array { element: Box::new(TEXT) }),
        |c| c.policies.trim = Some(Trim::End) => "trim", "read without the blanks around them";
    nan_of_a_text: TEXT, |c| c.policies.nan = NanPolicy::Null => "nan", "only numbers";
    words_of_a_number: ColumnType::Int32, words => "true_words", "only booleans";
    truncate_a_number: ColumnType::Int32, |c| c.policies.on_truncate = OnTruncate::Truncate => "varchar(10)";
    truncate_without_length: TEXT, |c| c.policies.on_truncate = OnTruncate::Truncate => "varchar(10)";
    round_a_date: ColumnType::Date, half_even => "round", "dates";
    round_a_float: ColumnType::Float64, half_even => "round", "floats";
    round_any_numeric: ColumnType::DecimalText { limit: None }, half_even => "round";
    round_an_interval: ColumnType::Interval { fraction_digits: 6, has_infinity: true }, half_even => "intervals";
    marker_with_delimiter: TEXT, |c| c.policies.null = nulls(&["N,A"]) => "null", "a delimiter";
    marker_with_quote: TEXT, |c| c.policies.null = nulls(&["\"NA\""]) => "null", "quote";
    marker_trimmed_away: TEXT,
        |c| { c.policies.null = nulls(&["NA "]); c.policies.trim = Some(Trim::Both); } => "null", "trim";
    formats_ambiguous: ColumnType::Date,
        |c| c.formats = vec!["%d/%m/%Y".to_owned(), "%m/%d/%Y".to_owned()] => "a row would have two meanings";
    pivot_without_format: ColumnType::Date, |c| c.policies.year_pivot = Some(1970) => "year_pivot";
}
