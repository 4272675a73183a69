//! The columns to which the texts are converted.

use inrush_kernels::types::{LABELS, NAMES};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::ColumnPolicies;

/// Lineitem's columns, not nullable.
pub fn lineitem() -> Vec<Column> {
    let money = ColumnType::Decimal {
        precision: 15,
        scale: 2,
    };
    let text = |characters, blank_padded| ColumnType::Text {
        characters_max: Some(characters),
        blank_padded,
    };
    let types = [
        ("l_orderkey", ColumnType::Int64),
        ("l_partkey", ColumnType::Int32),
        ("l_suppkey", ColumnType::Int32),
        ("l_linenumber", ColumnType::Int32),
        ("l_quantity", money.clone()),
        ("l_extendedprice", money.clone()),
        ("l_discount", money.clone()),
        ("l_tax", money),
        ("l_returnflag", text(1, true)),
        ("l_linestatus", text(1, true)),
        ("l_shipdate", ColumnType::Date),
        ("l_commitdate", ColumnType::Date),
        ("l_receiptdate", ColumnType::Date),
        ("l_shipinstruct", text(25, true)),
        ("l_shipmode", text(10, true)),
        ("l_comment", text(44, false)),
    ];
    types
        .into_iter()
        .enumerate()
        .map(|(index, (name, column_type))| Column {
            nullable: false,
            ..Column::new(name, column_type, index)
        })
        .collect()
}

/// The same columns, all nullable.
pub fn nullable(columns: &[Column]) -> Vec<Column> {
    columns
        .iter()
        .map(|column| Column {
            nullable: true,
            ..column.clone()
        })
        .collect()
}

/// A column of each other type, not nullable.
pub fn other_types() -> Vec<Column> {
    let text = |characters_max| ColumnType::Text {
        characters_max,
        blank_padded: false,
    };
    NAMES
        .into_iter()
        .enumerate()
        .map(|(index, name)| {
            let column_type = match name {
                "boolean" => ColumnType::Bool,
                "smallint" => ColumnType::Int16,
                "real" => ColumnType::Float32,
                "double precision" => ColumnType::Float64,
                "numeric" => ColumnType::DecimalText { limit: None },
                "time" => ColumnType::Time { fraction_digits: 6 },
                "timestamp" => ColumnType::Timestamp { fraction_digits: 6 },
                "timestamptz" => ColumnType::TimestampTz { fraction_digits: 6 },
                "interval" => ColumnType::Interval {
                    fraction_digits: 6,
                    has_infinity: true,
                },
                "uuid" => ColumnType::Uuid,
                "bytea" => ColumnType::Binary,
                "json" => ColumnType::Json,
                "enum" => ColumnType::Enum {
                    labels: LABELS.map(str::to_owned).to_vec(),
                },
                "varchar" => text(Some(60)),
                "text" => text(None),
                "opaque" => ColumnType::Opaque,
                _ => unreachable!("every field has a type"),
            };
            // Numbers of 15 to 17 digits, most of which are not exactly a double.
            Column {
                nullable: false,
                policies: ColumnPolicies {
                    nearest_floats: true,
                    ..ColumnPolicies::default()
                },
                ..Column::new(name, column_type, index)
            }
        })
        .collect()
}
