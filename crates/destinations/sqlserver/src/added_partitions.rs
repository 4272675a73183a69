//! Partitions that a table gets after its last one, for bounds beyond those that it has: ALTER PARTITION FUNCTION ... SPLIT RANGE.
//!
//! A split of a partition with rows moves and logs them row by row, so only an empty one is split: the last partition of every
//! table that has the function. The statement changes all of these tables, and takes a Sch-M lock on each, until the
//! transaction in which the run begins is committed. It comes before the staging table is made, which has the same function
//! (https://learn.microsoft.com/sql/t-sql/statements/alter-partition-function-transact-sql).

use inrush_destination::{Error, Result, TargetColumn, TargetPlan};
use inrush_rows::column_type::ColumnType;

use crate::catalog;
use crate::connection::SqlSession;
use crate::options::Options;
use crate::partitions::{Partitioning, literal};
use crate::sql;

const DOING: &str = "cannot read the partitions of a table";

/// Partitions that are added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedPartitions {
    scheme: String,
    function: String,
    /// The first values of the partitions.
    literals: Vec<String>,
    /// The partitions are assigned to these filegroups in turn.
    filegroups: Vec<String>,
}

impl AddedPartitions {
    /// The partitions that a plan adds to a table that exists; `None` if it adds none. A plan has bounds for such a table only if
    /// they [can be added](can_be_added).
    pub fn of_plan(
        session: &mut SqlSession,
        options: &Options,
        plan: &TargetPlan,
    ) -> Result<Option<AddedPartitions>> {
        let target = &plan.name;
        if plan.bounds.is_empty() || !catalog::is_table(session, target)? {
            return Ok(None);
        }
        let Some(partitioning) = Partitioning::of_table(session, &target.sql)? else {
            return Ok(None);
        };
        let mut columns = plan.columns.iter();
        let Some(key) = columns.find(|column| column.name == partitioning.column) else {
            return Ok(None);
        };
        let bounds = plan.bounds.iter();
        let literals: Vec<String> = bounds
            .map(|bound| literal(bound, &key.column_type))
            .collect();
        let has = first_after(&literals, |bound| {
            reaches(session, &partitioning, &key.sql, bound)
        })?;
        let literals = literals[has..].to_vec();
        if literals.is_empty() {
            return Ok(None);
        }
        require_empty(session, target.sql.as_str(), &partitioning)?;
        let filegroups = match options.filegroups.is_empty() {
            true => vec![last_filegroup(session, &partitioning)?],
            false => options.filegroups.clone(),
        };
        Ok(Some(AddedPartitions {
            scheme: partitioning.scheme,
            function: partitioning.function,
            literals,
            filegroups,
        }))
    }

    /// The statements that add them.
    pub fn statements(&self) -> Vec<String> {
        let (scheme, function) = (
            sql::identifier(&self.scheme),
            sql::identifier(&self.function),
        );
        let dealt = self.literals.iter().zip(self.filegroups.iter().cycle());
        dealt
            .flat_map(|(literal, filegroup)| {
                [
                    format!(
                        "ALTER PARTITION SCHEME {scheme} NEXT USED {}",
                        sql::identifier(filegroup)
                    ),
                    format!("ALTER PARTITION FUNCTION {function}() SPLIT RANGE ({literal})"),
                ]
            })
            .collect()
    }
}

/// True if a table with these columns can get further partitions: bounds are the first values of partitions, and their order
/// does not depend on the server.
pub fn can_be_added(partitioning: &Partitioning, columns: &[TargetColumn]) -> bool {
    let mut columns = columns.iter();
    let key = columns.find(|column| column.name == partitioning.column);
    let key = key.and_then(|column| column.column_type.as_ref());
    partitioning.is_right
        && matches!(
            key,
            Some(
                ColumnType::Int16
                    | ColumnType::Int32
                    | ColumnType::Int64
                    | ColumnType::Date
                    | ColumnType::Timestamp { .. }
                    | ColumnType::TimestampTz { .. }
            )
        )
}

/// The index of the first bound that the function does not reach. The bounds are ascending.
fn first_after(
    bounds: &[String],
    mut is_reached: impl FnMut(&str) -> Result<bool>,
) -> Result<usize> {
    let (mut low, mut high) = (0, bounds.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match is_reached(&bounds[middle])? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// True if the function has this bound, or a greater one.
fn reaches(
    session: &mut SqlSession,
    partitioning: &Partitioning,
    type_sql: &str,
    bound: &str,
) -> Result<bool> {
    let question = format!(
        "SELECT COUNT_BIG(*) FROM sys.partition_functions f JOIN sys.partition_range_values v ON v.function_id = f.function_id \
         WHERE f.name = {} AND CAST(v.value AS {type_sql}) >= CAST({bound} AS {type_sql})",
        sql::text(&partitioning.function)
    );
    Ok(session
        .number(DOING, &question)?
        .is_some_and(|count| count > 0))
}

/// Fails if the last partition of a table with this function has rows.
fn require_empty(
    session: &mut SqlSession,
    target: &str,
    partitioning: &Partitioning,
) -> Result<()> {
    let question = format!(
        "SELECT c.name, o.name FROM sys.partition_functions f JOIN sys.partition_schemes s ON s.function_id = f.function_id JOIN \
         sys.indexes i ON i.data_space_id = s.data_space_id JOIN sys.objects o ON o.object_id = i.object_id JOIN sys.schemas c ON \
         c.schema_id = o.schema_id WHERE f.name = {} AND i.index_id < 2",
        sql::text(&partitioning.function)
    );
    for row in session.rows(DOING, &question)? {
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        let table = sql::table(&text(0), &text(1));
        let Some(own) = Partitioning::of_table(session, &table)? else {
            continue;
        };
        let question = format!(
            "SELECT TOP (1) 1 FROM {table} WHERE {} = {}",
            own.number(),
            own.count
        );
        if session.number(DOING, &question)?.is_some() {
            return Err(Error::Unsuitable {
                what: format!(
                    "{target}: `bounds` go beyond its last bound, but its last partition has rows{}; a split would move them row by \
                     row, and log each",
                    match table == target {
                        true => String::new(),
                        false => format!(" in {table}, which has the same function"),
                    }
                ),
                hint: "leave `bounds` out: the rows go into the last partition; or split it yourself (ALTER PARTITION FUNCTION ... SPLIT \
                       RANGE)"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The filegroup of the last partition.
fn last_filegroup(session: &mut SqlSession, partitioning: &Partitioning) -> Result<String> {
    let question = format!(
        "SELECT g.name FROM sys.partition_schemes s JOIN sys.destination_data_spaces d ON d.partition_scheme_id = s.data_space_id \
         JOIN sys.filegroups g ON g.data_space_id = d.data_space_id WHERE s.name = {} AND d.destination_id = {}",
        sql::text(&partitioning.scheme),
        partitioning.count
    );
    let found = session.rows(DOING, &question)?;
    Ok(found
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .unwrap_or_else(|| "PRIMARY".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_dealt_to_filegroups() {
        let added = AddedPartitions {
            scheme: "s".to_owned(),
            function: "f".to_owned(),
            literals: ["1", "2", "3"].map(str::to_owned).to_vec(),
            filegroups: ["a", "b"].map(str::to_owned).to_vec(),
        };
        let expected = [
            "ALTER PARTITION SCHEME \"s\" NEXT USED \"a\"",
            "ALTER PARTITION FUNCTION \"f\"() SPLIT RANGE (1)",
            "ALTER PARTITION SCHEME \"s\" NEXT USED \"b\"",
            "ALTER PARTITION FUNCTION \"f\"() SPLIT RANGE (2)",
            "ALTER PARTITION SCHEME \"s\" NEXT USED \"a\"",
            "ALTER PARTITION FUNCTION \"f\"() SPLIT RANGE (3)",
        ];
        assert_eq!(added.statements(), expected);
    }

    #[test]
    fn the_first_bound_after_the_last_one_is_found() {
        let bounds: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        for last in 0..=10 {
            let found = first_after(&bounds, |bound| {
                Ok(bound.parse::<i32>().expect("a number") < last)
            });
            assert_eq!(found.expect("no error"), last as usize);
        }
    }
}
