//! Type names in the syntax of a database, and their meaning.

use inrush_destination::{Error, ResolvedType, Result};
use inrush_rows::column_type::ColumnType;
use inrush_rows::special_type::SpecialType;
use inrush_rows::type_name::TypeName;

use crate::carry::carried;
use crate::quirks::Vendor;

/// The number of digits that SQLite keeps when it converts a number.
const SQLITE_DIGITS_KEPT: u8 = 15;

/// The type that a name in a package means.
pub fn resolve(vendor: Vendor, product: &str, type_name: &str) -> Result<ResolvedType> {
    let Some(column_type) = named(vendor, type_name) else {
        return Err(Error::Unsuitable {
            what: format!("{type_name:?} is not a type for a new table of {product}"),
            hint: "write one of boolean, smallint, integer, bigint, real, double precision, \
                   numeric(p,s), text, varchar(n), char(n), date, time, timestamp, timestamptz, \
                   interval, uuid, bytea or json; for other types, create the table first"
                .to_owned(),
        });
    };
    let sql = match carried(vendor, &column_type) {
        Some(_) => sql_of(vendor, &column_type),
        None => None,
    };
    match sql {
        Some(sql) => Ok(ResolvedType { sql, column_type }),
        None => Err(no_way(vendor, product, type_name, &column_type)),
    }
}

/// The type of a name that every database understands. Only PostgreSQL has `jsonb`; elsewhere it means JSON as it is
/// written.
fn named(vendor: Vendor, type_name: &str) -> Option<ColumnType> {
    let name = TypeName::parse(type_name)?;
    let column_type = name.column_type()?;
    Some(match vendor {
        Vendor::Postgres if name.base == "jsonb" => ColumnType::Special(SpecialType::Jsonb),
        Vendor::DuckDb | Vendor::Other => within_precision(column_type),
        _ => column_type,
    })
}

/// A decimal that holds all values of PostgreSQL's `numeric(3,5)` and `numeric(3,-2)`: other databases know only scales from
/// zero to the precision.
fn within_precision(column_type: ColumnType) -> ColumnType {
    match column_type {
        ColumnType::DecimalText {
            limit: Some((precision, scale @ ..0)),
        } => ColumnType::numeric(precision.saturating_add(scale.unsigned_abs()), 0),
        ColumnType::DecimalText {
            limit: Some((precision, scale)),
        } if i32::from(scale) > i32::from(precision) => {
            ColumnType::numeric(scale.unsigned_abs(), scale)
        }
        other => other,
    }
}

fn no_way(vendor: Vendor, product: &str, type_name: &str, column_type: &ColumnType) -> Error {
    let (why, hint) = match (vendor, column_type) {
        (Vendor::DuckDb, ColumnType::DecimalText { limit: None }) => (
            "would be DECIMAL(18,3) in DuckDB, which rounds",
            "write how many digits there are, as in numeric(38,10)",
        ),
        (_, ColumnType::DecimalText { .. }) => (
            "has too many digits: at most 38, of which all may be after the point",
            "write numeric(38,s), or text to keep all digits",
        ),
        _ => (
            "is not known to work with this driver",
            "write text, which every database has",
        ),
    };
    Error::Unsuitable {
        what: format!("the type {type_name} {why} ({product})"),
        hint: hint.to_owned(),
    }
}

/// A type in the database's syntax.
pub fn sql_of(vendor: Vendor, column_type: &ColumnType) -> Option<String> {
    match vendor {
        Vendor::DuckDb => duckdb(column_type),
        Vendor::Sqlite => sqlite(column_type),
        Vendor::Postgres => postgres(column_type),
        Vendor::Other => other(column_type),
    }
}

/// DuckDB's types limit neither the length of a text nor the digits of a second, so the converter checks both.
/// `TIMESTAMP(3)` would be another type there.
fn duckdb(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "BOOLEAN".to_owned(),
        ColumnType::Int16 => "SMALLINT".to_owned(),
        ColumnType::Int32 => "INTEGER".to_owned(),
        ColumnType::Int64 => "BIGINT".to_owned(),
        ColumnType::Float32 => "FLOAT".to_owned(),
        ColumnType::Float64 => "DOUBLE".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        ColumnType::Text { .. } => "VARCHAR".to_owned(),
        ColumnType::Date => "DATE".to_owned(),
        ColumnType::Time { .. } => "TIME".to_owned(),
        ColumnType::Timestamp { .. } => "TIMESTAMP".to_owned(),
        ColumnType::TimestampTz { .. } => "TIMESTAMP WITH TIME ZONE".to_owned(),
        ColumnType::Interval { .. } => "INTERVAL".to_owned(),
        ColumnType::Uuid => "UUID".to_owned(),
        ColumnType::Binary => "BLOB".to_owned(),
        ColumnType::Json => "JSON".to_owned(),
        ColumnType::DecimalText { .. }
        | ColumnType::Enum { .. }
        | ColumnType::Opaque
        | ColumnType::Special(_) => return None,
    })
}

/// SQLite decides by words in a type's name how values are converted: a type with `TEXT` or `CHAR` keeps text as it is.
/// Other columns convert text that looks like a number. Dates and UUIDs never look like one, so they get their usual
/// type names; decimals and JSON may, so they get a name with TEXT.
fn sqlite(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "BOOLEAN".to_owned(),
        ColumnType::Int16 => "SMALLINT".to_owned(),
        ColumnType::Int32 | ColumnType::Int64 => "INTEGER".to_owned(),
        ColumnType::Float32 | ColumnType::Float64 => "REAL".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("DECIMAL_TEXT({precision},{scale})"),
        ColumnType::DecimalText {
            limit: Some((precision, scale)),
        } => format!("DECIMAL_TEXT({precision},{scale})"),
        ColumnType::DecimalText { limit: None } => "DECIMAL_TEXT".to_owned(),
        ColumnType::Text {
            characters_max: Some(count),
            blank_padded,
        } => match blank_padded {
            true => format!("CHAR({count})"),
            false => format!("VARCHAR({count})"),
        },
        ColumnType::Text { .. } => "TEXT".to_owned(),
        ColumnType::Date => "DATE".to_owned(),
        ColumnType::Time { .. } => "TIME".to_owned(),
        ColumnType::Timestamp { .. } => "TIMESTAMP".to_owned(),
        ColumnType::TimestampTz { .. } => "TIMESTAMPTZ".to_owned(),
        ColumnType::Interval { .. } => "INTERVAL".to_owned(),
        ColumnType::Uuid => "UUID".to_owned(),
        ColumnType::Binary => "BLOB".to_owned(),
        ColumnType::Json => "JSON_TEXT".to_owned(),
        ColumnType::Enum { .. } | ColumnType::Opaque | ColumnType::Special(_) => return None,
    })
}

fn postgres(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "boolean".to_owned(),
        ColumnType::Int16 => "smallint".to_owned(),
        ColumnType::Int32 => "integer".to_owned(),
        ColumnType::Int64 => "bigint".to_owned(),
        ColumnType::Float32 => "real".to_owned(),
        ColumnType::Float64 => "double precision".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("numeric({precision},{scale})"),
        ColumnType::DecimalText {
            limit: Some((precision, scale)),
        } => format!("numeric({precision},{scale})"),
        ColumnType::DecimalText { limit: None } => "numeric".to_owned(),
        ColumnType::Text {
            characters_max: Some(count),
            blank_padded,
        } => match blank_padded {
            true => format!("character({count})"),
            false => format!("character varying({count})"),
        },
        ColumnType::Text { .. } => "text".to_owned(),
        ColumnType::Date => "date".to_owned(),
        ColumnType::Time { fraction_digits } => format!("time({fraction_digits})"),
        ColumnType::Timestamp { fraction_digits } => format!("timestamp({fraction_digits})"),
        ColumnType::TimestampTz { fraction_digits } => {
            format!("timestamp({fraction_digits}) with time zone")
        }
        ColumnType::Interval {
            fraction_digits, ..
        } => format!("interval({fraction_digits})"),
        ColumnType::Uuid => "uuid".to_owned(),
        ColumnType::Binary => "bytea".to_owned(),
        ColumnType::Json => "json".to_owned(),
        ColumnType::Special(SpecialType::Jsonb) => "jsonb".to_owned(),
        ColumnType::Enum { .. } | ColumnType::Opaque | ColumnType::Special(_) => return None,
    })
}

fn other(column_type: &ColumnType) -> Option<String> {
    Some(match column_type {
        ColumnType::Bool => "BOOLEAN".to_owned(),
        ColumnType::Int16 => "SMALLINT".to_owned(),
        ColumnType::Int32 => "INTEGER".to_owned(),
        ColumnType::Int64 => "BIGINT".to_owned(),
        ColumnType::Float32 => "REAL".to_owned(),
        ColumnType::Float64 => "DOUBLE PRECISION".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("DECIMAL({precision},{scale})"),
        ColumnType::Text {
            characters_max: Some(count),
            blank_padded,
        } => match blank_padded {
            true => format!("CHAR({count})"),
            false => format!("VARCHAR({count})"),
        },
        ColumnType::Text { .. } => "TEXT".to_owned(),
        ColumnType::Date => "DATE".to_owned(),
        ColumnType::Time { .. } => "TIME".to_owned(),
        ColumnType::Timestamp { .. } => "TIMESTAMP".to_owned(),
        ColumnType::TimestampTz { .. } => "TIMESTAMP WITH TIME ZONE".to_owned(),
        _ => return None,
    })
}

/// The values that fit a column of an existing table; `None` if it cannot be loaded.
pub fn of_column(vendor: Vendor, sql: &str) -> Option<ColumnType> {
    let column_type = match vendor {
        Vendor::DuckDb => of_duckdb(sql),
        Vendor::Sqlite => of_sqlite(sql),
        Vendor::Postgres | Vendor::Other => named(vendor, sql),
    }?;
    carried(vendor, &column_type).map(|_| column_type)
}

fn of_duckdb(sql: &str) -> Option<ColumnType> {
    match sql {
        // In DuckDB this word means 32 bits, in the SQL standard 64 bits.
        "FLOAT" => Some(ColumnType::Float32),
        "DOUBLE" => Some(ColumnType::Float64),
        _ if sql.starts_with("ENUM(") => labels(sql).map(|labels| ColumnType::Enum { labels }),
        _ => TypeName::parse(sql)?.column_type(),
    }
}

/// The labels of `ENUM('a', 'b''c')`.
fn labels(sql: &str) -> Option<Vec<String>> {
    let mut rest = sql.strip_prefix("ENUM(")?.strip_suffix(')')?;
    let mut labels = Vec::new();
    loop {
        rest = rest.strip_prefix('\'')?;
        let mut label = String::new();
        loop {
            let quote = rest.find('\'')?;
            label.push_str(&rest[..quote]);
            rest = &rest[quote + 1..];
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    label.push('\'');
                    rest = behind;
                }
                None => break,
            }
        }
        labels.push(label);
        match rest.strip_prefix(", ").or_else(|| rest.strip_prefix(',')) {
            Some(behind) => rest = behind,
            None => return rest.is_empty().then_some(labels),
        }
    }
}

/// How SQLite converts values of a column, by the words in its type's name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Affinity {
    Integer,
    Text,
    Blob,
    Real,
    Numeric,
}

/// "Determination Of Column Affinity" of SQLite's manual, section 3.1.
fn affinity(upper: &str) -> Affinity {
    let has = |words: &[&str]| words.iter().any(|word| upper.contains(word));
    match () {
        () if has(&["INT"]) => Affinity::Integer,
        () if has(&["CHAR", "CLOB", "TEXT"]) => Affinity::Text,
        () if has(&["BLOB"]) || upper.is_empty() => Affinity::Blob,
        () if has(&["REAL", "FLOA", "DOUB"]) => Affinity::Real,
        () => Affinity::Numeric,
    }
}

fn of_sqlite(sql: &str) -> Option<ColumnType> {
    let upper = sql.trim().to_uppercase();
    let affinity = affinity(&upper);
    // A type name that this file writes is read back as the same type.
    let known = upper
        .replace("DECIMAL_TEXT", "DECIMAL")
        .replace("JSON_TEXT", "JSON");
    let column_type = TypeName::parse(&known).and_then(|name| name.column_type());
    match (column_type, affinity) {
        (Some(ColumnType::Int16), _) => Some(ColumnType::Int16),
        (Some(ColumnType::Int32 | ColumnType::Int64), _) => Some(ColumnType::Int64),
        (Some(ColumnType::Float32 | ColumnType::Float64), _) => Some(ColumnType::Float64),
        (Some(text @ ColumnType::Text { .. }), Affinity::Text) => Some(text),
        (Some(decimal @ ColumnType::DecimalText { .. }), Affinity::Text) => Some(decimal),
        (Some(decimal @ ColumnType::Decimal { .. }), Affinity::Text) => Some(decimal),
        // Here a decimal becomes a SQLite number, which keeps this many digits.
        (Some(decimal @ ColumnType::Decimal { precision, .. }), _) => {
            (precision <= SQLITE_DIGITS_KEPT).then_some(decimal)
        }
        (Some(json @ ColumnType::Json), Affinity::Text) => Some(json),
        (
            Some(
                same @ (ColumnType::Bool
                | ColumnType::Date
                | ColumnType::Time { .. }
                | ColumnType::Timestamp { .. }
                | ColumnType::TimestampTz { .. }
                | ColumnType::Interval { .. }
                | ColumnType::Uuid
                | ColumnType::Binary),
            ),
            _,
        ) => Some(same),
        (Some(_), _) => None,
        (None, Affinity::Text) => Some(ColumnType::Text {
            characters_max: None,
            blank_padded: false,
        }),
        (None, Affinity::Integer) => Some(ColumnType::Int64),
        (None, Affinity::Real) => Some(ColumnType::Float64),
        (None, Affinity::Blob) if !upper.is_empty() => Some(ColumnType::Binary),
        (None, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(vendor: Vendor, type_name: &str) -> Option<String> {
        resolve(vendor, "X", type_name)
            .ok()
            .map(|resolved| resolved.sql)
    }

    #[test]
    fn types_are_written_as_the_database_does() {
        use Vendor::{DuckDb, Other, Postgres, Sqlite};
        let cases = [
            (DuckDb, "real", Some("FLOAT")),
            (DuckDb, "float", Some("DOUBLE")),
            (DuckDb, "timestamp(3)", Some("TIMESTAMP")),
            (DuckDb, "numeric(15, 2)", Some("DECIMAL(15,2)")),
            (DuckDb, "numeric", None),
            (DuckDb, "numeric(39,2)", None),
            (DuckDb, "numeric(3,5)", Some("DECIMAL(5,5)")),
            (DuckDb, "numeric(3,-2)", Some("DECIMAL(5,0)")),
            (DuckDb, "numeric(38,-2)", None),
            (DuckDb, "numeric(3,39)", None),
            (DuckDb, "text; drop table x", None),
            (Sqlite, "numeric(15,2)", Some("DECIMAL_TEXT(15,2)")),
            (Sqlite, "numeric", Some("DECIMAL_TEXT")),
            (Sqlite, "boolean", Some("BOOLEAN")),
            (Postgres, "jsonb", Some("jsonb")),
            (Postgres, "char(3)", Some("character(3)")),
            (Postgres, "numeric(100,2)", Some("numeric(100,2)")),
            (Other, "uuid", None),
            (Other, "date", Some("DATE")),
        ];
        for (vendor, type_name, expected) in cases {
            assert_eq!(
                sql(vendor, type_name).as_deref(),
                expected,
                "{vendor:?} {type_name}"
            );
        }
    }

    #[test]
    fn refusals_say_what_to_write() {
        let refused = resolve(Vendor::DuckDb, "DuckDB", "numeric").expect_err("it rounds");
        assert!(refused.to_string().contains("DECIMAL(18,3)"));
        assert!(refused.hint().expect("a hint").contains("numeric(38,10)"));
    }

    #[test]
    fn columns_of_duckdb_are_understood() {
        let of = |sql| of_column(Vendor::DuckDb, sql);
        assert_eq!(of("FLOAT"), Some(ColumnType::Float32));
        assert_eq!(
            of("DECIMAL(18,3)"),
            Some(ColumnType::Decimal {
                precision: 18,
                scale: 3
            })
        );
        let labels = vec!["a".to_owned(), "b'c, (".to_owned()];
        assert_eq!(
            of("ENUM('a', 'b''c, (')"),
            Some(ColumnType::Enum { labels })
        );
        for unknown in [
            "HUGEINT",
            "UTINYINT",
            "INTEGER[]",
            "TIMESTAMP_NS",
            "STRUCT(a INTEGER)",
            "ENUM(x)",
        ] {
            assert_eq!(of(unknown), None, "{unknown}");
        }
    }

    /// A type for a new table of SQLite must be read back as the same type, or a wider one.
    #[test]
    fn columns_of_sqlite_keep_values_as_they_are() {
        let of = |sql: &str| of_column(Vendor::Sqlite, sql);
        for type_name in [
            "boolean",
            "smallint",
            "numeric(38,10)",
            "numeric",
            "text",
            "varchar(5)",
            "char(3)",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "interval",
            "uuid",
            "bytea",
            "json",
        ] {
            let resolved = resolve(Vendor::Sqlite, "SQLite", type_name).expect("a type");
            assert_eq!(of(&resolved.sql), Some(resolved.column_type), "{type_name}");
        }
        assert_eq!(of("INTEGER"), Some(ColumnType::Int64));
        assert_eq!(
            of("DECIMAL(10,2)"),
            Some(ColumnType::Decimal {
                precision: 10,
                scale: 2
            })
        );
        // Text that looks like a number would become one, and lose digits or zeros.
        for changing in ["DECIMAL(16,2)", "NUMERIC", "STRING", "JSON", "", "GEOMETRY"] {
            assert_eq!(of(changing), None, "{changing}");
        }
    }
}
