//! The transaction of a load unit: begun, measured, committed.

use super::error::PostgresError;
use super::session::Session;

/// The server's facts of a staging table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitMeasure {
    /// Its own count of the rows.
    pub rows: u64,
    /// The smallest key as text.
    pub key_smallest: Option<String>,
    /// The largest key as text.
    pub key_largest: Option<String>,
}

impl UnitMeasure {
    /// Rows that were inserted among other rows, so a count would include both: each COPY's own count was compared with
    /// the number of sent rows.
    pub fn as_sent(rows: u64) -> UnitMeasure {
        UnitMeasure {
            rows,
            key_smallest: None,
            key_largest: None,
        }
    }
}

/// Counts the rows of a staging table by the plan's statement.
pub async fn measure(session: &Session, statement: &str) -> Result<UnitMeasure, PostgresError> {
    let rows = session
        .query(statement, &[], "counting a unit's rows")
        .await?;
    Ok(UnitMeasure {
        rows: rows[0].get::<_, i64>(0) as u64,
        key_smallest: rows[0].get(1),
        key_largest: rows[0].get(2),
    })
}

/// Sends COMMIT and, once it has left without its answer being waited for, calls `then`: for
/// tests of a reply that is lost.
pub async fn send_commit_and(session: &Session, then: impl FnOnce()) {
    let before = session.watch.bytes_sent();
    tokio::select! {
        biased;
        _ = session.client.batch_execute("COMMIT") => {}
        () = async {
            while session.watch.bytes_sent() == before {
                tokio::task::yield_now().await;
            }
        } => {}
    }
    then();
}
