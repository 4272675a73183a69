//! Types of columns, by the names that a catalog has.

use inrush_destination::{Error, ResolvedType, Result};
use inrush_rows::column_type::ColumnType;
use inrush_rows::type_name::TypeName;

/// The type of this name, if JSON can express its values; single values that it cannot express are misfits.
pub fn resolve(type_name: &str) -> Result<ResolvedType> {
    let column_type = TypeName::parse(type_name).and_then(|name| name.column_type());
    match column_type.and_then(|column_type| Some((name_of(&column_type)?, column_type))) {
        Some((sql, column_type)) => Ok(ResolvedType { sql, column_type }),
        None => Err(Error::Unsuitable {
            what: format!("the type {type_name} has no counterpart in a folder of JSON files"),
            hint: "use boolean, smallint, integer, bigint, double precision, numeric, text, varchar(n), date, timestamp \
                   or timestamptz"
                .to_owned(),
        }),
    }
}

/// The name in the catalog; `None` for a type that this destination does not take.
fn name_of(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "boolean".to_owned(),
        ColumnType::Int16 => "smallint".to_owned(),
        ColumnType::Int32 => "integer".to_owned(),
        ColumnType::Int64 => "bigint".to_owned(),
        ColumnType::Float64 => "double precision".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision}, {scale})"),
        ColumnType::DecimalText { limit: None } => "numeric".to_owned(),
        ColumnType::DecimalText {
            limit: Some((precision, scale)),
        } => format!("numeric({precision}, {scale})"),
        ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        } => "text".to_owned(),
        ColumnType::Text {
            characters_max: Some(characters),
            blank_padded: false,
        } => format!("varchar({characters})"),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Timestamp { fraction_digits } => format!("timestamp({fraction_digits})"),
        ColumnType::TimestampTz { fraction_digits } => format!("timestamptz({fraction_digits})"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_the_catalog_means_the_same_type() {
        for name in [
            "bool",
            "int2",
            "integer",
            "bigint",
            "float8",
            "numeric(15, 2)",
            "numeric(100,2)",
            "numeric",
            "text",
            "varchar(3)",
            "date",
            "timestamp",
            "timestamptz(3)",
        ] {
            let first = resolve(name).expect(name);
            assert_eq!(resolve(&first.sql).expect(name), first, "{name}");
        }
    }

    #[test]
    fn a_type_without_a_counterpart_is_refused_by_name() {
        for name in ["interval", "char(3)", "bytea", "point", "numeric(0)"] {
            let refused = resolve(name).expect_err(name).to_string();
            assert!(refused.contains(name), "{refused}");
        }
    }
}
