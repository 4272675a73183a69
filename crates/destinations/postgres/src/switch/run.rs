//! Runs the switch.

use std::collections::BTreeMap;
use std::time::Duration;

use inrush_destination::{AddedMembers, MergedRows, PublishStep};
use inrush_fault::{self as fault, Fault, FaultPoint};
use inrush_rows::ids::UnitKey;

use super::careful::CarefulRows;
use super::error::SwitchError;
use super::locks::{blockers, hold_staging, lock, lock_by_name};
use super::take_out;
use super::target_copy::TargetCopy;
use super::tasks::TargetTask;
use super::{deferred, members, order, partition_indexes, routed, user_statements, versions};
use crate::ledger::mark::{self, Mark};
use crate::ledger::{Fence, Ledger, SwitchedTable, UnitRow, What};
use crate::plan::partition_names::PartitionNames;
use crate::plan::switch_statements::{self, SwitchStep};
use crate::plan::switch_steps::{self, FlowStep, Step};
use crate::plan::{FlowPlan, Plan, Publish};
use crate::quote::literal;
use crate::transaction::Transaction;
use crate::{PostgresError, Session, catalog};

/// The number of attempts of a switch that waits for a lock of another session.
pub const TRIES: u32 = 5;
/// The pause between two attempts. No lock is held meanwhile, so that sessions which waited for the switch can proceed.
pub const PAUSE_BETWEEN_TRIES: Duration = Duration::from_millis(500);

/// Everything that the switch needs.
pub struct SwitchTask<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The task for each target.
    pub targets: &'a [TargetTask],
    /// Their units, as they were verified.
    pub verified: &'a [UnitRow],
    /// The ledger.
    pub ledger: &'a Ledger,
    /// The run's fence.
    pub fence: &'a Fence,
    /// Kills the process at a named step, for tests.
    pub fault: Option<&'a Fault>,
    /// Called when the switch reaches a step.
    pub reached: &'a dyn Fn(PublishStep),
}

/// Switches all targets in one transaction, and marks the run as switched in it. If a lock is not granted in time,
/// everything is rolled back and tried again a few times. Returns the finished tasks, with the names of the partitions.
pub async fn run(
    session: &Session,
    task: &SwitchTask<'_>,
    careful: &mut impl CarefulRows,
) -> Result<Vec<TargetTask>, SwitchError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let error = match attempt(session, task, careful).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let is_blocked = error.destination().is_some_and(PostgresError::is_blocked);
        if !is_blocked {
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

async fn attempt(
    session: &Session,
    task: &SwitchTask<'_>,
    careful: &mut impl CarefulRows,
) -> Result<Vec<TargetTask>, SwitchError> {
    let mut transaction = None;
    let mut switch = Switch::default();
    for step in &switch_steps::STEPS {
        let performed = switch.perform(session, task, careful, step, &mut transaction);
        let Err(error) = performed.await else {
            continue;
        };
        let is_lost = error.destination().is_some_and(PostgresError::is_lost);
        if let (Some(transaction), false) = (transaction, is_lost) {
            transaction.roll_back("undoing the switch").await?;
        }
        return Err(error);
    }
    Ok(switch.done)
}

/// The statements that begin, end and roll back the switch if its transaction already contains the rows of all flows.
/// The switch is then a savepoint, so that after a lock timeout it can be tried again without loading the rows again.
const PART: [&str; 3] = [
    "SAVEPOINT inrush_switch; SET LOCAL search_path = pg_catalog",
    "COMMIT",
    "ROLLBACK TO SAVEPOINT inrush_switch",
];

/// A switch in progress.
#[derive(Default)]
struct Switch {
    /// The flows in the order in which they are switched.
    order: Vec<usize>,
    /// The finished tasks.
    done: Vec<TargetTask>,
    /// The members that were added, by flow.
    members: BTreeMap<usize, Vec<AddedMembers>>,
    /// The changed tables, for the ledger.
    tables: Vec<SwitchedTable>,
    /// The OIDs of the targets, in the plan's order.
    oids: Vec<u32>,
}

impl Switch {
    async fn perform(
        &mut self,
        session: &Session,
        task: &SwitchTask<'_>,
        careful: &mut impl CarefulRows,
        step: &Step,
        transaction: &mut Option<Transaction>,
    ) -> Result<(), SwitchError> {
        let doing = "switching";
        let run_id = task.fence.run_id;
        match step {
            Step::Begin => {
                let begun = match task.plan.is_one_transaction() {
                    true => Transaction::part(session, PART, doing).await,
                    false => Transaction::begin(session, doing).await,
                };
                *transaction = Some(begun?);
            }
            Step::LockTimeout => {
                let limit = switch_steps::lock_timeout(task.plan);
                session.execute(&limit, doing).await?;
            }
            Step::HoldFence => task.ledger.hold_fence_alone(session, task.fence).await?,
            Step::HoldStaging => hold_staging(session, task).await?,
            Step::AddMembers => self.members = members::add(session, task).await?,
            Step::Flows => self.flows(session, task, careful).await?,
            Step::NameIndexes => self.name_indexes(session, task).await?,
            Step::CheckConstraints => deferred::check_all(session, task, &self.order).await?,
            Step::RecordTables => {
                (task.reached)(PublishStep::Under);
                self.oids = target_oids(session, task).await?;
                let ledger = task.ledger;
                ledger
                    .record_switched(session, run_id, &self.tables)
                    .await?;
            }
            Step::MarkSwitched => {
                let ledger = task.ledger;
                ledger
                    .mark_switched(session, task.fence, &self.oids)
                    .await?;
            }
            Step::LeaveMarks => {
                let flows = task.plan.flows.iter().zip(&self.oids);
                let marks: Vec<Mark> = flows
                    // Flows that commit each split have left their marks before their first row.
                    .filter(|(flow, _)| !flow.commits_each_split())
                    .filter_map(|(flow, oid)| flow.mark(&task.fence.name, *oid))
                    .collect();
                mark::leave(session, &task.plan.run_key, &marks).await?;
            }
            Step::Commit => {
                (task.reached)(PublishStep::BeforeCommit);
                if fault::wished(task.fault, FaultPoint::SwitchCommitSent) {
                    let die = || fault::die(FaultPoint::SwitchCommitSent);
                    crate::unit_transaction::send_commit_and(session, die).await;
                }
                if let Some(transaction) = transaction.take() {
                    transaction.commit("committing the switch").await?;
                }
                (task.reached)(PublishStep::Committed);
            }
        }
        Ok(())
    }

    /// Switches all flows. A flow comes after the flows whose targets its own target refers to.
    async fn flows(
        &mut self,
        session: &Session,
        task: &SwitchTask<'_>,
        careful: &mut impl CarefulRows,
    ) -> Result<(), SwitchError> {
        let names: Vec<String> = task.plan.flows.iter().map(|flow| flow.target()).collect();
        let references = order::references(session, task.plan).await?;
        self.order = order::order(&names, &references, |flow| careful.wants(flow));
        lock_by_name(session, task, &self.order).await?;
        for (place, flow) in self.order.iter().enumerate() {
            let of_flow = |target: &&TargetTask| target.flow == *flow;
            let target = task.targets.iter().find(of_flow);
            let target = target.expect("each flow of the plan has a task");
            let later = &self.order[place + 1..];
            let mut done = publish(session, task, target, later, &mut self.tables, careful).await?;
            done.members = self.members.remove(flow).unwrap_or_default();
            self.done.push(done);
        }
        Ok(())
    }

    /// Names the indexes of all new partitions.
    async fn name_indexes(
        &self,
        session: &Session,
        task: &SwitchTask<'_>,
    ) -> Result<(), SwitchError> {
        for done in &self.done {
            let flow = &task.plan.flows[done.flow];
            if switch_steps::names_indexes(flow) {
                partition_indexes::name(session, &flow.schema, &done.new_partitions).await?;
            }
        }
        Ok(())
    }
}

/// Switches one flow. Returns the finished tasks, with the names of the partitions.
async fn publish(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
    later: &[usize],
    tables: &mut Vec<SwitchedTable>,
    careful: &mut impl CarefulRows,
) -> Result<TargetTask, SwitchError> {
    let flow = &task.plan.flows[target.flow];
    let staging_schema = &task.plan.settings.staging_schema;
    let doing = format!("switching {}", flow.target());
    let mut done = target.clone();
    let mut old_default = None;
    for step in switch_steps::of_flow(flow) {
        match step {
            FlowStep::Run(statement) => session.execute(&statement, &doing).await?,
            FlowStep::Lock => lock(session, flow).await?,
            FlowStep::PreSql => {
                user_statements::run(session, flow, "pre_sql", &flow.pre_sql).await?
            }
            FlowStep::TakeOut => {
                let Some(replace) = &flow.replace else {
                    continue;
                };
                let ledger = task.ledger;
                let taken_out = take_out::take_out(
                    session,
                    ledger,
                    flow,
                    replace,
                    &target.units,
                    staging_schema,
                );
                let taken_out = taken_out.await?;
                tables.extend(taken_out.tables);
                old_default = taken_out.default;
            }
            FlowStep::Units => {
                done = match &flow.publish {
                    Publish::Route(route) => {
                        routed::publish(session, task, target, later, route, careful).await?
                    }
                    _ => publish_units(session, task, target, later, careful).await?,
                };
            }
            FlowStep::RemakeDefault => {
                if let Some(default) = &old_default {
                    tables.push(take_out::remake_default(session, flow, default).await?);
                }
            }
            FlowStep::PostSql => {
                let units = match &flow.publish {
                    Publish::Route(_) => target,
                    _ => &done,
                };
                tables.extend(brought_in(session, flow, units).await?);
                user_statements::run(session, flow, "post_sql", &flow.post_sql).await?;
            }
        }
    }
    Ok(done)
}

/// Makes each unit of a flow a part of its target.
async fn publish_units(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
    later: &[usize],
    careful: &mut impl CarefulRows,
) -> Result<TargetTask, SwitchError> {
    let flow = &task.plan.flows[target.flow];
    let staging_schema = &task.plan.settings.staging_schema;
    let name = flow.target();
    let doing = format!("switching {name}");
    let mut target = named(session, flow, target).await?;
    let mut updated = None;
    let mut merged_versions = None;
    let target_copy = TargetCopy::new(session, task, target.flow, later);
    for unit in &target.units {
        if let Publish::Swap = &flow.publish {
            take_out::name_indexes(session, flow, staging_schema, unit).await?;
        }
        let run = task.fence.run_id.number();
        if let Some(rows) = switch_statements::version_rows(flow, staging_schema, unit, run) {
            let table = &unit.staging_table;
            let merged = versions::merge(session, &target_copy, careful, table, &rows, target.rows);
            merged_versions = Some(merged.await?);
        }
        for step in switch_statements::publish_unit(flow, staging_schema, unit) {
            match step {
                SwitchStep::Metadata(sql) => metadata(session, target.flow, &sql, &doing).await?,
                SwitchStep::CopyRows(statement) => {
                    let count = switch_steps::updates(flow, staging_schema, unit);
                    if let Some(count) = &count {
                        let rows = session.query(count, &[], &doing).await?;
                        updated = Some(rows[0].get::<_, i64>(0));
                    }
                    let rows = target_copy
                        .copy(careful, &unit.staging_table, &statement, target.rows)
                        .await?;
                    if let (Some(count), false) = (count, rows.refused.is_empty()) {
                        // There is one row for each key, so the target's rows with the keys of refused rows stay
                        // unchanged.
                        let count = format!("{count} AND s.ctid = ANY ($1::text[]::tid[])");
                        let rows = session.query(&count, &[&rows.refused], &doing).await?;
                        updated = updated.map(|all| all - rows[0].get::<_, i64>(0));
                    }
                }
            }
        }
    }
    let overwritten = updated.map(|count| count as u64);
    target.merged = merged_versions.or(overwritten.map(|overwritten| MergedRows {
        new: target.rows.saturating_sub(overwritten),
        overwritten,
        ..MergedRows::default()
    }));
    let attached = target.units.iter().filter(|unit| unit.attached);
    target.new_partitions = attached
        .filter_map(|unit| unit.partition_name.clone())
        .collect();
    Ok(target)
}

/// The tables that the units became, for the ledger.
async fn brought_in(
    session: &Session,
    flow: &FlowPlan,
    target: &TargetTask,
) -> Result<Vec<SwitchedTable>, SwitchError> {
    let whole = |what, unit_key: Option<&UnitKey>, oid| SwitchedTable {
        target: flow.target(),
        what,
        unit_key: unit_key.cloned(),
        table_oid: oid,
        table_schema: flow.schema.clone(),
        table_name: flow.table.clone(),
        bound: None,
        condition: None,
        original: None,
    };
    let oid = target_oid(session, flow).await?;
    let mut tables = Vec::new();
    if matches!(flow.publish, Publish::CreatePartitioned { .. }) {
        tables.push(whole(What::Made, None, oid));
    }
    for unit in &target.units {
        match (&flow.publish, &unit.partition_name) {
            (Publish::CreatePartitioned { .. } | Publish::Attach, Some(name)) => {
                if unit.attached {
                    let key = Some(&unit.key);
                    tables.push(take_out::attached(session, flow, &flow.schema, name, key).await?);
                }
            }
            (Publish::Rename { .. } | Publish::Swap, _) => {
                tables.push(whole(What::Made, Some(&unit.key), oid))
            }
            (Publish::Route(route), _) if route.is_new => {
                tables.push(whole(What::Made, Some(&unit.key), oid))
            }
            _ => tables.push(whole(What::Inserted, Some(&unit.key), oid)),
        }
    }
    Ok(tables)
}

/// Runs a statement that changes only metadata. When a partition is attached, the server checks its rows against the
/// foreign keys of the target.
pub(super) async fn metadata(
    session: &Session,
    flow: usize,
    sql: &str,
    doing: &str,
) -> Result<(), SwitchError> {
    let done = session.execute(sql, doing).await;
    done.map_err(|error| refused(flow, false, error))
}

/// An error of a statement that inserts rows; one of the rows may be the cause.
pub(super) fn refused(flow: usize, is_copied: bool, source: PostgresError) -> SwitchError {
    match source.row_refusal() {
        Some(_) => SwitchError::Refused {
            flow,
            is_copied,
            source,
        },
        None => source.into(),
    }
}

/// Other names for partitions whose names were taken since the plan was made. The lock on the target prevents other
/// loads of it from taking more names.
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
        oids.push(target_oid(session, flow).await?);
    }
    Ok(oids)
}

async fn target_oid(session: &Session, flow: &FlowPlan) -> Result<u32, SwitchError> {
    let sql = format!(
        "SELECT {}::regclass::oid",
        literal(&flow.target()).trim_start()
    );
    let rows = session
        .query(&sql, &[], "reading the targets' OIDs")
        .await?;
    Ok(rows[0].get(0))
}
