//! Reads from the ledger whether a run is switched, after the connection that switched it was lost.

use std::time::Duration;

use super::prepared::PostgresRun;
use crate::Session;
use crate::ledger::LedgerError;

/// The longest wait for a lock on the run's row.
const SETTLE_PATIENCE: Duration = Duration::from_secs(5);
/// The longest wait for the answer, including the wait for old backends to end.
pub const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads the ledger over a new connection. The backend of the lost connection may still be committing, or hold the
/// run's row without noticing the lost connection: it gets some time, and is then ended.
pub async fn was_switched(run: &PostgresRun) -> Result<bool, LedgerError> {
    let session = Session::open(&run.address, "inrush settle").await?;
    let switched = ask_ledger(run, &session).await;
    session.close().await;
    switched
}

async fn ask_ledger(run: &PostgresRun, session: &Session) -> Result<bool, LedgerError> {
    let patience = format!("SET lock_timeout = {}", SETTLE_PATIENCE.as_millis());
    session
        .execute(&patience, "asking whether the switch was committed")
        .await?;
    let first = run.ledger.is_switched(session, run.fence.run_id).await;
    if let Ok(switched) = first {
        return Ok(switched);
    }
    run.ledger.end_backends(session, &run.record.name).await?;
    run.ledger.is_switched(session, run.fence.run_id).await
}
