//! Finds the ranges of a key by which a table, a view or a query is cut (`split_by`).
//!
//! The database itself sorts the borders, so they are in the order in which it later compares the key with them.

use std::path::Path;

use arrow_schema::DataType;
use inrush_rows::sql_text::identifier;
use inrush_source::{KeyRanges, SourceError, null_key};

use crate::columns::literal;
use crate::error::{Refused, input_error};
use crate::session::Session;

/// The most ranges. A split is one or several of them.
const RANGES_MAX: u64 = 512;
/// The approximate number of keys in a sample.
const SAMPLE_ROWS: u64 = 50_000;

/// How a database writes the borders.
#[derive(Clone, Copy, Debug)]
pub enum Dialect<'a> {
    /// DuckDB, with the name of the key's type.
    DuckDb(&'a str),
    /// SQLite: its function `quote` writes a value as SQL.
    Sqlite,
    /// Any other, with the type of the key's values.
    Other(&'a DataType),
}

/// The key for which ranges are wanted.
pub struct KeyAsked<'a> {
    /// The name of the input, for messages.
    pub input: &'a Path,
    /// The name of the column.
    pub column: &'a str,
    /// The column in SQL.
    pub key: &'a str,
    /// The text after FROM.
    pub from: &'a str,
    /// True if rows whose key is NULL are read too.
    pub takes_nulls: bool,
    /// How borders are written.
    pub dialect: Dialect<'a>,
}

/// The ranges of a key, and the number of all rows.
#[derive(Clone, Debug)]
pub struct FoundKeys {
    /// The ranges.
    pub ranges: KeyRanges,
    /// The number of rows.
    pub rows: u64,
}

/// Finds the ranges.
pub fn find(
    session: &mut Session,
    asked: &KeyAsked<'_>,
    refused: Refused<'_>,
) -> Result<FoundKeys, SourceError> {
    let KeyAsked { key, from, .. } = *asked;
    let doing = "counting the rows and their keys";
    let counts = session.rows(&format!("SELECT COUNT(*), COUNT({key}) FROM {from}"));
    let counts = counts.map_err(|error| refused(doing, &error))?;
    let counts: Vec<u64> = counts
        .into_iter()
        .flatten()
        .map(|count| count.and_then(|text| text.parse().ok()).unwrap_or(0))
        .collect();
    let [rows, with_key] = counts[..] else {
        return Err(input_error(
            asked.input,
            "the database returned no count of its rows",
            "leave `split_by` out",
        ));
    };
    if with_key < rows && !asked.takes_nulls {
        return Err(null_key(asked.input, asked.column));
    }
    let doing = "looking for the ranges of the key";
    let (sql, origin) = borders(asked, with_key);
    let found = session.rows(&sql).map_err(|error| refused(doing, &error))?;
    let texts = found.into_iter().flatten().flatten();
    let borders: Result<Vec<String>, SourceError> =
        texts.map(|text| written(asked, &text)).collect();
    Ok(FoundKeys {
        ranges: KeyRanges {
            column: asked.column.to_owned(),
            borders: borders?,
            takes_nulls: asked.takes_nulls,
            origin,
        },
        rows,
    })
}

/// The query for the borders, and their origin in words.
fn borders(asked: &KeyAsked<'_>, keys: u64) -> (String, &'static str) {
    let KeyAsked { key, from, .. } = *asked;
    let every = match asked.dialect {
        // Without an order of the rows, other databases might number them differently each time.
        Dialect::Other(_) => 1,
        _ => keys / SAMPLE_ROWS + 1,
    };
    let sampled = match every {
        1 => format!("SELECT {key} AS k FROM {from} WHERE {key} IS NOT NULL"),
        every => format!(
            "SELECT k FROM (SELECT {key} AS k, ROW_NUMBER() OVER () AS n FROM {from} WHERE {key} IS NOT NULL) AS numbered \
             WHERE n % {every} = 0"
        ),
    };
    let step = keys / every / RANGES_MAX + 1;
    let (shown, remainder) = match asked.dialect {
        Dialect::DuckDb(_) => ("CAST(k AS VARCHAR)", format!("n % {step}")),
        Dialect::Sqlite => ("quote(k)", format!("n % {step}")),
        Dialect::Other(_) => ("k", format!("MOD(n, {step})")),
    };
    let sql = format!(
        "SELECT {shown} FROM (SELECT DISTINCT k FROM ( \
           SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS n FROM ({sampled}) AS sampled \
         ) AS ordered WHERE n > 1 AND {remainder} = 0) AS borders ORDER BY k"
    );
    let origin = match every {
        1 => "its values",
        _ => "a sample of its values",
    };
    (sql, origin)
}

/// A border as a literal.
fn written(asked: &KeyAsked<'_>, text: &str) -> Result<String, SourceError> {
    let data_type = match asked.dialect {
        Dialect::DuckDb(kind) => return Ok(format!("CAST({} AS {kind})", literal(text))),
        Dialect::Sqlite => return Ok(text.to_owned()),
        Dialect::Other(data_type) => data_type,
    };
    match data_type {
        DataType::Decimal128(..) | DataType::Decimal256(..) => Ok(text.to_owned()),
        integer if integer.is_integer() => Ok(text.to_owned()),
        DataType::Utf8 => Ok(literal(text)),
        DataType::Date32 => Ok(format!("DATE {}", literal(text))),
        DataType::Timestamp(_, None) => Ok(format!("TIMESTAMP {}", literal(text))),
        other => Err(input_error(
            asked.input,
            format!(
                "the column {} has the type {other}, which `split_by` cannot write in SQL",
                identifier(asked.column)
            ),
            "name a column of integers, decimals, text, dates or timestamps without zone, or leave `split_by` out",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked<'a>(dialect: Dialect<'a>) -> KeyAsked<'a> {
        KeyAsked {
            input: Path::new("t"),
            column: "k",
            key: "\"k\"",
            from: "t",
            takes_nulls: false,
            dialect,
        }
    }

    #[test]
    fn borders_are_literals() {
        let texts = [Dialect::DuckDb("DECIMAL(3,1)"), Dialect::Sqlite]
            .map(|dialect| written(&asked(dialect), "it's").expect("any text"));
        assert_eq!(texts, ["CAST('it''s' AS DECIMAL(3,1))", "it's"]);
        let other = |data_type| written(&asked(Dialect::Other(&data_type)), "2024-01-31");
        assert_eq!(
            other(DataType::Date32).expect("a date"),
            "DATE '2024-01-31'"
        );
        assert_eq!(other(DataType::Utf8).expect("a text"), "'2024-01-31'");
        assert!(other(DataType::Float64).is_err());
    }

    #[test]
    fn large_tables_are_sampled_where_rows_have_an_order() {
        let few = borders(&asked(Dialect::Sqlite), 1_000);
        assert!(
            few.0.contains("n % 2 = 0") && !few.0.contains("OVER ()"),
            "{few:?}"
        );
        let many = borders(&asked(Dialect::DuckDb("INTEGER")), 1_000_000);
        assert!(many.0.contains("n % 21 = 0"), "{many:?}");
        assert_eq!(many.1, "a sample of its values");
        let other = borders(&asked(Dialect::Other(&DataType::Int64)), 1_000_000);
        assert!(!other.0.contains("OVER ()"), "{other:?}");
    }
}
