//! Clustered columnstores: how rows get into them in full rowgroups, and what the report says about their rowgroups.
//!
//! A columnstore compresses rowgroups of up to 1,048,576 rows. A bulk load into a columnstore makes one rowgroup or
//! several of the rows that a batch brings to a partition. If these are fewer than 102,400 rows, they stay
//! uncompressed. The batches of a load are its units, whose sizes are those of files and their splits. So rows are
//! never sent into a columnstore. Staging is a heap, and the columnstore is built from all of its rows at once, just
//! before they are switched in or renamed. Only the last rowgroup of each partition and of each thread of the build is
//! smaller.
//!
//! Rows for a table or partition that already has rows are copied into its columnstore. The server compresses them if there
//! are at least 102,400, and keeps the others in a delta rowgroup; the report names both.
//!
//! <https://learn.microsoft.com/sql/relational-databases/indexes/columnstore-indexes-data-loading-guidance>

use inrush_destination::{Error, Result, TargetPlan};
use inrush_rows::quantity;

use crate::catalog;
use crate::connection::{POLITE_LOCK_MILLISECONDS, RUN_LOCK_MILLISECONDS, SqlSession};
use crate::indexes::CLUSTERED_COLUMNSTORE;
use crate::server::Server;
use crate::sql;

/// Rows of a full rowgroup.
const ROWGROUP_ROWS: u64 = 1_048_576;
/// Fewer rows of a batch stay uncompressed, in a delta rowgroup.
const COMPRESSED_ROWS_MIN: u64 = 102_400;
/// The name of the columnstore of a new table. The name of an index need only be unique within its table.
const NEW_NAME: &str = "columnstore";

/// The statement that makes a new table, with all of its rows, a columnstore. `on` is the text after ON that places its
/// partitions.
pub fn statement(table: &str, on: Option<String>) -> String {
    let on = on.map(|on| format!(" ON {on}"));
    format!(
        "CREATE CLUSTERED COLUMNSTORE INDEX {} ON {table}{}",
        sql::identifier(NEW_NAME),
        on.unwrap_or_default()
    )
}

/// Fails if a new table cannot be a columnstore (the option `columnstore`).
pub fn check(session: &mut SqlSession, server: &Server, plan: &TargetPlan) -> Result<()> {
    if catalog::is_table(session, &plan.name)? {
        return Ok(());
    }
    let target = &plan.name.sql;
    if server.is_babelfish {
        return Err(Error::Unsuitable {
            what: format!("{target}: Babelfish has no columnstores"),
            hint: "leave the option columnstore out".to_owned(),
        });
    }
    for column in &plan.columns {
        let is_long = column.sql.contains("(max)");
        let wrong = match column.sql.as_str() {
            "xml" => "no columnstore can have",
            _ if is_long && !server.has_long_columnstores => {
                "columnstores can have only from SQL Server 2017 on"
            }
            _ => continue,
        };
        return Err(Error::Unsuitable {
            what: format!(
                "{target}: column {} has the type {}, which {wrong}",
                column.name, column.sql
            ),
            hint: match is_long {
                true => {
                    "give it a size, such as nvarchar(200), or leave the option columnstore out"
                }
                false => "give it another type, or leave the option columnstore out",
            }
            .to_owned(),
        });
    }
    Ok(())
}

/// The note of a plan about a target that is a columnstore.
pub fn plan_note(target: &str) -> String {
    format!(
        "{target} is a clustered columnstore. Rows that are switched in are compressed first, all at once, in rowgroups of {} rows, \
         whatever the size of files and load units. Rows for a table or a partition that has rows are copied; if they are fewer \
         than {}, they stay uncompressed",
        quantity::count(ROWGROUP_ROWS),
        quantity::count(COMPRESSED_ROWS_MIN)
    )
}

/// The report's note about the columnstore that was built from all staged rows; `None` if there is nothing to note.
pub fn built_note(session: &mut SqlSession, table: &str, target: &str) -> Option<String> {
    note(session, table, target, |groups| {
        let cut: Vec<String> = groups.iter().filter_map(RowGroups::hint_if_cut).collect();
        (!cut.is_empty()).then(|| cut.join("; "))
    })
}

/// The report's note about a target into which rows were copied; `None` if the target is not a columnstore, or if all
/// of its rows are compressed.
pub fn copied_note(session: &mut SqlSession, target: &str) -> Option<String> {
    let index = columnstore_of(session, target).ok().flatten()?;
    note(session, target, target, |groups| {
        let waiting = groups.iter().filter(|groups| groups.is_delta());
        let rows: u64 = waiting.map(|groups| groups.rows).sum();
        (rows > 0).then(|| {
            format!(
                "it keeps {} uncompressed, in delta rowgroups. ALTER INDEX {} ON {target} REORGANIZE WITH \
                 (COMPRESS_ALL_ROW_GROUPS = ON) compresses them",
                quantity::counted(rows, "row"),
                sql::identifier(&index)
            )
        })
    })
}

/// Rowgroups with the same state, which were closed for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RowGroups {
    state: String,
    trim_reason: String,
    count: u64,
    rows: u64,
}

impl RowGroups {
    /// They are not compressed.
    fn is_delta(&self) -> bool {
        self.state == "OPEN" || self.state == "CLOSED"
    }

    /// Why the build closed them before they were full, and the fix. The last rowgroups of a build are no hazard.
    fn hint_if_cut(&self) -> Option<String> {
        let fix = match self.trim_reason.as_str() {
            "MEMORY_LIMITATION" => {
                "the server had too little memory for its build: raise the memory grant of the login's workload group"
            }
            "DICTIONARY_SIZE" => {
                "a column has too many different or long texts for its dictionary: shorten its texts, or use a rowstore for it"
            }
            _ => return None,
        };
        let rows = quantity::count(self.rows / self.count.max(1));
        Some(format!(
            "{} {} with {rows} rows on average instead of {}, because of {}: {fix}",
            quantity::counted(self.count, "rowgroup"),
            if self.count == 1 {
                "was closed"
            } else {
                "were closed"
            },
            quantity::count(ROWGROUP_ROWS),
            self.trim_reason
        ))
    }
}

/// Reads the rowgroups of a table, outside of every transaction. If this fails, the load goes on, and the report says so.
fn note(
    session: &mut SqlSession,
    table: &str,
    target: &str,
    told: impl Fn(&[RowGroups]) -> Option<String>,
) -> Option<String> {
    let what = match row_groups(session, table) {
        Ok(groups) => told(&groups)?,
        Err(error) => format!(
            "its rowgroups could not be looked at; the login may need VIEW DATABASE STATE: {error}"
        ),
    };
    Some(format!("{target} is a columnstore: {what}"))
}

/// The name of the columnstore of a table, if its rows are in one.
fn columnstore_of(session: &mut SqlSession, table: &str) -> Result<Option<String>> {
    let question = format!(
        "SELECT name FROM sys.indexes WHERE object_id = OBJECT_ID({}) AND type = {CLUSTERED_COLUMNSTORE}",
        sql::text(table)
    );
    let names = session.rows("cannot look for a columnstore", &question)?;
    Ok(names.into_iter().flatten().flatten().next())
}

fn row_groups(session: &mut SqlSession, table: &str) -> Result<Vec<RowGroups>> {
    let question = format!(
        "SELECT state_desc, trim_reason_desc, COUNT_BIG(*), SUM(total_rows) FROM \
         sys.dm_db_column_store_row_group_physical_stats WHERE object_id = OBJECT_ID({}) AND index_id = 1 GROUP BY state_desc, \
         trim_reason_desc ORDER BY state_desc, trim_reason_desc",
        sql::text(table)
    );
    session.limit_lock_waits(POLITE_LOCK_MILLISECONDS)?;
    let rows = session.rows("cannot read the rowgroups", &question);
    session.limit_lock_waits(RUN_LOCK_MILLISECONDS)?;
    let groups = rows?.into_iter().map(|row| {
        let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
        RowGroups {
            state: text(0),
            trim_reason: text(1),
            count: text(2).parse().unwrap_or(0),
            rows: text(3).parse().unwrap_or(0),
        }
    });
    Ok(groups.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(state: &str, trim_reason: &str, count: u64, rows: u64) -> RowGroups {
        RowGroups {
            state: state.to_owned(),
            trim_reason: trim_reason.to_owned(),
            count,
            rows,
        }
    }

    #[test]
    fn rowgroups_that_were_cut_are_told_with_the_fix() {
        for whole in ["NO_TRIM", "RESIDUAL_ROW_GROUP", "BULKLOAD", ""] {
            assert_eq!(
                groups("COMPRESSED", whole, 3, 9).hint_if_cut(),
                None,
                "{whole}"
            );
        }
        let memory = groups("COMPRESSED", "MEMORY_LIMITATION", 2, 1_000_000).hint_if_cut();
        let memory = memory.expect("a hint");
        assert!(
            memory.starts_with("2 rowgroups were closed with 500,000 rows on average instead of 1,048,576, because of MEMORY_LIMITATION")
                && memory.contains("memory grant"),
            "{memory}"
        );
        let long = groups("COMPRESSED", "DICTIONARY_SIZE", 1, 5).hint_if_cut();
        assert!(long.is_some_and(|long| long.starts_with("1 rowgroup was closed with 5 rows")));
    }

    #[test]
    fn delta_rowgroups_are_those_that_are_not_compressed() {
        let is_delta = |state: &str| groups(state, "", 1, 1).is_delta();
        assert_eq!(
            ["OPEN", "CLOSED", "COMPRESSED", "TOMBSTONE"].map(is_delta),
            [true, true, false, false]
        );
    }
}
