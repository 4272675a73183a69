//! Enters a run into the ledger: performs the steps of [`begin_steps`](crate::plan::begin_steps) over the control
//! session.

use std::sync::Mutex;

use inrush_plan::earlier::Earlier;
use inrush_plan::earlier::kept_units::KeptUnits;
use inrush_plan::planner::{EnteredRun, RunEntry};
use inrush_rows::cancel::Stop;
use inrush_rows::ids::RunName;
use tokio::runtime::Handle;

use super::earlier_units::{drop_units, keep_shared, note_dropped, take_out};
use super::kept_units_builder::KeptUnitsBuilder;
use super::member_numbers::MemberSession;
use super::prepared::PostgresRun;
use super::stored_ways::StoredWays;
use crate::ledger::{Fence, Ledger, StoredRun, mark};
use crate::plan::begin_steps::{self, PrepareStep};
use crate::plan::{Keepable, Plan, PlanFailure};
use crate::transaction::Transaction;
use crate::{DatabaseAddress, PostgresError, Session};

/// A run that is being entered into the ledger.
pub struct Entry<'a> {
    ledger: Ledger,
    plan: Plan,
    /// The engine's part of the run.
    entry: &'a RunEntry,
    stop: &'a Stop,
    /// The run in the ledger, once it is entered.
    entered: Option<Entered>,
}

/// A run in the ledger, with the kept parts of its earlier attempts.
struct Entered {
    record: StoredRun,
    kept: KeptUnits,
}

impl<'a> Entry<'a> {
    /// The entry of a run with this plan. No step is done yet.
    pub fn new(plan: Plan, entry: &'a RunEntry, stop: &'a Stop) -> Entry<'a> {
        Entry {
            ledger: Ledger::new(&plan.settings.ledger_schema),
            plan,
            entry,
            stop,
            entered: None,
        }
    }

    /// Performs a step over the control session. The caller makes plans, so there is nothing to do for
    /// [`PrepareStep::PlanAgain`].
    pub async fn perform(
        &mut self,
        control: &Session,
        step: PrepareStep,
    ) -> Result<(), PlanFailure> {
        let (ledger, plan) = (&self.ledger, &self.plan);
        match step {
            PrepareStep::LockRun => ledger.lock(control, &plan.run_key).await?,
            PrepareStep::SetUp => {
                if !plan.setup.is_empty() {
                    ledger.set_up(control, &plan.setup).await?;
                }
            }
            PrepareStep::PlanAgain => {}
            PrepareStep::EnterRun => self.entered = Some(self.enter(control).await?),
            PrepareStep::NameSession => tag(control, &self.entered().record.name).await?,
            PrepareStep::LeaveMarks => {
                leave_marks(control, plan, &self.entered().record.name).await?;
            }
        }
        Ok(())
    }

    /// The run, once all steps are done. From now on it has the control session. Called in the runtime of the run.
    pub fn finish(self, control: &Session, address: &DatabaseAddress) -> EnteredRun {
        let Entry {
            ledger,
            mut plan,
            entry,
            stop,
            entered,
        } = self;
        let Entered { record, kept } = entered.expect(ENTERED);
        note_dropped(&mut plan);
        let units_kept = kept.iter().map(|(place, unit)| (place, unit.is_whole));
        let units_kept = units_kept.collect();
        let members = MemberSession::serve(&plan, address, &ledger, record.run_id, &record.name);
        let is_resumed = plan.earlier.work().is_some();
        let load = plan.to_load_plan();
        let open = PostgresRun {
            stored_ways: StoredWays::default(),
            switching: Mutex::default(),
            all_flows: Mutex::default(),
            plan,
            kept: Mutex::new(units_kept),
            fence: Fence {
                run_id: record.run_id,
                name: record.name.clone(),
                epoch: record.epoch,
            },
            record,
            ledger,
            members,
            control: control.clone(),
            address: address.clone(),
            runtime: Handle::current(),
            stop: stop.clone(),
            fault: entry.fault.clone(),
        };
        EnteredRun {
            plan: load,
            open: Box::new(open),
            is_resumed,
            kept,
            unwanted: Vec::new(),
        }
    }

    fn entered(&self) -> &Entered {
        self.entered.as_ref().expect(ENTERED)
    }

    /// Enters the run into the ledger, and keeps the parts of earlier attempts that the plan can use.
    async fn enter(&mut self, control: &Session) -> Result<Entered, PlanFailure> {
        let (ledger, plan) = (&self.ledger, &mut self.plan);
        let RunEntry { name, holder, .. } = self.entry;
        let lineage = plan.keeps_lineage.then(|| plan.lineage.to_text());
        let Earlier::Unpublished { run, work } = &plan.earlier else {
            let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
            let record = ledger
                .begin_run(
                    control,
                    &plan.run_key,
                    name,
                    &plan.package,
                    &plan.package_hash,
                    &targets,
                    holder,
                )
                .await?;
            if let Some(lineage) = &lineage {
                ledger
                    .enter_lineage(control, record.run_id, lineage)
                    .await?;
            }
            return Ok(Entered {
                record,
                kept: KeptUnits::default(),
            });
        };
        let record = ledger
            .take_over(control, run, holder, &plan.package_hash)
            .await?;
        if let Some(lineage) = &lineage {
            ledger
                .enter_lineage(control, record.run_id, lineage)
                .await?;
        }
        // Transactions of an old backend that were open when the plan was made are committed or rolled back now, so the
        // ledger is read again.
        let units = ledger.units(control, record.run_id).await?;
        let keepable = Keepable::of(&plan.flows, &work.changed);
        let staging_schema = &plan.settings.staging_schema;
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        let patience_ms = plan.settings.lock_timeout_ms;
        for unit in units {
            let is_kept = keepable.keeps(&unit, staging_schema)
                && (!keepable.loses_rows(&unit)
                    || take_out(
                        control,
                        ledger,
                        record.run_id,
                        &unit,
                        &work.changed,
                        patience_ms,
                    )
                    .await?);
            match is_kept {
                true => kept.push(unit),
                false => dropped.push(unit),
            }
        }
        drop_units(control, ledger, record.run_id, &dropped, patience_ms).await?;
        for file in &work.touched {
            ledger.touch_file(control, record.run_id, file).await?;
        }
        let kept = kept.into_iter();
        let rows = kept.map(|unit| (unit.unit_key.clone(), unit)).collect();
        keep_shared(plan, &rows)?;
        let mut builder = KeptUnitsBuilder::new(&plan.flows, &rows);
        ledger
            .each_split(control, record.run_id, None, |split| {
                builder.add_split(split)
            })
            .await?;
        let kept = builder.finish();
        Ok(Entered { record, kept })
    }
}

/// The panic message if the run is needed before [`PrepareStep::EnterRun`].
const ENTERED: &str = "the run is entered before its later steps";

/// Names the control connection after its run, so that a process which takes over the run can end the connection.
async fn tag(control: &Session, run: &RunName) -> Result<(), PostgresError> {
    let name = format!("SET application_name = 'inrush {run} control'");
    control.execute(&name, "naming the connection").await
}

/// Leaves marks for the targets whose rows are committed split by split. The first row is written after that. The marks
/// of other targets are committed with the switch.
async fn leave_marks(control: &Session, plan: &Plan, run: &RunName) -> Result<(), PlanFailure> {
    let marks = begin_steps::marks(plan, run, |flow| Some(flow.facts.as_ref()?.oid));
    if marks.is_empty() {
        return Ok(());
    }
    let doing = "marking the targets";
    let transaction = Transaction::begin(control, doing).await?;
    mark::leave(control, &plan.run_key, &marks).await?;
    Ok(transaction.commit(doing).await?)
}
