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
        ColumnType::DecimalText { limit } => {
            return Err((
                match limit {
                    None => "number without a limit of its digits",
                    Some((_, ..0)) => "number with a negative scale",
                    Some((precision, _)) if *precision > 38 => "number with more than 38 digits",
                    Some(_) => "number with more digits after the point than in total",
                },
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

/// The type of a column as the plan prints it: the name of its type in DuckDB, or a description in words if DuckDB does
/// not have the type.
pub fn sql_name(column_type: &ColumnType) -> String {
    sql_type(column_type).unwrap_or_else(|(words, _)| words.to_owned())
}

/// A type of DuckDB that holds all values of these types unchanged: a type of numbers or times if there is one,
/// otherwise text. `None` if DuckDB does not have one of the types.
pub fn type_that_holds<'a>(types: impl Iterator<Item = &'a ColumnType>) -> Option<String> {
    let mut common: Option<ColumnType> = None;
    for own in types {
        sql_type(own).ok()?;
        common = Some(match common {
            None => own.clone(),
            Some(before) => wider(&before, own).unwrap_or_else(text),
        });
    }
    sql_type(&common?).ok()
}

/// Of two types, the one that holds the values of both unchanged, or a third type that does.
fn wider(one: &ColumnType, other: &ColumnType) -> Option<ColumnType> {
    use ColumnType::{Date, Decimal, Float32, Float64, Int16, Int32, Int64, Timestamp};
    if sql_type(one) == sql_type(other) {
        return Some(one.clone());
    }
    // The digits before and after the point.
    let digits = |column_type: &ColumnType| match column_type {
        Int16 => Some((5, 0)),
        Int32 => Some((10, 0)),
        Int64 => Some((19, 0)),
        Decimal { precision, scale } => Some((precision.saturating_sub(*scale), *scale)),
        _ => None,
    };
    let is_whole = |column_type: &ColumnType| matches!(column_type, Int16 | Int32 | Int64);
    Some(match (one, other) {
        (one, other) if is_whole(one) && is_whole(other) => match digits(one) > digits(other) {
            true => one.clone(),
            false => other.clone(),
        },
        // A float of 64 bits can hold each whole number of 32 bits, and a float of 32 bits each whole number of 16
        // bits.
        (Float32, Int16) | (Int16, Float32) => Float32,
        (Float64, Int16 | Int32 | Float32)
        | (Int16 | Int32 | Float32, Float64)
        | (Float32, Int32)
        | (Int32, Float32) => Float64,
        (Date, Timestamp { .. }) => other.clone(),
        (Timestamp { .. }, Date) => one.clone(),
        _ => {
            let ((whole, scale), (other_whole, other_scale)) = (digits(one)?, digits(other)?);
            let (whole, scale) = (whole.max(other_whole), scale.max(other_scale));
            let precision = whole + scale;
            if precision > 38 {
                return None;
            }
            Decimal { precision, scale }
        }
    })
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

/// The type that a result of this type of DuckDB gets.
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
    fn the_type_that_holds_all_values_rounds_none() {
        use ColumnType::{Date, Float32, Float64, Int16, Int32, Int64};
        let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
        let timestamp = ColumnType::Timestamp { fraction_digits: 6 };
        for (types, expected) in [
            (vec![Int32, Float64], "DOUBLE"),
            (vec![Int64, Int16, Int32], "BIGINT"),
            (vec![Int16, Float32], "FLOAT"),
            (vec![Int16, Float32, Int32], "DOUBLE"),
            // Some whole numbers of 64 bits are not exact as a float.
            (vec![Float64, Int64], "VARCHAR"),
            (vec![Int64, decimal(15, 2)], "DECIMAL(21,2)"),
            (vec![decimal(15, 2), decimal(10, 6)], "DECIMAL(19,6)"),
            (vec![decimal(38, 0), decimal(38, 38)], "VARCHAR"),
            (vec![decimal(15, 2), Float64], "VARCHAR"),
            (vec![Date, timestamp], "TIMESTAMP"),
            (vec![Int32, Date], "VARCHAR"),
            (vec![text(), ColumnType::Json], "VARCHAR"),
        ] {
            for types in [types.clone(), types.into_iter().rev().collect()] {
                let found = type_that_holds(types.iter());
                assert_eq!(found.as_deref(), Some(expected), "{types:?}");
            }
        }
        assert_eq!(type_that_holds([Int32, ColumnType::Uuid].iter()), None);
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
