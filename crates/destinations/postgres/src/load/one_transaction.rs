//! Loads without staging tables (`staging = false`): one session writes the rows of all flows directly to their
//! targets, in the transaction that the switch commits.
//!
//! This session is the control session. Each flow is one part after a savepoint, so that a part with a refused row can
//! be loaded once more, carefully. A target gets its rows before the targets whose foreign keys refer to it.

use std::sync::{MutexGuard, PoisonError};

use inrush_plan::hints::NOTHING_KEPT;

use super::prepared::PostgresRun;
use crate::load_error::LoadError;
use crate::plan::Plan;
use crate::plan::begin_steps::{self, AllFlowsStep};
use crate::switch::{SwitchError, deferred, order};
use crate::transaction::Transaction;
use crate::{PostgresError, Session};

const LATE_REFUSAL: &str = "this was found only after the rows of all flows were loaded, so all of \
     them were rolled back; fix the row, or remove `staging = false` to get it as a reject";

/// The statements that begin, end, and roll back a part. A part that is begun again gets a savepoint within the former
/// one.
pub const PART: [&str; 3] = [
    "SAVEPOINT inrush_flow",
    "RELEASE SAVEPOINT inrush_flow",
    "ROLLBACK TO SAVEPOINT inrush_flow",
];

/// Begins the transaction. Returns the flows in the order in which their tables refer to each other. The switch commits
/// the transaction. If the run fails before the switch, [`roll_back`] is called.
pub async fn begin(run: &PostgresRun) -> Result<Vec<usize>, LoadError> {
    let session = &run.control;
    let mut transaction = None;
    for step in begin_steps::ALL_FLOWS {
        match step {
            AllFlowsStep::Begin => {
                let doing = "beginning the transaction of all flows";
                transaction = Some(Transaction::begin(session, doing).await?);
            }
            AllFlowsStep::HoldFence => run.ledger.hold_fence(session, &run.fence).await?,
        }
    }
    let order = flows_in_order(&run.plan, session).await?;
    *of_all_flows(run) = transaction;
    Ok(order)
}

/// Called when all rows are loaded. Leaves the transaction open, so that the switch can commit it.
pub fn leave_open(run: &PostgresRun) {
    if let Some(transaction) = of_all_flows(run).take() {
        transaction.leave_open();
    }
}

/// Sends the ROLLBACK of a load that has failed.
pub fn roll_back(run: &PostgresRun) {
    *of_all_flows(run) = None;
}

fn of_all_flows(run: &PostgresRun) -> MutexGuard<'_, Option<Transaction>> {
    let transaction = run.all_flows.lock();
    transaction.unwrap_or_else(PoisonError::into_inner)
}

/// The error of the switch that ends such a load, with a hint that fits such a load.
pub fn switch_failed(error: SwitchError) -> inrush_destination::Error {
    let hint = match &error {
        SwitchError::Refused { .. } => Some(LATE_REFUSAL.to_owned()),
        SwitchError::Statement { .. } => Some(format!("fix the statement: {NOTHING_KEPT}")),
        SwitchError::Blocked { .. } => Some(NOTHING_KEPT.to_owned()),
        _ => None,
    };
    match hint {
        Some(hint) => inrush_destination::Error::Unsuitable {
            what: error.to_string(),
            hint,
        },
        None => error.into(),
    }
}

async fn flows_in_order(plan: &Plan, session: &Session) -> Result<Vec<usize>, PostgresError> {
    let names: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
    let references = order::references(session, plan).await?;
    Ok(order::order(&names, &references, |_| false))
}

/// From now on, lets the server check a flow's constraints with each statement and not only at COMMIT, where it would
/// be too late to reject a single row. Constraints that need the rows of later flows stay deferred.
pub async fn check_at_once(
    plan: &Plan,
    session: &Session,
    flow: usize,
) -> Result<(), PostgresError> {
    let order = flows_in_order(plan, session).await?;
    let place = order.iter().position(|one| *one == flow).unwrap_or(0);
    deferred::at_once(session, plan, flow, &order[place + 1..]).await
}
