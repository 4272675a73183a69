//! Partitions that a table gets after its last one, for bounds beyond its last bound: ALTER PARTITION FUNCTION ...
//! SPLIT RANGE.
//!
//! A split of a partition with rows moves and logs them row by row. So a split is made only if the last partition is
//! empty in every table that has the function. The statement changes all of these tables, and takes a Sch-M lock on
//! each, until the transaction in which the run begins is committed. It runs before the staging table is made, which
//! uses the same function (https://learn.microsoft.com/sql/t-sql/statements/alter-partition-function-transact-sql).
//!
//! Bounds of a package are the first values of partitions, as RANGE RIGHT has them. With RANGE LEFT a bound is the last
//! value of a partition: the largest value before the bound of the package ([`last_before`]). A text has no largest
//! text before it, so only RANGE RIGHT accepts bounds of texts.

use inrush_destination::{Error, Result, TargetColumn, TargetPlan};
use inrush_rows::column_type::ColumnType;

use crate::catalog;
use crate::connection::SqlSession;
use crate::last_before::last_before;
use crate::options::Options;
use crate::partitions::{Partitioning, literal};
use crate::sql;

const DOING: &str = "cannot read the partitions of a table";

/// Partitions that are added to all tables with one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedPartitions {
    function: String,
    /// The new bounds.
    literals: Vec<String>,
    /// The schemes of the function, each with filegroups. A split needs a filegroup in each scheme; the new partitions
    /// are assigned to the filegroups of a scheme in turn.
    schemes: Vec<(String, Vec<String>)>,
    /// The first target that asked for them.
    target: String,
}

impl AddedPartitions {
    /// The partitions that plans add to tables that exist, each function once. A plan has bounds for such a table only if they
    /// [can be added](can_be_added).
    pub fn of_plans<'a>(
        session: &mut SqlSession,
        options: &Options,
        plans: impl IntoIterator<Item = &'a TargetPlan>,
    ) -> Result<Vec<AddedPartitions>> {
        let mut found: Vec<AddedPartitions> = Vec::new();
        for plan in plans {
            let target = &plan.name.sql;
            let Some((partitioning, literals)) = missing(session, plan)? else {
                continue;
            };
            let known = found
                .iter_mut()
                .find(|known| known.function == partitioning.function);
            if let Some(known) = known {
                let new = literals.into_iter();
                let new: Vec<_> = new.filter(|it| !known.literals.contains(it)).collect();
                known.literals.extend(new);
                continue;
            }
            require_empty(session, target, &partitioning)?;
            found.push(AddedPartitions {
                schemes: schemes(session, &partitioning, options)?,
                function: partitioning.function,
                literals,
                target: target.clone(),
            });
        }
        Ok(found)
    }

    /// Adds them.
    pub fn add(&self, session: &mut SqlSession) -> Result<()> {
        let doing = format!("cannot add partitions to {}", self.target);
        for statement in self.statements() {
            session.run(&doing, &statement)?;
        }
        Ok(())
    }

    /// The statements that add them.
    pub fn statements(&self) -> Vec<String> {
        let function = sql::identifier(&self.function);
        let mut statements = Vec::new();
        for (at, literal) in self.literals.iter().enumerate() {
            for (scheme, filegroups) in &self.schemes {
                statements.push(format!(
                    "ALTER PARTITION SCHEME {} NEXT USED {}",
                    sql::identifier(scheme),
                    sql::identifier(&filegroups[at % filegroups.len()])
                ));
            }
            statements.push(format!(
                "ALTER PARTITION FUNCTION {function}() SPLIT RANGE ({literal})"
            ));
        }
        statements
    }
}

/// The bounds that the function of a plan's target does not reach, as literals; `None` if there are none.
fn missing(
    session: &mut SqlSession,
    plan: &TargetPlan,
) -> Result<Option<(Partitioning, Vec<String>)>> {
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
    let bounds = plan.bounds.iter().filter_map(|bound| {
        let bound = match partitioning.is_right {
            true => bound.clone(),
            // A bound without a value before it is below all bounds of the function.
            false => last_before(bound, &key.column_type, &key.sql)?,
        };
        Some(literal(&bound, &key.column_type))
    });
    let mut literals: Vec<String> = bounds.collect();
    match key.column_type {
        // Only the server knows the order of texts in the column's collation.
        ColumnType::Text { .. } => {
            let mut new = Vec::new();
            for bound in literals {
                if !reaches(session, &partitioning, &key.sql, &bound)? {
                    new.push(bound);
                }
            }
            literals = new;
        }
        _ => {
            let has = first_after(&literals, |bound| {
                reaches(session, &partitioning, &key.sql, bound)
            })?;
            literals.drain(..has);
        }
    }
    Ok((!literals.is_empty()).then_some((partitioning, literals)))
}

/// True if a table with these columns can get further partitions.
pub fn can_be_added(partitioning: &Partitioning, columns: &[TargetColumn]) -> bool {
    let mut columns = columns.iter();
    let key = columns.find(|column| column.name == partitioning.column);
    let key = key.and_then(|column| column.column_type.as_ref());
    match key {
        Some(
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Date
            | ColumnType::Timestamp { .. }
            | ColumnType::TimestampTz { .. },
        ) => true,
        Some(ColumnType::Text { .. }) => partitioning.is_right,
        _ => false,
    }
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
    // In the query, the collation comes after the CAST, not inside it.
    let (plain, collation) = match type_sql.split_once(" COLLATE ") {
        Some((plain, collation)) => (plain, format!(" COLLATE {collation}")),
        None => (type_sql, String::new()),
    };
    let question = format!(
        "SELECT COUNT_BIG(*) FROM sys.partition_functions f JOIN sys.partition_range_values v ON v.function_id = f.function_id \
         WHERE f.name = {} AND CAST(v.value AS {plain}){collation} >= CAST({bound} AS {plain}){collation}",
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
                    "{target}: `bounds` go beyond its last bound, but its last partition has rows{}; a split would \
                     move them row by row, and log each row",
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

/// The schemes of the function, each with the filegroups of its new partitions. These are the filegroups of the
/// options, or the filegroup of its last partition.
fn schemes(
    session: &mut SqlSession,
    partitioning: &Partitioning,
    options: &Options,
) -> Result<Vec<(String, Vec<String>)>> {
    let question = format!(
        "SELECT s.name, g.name FROM sys.partition_functions f JOIN sys.partition_schemes s ON s.function_id = f.function_id JOIN \
         sys.destination_data_spaces d ON d.partition_scheme_id = s.data_space_id JOIN sys.filegroups g ON g.data_space_id = \
         d.data_space_id WHERE f.name = {} AND d.destination_id = {} ORDER BY s.name",
        sql::text(&partitioning.function),
        partitioning.count
    );
    let rows = session.rows(DOING, &question)?;
    let scheme = |row: Vec<Option<String>>| {
        let mut values = row.into_iter().map(Option::unwrap_or_default);
        let (name, last) = (values.next().unwrap_or_default(), values.next());
        let last = last.unwrap_or_else(|| "PRIMARY".to_owned());
        let filegroups = match options.filegroups.is_empty() {
            true => vec![last],
            false => options.filegroups.clone(),
        };
        (name, filegroups)
    };
    Ok(rows.into_iter().map(scheme).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_dealt_to_filegroups() {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut added = AddedPartitions {
            function: "f".to_owned(),
            literals: texts(&["1", "2", "3"]),
            schemes: vec![("s".to_owned(), texts(&["a", "b"]))],
            target: "t".to_owned(),
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
        added.literals.truncate(1);
        added.schemes.push(("u".to_owned(), texts(&["c"])));
        let expected = [
            "ALTER PARTITION SCHEME \"s\" NEXT USED \"a\"",
            "ALTER PARTITION SCHEME \"u\" NEXT USED \"c\"",
            "ALTER PARTITION FUNCTION \"f\"() SPLIT RANGE (1)",
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
