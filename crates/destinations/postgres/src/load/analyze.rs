//! ANALYZE of a target after the switch. The streams have analyzed the units that became tables or partitions
//! (`plan/statistics.rs`).

use inrush_engine::driver_error::DriverError;
use inrush_engine::error::Error;

use super::context::Context;
use crate::plan::statistics;

/// Another session held the target for too long.
#[derive(Debug, thiserror::Error)]
#[error(
    "another session held a lock on it for longer than run.lock_timeout_ms ({lock_timeout_ms} ms); run this when it has \
     ended: {statement}"
)]
struct Locked {
    lock_timeout_ms: u32,
    statement: String,
}

/// Analyzes the target of a flow.
pub async fn of_target(context: &Context<'_>, flow: usize) -> Result<(), Error> {
    let (plan, control) = (&context.run.plan, &context.run.control);
    let Some(statement) = statistics::of_target(plan, &plan.flows[flow]) else {
        return Ok(());
    };
    let lock_timeout = statistics::lock_timeout(plan);
    control.execute(&lock_timeout, "analyzing").await?;
    match control.execute(&statement, "analyzing").await {
        Err(error) if error.is_blocked() => {
            let locked = Locked {
                lock_timeout_ms: plan.settings.lock_timeout_ms,
                statement,
            };
            Err(Error::Driver(DriverError::new(locked, None)))
        }
        analyzed => Ok(analyzed?),
    }
}
