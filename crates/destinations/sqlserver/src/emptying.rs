//! The statements that remove rows of a target.

use inrush_destination::Result;

use crate::catalog;
use crate::connection::SqlSession;
use crate::moved_rows;
use crate::partitions::Partitioning;
use crate::shape::TableShape;
use crate::sql;

/// True if TRUNCATE would be refused, or would not have all effects of DELETE. This is so if a foreign key references the
/// table, an indexed view reads it (error 4712), it is a temporal table, it is replicated or its changes are captured (error
/// 4711), or it has triggers, which TRUNCATE does not run. Fails if DELETE would change rows of other tables, too.
fn must_delete(session: &mut SqlSession, doing: &str, table: &str) -> Result<bool> {
    let object = sql::text(table);
    let rows = [
        format!("sys.foreign_keys WHERE referenced_object_id = OBJECT_ID({object})"),
        format!("sys.triggers WHERE parent_id = OBJECT_ID({object})"),
        format!(
            "sys.tables WHERE object_id = OBJECT_ID({object}) AND (temporal_type <> 0 OR {})",
            catalog::IS_REPLICATED
        ),
        catalog::bound_views(&object),
    ];
    let counts = rows.map(|rows| format!("(SELECT COUNT_BIG(*) FROM {rows})"));
    let question = format!("SELECT {}", counts.join(" + "));
    let must_delete = session.number(doing, &question)? != Some(0);
    if must_delete {
        catalog::refuse_cascades(session, table)?;
    }
    Ok(must_delete)
}

/// Removes all rows of a target.
pub fn empty(session: &mut SqlSession, target: &str) -> Result<()> {
    let doing = format!("cannot empty {target}");
    let statement = statement(session, target)?;
    session.run(&doing, &statement)?;
    Ok(())
}

/// The statement that removes all rows of a target.
pub fn statement(session: &mut SqlSession, target: &str) -> Result<String> {
    let doing = format!("cannot empty {target}");
    Ok(match must_delete(session, &doing, target)? {
        false => format!("TRUNCATE TABLE {target}"),
        true => format!("DELETE FROM {target} WITH (TABLOCK)"),
    })
}

/// Removes the rows of the partitions that get new ones.
pub fn empty_partitions(
    session: &mut SqlSession,
    target: &str,
    shape: &TableShape,
    partitioning: &Partitioning,
    numbers: &[u64],
) -> Result<()> {
    if numbers.is_empty() {
        return Ok(());
    }
    let numbers = moved_rows::listed(numbers);
    let doing = format!("cannot empty the partitions {numbers} of {target}");
    let statement = partitions_statement(session, target, shape, partitioning, &numbers)?;
    session.run(&doing, &statement)?;
    Ok(())
}

/// The statement that removes the rows of partitions. TRUNCATE cannot remove single partitions if an
/// index is not partitioned like its table (error 3756).
pub fn partitions_statement(
    session: &mut SqlSession,
    target: &str,
    shape: &TableShape,
    partitioning: &Partitioning,
    numbers: &str,
) -> Result<String> {
    let doing = format!("cannot empty partitions of {target}");
    Ok(
        match shape.is_aligned() && !must_delete(session, &doing, target)? {
            true => format!("TRUNCATE TABLE {target} WITH (PARTITIONS ({numbers}))"),
            false => format!(
                "DELETE FROM {target} WITH (TABLOCK){}",
                moved_rows::in_partitions(partitioning, numbers)
            ),
        },
    )
}
