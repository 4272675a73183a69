//! The statements that bring rows of a staging table into an existing target.

use crate::Session;
use crate::plan::switch_statements::CopyRows;
use crate::plan::versions::{VersionMerge, VersionRows};

/// The statements, for all rows of a staging table or for some.
#[derive(Clone, Copy, Debug)]
pub enum RowStatements<'a> {
    /// One INSERT.
    Copy(&'a CopyRows),
    /// The merge into a target that keeps versions, and the numbers of rows that it changes if all rows are merged.
    Versions(&'a VersionRows<'a>, VersionCounts),
}

/// The numbers of rows that will be merged as versions, counted before the merge.
#[derive(Clone, Copy, Debug, Default)]
pub struct VersionCounts {
    /// Rows without a current version.
    pub new: u64,
    /// Rows whose current version ends.
    pub changed: u64,
    /// Rows whose current version is overwritten.
    pub overwritten: u64,
    /// Changed rows whose current version does not begin before the run.
    pub later: u64,
}

impl VersionCounts {
    /// The answer to `VersionMerge::count`.
    pub fn of_row(row: &tokio_postgres::Row) -> VersionCounts {
        let number = |place: usize| row.get::<_, i64>(place) as u64;
        VersionCounts {
            new: number(0),
            changed: number(1),
            overwritten: number(2),
            later: number(3),
        }
    }
}

impl RowStatements<'_> {
    /// Runs them for all rows. Returns the number of these rows that are in the target afterwards.
    pub async fn run(self, session: &Session) -> Result<u64, tokio_postgres::Error> {
        match self {
            RowStatements::Copy(copy) => session.client.execute(copy.all().as_str(), &[]).await,
            RowStatements::Versions(rows, counts) => merge(session, &rows.all(), counts).await,
        }
    }

    /// Runs them for the rows that meet a condition.
    pub async fn run_only(
        self,
        session: &Session,
        condition: &str,
    ) -> Result<u64, tokio_postgres::Error> {
        match self {
            RowStatements::Copy(copy) => {
                let sql = copy.only(condition);
                session.client.execute(sql.as_str(), &[]).await
            }
            RowStatements::Versions(rows, _) => {
                let some = rows.only(condition);
                let counts = session.client.query_one(some.count.as_str(), &[]).await?;
                merge(session, &some, VersionCounts::of_row(&counts)).await
            }
        }
    }
}

/// Merges rows, and returns how many were merged. A row is not counted if a trigger or rule of the target left its
/// version unchanged.
async fn merge(
    session: &Session,
    merge: &VersionMerge,
    counts: VersionCounts,
) -> Result<u64, tokio_postgres::Error> {
    let execute = async |sql: &String| session.client.execute(sql.as_str(), &[]).await;
    let ended = execute(&merge.end).await?;
    let mut kept = counts.changed.saturating_sub(ended);
    if let Some(overwrite) = &merge.overwrite {
        let overwritten = execute(overwrite).await?;
        kept += counts.overwritten.saturating_sub(overwritten);
    }
    execute(&merge.add).await?;
    let current = session
        .client
        .query_one(merge.count_current.as_str(), &[])
        .await?;
    Ok((current.get::<_, i64>(0) as u64).saturating_sub(kept))
}
