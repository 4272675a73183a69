//! The switch of a run, as the contract's publish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_destination::{Error, PublishStep, Published, PublishedPartition, Result, RowsInSource};
use inrush_rows::ids::UnitKey;

use super::careful::{RefusedStaged, SwitchRows};
use super::context::INTERRUPT_TIMEOUT;
use super::one_transaction;
use super::prepared::PostgresRun;
use super::reload::Reload;
use crate::PostgresError;
use crate::contract_errors::rows_refused;
use crate::ledger::{LedgerError, UnitRow};
use crate::switch::{self, LoadedUnit, SwitchError, SwitchTask, TargetTask};

/// The state that the attempts of a switch share.
#[derive(Default)]
pub struct Switching {
    /// The work, once the units are verified.
    pub work: Option<SwitchWork>,
    /// The flows whose rows are copied carefully.
    careful: BTreeSet<usize>,
    /// The rows that were refused in the last attempts.
    pub refused: RefusedStaged,
    /// Why a target has refused a row in the last attempt.
    pub refusal: Option<SwitchRefusal>,
    /// The requirements of the units that are loaded again after a failed attempt, until the next attempt.
    pub reload: Option<Arc<Reload>>,
    /// What is known of the last attempt, if it has failed.
    pub end: FailedEnd,
}

/// The end of an attempt that has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedEnd {
    /// The connection was lost, so only the ledger knows it.
    #[default]
    Unknown,
    /// The switch was rolled back.
    RolledBack,
    /// The server did not answer the request to roll back the switch.
    NoAnswer,
}

/// A target's refusal of a row at the switch.
pub struct SwitchRefusal {
    /// True if the row was copied; otherwise it is in a table to be attached.
    pub is_copied: bool,
    /// The server's error.
    pub source: PostgresError,
}

/// The work of the switch.
#[derive(Clone)]
pub struct SwitchWork {
    /// The tasks.
    pub targets: Vec<TargetTask>,
    /// The units of the plan as they were verified, in the plan's order.
    units: Vec<UnitRow>,
}

impl SwitchWork {
    /// Determines the tasks of the switch. `committed` are the run's units in the ledger, with the server's counts.
    pub async fn of(
        run: &PostgresRun,
        committed: &[UnitRow],
    ) -> std::result::Result<SwitchWork, SwitchError> {
        let committed: BTreeMap<&UnitKey, &UnitRow> =
            committed.iter().map(|row| (&row.unit_key, row)).collect();
        let mut targets = Vec::new();
        for (flow_index, flow) in run.plan.flows.iter().enumerate() {
            let mut loaded = Vec::new();
            for (unit_index, unit) in flow.units.iter().enumerate() {
                let record = committed.get(&unit.key);
                let rows_counted = record.and_then(|record| record.rows_counted);
                loaded.push(LoadedUnit {
                    unit: unit_index,
                    rows_counted: rows_counted.unwrap_or_default() as u64,
                    key_smallest: record.and_then(|record| record.key_smallest.clone()),
                    key_largest: record.and_then(|record| record.key_largest.clone()),
                });
            }
            targets.push(switch::tasks(&run.control, flow_index, flow, &loaded).await?);
        }
        // The units are in the plan's order, because their tables are locked in this order.
        let planned = run.plan.flows.iter().flat_map(|flow| &flow.units);
        let units = planned.filter_map(|unit| committed.get(&unit.key));
        Ok(SwitchWork {
            targets,
            units: units.map(|row| UnitRow::clone(row)).collect(),
        })
    }
}

/// Switches. If a target refuses rows, they are copied carefully in the next attempt.
pub fn publish(
    run: &PostgresRun,
    reached: &dyn Fn(PublishStep),
    source: &mut dyn RowsInSource,
) -> Result<Published> {
    one_transaction::leave_open(run);
    let (work, careful, refused) = {
        let mut switching = run.switching();
        switching.end = FailedEnd::Unknown;
        switching.reload = None;
        (
            switching.work.clone().expect("the units are verified"),
            switching.careful.clone(),
            switching.refused.clone(),
        )
    };
    let task = SwitchTask {
        plan: &run.plan,
        targets: &work.targets,
        verified: &work.units,
        ledger: &run.ledger,
        fence: &run.fence,
        fault: run.fault.as_deref(),
        reached,
    };
    let mut rows = SwitchRows::new(run, source, careful, refused);
    let switched = run.runtime.block_on(async {
        tokio::select! {
            biased;
            switched = switch::run(&run.control, &task, &mut rows) => Some(switched),
            _ = run.stop.wait() => None,
        }
    });
    let refused = rows.into_refused();
    let mut switching = run.switching();
    switching.refused = refused;
    let error = match switched {
        Some(Ok(done)) => return Ok(published(&done)),
        Some(Err(error)) => error,
        None => {
            let undone = async { tokio::time::timeout(INTERRUPT_TIMEOUT, interrupted(run)).await };
            switching.end = match run.runtime.block_on(undone) {
                Ok(Ok(true)) => return Ok(published(&work.targets)),
                Ok(Ok(false)) => FailedEnd::RolledBack,
                Ok(Err(_)) => FailedEnd::Unknown,
                Err(_) => FailedEnd::NoAnswer,
            };
            return Err(Error::Interrupted);
        }
    };
    let is_lost = error.destination().is_some_and(PostgresError::is_lost);
    if !is_lost {
        switching.end = FailedEnd::RolledBack;
    }
    match error {
        error if run.plan.is_one_transaction() && !is_lost => {
            Err(one_transaction::switch_failed(error))
        }
        SwitchError::Refused {
            flow,
            is_copied,
            source,
        } => {
            let error = rows_refused(&source, flow);
            switching.careful.insert(flow);
            switching.refusal = Some(SwitchRefusal { is_copied, source });
            Err(error)
        }
        error => Err(error.into()),
    }
}

/// The facts about targets that are switched.
pub fn published(targets: &[TargetTask]) -> Published {
    let mut published = Published::default();
    for target in targets {
        let attached = target.units.iter().filter(|unit| unit.attached);
        let partitions = attached.filter_map(|unit| {
            Some(PublishedPartition {
                name: unit.partition_name.clone()?,
                lower: unit.lower.clone(),
                upper: unit.upper.clone(),
            })
        });
        published
            .partitions
            .insert(target.flow, partitions.collect());
        let merged = target.merged.map(|merged| (target.flow, merged));
        published.merged.extend(merged);
        published.members.extend(target.members.iter().cloned());
    }
    published
}

/// Rolls back the switch's transaction, unless its COMMIT was already sent. Returns true if the ledger shows that the
/// run is switched.
async fn interrupted(run: &PostgresRun) -> std::result::Result<bool, LedgerError> {
    let control = &run.control;
    // A statement that copies rows may need minutes to end.
    control.cancel(&run.address).await?;
    control.execute("ROLLBACK", "undoing the switch").await?;
    run.ledger.is_switched(control, run.fence.run_id).await
}
