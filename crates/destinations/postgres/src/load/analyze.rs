//! ANALYZE of a target after the switch. The streams have analyzed the units that became tables or partitions
//! (`plan/statistics.rs`).

use super::prepared::PostgresRun;
use crate::PostgresError;
use crate::plan::statistics;

/// Analyzes the target of a flow.
pub async fn of_target(run: &PostgresRun, flow: usize) -> Result<(), PostgresError> {
    let (plan, control) = (&run.plan, &run.control);
    let Some(statement) = statistics::of_target(plan, &plan.flows[flow]) else {
        return Ok(());
    };
    let lock_timeout = statistics::lock_timeout(plan);
    control.execute(&lock_timeout, "analyzing").await?;
    match control.execute(&statement, "analyzing").await {
        Err(error) if error.is_blocked() => Err(PostgresError::Unsuitable {
            what: format!(
                "another session held a lock on it for longer than run.lock_timeout_ms ({} ms); when that session has ended, \
                 run: {statement}",
                plan.settings.lock_timeout_ms
            ),
            hint: "the rows are in the target; only its statistics are old".to_owned(),
        }),
        analyzed => analyzed,
    }
}
