//! Checks that descriptions and keys are still those that the present version had at first.
//!
//! If a test fails here, every stopped run of such a package would be loaded again from the beginning after an upgrade.
//! If that is not intended, restore the description.

use std::path::Path;

use inrush_package::Package;
use inrush_rows::column::{Column, ColumnType, IntervalFields, SpecialType};
use inrush_rows::column_policy::{
    BooleanWords, DefaultFor, FieldDefault, NanPolicy, NegativeForm, OnTruncate, Rounding, Trim,
    ValueSource,
};
use inrush_scan::Dialect;
use serde_json::Value;

use super::description;
use super::golden::assert_golden;

#[test]
fn formats() {
    let formats = [
        ("tbl", "{ preset = 'tbl' }"),
        ("csv", "{ preset = 'csv' }"),
        ("tsv", "{ preset = 'tsv' }"),
        (
            "csv_with_all",
            "{ preset = 'csv', delimiter = '||', quote = \"'\", escape = '\\', terminator = 'cr', \
             comment = '#', skip_lines = 3, header = false, null = ['', 'NA'], null_quoted = true, \
             trim = 'both', missing_fields = 'null', extra_fields = 'ignore', \
             record_bytes_max = 4096 }",
        ),
        (
            "fixed",
            "{ fixed = [[1, 10], [11, 2]], fixed_unit = 'characters', record_length = 20 }",
        ),
    ];
    let described = formats.map(|(name, format)| {
        let format = description::dialect(&dialect(format));
        (name, format.into_text())
    });
    assert_golden(include_str!("golden/formats.txt"), &described);
}

#[test]
fn columns() {
    let described = [
        ("plain", vec![Column::new("id", ColumnType::Int64, 2)]),
        ("with_all_policies", vec![with_all_policies()]),
        ("of_every_source", of_every_source()),
        ("of_every_type", of_every_type()),
    ];
    let described = described.map(|(name, columns)| {
        let columns = description::columns(&columns);
        (name, Value::from(columns).to_string())
    });
    assert_golden(include_str!("golden/columns.txt"), &described);
}

fn dialect(format: &str) -> Dialect {
    let text = format!(
        "name = 'a'\n[connections.c]\nurl = 'postgresql://h/d'\n[[flow]]\nfiles = 'f'\n\
         table = 't'\nformat = {format}\n"
    );
    let package = Package::parse(&text, Path::new("p.toml")).expect("it is right");
    let format = &package.flows[0].format;
    format.dialect("p.toml").expect("it is right")
}

fn with_all_policies() -> Column {
    let mut column = Column::new("amount", ColumnType::Float64, 0);
    column.nullable = false;
    column.formats = vec!["%d.%m.%Y".to_owned()];
    column.zone = Some("Europe/Berlin".to_owned());
    let policies = &mut column.policies;
    policies.trim = Some(Trim::Both);
    policies.trim_quoted = true;
    policies.null = Some(vec!["-".to_owned()]);
    policies.default = Some(FieldDefault {
        text: "0".to_owned(),
        applies_to: DefaultFor::Null,
    });
    policies.numbers.decimal_separator = Some(',');
    policies.numbers.group_separator = Some('.');
    policies.numbers.negative = NegativeForm::Parentheses;
    policies.nan = NanPolicy::Null;
    policies.words = Some(BooleanWords {
        true_words: vec!["ja".to_owned()],
        false_words: vec!["nein".to_owned()],
    });
    policies.year_pivot = Some(1970);
    policies.on_truncate = OnTruncate::Truncate;
    policies.round = Rounding::HalfEven;
    policies.lossless = true;
    policies.nearest_floats = true;
    policies.exact = true;
    column
}

fn of_every_source() -> Vec<Column> {
    let sources = [
        ValueSource::File,
        ValueSource::Line,
        ValueSource::ByteOffset,
        ValueSource::LoadTime,
        ValueSource::Run,
        ValueSource::Constant("x".to_owned()),
    ];
    let column = |source: ValueSource| {
        let mut column = Column::new("c", ColumnType::Date, 0);
        column.source = source;
        column
    };
    sources.into_iter().map(column).collect()
}

fn of_every_type() -> Vec<Column> {
    let types = vec![
        ColumnType::Bool,
        ColumnType::Int16,
        ColumnType::Int32,
        ColumnType::Float32,
        ColumnType::Decimal {
            precision: 15,
            scale: 2,
        },
        ColumnType::DecimalText { limit: None },
        ColumnType::DecimalText {
            limit: Some((500, -3)),
        },
        ColumnType::Text {
            characters_max: Some(25),
            blank_padded: true,
        },
        ColumnType::Time { fraction_digits: 0 },
        ColumnType::Timestamp { fraction_digits: 6 },
        ColumnType::TimestampTz { fraction_digits: 3 },
        ColumnType::Interval {
            fraction_digits: 6,
            has_infinity: true,
        },
        ColumnType::Uuid,
        ColumnType::Binary,
        ColumnType::Json,
        ColumnType::Enum {
            labels: vec!["a".to_owned(), "b".to_owned()],
        },
        ColumnType::Opaque,
        ColumnType::Special(SpecialType::Name),
        ColumnType::Special(SpecialType::Byte { has_octal: true }),
        ColumnType::Special(SpecialType::Money { scale: 2 }),
        ColumnType::Special(SpecialType::TimeTz { fraction_digits: 3 }),
        ColumnType::Special(SpecialType::IntervalOf {
            fields: IntervalFields::YearToMonth,
            fraction_digits: 6,
            has_infinity: true,
        }),
        ColumnType::Special(SpecialType::Array {
            element: Box::new(ColumnType::Int32),
        }),
    ];
    let column = |(index, column_type)| Column::new("c", column_type, index);
    types.into_iter().enumerate().map(column).collect()
}
