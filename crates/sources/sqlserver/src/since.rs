//! The range of an incremental load (`since`), by the server's clock and `lag`.
//!
//! The server does not tell every login which transactions are open, and its row versions say nothing about the values
//! of a column. So the user must say how much time may pass from the value of a row to its commit: `lag`. The bound is
//! the server's time minus `lag`, and is taken before the first row is read. Marks are times of UTC with seven digits,
//! as `datetimeoffset` has them, so their texts sort by time.

use std::path::Path;

use inrush_rows::sql_text::identifier;
use inrush_source::{
    BoundBy, ColumnOfSince, FoundRange, Since, SourceError, never_the_same, range_condition,
    refuse_unknown_key, unsuitable,
};
use inrush_tds::SqlType;
use inrush_tdsclient::{Session, SessionError};

use crate::columns::Column;
use crate::error::refused;

/// The longest `lag` in seconds: DATEADD takes an `int`.
const LAG_SECONDS_MAX: u64 = i32::MAX as u64;

/// Finds the range. `from` is the text after FROM, and `columns` are all columns of the rows.
pub fn find_range(
    session: &mut Session,
    since: &Since,
    input: &Path,
    from: &str,
    columns: &[Column],
) -> Result<FoundRange, SourceError> {
    refuse_type(since, input, columns)?;
    let BoundBy::Lag(lag) = &since.bound_by else {
        return Err(unsuitable(
            input,
            "Inrush cannot find out until which time all rows are committed in SQL Server, so `since` needs `lag`",
            "write the longest time from a row's value to its commit, such as lag = \"5 minutes\"",
        ));
    };
    let seconds = Since::lag_seconds(lag, input)?;
    if seconds > LAG_SECONDS_MAX {
        return Err(unsuitable(
            input,
            format!("`lag = \"{lag}\"` of `since` is longer than 68 years"),
            "write a time in seconds, minutes, hours or days, such as lag = \"5 minutes\"",
        ));
    }
    let doing = "looking for rows that are new";
    let failed = |error: SessionError| refused(input, doing, &error);
    let bound = format!("DATEADD(second, -{seconds}, SYSUTCDATETIME())");
    let bound = mark(session, &bound).map_err(failed)?.unwrap_or_default();
    let start = match &since.from {
        Some(text) => Some(start(session, text, input)?),
        None => None,
    };
    let column = identifier(&since.column);
    if !since.skips_nulls {
        let question = format!("SELECT COUNT_BIG(*) FROM {from} WHERE {column} IS NULL");
        let count = first(session, &question).map_err(failed)?;
        if let Some(count) = count.filter(|count| count != "0") {
            return Err(Since::without_value(input, &column, &count));
        }
    }
    // The server cannot tell whether rows have changed, so a resumed run keeps none.
    let (range, is_resumed) = since.range(start, &bound, &never_the_same(), input)?;
    let condition = range_condition(range.from.as_deref(), &range.below, |operator, mark| {
        format!("{column} {operator} {}", moment(mark))
    });
    let question = format!("SELECT TOP (1) 1 FROM {from} WHERE {condition}");
    let has_rows = first(session, &question).map_err(failed)?.is_some();
    Ok(FoundRange {
        range,
        condition,
        has_rows,
        by_index: 0,
        is_safe_because: None,
        held_by: None,
        written_to: None,
        is_resumed,
    })
}

/// Refuses a column that is not a `datetimeoffset`.
fn refuse_type(since: &Since, input: &Path, columns: &[Column]) -> Result<(), SourceError> {
    let found = columns.iter().find(|column| column.name == since.column);
    let Some(found) = found else {
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        return refuse_unknown_key(input, &since.column, &names, "since");
    };
    let kind = match found.sql_type {
        SqlType::DateTimeOffset(_) => return Ok(()),
        SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime | SqlType::Date => {
            ColumnOfSince::TimeWithoutZone
        }
        _ if found.data_type.is_numeric() => ColumnOfSince::Number,
        _ => ColumnOfSince::Other,
    };
    Err(since.unsuitable_column(input, &found.sql, kind, "datetimeoffset"))
}

/// The value at which a range begins, in the form of marks. A value without a zone is in UTC.
fn start(session: &mut Session, text: &str, input: &Path) -> Result<String, SourceError> {
    // SWITCHOFFSET gives the same moment as a time of UTC, and the cast leaves out its offset.
    let value = format!(
        "CAST(SWITCHOFFSET(CAST({} AS datetimeoffset(7)), N'+00:00') AS datetime2(7))",
        literal(text)
    );
    match mark(session, &value) {
        Ok(Some(mark)) => Ok(mark),
        Ok(None) | Err(SessionError::Server(_)) => Err(Since::no_start(input, text)),
        Err(error) => Err(refused(
            input,
            &format!("reading the value `{text}` of `since`"),
            &error,
        )),
    }
}

/// A value of `datetime2` as a mark.
fn mark(session: &mut Session, value: &str) -> Result<Option<String>, SessionError> {
    // 126: ISO 8601, whatever the language of the session.
    let question = format!("SELECT CONVERT(nvarchar(40), {value}, 126)");
    Ok(first(session, &question)?.map(|text| with_all_digits(&text)))
}

/// The SQL expression whose value is the moment of a mark.
fn moment(mark: &str) -> String {
    let text = format!("{}+00:00", mark.trim_end_matches('Z'));
    format!("CAST({} AS datetimeoffset(7))", literal(&text))
}

/// A time with seven digits after the second.
fn with_all_digits(text: &str) -> String {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{whole}.{fraction:0<7}Z")
}

fn literal(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

/// The first value of the first row.
fn first(session: &mut Session, question: &str) -> Result<Option<String>, SessionError> {
    let rows = session.run(question)?.into_rows();
    Ok(rows.into_iter().flatten().next().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_have_seven_digits() {
        for (text, mark) in [
            ("2026-01-02T03:04:05", "2026-01-02T03:04:05.0000000Z"),
            ("2026-01-02T03:04:05.12", "2026-01-02T03:04:05.1200000Z"),
            (
                "2026-01-02T03:04:05.1234567",
                "2026-01-02T03:04:05.1234567Z",
            ),
        ] {
            assert_eq!(with_all_digits(text), mark);
        }
        let value = moment("2026-01-02T03:04:05.1200000Z");
        assert_eq!(
            value,
            "CAST(N'2026-01-02T03:04:05.1200000+00:00' AS datetimeoffset(7))"
        );
    }
}
