//! The statements with which rows of a staging table get into a target that exists.

use crate::Session;
use crate::plan::switch_statements::CopyRows;
use crate::plan::versions::{VersionMerge, VersionRows};

/// The statements, for all rows of a staging table or for some.
#[derive(Clone, Copy, Debug)]
pub enum RowStatements<'a> {
    /// One INSERT.
    Copy(&'a CopyRows),
    /// The merge into a target that keeps versions.
    Versions(&'a VersionRows<'a>),
}

impl RowStatements<'_> {
    /// Runs them for all rows. Returns the number of rows that are in the target then.
    pub async fn run(self, session: &Session) -> Result<u64, tokio_postgres::Error> {
        match self {
            RowStatements::Copy(copy) => session.client.execute(copy.all().as_str(), &[]).await,
            RowStatements::Versions(rows) => merge(session, &rows.all()).await,
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
            RowStatements::Versions(rows) => merge(session, &rows.only(condition)).await,
        }
    }
}

async fn merge(session: &Session, merge: &VersionMerge) -> Result<u64, tokio_postgres::Error> {
    for sql in merge.changes() {
        session.client.execute(sql.as_str(), &[]).await?;
    }
    let current = session
        .client
        .query_one(merge.count_current.as_str(), &[])
        .await?;
    Ok(current.get::<_, i64>(0) as u64)
}
