//! Runs the switch.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::error::SwitchError;
use super::tasks::TargetTask;
use crate::destination::postgres::quote::literal;
use crate::destination::postgres::{DestinationError, Session, catalog};
use crate::fault::{self, Fault, FaultPoint};
use crate::ledger::{Fence, Ledger};
use crate::package::Mode;
use crate::plan::index_rebuild;
use crate::plan::switch_statements::{self, SwitchStep};
use crate::plan::units::PartitionNames;
use crate::plan::{FlowPlan, Plan, Publish};

/// How often a switch that is blocked by somebody's lock is tried.
const TRIES: u32 = 5;
/// Between two tries nothing is held, so that whoever queued behind us gets on.
const PAUSE_BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Everything that the switch needs.
pub struct SwitchTask<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// What is to be done to each target.
    pub targets: &'a [TargetTask],
    /// The modes of the flows, in the plan's order.
    pub modes: &'a [Mode],
    /// The ledger.
    pub ledger: &'a Ledger,
    /// The run's fence.
    pub fence: &'a Fence,
    /// A wish to die, for tests.
    pub fault: Option<&'a Fault>,
}

/// Switches all targets in one transaction, and marks the run as switched in it. Where a lock
/// cannot be had in time, all is rolled back and tried again a few times. Returns what was done,
/// with the names that the partitions have.
pub async fn run(session: &Session, task: &SwitchTask<'_>) -> Result<Vec<TargetTask>, SwitchError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match attempt(session, task).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let blocked = matches!(
            &error,
            SwitchError::Destination(refused)
                if matches!(
                    refused.code(),
                    Some(code) if *code == SqlState::LOCK_NOT_AVAILABLE
                        || *code == SqlState::T_R_DEADLOCK_DETECTED
                )
        );
        if !matches!(
            &error,
            SwitchError::Destination(DestinationError::Lost { .. })
        ) {
            session.execute("ROLLBACK", "undoing the switch").await?;
        }
        if !blocked {
            return Err(error);
        }
        if tries == TRIES {
            return Err(SwitchError::Blocked {
                tries,
                waited_ms: task.plan.settings.lock_timeout_ms,
                blockers: blockers(session, task).await?,
            });
        }
        tokio::time::sleep(PAUSE_BETWEEN_TRIES).await;
    }
}

async fn attempt(session: &Session, task: &SwitchTask<'_>) -> Result<Vec<TargetTask>, SwitchError> {
    let doing = "switching";
    session.execute("BEGIN", doing).await?;
    session
        .execute(
            &format!(
                "SET LOCAL lock_timeout = {}",
                task.plan.settings.lock_timeout_ms
            ),
            doing,
        )
        .await?;
    task.ledger.hold_fence_alone(session, task.fence).await?;
    // A fixed order of locks, so that two switches cannot wait for each other.
    let mut order: Vec<&TargetTask> = task.targets.iter().collect();
    order.sort_by_key(|target| task.plan.flows[target.flow].target());
    let mut done = Vec::new();
    for target in order {
        done.push(publish(session, task, target).await?);
    }
    fault::reach(task.fault, FaultPoint::InSwitch);
    let oids = target_oids(session, task).await?;
    task.ledger
        .mark_switched(session, task.fence, &oids)
        .await?;
    fault::reach(task.fault, FaultPoint::BeforeSwitchCommit);
    if fault::wished(task.fault, FaultPoint::SwitchCommitSent) {
        crate::destination::postgres::unit::send_commit_and(session, || {
            fault::die(FaultPoint::SwitchCommitSent)
        })
        .await;
    }
    session.execute("COMMIT", "committing the switch").await?;
    fault::reach(task.fault, FaultPoint::AfterSwitchCommit);
    Ok(done)
}

async fn publish(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
) -> Result<TargetTask, SwitchError> {
    let flow = &task.plan.flows[target.flow];
    let name = flow.target();
    let doing = format!("switching {name}");
    if let Some(create) = switch_statements::create_target(flow) {
        session.execute(&create, &doing).await?;
    }
    let exists = matches!(flow.publish, Publish::Attach | Publish::Insert);
    if exists {
        // What ATTACH takes on the parent, and what keeps other writers of a plain target out.
        let mode = match flow.publish {
            Publish::Insert => "SHARE ROW EXCLUSIVE",
            _ => "SHARE UPDATE EXCLUSIVE",
        };
        session
            .execute(&format!("LOCK TABLE {name} IN {mode} MODE"), &doing)
            .await?;
        if task.modes[target.flow] == Mode::Create {
            let sql = format!("SELECT EXISTS (SELECT FROM {name})");
            if session.query(&sql, &[], &doing).await?[0].get(0) {
                return Err(SwitchError::Filled { target: name });
            }
        }
    }
    let target = named(session, flow, target).await?;
    for statement in index_rebuild::before_rows(flow) {
        session.execute(&statement, &doing).await?;
    }
    for unit in &target.units {
        for step in switch_statements::publish_unit(flow, &task.plan.settings.staging_schema, unit)
        {
            match step {
                SwitchStep::Metadata(sql) => session.execute(&sql, &doing).await?,
                SwitchStep::CopyRows(sql) => {
                    // The target's own triggers find what they name as in any other session.
                    session
                        .execute("SET LOCAL search_path = DEFAULT", &doing)
                        .await?;
                    let counted = session
                        .client
                        .execute(sql.as_str(), &[])
                        .await
                        .map_err(|error| DestinationError::from_driver(error, doing.clone()))?;
                    if counted != target.rows {
                        return Err(SwitchError::Count {
                            target: name,
                            counted,
                            expected: target.rows,
                        });
                    }
                    session
                        .execute("SET LOCAL search_path = pg_catalog", &doing)
                        .await?;
                }
            }
        }
    }
    for statement in index_rebuild::after_rows(flow) {
        session.execute(&statement, &doing).await?;
    }
    Ok(target)
}

/// Other names for partitions whose names somebody took since the plan was made. The lock on the
/// target keeps other loads of it from taking more.
async fn named(
    session: &Session,
    flow: &FlowPlan,
    target: &TargetTask,
) -> Result<TargetTask, SwitchError> {
    let mut target = target.clone();
    if flow.key.is_none() {
        return Ok(target);
    }
    let taken = catalog::relation_names(session, &flow.schema, None).await?;
    let given = target
        .units
        .iter()
        .filter_map(|unit| unit.partition_name.clone());
    let either = taken.iter().cloned().chain(given).collect();
    let mut names = PartitionNames::new(&flow.table, &either);
    for unit in target.units.iter_mut().filter(|unit| unit.attached) {
        if unit
            .partition_name
            .as_ref()
            .is_some_and(|name| taken.contains(name))
        {
            unit.partition_name = Some(names.take());
        }
    }
    Ok(target)
}

/// The OIDs that the targets have now, in the plan's order.
async fn target_oids(session: &Session, task: &SwitchTask<'_>) -> Result<Vec<u32>, SwitchError> {
    let mut oids = Vec::new();
    for flow in &task.plan.flows {
        let sql = format!(
            "SELECT {}::regclass::oid",
            literal(&flow.target()).trim_start()
        );
        let rows = session
            .query(&sql, &[], "reading the targets' OIDs")
            .await?;
        oids.push(rows[0].get(0));
    }
    Ok(oids)
}

/// Who holds locks on the targets.
async fn blockers(session: &Session, task: &SwitchTask<'_>) -> Result<Option<String>, SwitchError> {
    let names: Vec<String> = task.plan.flows.iter().map(|flow| flow.target()).collect();
    let rows = session
        .query(
            "SELECT DISTINCT format('backend %s (%s, %s, %s): %s', a.pid, a.usename, \
                    coalesce(nullif(a.application_name, ''), '?'), a.state, left(a.query, 80)) \
             FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
             WHERE l.granted AND l.pid <> pg_backend_pid() AND l.locktype = 'relation' \
               AND l.relation = ANY (SELECT to_regclass(n)::oid FROM unnest($1::text[]) n) \
             ORDER BY 1 LIMIT 3",
            &[&names],
            "finding who holds the lock",
        )
        .await?;
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok((!found.is_empty()).then(|| found.join("; ")))
}
