//! The transaction of a load unit: begun, measured, committed.

use super::error::PostgresError;
use super::session::Session;
use crate::fast_copy::KeyEnds;
use crate::plan::KeyPlan;

/// The server's figures for a staging table.
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
    /// The sum of the COPYs' own counts, without keys. It is used for a table that no other session sees, and for rows
    /// that were inserted among others, because counting the table would include the others. Each COPY's count was
    /// compared with the number of rows sent.
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

/// True if a staging table has triggers, by the plan's query.
pub async fn has_triggers(session: &Session, statement: &str) -> Result<bool, PostgresError> {
    let rows = session
        .query(statement, &[], "looking for triggers of a unit")
        .await?;
    Ok(rows.first().is_none_or(|row| row.get(0)))
}

/// The smallest and the largest key of all COPYs of a unit, in the server's order.
pub async fn ends(
    session: &Session,
    key: &KeyPlan,
    rows: u64,
    copies: &[KeyEnds],
) -> Result<UnitMeasure, PostgresError> {
    let measured = |key_smallest, key_largest| UnitMeasure {
        rows,
        key_smallest,
        key_largest,
    };
    if let [] | [_] = copies {
        let one = copies.first();
        return Ok(measured(
            one.and_then(|one| one.smallest.clone()),
            one.and_then(|one| one.largest.clone()),
        ));
    }
    let sql = format!(
        "SELECT min(k::{0})::text, max(k::{0})::text FROM unnest($1::text[]) k",
        key.type_sql
    );
    let ends = copies
        .iter()
        .flat_map(|copy| [&copy.smallest, &copy.largest]);
    let ends: Vec<&str> = ends.flatten().map(String::as_str).collect();
    let found = session
        .query(&sql, &[&ends], "comparing the keys of a unit")
        .await?;
    Ok(measured(found[0].get(0), found[0].get(1)))
}

/// Sends COMMIT and calls `then` once it is sent, without waiting for the answer; for tests of a lost reply.
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
