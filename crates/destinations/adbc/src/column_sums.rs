//! The sums of a table's columns, made by one query of DuckDB.

use inrush_destination::{ColumnSums, Error, Measure, Result, SummedColumn, TargetName};

use crate::session::AdbcSession;
use crate::sql;

const DOING: &str = "cannot sum up the columns of a table";

/// The sums of a table in DuckDB.
pub fn of_duckdb(
    session: &mut AdbcSession,
    target: &TargetName,
    columns: &[SummedColumn],
) -> Result<Vec<ColumnSums>> {
    let rows = session.rows(DOING, &query(target, columns))?;
    let mut cells = rows.into_iter().next().unwrap_or_default().into_iter();
    let mut next = || {
        cells.next().flatten().ok_or_else(|| Error::Refused {
            doing: DOING.to_owned(),
            message: "a sum is missing in the answer".to_owned(),
            hint: None,
        })
    };
    let mut sums = Vec::with_capacity(columns.len());
    for _ in columns {
        let values = next()?;
        sums.push(ColumnSums {
            values: values.parse().map_err(|_| Error::Refused {
                doing: DOING.to_owned(),
                message: format!("{values:?} came instead of a count"),
                hint: None,
            })?,
            sum: next()?,
        });
    }
    Ok(sums)
}

/// Sums of whole numbers have 128 bits there, and those of decimals 38 digits.
fn query(target: &TargetName, columns: &[SummedColumn]) -> String {
    let sums: Vec<String> = columns
        .iter()
        .map(|column| {
            let name = sql::identifier(&column.name);
            let measure = match column.measure {
                Measure::Number => name.clone(),
                Measure::Days => format!("date_diff('day', DATE '1970-01-01', {name})"),
                Measure::Octets => format!("strlen(rtrim({name}, ' '))"),
            };
            format!("count({name})::VARCHAR, coalesce(sum({measure}), 0)::VARCHAR")
        })
        .collect();
    format!("SELECT {} FROM {}", sums.join(", "), target.sql)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_count_and_a_sum() {
        let column = |name: &str, measure| SummedColumn {
            name: name.to_owned(),
            measure,
        };
        let target = TargetName {
            sql: "\"t\"".to_owned(),
            schema: None,
            name: "t".to_owned(),
        };
        let columns = [column("a", Measure::Number), column("b\"", Measure::Octets)];
        assert_eq!(
            query(&target, &columns),
            "SELECT count(\"a\")::VARCHAR, coalesce(sum(\"a\"), 0)::VARCHAR, \
             count(\"b\"\"\")::VARCHAR, coalesce(sum(strlen(rtrim(\"b\"\"\", ' '))), 0)::VARCHAR FROM \"t\""
        );
    }
}
