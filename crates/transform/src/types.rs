//! The type of DuckDB for the values of a column, and the type of a column for the results of DuckDB.

use inrush_rows::column_type::ColumnType;

use crate::error::StepErrorKind;

/// The type of DuckDB for the values of a column. The error is the type in words, and how to use its values anyway.
pub fn sql_type(column_type: &ColumnType) -> Result<String, (&'static str, &'static str)> {
    let as_text =
        "load the column unchanged; in an expression, use a column that the source reads as text";
    Ok(match column_type {
        ColumnType::Bool => "BOOLEAN",
        ColumnType::Int16 => "SMALLINT",
        ColumnType::Int32 => "INTEGER",
        ColumnType::Int64 => "BIGINT",
        ColumnType::Float32 => "FLOAT",
        ColumnType::Float64 => "DOUBLE",
        ColumnType::Decimal { precision, scale } => {
            return Ok(format!("DECIMAL({precision},{scale})"));
        }
        ColumnType::Text { .. } | ColumnType::Json | ColumnType::Enum { .. } => "VARCHAR",
        ColumnType::Date => "DATE",
        ColumnType::Time { .. } => "TIME",
        ColumnType::Timestamp { .. } => "TIMESTAMP",
        ColumnType::TimestampTz { .. } => "TIMESTAMP WITH TIME ZONE",
        ColumnType::Binary => "BLOB",
        ColumnType::DecimalText { .. } => {
            return Err((
                "number with more than 38 digits, or without a limit",
                "declare its digits in `columns`, as in \"amount numeric(38,2)\"",
            ));
        }
        ColumnType::Interval { .. } => return Err(("interval", as_text)),
        ColumnType::Uuid => return Err(("uuid", as_text)),
        ColumnType::Opaque => return Err(("type that only the destination reads", as_text)),
        ColumnType::Special(_) => return Err(("type that only the destination has", as_text)),
    }
    .to_owned())
}

/// The type of a column as the plan prints it: that of DuckDB, or words if DuckDB does not have it.
pub fn sql_name(column_type: &ColumnType) -> String {
    sql_type(column_type).unwrap_or_else(|(words, _)| words.to_owned())
}

/// The result of a derived column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The type of the column.
    pub column_type: ColumnType,
    /// The type of DuckDB that the result is cast to, if batches do not carry its own. The cast keeps each value, or
    /// fails.
    pub cast: Option<&'static str>,
}

/// What a result of this type of DuckDB becomes.
pub fn carried(found: &str) -> Result<Carried, StepErrorKind> {
    let own = |column_type| {
        Ok(Carried {
            column_type,
            cast: None,
        })
    };
    let cast = |column_type, cast| {
        Ok(Carried {
            column_type,
            cast: Some(cast),
        })
    };
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    match found {
        "BOOLEAN" => own(ColumnType::Bool),
        "TINYINT" | "UTINYINT" => cast(ColumnType::Int16, "SMALLINT"),
        "SMALLINT" => own(ColumnType::Int16),
        "USMALLINT" => cast(ColumnType::Int32, "INTEGER"),
        "INTEGER" => own(ColumnType::Int32),
        "UINTEGER" => cast(ColumnType::Int64, "BIGINT"),
        "BIGINT" => own(ColumnType::Int64),
        "UBIGINT" => cast(decimal(20, 0), "DECIMAL(20,0)"),
        "HUGEINT" | "UHUGEINT" => cast(decimal(38, 0), "DECIMAL(38,0)"),
        "FLOAT" => own(ColumnType::Float32),
        "DOUBLE" => own(ColumnType::Float64),
        "VARCHAR" => own(text()),
        // A column of NULLs.
        "\"NULL\"" => cast(text(), "VARCHAR"),
        "JSON" => own(ColumnType::Json),
        "DATE" => own(ColumnType::Date),
        "TIME" => own(ColumnType::Time { fraction_digits: 6 }),
        "TIMESTAMP" => own(ColumnType::Timestamp { fraction_digits: 6 }),
        "TIMESTAMP_S" | "TIMESTAMP_MS" => {
            cast(ColumnType::Timestamp { fraction_digits: 6 }, "TIMESTAMP")
        }
        "TIMESTAMP WITH TIME ZONE" => own(ColumnType::TimestampTz { fraction_digits: 6 }),
        "BLOB" => own(ColumnType::Binary),
        _ => match decimal_of(found) {
            Some((precision, scale)) => own(decimal(precision, scale)),
            None => Err(StepErrorKind::ResultCannotTravel {
                found: found.to_owned(),
                instead: match found {
                    "INTERVAL" => {
                        "compute a number, as in date_diff('day', a, b), or CAST it AS VARCHAR"
                    }
                    "TIMESTAMP_NS" => "CAST it AS TIMESTAMP, which keeps microseconds",
                    _ => "CAST it AS VARCHAR, or take one value out of it",
                },
            }),
        },
    }
}

fn text() -> ColumnType {
    ColumnType::Text {
        characters_max: None,
        blank_padded: false,
    }
}

/// Precision and scale of `DECIMAL(15,2)`.
fn decimal_of(found: &str) -> Option<(u8, u8)> {
    let limits = found.strip_prefix("DECIMAL(")?.strip_suffix(')')?;
    let (precision, scale) = limits.split_once(',')?;
    Some((precision.parse().ok()?, scale.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_travels_comes_back_as_itself() {
        for column_type in [
            ColumnType::Bool,
            ColumnType::Int16,
            ColumnType::Int32,
            ColumnType::Int64,
            ColumnType::Float32,
            ColumnType::Float64,
            ColumnType::Decimal {
                precision: 38,
                scale: 10,
            },
            text(),
            ColumnType::Date,
            ColumnType::Time { fraction_digits: 6 },
            ColumnType::Timestamp { fraction_digits: 6 },
            ColumnType::TimestampTz { fraction_digits: 6 },
            ColumnType::Binary,
        ] {
            let sql = sql_type(&column_type).expect("it travels");
            let back = carried(&sql).expect("it comes back");
            assert_eq!((back.column_type, back.cast), (column_type, None), "{sql}");
        }
    }

    #[test]
    fn results_that_batches_do_not_carry_are_refused() {
        for found in [
            "INTERVAL",
            "INTEGER[]",
            "STRUCT(a INTEGER)",
            "TIMESTAMP_NS",
            "UUID",
            "BIT",
            "DECIMAL(3)",
        ] {
            let refused = carried(found);
            assert!(
                matches!(refused, Err(StepErrorKind::ResultCannotTravel { .. })),
                "{found}"
            );
        }
    }
}
