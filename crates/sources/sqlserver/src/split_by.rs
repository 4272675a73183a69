//! A table or a query is split so that several sessions read it: by ranges of a key, or by its partitions. Each range
//! or partition is a [step](inrush_source::Steps); a split is one or several of them.

use std::ops::Range;
use std::path::Path;

use inrush_rows::sql_text::identifier;
use inrush_source::{
    KeyRanges, SourceError, chosen_rows, null_key, refuse_unknown_key, unsteady_word, unsuitable,
};
use inrush_tds::SqlType;
use inrush_tdsclient::{Session, SessionError};

use crate::columns::Column;
use crate::error::refused;
use crate::query;
use crate::table::TableFacts;
use crate::{Rows, Settings};

/// The most ranges.
const RANGES_MAX: u64 = 512;
/// The approximate number of keys in a sample.
const SAMPLE_ROWS: u64 = 50_000;
/// Tables with more rows are sampled.
const WHOLE_ROWS_MAX: u64 = 4 * SAMPLE_ROWS;

/// How the rows are split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SplitBy {
    /// Ranges of a key.
    Keys {
        /// The ranges.
        ranges: KeyRanges,
        /// The key, in SQL.
        key: String,
        /// The expression that is read as the place of a row.
        place: String,
        /// True if the table is stored in the order of the key, so that its rows come in this order at no cost.
        is_ordered: bool,
    },
    /// The partitions of a table.
    Partitions {
        /// The number of a row's partition, in SQL.
        number: String,
        /// The column by whose values the table is partitioned.
        column: String,
        /// The expression that is read as the place of a row.
        place: String,
        /// The number of partitions.
        count: u64,
    },
}

impl SplitBy {
    /// The number of steps.
    pub fn count(&self) -> u64 {
        match self {
            SplitBy::Keys { ranges, .. } => ranges.count(),
            SplitBy::Partitions { count, .. } => *count,
        }
    }

    /// The column that is the place of a row, and the expression that is read for it.
    pub fn place(&self) -> (&str, &str) {
        match self {
            SplitBy::Keys { ranges, place, .. } => (&ranges.column, place),
            SplitBy::Partitions { column, place, .. } => (column, place),
        }
    }

    /// The order of the rows, if it costs nothing.
    pub fn order(&self) -> Option<&str> {
        match self {
            SplitBy::Keys {
                key,
                is_ordered: true,
                ..
            } => Some(key),
            SplitBy::Keys { .. } | SplitBy::Partitions { .. } => None,
        }
    }

    /// The condition that selects the rows of these steps; `None` if they are all steps.
    pub fn condition(&self, steps: Range<u64>) -> Option<String> {
        match self {
            SplitBy::Keys { ranges, key, .. } => ranges.condition(key, steps),
            SplitBy::Partitions { count, .. } if steps == (0..*count) => None,
            SplitBy::Partitions { number, .. } => Some(format!(
                "{number} BETWEEN {} AND {}",
                steps.start + 1,
                steps.end
            )),
        }
    }

    /// The plan's note about the steps.
    pub fn note(&self, name: &str) -> String {
        match self {
            SplitBy::Keys { ranges, .. } => ranges.note(name),
            SplitBy::Partitions { count, .. } => {
                format!("{name} is cut into its {count} partitions")
            }
        }
    }

    /// A text that names how the rows are split, and a text that differs if the steps differ.
    pub fn identity(&self) -> (String, String) {
        match self {
            SplitBy::Keys { ranges, .. } => {
                (format!("split by {}", ranges.column), ranges.digest())
            }
            SplitBy::Partitions { number, count, .. } => {
                (format!("split by {number}"), count.to_string())
            }
        }
    }
}

/// The facts that are known before a table or a query is split.
pub struct Asked<'a> {
    /// The name of the input, for messages.
    pub input: &'a Path,
    /// The settings of the table or query that is read.
    pub settings: &'a Settings,
    /// All columns of the table or query.
    pub columns: &'a [Column],
    /// The table, unless it is a view or a query.
    pub table: Option<&'a TableFacts>,
    /// True if all splits are read at one moment, or the rows do not change. Then the input may be split even without
    /// the setting `split_by`.
    pub is_steady: bool,
    /// True if the server has TABLESAMPLE.
    pub has_samples: bool,
}

/// How the rows are split, and their number as far as it is known.
pub struct Found {
    /// How the rows are split; `None` if one statement reads all rows.
    pub split_by: Option<SplitBy>,
    /// The estimated number of rows.
    pub rows: Option<u64>,
}

/// Finds how the rows are split: by ranges of the key that `split_by` names, otherwise by ranges of the leading column
/// of a table's clustered index, or by its partitions.
pub fn find(session: &mut Session, asked: &Asked<'_>) -> Result<Found, SourceError> {
    let rows = asked.table.and_then(|table| table.rows);
    if let Some(column) = &asked.settings.split_by {
        let names: Vec<String> = asked.columns.iter().map(|one| one.name.clone()).collect();
        refuse_unknown_key(asked.input, column, &names, "split_by")?;
        if let Rows::Query(text) = &asked.settings.rows
            && let Some(word) = unsteady_word(text)
        {
            let what = format!("the word {word}");
            return Err(chosen_rows(asked.input, &what, "split_by"));
        }
        return by_key(session, asked, column);
    }
    let Some(table) = asked.table.filter(|_| asked.is_steady) else {
        return Ok(Found {
            split_by: None,
            rows,
        });
    };
    let of_key = |name: &String| asked.columns.iter().find(|column| column.name == *name);
    let key = table.key.as_ref().and_then(of_key);
    if let Some(key) = key.filter(|key| key.not_null && KeyForm::of(&key.sql_type).is_some()) {
        return by_key(session, asked, &key.name);
    }
    let partitioning = table.partitioning.as_ref();
    let split_by = partitioning.and_then(|partitioning| {
        let column = of_key(&partitioning.column)?;
        let value = format!("{}.{}", query::ROWS, identifier(&column.name));
        Some(SplitBy::Partitions {
            number: partitioning.number(&value),
            column: column.name.clone(),
            place: place_of(&value, &column.sql_type),
            count: partitioning.count,
        })
    });
    Ok(Found {
        split_by: split_by.filter(|split_by| split_by.count() > 1),
        rows,
    })
}

/// How the values of a key are written in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeyForm {
    /// A number, unchanged.
    Number,
    /// A date or a moment, as a text of its type.
    Moment,
}

impl KeyForm {
    /// The form for a type; `None` if borders of this type cannot be written.
    fn of(sql_type: &SqlType) -> Option<KeyForm> {
        match sql_type {
            SqlType::TinyInt
            | SqlType::SmallInt
            | SqlType::Int
            | SqlType::BigInt
            | SqlType::Decimal { .. } => Some(KeyForm::Number),
            SqlType::Date | SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime => {
                Some(KeyForm::Moment)
            }
            _ => None,
        }
    }

    /// The text of a key, in SQL.
    fn shown(self, key: &str) -> String {
        match self {
            KeyForm::Number => format!("CAST({key} AS nvarchar(60))"),
            // 126: ISO 8601, which every language and DATEFORMAT reads alike.
            KeyForm::Moment => format!("CONVERT(nvarchar(60), {key}, 126)"),
        }
    }

    /// A border as a literal of the key's type. A literal of another type would be compared in another order.
    fn literal(self, text: &str, type_sql: &str) -> String {
        match self {
            KeyForm::Number => text.to_owned(),
            KeyForm::Moment => format!("CAST(N'{}' AS {type_sql})", text.replace('\'', "''")),
        }
    }
}

/// The expression that is read as the place of a row. Batches hold microseconds, so finer moments are read as texts.
fn place_of(key: &str, sql_type: &SqlType) -> String {
    match sql_type {
        SqlType::DateTime2(7) => format!("CAST({key} AS nvarchar(60))"),
        _ => key.to_owned(),
    }
}

fn by_key(session: &mut Session, asked: &Asked<'_>, name: &str) -> Result<Found, SourceError> {
    let input = asked.input;
    let column = asked.columns.iter().find(|column| column.name == name);
    let column = column.expect("it is one of the columns");
    let Some(form) = KeyForm::of(&column.sql_type) else {
        return Err(unsuitable(
            input,
            format!(
                "the column {} has the type {}, which `split_by` cannot divide into ranges",
                identifier(name),
                column.sql
            ),
            "name a column of whole numbers, decimals, dates or moments without a zone, or leave `split_by` out",
        ));
    };
    let key = format!("{}.{}", query::ROWS, identifier(name));
    let from = query::rows_of(asked.settings, "");
    let takes_nulls = asked.settings.split_nulls;
    let mut ask = |doing: &str, question: &str| -> Result<Vec<Vec<Option<String>>>, SourceError> {
        let answer: Result<_, SessionError> = session.run(question);
        let answer = answer.map_err(|error| refused(input, doing, &error))?;
        Ok(answer.into_rows())
    };
    let rows = match asked.table.and_then(|table| table.rows) {
        Some(rows) => {
            let question = format!("SELECT TOP (1) 1 FROM {from} WHERE {key} IS NULL");
            if !column.not_null
                && !takes_nulls
                && !ask("looking for NULLs in the key", &question)?.is_empty()
            {
                return Err(null_key(input, name));
            }
            rows
        }
        None => {
            let question = format!("SELECT COUNT_BIG(*), COUNT_BIG({key}) FROM {from}");
            let counts = ask("counting the rows and their keys", &question)?;
            let counts: Vec<u64> = counts
                .into_iter()
                .flatten()
                .map(|count| count.and_then(|text| text.parse().ok()).unwrap_or(0))
                .collect();
            let (rows, keys) = (counts.first().copied(), counts.get(1).copied());
            if keys < rows && !takes_nulls {
                return Err(null_key(input, name));
            }
            rows.unwrap_or(0)
        }
    };
    let is_sampled = asked.has_samples && asked.table.is_some() && rows > WHOLE_ROWS_MAX;
    let (sample, keys, origin) = match is_sampled {
        // With the same seed, the same pages of a table are sampled.
        true => (
            format!(
                " TABLESAMPLE SYSTEM ({:.6} PERCENT) REPEATABLE (1)",
                SAMPLE_ROWS as f64 * 100.0 / rows as f64
            ),
            SAMPLE_ROWS,
            "a sample of its pages",
        ),
        false => (String::new(), rows, "its values"),
    };
    let step = keys / RANGES_MAX + 1;
    let question = format!(
        "SELECT {} FROM (SELECT DISTINCT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY k) AS n FROM (SELECT {key} AS k FROM {} \
         WHERE {key} IS NOT NULL) AS sampled) AS ordered WHERE n > 1 AND n % {step} = 0) AS borders ORDER BY k",
        form.shown("k"),
        query::rows_of(asked.settings, &sample)
    );
    let found = ask("looking for the ranges of the key", &question)?;
    let texts = found.into_iter().flatten().flatten();
    let is_ordered = asked
        .table
        .is_some_and(|table| table.key.as_deref() == Some(name));
    let ranges = KeyRanges {
        column: name.to_owned(),
        borders: texts.map(|text| form.literal(&text, &column.sql)).collect(),
        takes_nulls,
        origin,
    };
    Ok(Found {
        split_by: Some(SplitBy::Keys {
            ranges,
            place: place_of(&key, &column.sql_type),
            key,
            is_ordered,
        }),
        rows: Some(rows),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_are_literals_of_the_type_of_the_key() {
        let of = |sql_type: SqlType, text: &str, type_sql: &str| {
            KeyForm::of(&sql_type).map(|form| form.literal(text, type_sql))
        };
        assert_eq!(of(SqlType::BigInt, "-5", "bigint").as_deref(), Some("-5"));
        assert_eq!(
            of(SqlType::DateTime, "2024-01-31T06:00:00.003", "datetime").as_deref(),
            Some("CAST(N'2024-01-31T06:00:00.003' AS datetime)")
        );
        assert_eq!(of(SqlType::Float, "1", "float"), None);
        assert_eq!(of(SqlType::UniqueIdentifier, "", ""), None);
    }

    #[test]
    fn partitions_are_conditions_without_a_gap() {
        let split_by = SplitBy::Partitions {
            number: "$PARTITION.f(day)".to_owned(),
            column: "day".to_owned(),
            place: "day".to_owned(),
            count: 4,
        };
        let texts = [0..1, 1..3, 3..4, 0..4].map(|steps| split_by.condition(steps));
        let expected = [
            Some("$PARTITION.f(day) BETWEEN 1 AND 1"),
            Some("$PARTITION.f(day) BETWEEN 2 AND 3"),
            Some("$PARTITION.f(day) BETWEEN 4 AND 4"),
            None,
        ];
        assert_eq!(texts.each_ref().map(Option::as_deref), expected);
    }

    #[test]
    fn fine_moments_are_places_as_texts() {
        assert_eq!(place_of("k", &SqlType::DateTime2(6)), "k");
        assert_eq!(
            place_of("k", &SqlType::DateTime2(7)),
            "CAST(k AS nvarchar(60))"
        );
    }
}
