//! Connects, plans, and enters the run into the ledger.

use std::sync::Arc;

use inrush_destination::RunRecord;
use inrush_engine::error::Error;
use inrush_engine::pipeline::RunOptions;
use inrush_engine::planner::run::{
    AlreadyLoaded, Preparation, RunFolder, announcements, new_run_name,
};
use inrush_package::Package;
use inrush_plan::ContentChecks;
use inrush_plan::identity::causes::possible_changes;
use inrush_plan::ledger::Account;
use inrush_rows::plural::counted;
use inrush_source::Input;

use super::entry::Entry;
use crate::ledger::{Ledger, LedgerError};
use crate::plan::begin_steps::{self, PrepareStep};
use crate::plan::routing::KeyScans;
use crate::plan::{self, Earlier, Plan, PlanFailure};
use crate::{DatabaseAddress, Session};

/// Plans the package and enters the run into the ledger, or finds that nothing is left to do.
pub async fn prepare(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
) -> Result<Preparation, Error> {
    let name = new_run_name(&package.name);
    // The second plan must see the same beginning of a pipe as the first one.
    let sources = options.sources();
    // The second plan does not scan for keys again, either.
    let key_scans = KeyScans::default();
    let contents = ContentChecks::default();
    let control = Session::open(address, "inrush plan").await?;
    let plan = async |control: &Session, unlocked| {
        let plan_options = options.plan_options(&package.run, &*sources, &contents, unlocked);
        plan::build(control, address, package, &plan_options, &key_scans).await
    };
    let first = match plan(&control, true).await {
        Ok(plan) => plan,
        Err(error) => return Err(held(&control, package, error).await),
    };
    if is_loaded(&first) {
        return nothing_to_do(control, first).await;
    }
    first.require_privileges()?;
    announcements::planned(&first.to_load_plan(), options);
    let mut entry = Entry::new(control, first, options);
    for step in begin_steps::PREPARE {
        if step != PrepareStep::PlanAgain {
            entry.perform(step, &name).await?;
            continue;
        }
        // With a hundred thousand files, the first plan must not stay in memory beside the second.
        entry.plan.flows.clear();
        entry.plan = plan(&entry.control, false).await?;
        if is_loaded(&entry.plan) {
            return nothing_to_do(entry.control, entry.plan).await;
        }
    }
    note_dropped(&mut entry.plan);
    let pipes = pipes_to_keep(&entry.plan);
    let run = entry.finish(address)?;
    keep_in(&run.folder, &pipes)?;
    Ok(Preparation::Run(Box::new(run)))
}

/// The error of a plan. If a lock was not granted while the plan was made, another run of the package may hold it for
/// its switch. Then the error names that run.
async fn held(control: &Session, package: &Package, error: PlanFailure) -> Error {
    if !error.is_blocked() {
        return error.into();
    }
    let Ok(run_key) = plan::run_key(control, package).await else {
        return error.into();
    };
    let ledger = Ledger::new(&package.run.ledger_schema);
    match ledger.holder(control, &run_key).await {
        Ok(Some(holder)) => LedgerError::from(holder).into(),
        _ => error.into(),
    }
}

async fn nothing_to_do(control: Session, plan: Plan) -> Result<Preparation, Error> {
    let (run, accounts) = match &plan.earlier {
        Earlier::Loaded(run) => (
            run.name.clone(),
            loaded_accounts(&control, &plan, run).await?,
        ),
        _ => unreachable!("the caller has seen it"),
    };
    control.close().await;
    Ok(Preparation::AlreadyLoaded(Box::new(AlreadyLoaded {
        plan: plan.to_load_plan(),
        run,
        accounts,
    })))
}

/// True if a plan has nothing left to do.
fn is_loaded(plan: &Plan) -> bool {
    matches!(plan.earlier, Earlier::Loaded(_))
}

/// Notes the units of a stopped attempt that are loaded again.
fn note_dropped(plan: &mut Plan) {
    if let Earlier::Stopped { dropped, .. } = &plan.earlier
        && *dropped > 0
    {
        let readings = plan.flows.iter().map(|flow| &flow.reading);
        let note = format!(
            "loaded again: {} of the stopped attempt, because one of these has changed since: its files, {}",
            counted(*dropped as u64, "unit"),
            possible_changes(readings)
        );
        plan.notes.push(note);
    }
}

/// The inputs whose data is kept until the load is done, if they are pipes. Then the rows that the server refuses can
/// be reported, and all other rows can be loaded once more.
fn pipes_to_keep(plan: &Plan) -> Vec<Arc<dyn Input>> {
    let flows = plan.flows.iter().filter(|flow| flow.keeps_pipes());
    let splits = flows.flat_map(|flow| flow.splits());
    splits.map(|split| Arc::clone(&split.input)).collect()
}

/// Keeps the data of inputs in the run's folder.
fn keep_in(folder: &RunFolder, inputs: &[Arc<dyn Input>]) -> Result<(), Error> {
    for input in inputs {
        let kept = input.keep_in(folder.path());
        kept.map_err(|source| Error::Folder {
            path: folder.path().display().to_string(),
            source,
        })?;
    }
    Ok(())
}

/// The rows that the earlier run loaded, by flow.
async fn loaded_accounts(
    control: &Session,
    plan: &Plan,
    run: &RunRecord,
) -> Result<Vec<Account>, Error> {
    let ledger = Ledger::new(&plan.settings.ledger_schema);
    let units = ledger.units(control, run.run_id).await?;
    let loaded = ledger.accounts(control, run.run_id).await?;
    // Counted by target and not by unit, because the plan may cut the files into other units today.
    let accounts = plan.flows.iter().map(|flow| {
        let mut account = Account::default();
        for unit in units.iter().filter(|unit| unit.target == flow.target()) {
            account.add(&loaded.of_unit(&unit.unit_key));
        }
        account
    });
    Ok(accounts.collect())
}
