//! Connects, plans, and enters the run into the ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_package::Package;
use inrush_rows::ids::{RunId, UnitKey};
use inrush_rows::plural::counted;

use super::context::PreparedRun;
use super::kept_splits::KeptSplits;
use super::{is_loaded, shared_unit, unit_reject_files};
use crate::engine::error::Error;
use crate::engine::event::Event;
use crate::engine::ledger::{Account, LedgerRun, LedgerRunState};
use crate::engine::pace::Pace;
use crate::engine::pipeline::announcements::{self, PlanFacts};
use crate::engine::pipeline::event_sink::EventSink;
use crate::engine::pipeline::fed_files::FedFiles;
use crate::engine::pipeline::metering::FlowCount;
use crate::engine::pipeline::naming::{holder, new_run_name};
use crate::engine::pipeline::reject_count::{RejectCount, RowTally};
use crate::engine::pipeline::sharing::Sharing;
use crate::engine::pipeline::{RunOptions, plan_options};
use crate::engine::plan::{ContentChecks, UnitPlace, identity};
use crate::engine::reject_replay::to_save;
use crate::engine::report::RunFolder;
use crate::ledger::mark::{self, Mark};
use crate::ledger::{Fence, Ledger, LedgerError, Replaced, SplitChoice, UnitRow};
use crate::plan::routing::KeyScans;
use crate::plan::{self, Earlier, FlowPlan, Plan, PlanFailure};
use crate::quote::qualified;
use crate::transaction::Transaction;
use crate::{DatabaseAddress, PostgresError, Session};

/// What came of preparing.
pub enum Prepared {
    /// The ledger says that these very files are loaded.
    AlreadyLoaded {
        /// The plan.
        plan: Box<Plan>,
        /// The rows of that run, by flow.
        accounts: Vec<Account>,
    },
    /// There is something to do.
    Run(Box<PreparedRun>),
}

/// Plans the package and enters the run into the ledger, or finds that nothing is left to do.
pub async fn prepare(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
) -> Result<Prepared, Error> {
    let name = new_run_name(&package.name);
    // What the first plan reads of a pipe, the second one must see again.
    let sources = options.sources();
    // Nor are keys looked for twice.
    let key_scans = KeyScans::default();
    let contents = ContentChecks::default();
    let control = Session::open(address, "inrush plan").await?;
    let plan = plan::build(
        &control,
        address,
        package,
        &plan_options(options, &*sources, &contents, true),
        &key_scans,
    )
    .await;
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return Err(held(&control, package, error).await),
    };
    if is_loaded(&plan) {
        return nothing_to_do(control, plan).await;
    }
    plan.require_privileges()?;
    let facts = PlanFacts {
        package: &plan.package,
        destination: &plan.destination,
        streams: plan.streams,
        flows: &plan.flows,
        notes: &plan.notes,
    };
    announcements::planned(&facts, options);

    let ledger = Ledger::new(&plan.settings.ledger_schema);
    ledger.lock(&control, &plan.run_key).await?;
    if let Some(run) = &options.replays {
        refuse_unswitched(&control, &ledger, run, &plan).await?;
    }
    if !plan.setup.is_empty() {
        ledger.set_up(&control, &plan.setup).await?;
    }
    // Of a hundred thousand files no second plan is kept beside the one that runs.
    drop(plan);
    // Another process may have run the package between the plan and the lock.
    let plan = plan::build(
        &control,
        address,
        package,
        &plan_options(options, &*sources, &contents, false),
        &key_scans,
    )
    .await?;
    if is_loaded(&plan) {
        return nothing_to_do(control, plan).await;
    }
    let entered = enter(&control, &ledger, &plan, &name).await?;
    tag(&control, &entered.record).await?;
    let folder = RunFolder::open(&options.runs_folder, &entered.record.name)?;
    finish_preparing(package, plan, ledger, control, folder, entered, options).await
}

/// A lock that could not be had for planning may be that of another run of the package, at its
/// switch: then that run is named.
async fn held(control: &Session, package: &Package, error: PlanFailure) -> Error {
    let is_blocked = matches!(&error, PlanFailure::Server(refused) if refused.is_blocked());
    if !is_blocked {
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

/// Rejects of a run that switched nothing in are no leftovers: its command loads all of it. Nor are
/// those of one whose rows gave way to others.
async fn refuse_unswitched(
    control: &Session,
    ledger: &Ledger,
    run: &str,
    plan: &Plan,
) -> Result<(), Error> {
    let record = match ledger.run_by_name(control, run).await? {
        Some(record) if record.state == LedgerRunState::Switched => record,
        other => {
            return Err(Error::NotSwitched {
                run: run.to_owned(),
                state: other.map(|record| record.state),
            });
        }
    };
    for flow in &plan.flows {
        let target = flow.target();
        if let Some(Replaced { by }) = ledger.replaced(control, &record, &target).await? {
            return Err(Error::Replaced {
                run: run.to_owned(),
                target,
                by,
            });
        }
    }
    Ok(())
}

async fn nothing_to_do(control: Session, plan: Plan) -> Result<Prepared, Error> {
    let accounts = loaded_accounts(&control, &plan).await?;
    control.close().await;
    Ok(Prepared::AlreadyLoaded {
        plan: Box::new(plan),
        accounts,
    })
}

/// A run in the ledger, with what is kept of its earlier attempts.
struct Entered {
    record: LedgerRun,
    resumed: bool,
    units_kept: BTreeMap<UnitKey, UnitRow>,
    splits_kept: KeptSplits,
}

async fn enter(
    control: &Session,
    ledger: &Ledger,
    plan: &Plan,
    name: &str,
) -> Result<Entered, Error> {
    let targets: Vec<String> = plan.flows.iter().map(|flow| flow.target()).collect();
    let Earlier::Stopped {
        run,
        changed,
        touched,
        ..
    } = &plan.earlier
    else {
        let record = ledger
            .begin_run(
                control,
                &plan.run_key,
                name,
                &plan.package,
                &plan.package_hash,
                &targets,
                &holder(),
            )
            .await?;
        return Ok(Entered {
            record,
            resumed: false,
            units_kept: BTreeMap::new(),
            splits_kept: KeptSplits::default(),
        });
    };
    let record = ledger.take_over(control, run, &holder()).await?;
    // What an old backend was still committing when the plan was made is committed or gone now:
    // the ledger is read anew.
    let units = ledger.units(control, record.run_id).await?;
    let keepable = plan::keepable(&plan.flows, changed);
    let (units_kept, dropped): (Vec<UnitRow>, Vec<UnitRow>) = units.into_iter().partition(|unit| {
        let is_planned = keepable.contains(&unit.unit_key);
        is_planned && unit.is_kept(&plan.settings.staging_schema)
    });
    let patience_ms = plan.settings.lock_timeout_ms;
    drop_units(control, ledger, record.run_id, &dropped, patience_ms).await?;
    for file in touched {
        ledger.touch_file(control, record.run_id, file).await?;
    }
    let mut splits_kept = KeptSplits::default();
    let every = SplitChoice::default();
    ledger
        .each_split_of(control, record.run_id, &every, |split| {
            splits_kept.push(split)
        })
        .await?;
    Ok(Entered {
        record,
        resumed: true,
        units_kept: units_kept
            .into_iter()
            .map(|unit| (unit.unit_key.clone(), unit))
            .collect(),
        splits_kept,
    })
}

async fn drop_units(
    control: &Session,
    ledger: &Ledger,
    run_id: RunId,
    units: &[UnitRow],
    lock_timeout_ms: u32,
) -> Result<(), Error> {
    if units.is_empty() {
        return Ok(());
    }
    let doing = "dropping units that the plan has no use for";
    let transaction = Transaction::begin(control, doing).await?;
    // Somebody else may read such a table, and not end.
    let patience = format!("SET LOCAL lock_timeout = {lock_timeout_ms}");
    control.execute(&patience, doing).await?;
    // What has the name of a unit's table and is another one is not ours.
    for unit in units.iter().filter(|unit| unit.stands && !unit.straight) {
        let table = qualified(&unit.staging_schema, &unit.staging_table);
        control
            .execute(&format!("DROP TABLE IF EXISTS {table}"), doing)
            .await?;
    }
    let keys: Vec<UnitKey> = units.iter().map(|unit| unit.unit_key.clone()).collect();
    ledger.forget_units(control, run_id, &keys).await?;
    Ok(transaction.commit(doing).await?)
}

/// Names the control connection after its run, so that whoever takes the run over can end it.
async fn tag(control: &Session, record: &LedgerRun) -> Result<(), PostgresError> {
    control
        .execute(
            &format!("SET application_name = 'inrush {} control'", record.name),
            "naming the connection",
        )
        .await
}

/// Prepares what the streams of a run need, once the run is in the ledger.
async fn finish_preparing(
    package: &Package,
    mut plan: Plan,
    ledger: Ledger,
    control: Session,
    folder: RunFolder,
    mut entered: Entered,
    options: &RunOptions<'_>,
) -> Result<Prepared, Error> {
    keep_shared(&mut plan, &entered.units_kept)?;
    let unknown = forget_lost_rejects(&control, &ledger, &plan, &folder, &mut entered).await?;
    for note in unknown {
        options.observer.notice(&Event::Note { text: note.clone() });
        plan.notes.push(note);
    }
    keep_pipes(&plan, &folder)?;
    let run = PreparedRun {
        fed_files: fed_files(&plan, &entered.splits_kept),
        flow_counts: plan.flows.iter().map(|_| FlowCount::default()).collect(),
        pace: Arc::new(Pace::new(plan.settings.rate_bytes_max)),
        rejects: reject_counts(&plan, &folder, &entered)?,
        sharing: shared_work(&plan, &entered),
        fence: Fence {
            run_id: entered.record.run_id,
            name: entered.record.name.clone(),
            epoch: entered.record.epoch,
        },
        plan,
        record: entered.record,
        ledger,
        control,
        folder,
        units_kept: entered.units_kept,
        splits_kept: entered.splits_kept,
        resumed: entered.resumed,
    };
    unit_reject_files::tidy(&run)?;
    save_package(package, &run, options)?;
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    let units_kept = run.units_kept.values().filter(|unit| unit.finished).count();
    announcements::started(event_sink, &run.record.name, run.resumed, units_kept);
    leave_marks(&run).await?;
    shared_unit::create_missing(&run).await?;
    Ok(Prepared::Run(Box::new(run)))
}

/// A unit that several streams have begun stays shared, though one stream resumes it: its table is committed, and its
/// ranges and reject files are those of its splits. A careful load by one stream has made it whole again.
fn keep_shared(plan: &mut Plan, units_kept: &BTreeMap<UnitKey, UnitRow>) -> Result<(), Error> {
    for FlowPlan { reading, units, .. } in &mut plan.flows {
        for unit in units.iter_mut().filter(|unit| !unit.shared) {
            if let Some(kept) = units_kept.get(&unit.key)
                && kept.shared
                && !kept.careful
            {
                unit.share(&*reading.source)?;
            }
        }
    }
    Ok(())
}

/// The rejects of each flow, beginning with those of the splits that are kept.
fn reject_counts(
    plan: &Plan,
    folder: &RunFolder,
    entered: &Entered,
) -> Result<Vec<RejectCount>, Error> {
    let (units, splits) = (&entered.units_kept, &entered.splits_kept);
    let mut counts = Vec::new();
    for flow in &plan.flows {
        let mut kept = RowTally {
            kept_bytes: unit_reject_files::kept_bytes(&folder.rejects(), flow, units, splits)?,
            ..RowTally::default()
        };
        for unit in &flow.units {
            kept.add(RowTally::from(splits.account(&unit.key)));
        }
        counts.push(RejectCount::new(flow, flow.splits(), kept));
    }
    Ok(counts)
}

/// The splits that are left of each unit that several streams fill, by the numbers of flow and unit.
fn shared_work(plan: &Plan, entered: &Entered) -> BTreeMap<UnitPlace, Sharing> {
    let mut sharing = BTreeMap::new();
    for (flow_index, flow) in plan.flows.iter().enumerate() {
        for (unit_index, unit) in flow
            .units
            .iter()
            .enumerate()
            .filter(|(_, unit)| unit.shared)
        {
            let left = unit
                .splits
                .iter()
                .filter(|split| {
                    let key = identity::split_key(split);
                    !entered.splits_kept.has(&unit.key, &key)
                })
                .count();
            let kept = RowTally::from(entered.splits_kept.account(&unit.key));
            sharing.insert((flow_index, unit_index), Sharing::new(left, kept));
        }
    }
    sharing
}

/// Keeps the package in the run's folder, so that rejects can be loaded by it.
fn save_package(
    package: &Package,
    run: &PreparedRun,
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let flows = run.plan.flows.iter();
    let saved = to_save(
        package,
        flows.map(|flow| (&flow.reading, flow.target())),
        &options.folder,
    );
    run.folder.write_package(&saved)?;
    Ok(())
}

/// Marks the targets whose rows are committed split by split before the first of them; those of others commit with the
/// switch.
async fn leave_marks(run: &PreparedRun) -> Result<(), Error> {
    let flows = run.plan.flows.iter();
    let marks: Vec<Mark> = flows
        .filter(|flow| flow.commits_each_split())
        .filter_map(|flow| flow.mark(&run.fence.name, flow.facts.as_ref()?.oid))
        .collect();
    if marks.is_empty() {
        return Ok(());
    }
    let doing = "marking the targets";
    let transaction = Transaction::begin(&run.control, doing).await?;
    mark::leave(&run.control, &run.plan.run_key, &marks).await?;
    Ok(transaction.commit(doing).await?)
}

/// Units whose rejects are not in the run's folder any more are loaded anew, so that each of them
/// is told again; what went straight into a target cannot be, and is told of.
async fn forget_lost_rejects(
    control: &Session,
    ledger: &Ledger,
    plan: &Plan,
    folder: &RunFolder,
    entered: &mut Entered,
) -> Result<Vec<String>, Error> {
    let run = &entered.record;
    let mut lost = Vec::new();
    let mut notes = Vec::new();
    for flow in &plan.flows {
        for unit in &flow.units {
            let Some(kept) = entered.units_kept.get(&unit.key) else {
                continue;
            };
            let splits = entered.splits_kept.of_unit(&unit.key);
            let missing = unit_reject_files::missing(&folder.rejects(), flow, unit, kept, splits)?;
            if missing == 0 {
                continue;
            }
            notes.push(format!(
                "{} that run {} had rejected before it stopped {} not in {} (the folder was \
                 removed, or the command runs in another folder): {}",
                counted(missing, "row"),
                run.name,
                if missing == 1 { "is" } else { "are" },
                folder.rejects().display(),
                match kept.straight {
                    true => format!(
                        "the others of {} stay in {} (atomic = false), so what these were is \
                         told in the folder of then alone",
                        unit.splits.first().map_or_else(
                            || "their file".to_owned(),
                            |split| split.input.name().display().to_string()
                        ),
                        flow.target()
                    ),
                    false => format!(
                        "unit {} of {} is loaded again, to keep its rejects again",
                        unit.number,
                        flow.target()
                    ),
                }
            ));
            if !kept.straight {
                lost.push(kept.clone());
            }
        }
    }
    let patience_ms = plan.settings.lock_timeout_ms;
    drop_units(control, ledger, run.run_id, &lost, patience_ms).await?;
    for unit in &lost {
        entered.units_kept.remove(&unit.unit_key);
        entered.splits_kept.remove(&unit.unit_key);
    }
    Ok(notes)
}

/// Keeps what comes through pipes, so that rows which a server refuses can be told and all others
/// loaded once more.
fn keep_pipes(plan: &Plan, folder: &RunFolder) -> Result<(), Error> {
    for flow in plan.flows.iter().filter(|flow| flow.keeps_pipes()) {
        for split in flow.splits() {
            let kept = split.input.keep_in(folder.path());
            kept.map_err(|source| Error::Folder {
                path: folder.path().display().to_string(),
                source,
            })?;
        }
    }
    Ok(())
}

/// The files that streams take from feeds, with the ranges of them that are committed already.
fn fed_files(plan: &Plan, kept: &KeptSplits) -> FedFiles {
    let chunk_bytes = plan.settings.chunk_bytes as usize;
    FedFiles::of(&plan.flows, chunk_bytes, plan.streams, |_, unit, split| {
        let file_key = identity::file_key(&*split.input);
        let of_unit = kept.of_unit(&unit.key).iter();
        let of_file = of_unit.filter(|split| split.is_of_file(&file_key));
        of_file
            .filter_map(|split| Some(split.byte_start..split.byte_end?))
            .collect()
    })
}

/// The rows that the earlier run loaded, by flow.
async fn loaded_accounts(control: &Session, plan: &Plan) -> Result<Vec<Account>, Error> {
    let Earlier::Loaded(run) = &plan.earlier else {
        return Ok(Vec::new());
    };
    let ledger = Ledger::new(&plan.settings.ledger_schema);
    let units = ledger.units(control, run.run_id).await?;
    let loaded = ledger.accounts(control, run.run_id).await?;
    // By target and not by unit: what the plan would make of the files today may differ.
    let accounts = plan.flows.iter().map(|flow| {
        let mut account = Account::default();
        for unit in units.iter().filter(|unit| unit.target == flow.target()) {
            account.add(&loaded.of_unit(&unit.unit_key));
        }
        account
    });
    Ok(accounts.collect())
}
