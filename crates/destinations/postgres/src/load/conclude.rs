//! After the last unit: compares the ledger with files and server, then switches.

use inrush_engine::driver_error::DriverError;
use inrush_engine::error::Error;
use inrush_engine::event::Event;
use inrush_engine::native::plan::UnitIndex;
use inrush_engine::native::run::work_items::WorkItem;
use inrush_engine::native::run::{
    Gathering, LedgerChecks, PublishEnd, StreamResult, SwitchedTarget, settle,
};
use inrush_engine::report::PartitionReport;

use super::careful::{Need, RefusedStaged, SwitchRows};
use super::context::{Context, INTERRUPT_TIMEOUT};
use super::ledger_units::LedgerUnits;
use super::prepared::PostgresRun;
use super::reload::load_in_file_order;
use super::was_switched::{SETTLE_TIMEOUT, was_switched};
use super::{count_again, one_transaction};
use crate::ledger::{LedgerError, UnitRow};
use crate::plan::FlowPlan;
use crate::switch::{self, LoadedUnit, SwitchError, SwitchTask, TargetTask};
use crate::transaction::Transaction;
use crate::{PostgresError, Session};

/// The work of the switch.
pub struct SwitchWork {
    targets: Vec<TargetTask>,
    /// The units of the plan as they were verified, in the plan's order.
    units: Vec<UnitRow>,
}

impl SwitchWork {
    /// Determines the tasks of the switch. The units have been compared with the server's counts.
    pub async fn of(run: &PostgresRun, committed: &LedgerUnits) -> Result<SwitchWork, Error> {
        let mut targets = Vec::new();
        for (flow_index, flow) in run.plan.flows.iter().enumerate() {
            let mut loaded = Vec::new();
            for (unit_index, unit) in flow.units.iter().enumerate() {
                let record = committed.get(&unit.key);
                loaded.push(LoadedUnit {
                    unit: unit_index,
                    rows_counted: committed.accounts.of_unit(&unit.key).rows_loaded,
                    key_smallest: record.and_then(|record| record.key_smallest.clone()),
                    key_largest: record.and_then(|record| record.key_largest.clone()),
                });
            }
            targets.push(switch::tasks(&run.control, flow_index, flow, &loaded).await?);
        }
        // In the plan's order, in which their tables are locked.
        let planned = run.plan.flows.iter().flat_map(|flow| &flow.units);
        let units = planned.filter_map(|unit| committed.get(&unit.key));
        Ok(SwitchWork {
            targets,
            units: units.cloned().collect(),
        })
    }
}

/// Reads the ledger, compares it with the files, and counts units again that somebody could have changed.
pub async fn committed(context: &Context<'_>) -> Result<LedgerUnits, Error> {
    let run = context.run;
    let found = LedgerUnits::read(run).await?;
    let index = UnitIndex::new(&run.plan.flows);
    let mut checks = LedgerChecks::new(&run.prepared);
    run.ledger
        .each_split(&run.control, run.fence.run_id, None, |split| {
            if let Some((flow, _)) = index.find(&split.unit_key) {
                checks.see(flow, split);
            }
        })
        .await?;
    checks.finish()?;
    count_again::units(context, found.units()).await?;
    Ok(found)
}

/// Switches. If a target refuses rows, and the package accepts rejects, its rows are copied carefully in the next attempt.
pub fn publish(
    context: &Context<'_>,
    SwitchWork { targets, units }: &SwitchWork,
    careful: &mut SwitchRows<'_>,
    gathering: &mut Gathering,
) -> Result<PublishEnd<SwitchRefusal>, Error> {
    let (run, runtime) = (context.run, context.runtime);
    let control = &run.control;
    let task = SwitchTask {
        plan: &run.plan,
        targets,
        verified: units,
        ledger: &run.ledger,
        fence: &run.fence,
        fault: context.fault,
    };
    let switched = runtime.block_on(async {
        tokio::select! {
            biased;
            switched = switch::run(control, &task, careful) => Ok(switched),
            _ = context.stop.wait() => interrupted_in_time(context, control, targets).await,
        }
    })?;
    let done = match switched {
        Ok(done) => done,
        Err(SwitchError::Refused {
            flow,
            is_copied,
            source,
        }) if !run.plan.is_one_transaction() && careful.add(flow) => {
            careful.take_back()?;
            return Ok(PublishEnd::Refused {
                flow,
                refusal: SwitchRefusal { is_copied, source },
            });
        }
        Err(SwitchError::Careful(error)) => {
            gathering.rejected(careful.told());
            return Err(*error);
        }
        Err(error) => {
            let settled = runtime.block_on(switched_nevertheless(context, error));
            settled.map_err(|error| match run.plan.is_one_transaction() {
                true => Error::Driver(one_transaction::switch_failed(error)),
                false => error.into(),
            })?;
            targets.clone()
        }
    };
    gathering.rejected(careful.told());
    Ok(PublishEnd::Published(
        done.iter().map(switched_target).collect(),
    ))
}

/// A target after the switch, with the index of its flow.
fn switched_target(target: &TargetTask) -> (usize, SwitchedTarget) {
    let attached = target.units.iter().filter(|unit| unit.attached);
    let partitions = attached.filter_map(|unit| {
        Some(PartitionReport {
            name: unit.partition_name.clone()?,
            lower: unit.lower.clone(),
            upper: unit.upper.clone(),
        })
    });
    let switched = SwitchedTarget {
        partitions: partitions.collect(),
        rows_updated: target.rows_updated,
        versions: target.versions,
        members: target.members.clone(),
    };
    (target.flow, switched)
}

/// A target's refusal of a row at the switch.
pub struct SwitchRefusal {
    /// The row was copied; otherwise it is in a table to be attached.
    is_copied: bool,
    source: PostgresError,
}

impl From<SwitchRefusal> for DriverError {
    fn from(refusal: SwitchRefusal) -> DriverError {
        refusal.source.into()
    }
}

/// Called after a target has refused a row of a flow. The units of the flow must have their rows in the order of the
/// files, so that each row can be found in its file, and of duplicates the first one is kept. A unit that several
/// streams have filled is loaded again by one stream. If more than the order is needed, all units are loaded again.
pub fn in_file_order(
    context: &Context<'_>,
    flow_index: usize,
    SwitchRefusal {
        is_copied,
        source: refusal,
    }: SwitchRefusal,
    refused: &RefusedStaged,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let run = context.run;
    let control = &run.control;
    let flow = &run.plan.flows[flow_index];
    let has_members = !flow.members.is_empty();
    let preparing = async {
        let need = Need::of(control, &run.plan, flow, &refusal, is_copied).await?;
        let Some(need) = need else {
            return Ok(None);
        };
        need.prepare(control, &run.plan).await?;
        if has_members {
            find_existing_members(context, flow).await?;
        }
        let records = run.ledger.units(control, run.fence.run_id).await?;
        Ok(Some((need, records)))
    };
    let Some((need, records)) = context.run.wait(preparing)? else {
        return Err(SwitchError::from(refusal).into());
    };
    for (unit_index, unit) in flow.units.iter().enumerate() {
        context.notice(&Event::UnitRefused {
            flow: flow.name.clone(),
            unit: unit.number,
            reason: refusal.to_string(),
        });
        let is_ordered = |record: &UnitRow| record.careful || !record.shared;
        // If others have added a member meanwhile, our rows with another number for it are loaded again.
        let is_in_order = !has_members
            && records
                .iter()
                .any(|record| record.unit_key == unit.key && is_ordered(record));
        if is_in_order && need.is_order() {
            continue;
        }
        let item = WorkItem::whole((flow_index, unit_index), unit);
        let additions = need.additions(&run.plan, flow, unit, refused);
        load_in_file_order(context, &item, &additions, result)?;
    }
    Ok(())
}

/// Notes the numbers of members that others have added, so that rows that are loaded after this have them already. Otherwise the
/// switch would update the staged rows, and they would not keep their places.
async fn find_existing_members(context: &Context<'_>, flow: &FlowPlan) -> Result<(), Error> {
    let run = context.run;
    let doing = "looking for the members of lookups";
    let transaction = Transaction::begin(&run.control, doing).await?;
    run.ledger.hold_fence(&run.control, &run.fence).await?;
    let reserved = run.ledger.members_table();
    let number = run.fence.run_id.number().to_string();
    for members in &flow.members {
        let statement = members.reference.find_existing(&reserved, &number);
        run.control.execute(&statement, doing).await?;
    }
    transaction.commit(doing).await?;
    for members in &flow.members {
        members.members.forget();
    }
    Ok(())
}

/// Handles a stop in the middle of the switch. If the connection breaks meanwhile, the ledger is read over another one.
/// If the server does not answer, the outcome of a COMMIT that was sent stays unknown.
async fn interrupted_in_time(
    context: &Context<'_>,
    control: &Session,
    targets: &[TargetTask],
) -> Result<Result<Vec<TargetTask>, SwitchError>, Error> {
    let undone = tokio::time::timeout(INTERRUPT_TIMEOUT, interrupted(context, control)).await;
    let (is_switched, reason) = match undone {
        Ok(Ok(is_switched)) => (Some(is_switched), None),
        Ok(Err(error)) => {
            let asked = tokio::time::timeout(INTERRUPT_TIMEOUT, was_switched(context.run)).await;
            (asked.ok().and_then(Result::ok), Some(error.to_string()))
        }
        Err(_) => (None, None),
    };
    match is_switched {
        Some(true) => Ok(Ok(targets.to_vec())),
        Some(false) => Err(Error::Interrupted),
        None => Ok(Err(SwitchError::Unknown {
            reason: format!(
                "stopped as asked in the middle of the switch, and {}",
                reason.unwrap_or_else(|| "the server does not answer".to_owned())
            ),
        })),
    }
}

/// Rolls the switch's transaction back, unless its COMMIT was already sent. The ledger shows which was the case.
async fn interrupted(context: &Context<'_>, control: &Session) -> Result<bool, LedgerError> {
    // A statement that copies rows may need minutes to end.
    control.cancel(&context.run.address).await?;
    control.execute("ROLLBACK", "undoing the switch").await?;
    let ledger = &context.run.ledger;
    ledger.is_switched(control, context.run.fence.run_id).await
}

/// After a lost connection it is unknown whether the COMMIT took place. The ledger shows it once the server answers
/// again.
async fn switched_nevertheless(
    context: &Context<'_>,
    error: SwitchError,
) -> Result<(), SwitchError> {
    if !error.destination().is_some_and(PostgresError::is_lost) {
        return Err(error);
    }
    let in_time = async || {
        let asking = tokio::time::timeout(SETTLE_TIMEOUT, was_switched(context.run));
        asking.await.ok().and_then(Result::ok).ok_or(())
    };
    match settle(context.stop, in_time).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(error),
        Err(()) => Err(SwitchError::Unknown {
            reason: error.to_string(),
        }),
    }
}
