//! Opens the destination, plans, and enters the run into its ledger.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::{Address, Destination, NewRun, OpenRun, RunState, TargetPlan, UnitRecord};
use inrush_files::Pipes;
use inrush_package::Package;
use inrush_rows::calendar::now_microseconds;
use inrush_rows::plural::counted;

use crate::contract::OpenDestination;
use crate::contract::plan::{self, ContractEarlier, ContractFlow, ContractPlan, split_of};
use crate::error::Error;
use crate::event::{Event, Observer, TargetSize};
use crate::ledger::Account;
use crate::pipeline::metering::FlowCount;
use crate::pipeline::naming::{holder, new_run_name};
use crate::pipeline::reject_count::{RejectCount, RowTally};
use crate::pipeline::{RunOptions, plan_options, reject_files, splitting};
use crate::plan::ContentChecks;
use crate::reject_replay;
use crate::report::{RunFolder, reject_file_name};

/// What came of preparing.
pub enum ContractPrepared {
    /// The ledger says that these very files are loaded.
    AlreadyLoaded(Box<ContractPlan>),
    /// There is something to do.
    Run(Box<ContractRun>),
}

/// A run that is planned and holds its lock.
pub struct ContractRun {
    /// The plan.
    pub plan: ContractPlan,
    /// The run as the destination has it.
    pub open: Box<dyn OpenRun>,
    /// Its folder.
    pub folder: RunFolder,
    /// It goes on where an earlier attempt stopped.
    pub resumed: bool,
    /// Units that are kept from it.
    pub kept: KeptUnits,
    /// Rejects of each flow so far.
    pub rejects: Vec<RejectCount>,
    /// What went into each flow so far.
    pub flow_counts: Vec<FlowCount>,
}

/// Opens the destination that a package names.
pub fn reach(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Box<dyn Destination>, Error> {
    let connection = package.single_connection()?;
    let destination = open(&Address {
        url: connection.address(),
        options: &connection.options,
        folder: &options.folder,
        site_packages: options.site_packages.as_deref(),
        ledger_schema: &package.run.ledger_schema,
    })?;
    Ok(destination)
}

/// Plans a package.
pub async fn plan(
    destination: &dyn Destination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<ContractPlan, Error> {
    let pipes = Pipes::new(options.stop.clone());
    let contents = ContentChecks::default();
    let plan_options = plan_options(options, &pipes, &contents, false);
    Ok(plan::build(destination, package, &plan_options).await?)
}

/// Plans the package and enters the run into the ledger, or finds that nothing is left to do.
pub async fn prepare(
    destination: &dyn Destination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<ContractPrepared, Error> {
    let name = new_run_name(&package.name);
    let mut plan = tokio::select! {
        biased;
        plan = plan(destination, package, options) => plan?,
        _ = options.stop.wait() => return Err(Error::Interrupted),
    };
    if matches!(plan.earlier, ContractEarlier::Loaded(_)) {
        return Ok(ContractPrepared::AlreadyLoaded(Box::new(plan)));
    }
    tell_plan(&plan, options);
    if let Some(run) = &options.replays {
        refuse_unswitched(destination, run)?;
    }
    let BegunRun {
        mut open,
        resumed,
        mut wanted,
    } = begin(destination, &mut plan, name)?;
    let folder = RunFolder::open(&options.runs_folder, &open.record().name)?;
    for (key, note) in lost_rejects(&plan, open.kept(), &folder)? {
        wanted.remove(&key);
        options.observer.notice(&Event::Note { text: note.clone() });
        plan.notes.push(note);
    }
    let kept = keep(open.as_mut(), wanted)?;
    let rejects = kept_rejects(&plan, &folder, &kept)?;
    let flows = plan.flows.iter().zip(&package.flows);
    let flows = flows.map(|(flow, package)| (&flow.reading, package.table.clone()));
    folder.write_package(&reject_replay::to_save(package, flows, &options.folder))?;
    let mut run = ContractRun {
        plan,
        open,
        folder,
        resumed,
        kept,
        rejects,
        flow_counts: package.flows.iter().map(|_| FlowCount::default()).collect(),
    };
    tell_start(&run, options);
    place(&mut run, options)?;
    Ok(ContractPrepared::Run(Box::new(run)))
}

/// Units that are kept of an earlier attempt, by their keys, with their rows.
pub type KeptUnits = BTreeMap<String, Account>;

/// A run that the ledger knows and that holds its lock.
struct BegunRun {
    open: Box<dyn OpenRun>,
    /// It goes on where an earlier attempt stopped.
    resumed: bool,
    /// Keys of units of that attempt that the plan has a use for.
    wanted: BTreeSet<String>,
}

/// Enters the run into the ledger. Units of an earlier attempt go from the plan to the run that is begun.
fn begin(
    destination: &dyn Destination,
    plan: &mut ContractPlan,
    name: String,
) -> Result<BegunRun, Error> {
    let (takes_over, wanted) = match &mut plan.earlier {
        ContractEarlier::Stopped { run, kept } => {
            // The destination has them; they are not to be in memory as long as the run is.
            run.units = Vec::new();
            (Some(run.record.run_id), std::mem::take(kept))
        }
        _ => (None, BTreeSet::new()),
    };
    let before = switched(destination, &plan.run_key)?;
    let targets: Vec<TargetPlan> = plan.flows.iter().map(|flow| flow.target.clone()).collect();
    let open = destination.begin(
        &NewRun {
            run_key: plan.run_key.clone(),
            name,
            package: plan.package.clone(),
            package_hash: plan.package_hash.clone(),
            holder: holder(),
            started_at_microseconds: now_microseconds(),
            takes_over,
        },
        &targets,
    )?;
    // Another process may have run the package between the plan and the lock.
    if switched(destination, &plan.run_key)? != before {
        return Err(Error::from(inrush_destination::Error::Held {
            what: "another run of this package ended while this run was planned".to_owned(),
            hint: "run the same command again: it plans from the current state".to_owned(),
        }));
    }
    Ok(BegunRun {
        open,
        resumed: takes_over.is_some(),
        wanted,
    })
}

/// Keeps the units that are wanted, and drops the others from the destination.
fn keep(open: &mut dyn OpenRun, mut wanted: BTreeSet<String>) -> Result<KeptUnits, Error> {
    let unwanted: Vec<String> = open
        .kept()
        .iter()
        .map(|unit| unit.key.clone())
        .filter(|key| !wanted.contains(key))
        .collect();
    if !unwanted.is_empty() {
        let gone = open.forget(&unwanted)?;
        wanted.retain(|key| !gone.contains(key));
    }
    let kept = open
        .kept()
        .iter()
        .filter(|unit| wanted.contains(&unit.key))
        .filter_map(|unit| Some((unit.key.clone(), split_of(&unit.detail)?.account)));
    Ok(kept.collect())
}

/// The rejects of each flow so far: those of units that are kept. The files of others are removed.
fn kept_rejects(
    plan: &ContractPlan,
    folder: &RunFolder,
    kept: &KeptUnits,
) -> Result<Vec<RejectCount>, Error> {
    let names: Vec<String> = plan
        .flows
        .iter()
        .flat_map(|flow| names(flow, kept))
        .collect();
    reject_files::remove_all_but(&folder.rejects(), &names)?;
    let mut rejects = Vec::new();
    for flow in &plan.flows {
        let mut tally = RowTally {
            kept_bytes: reject_files::bytes(&folder.rejects(), &self::names(flow, kept))?,
            ..RowTally::default()
        };
        for account in flow.units.iter().filter_map(|unit| kept.get(&unit.key)) {
            tally.add(RowTally::from(*account));
        }
        rejects.push(RejectCount::new(&flow.reading, flow.splits(), tally));
    }
    Ok(rejects)
}

fn tell_start(run: &ContractRun, options: &RunOptions<'_>) {
    let started = Event::Started {
        run: run.open.record().name.clone(),
        resumed: run.resumed,
        units_kept: run.kept.len(),
        folder: run.folder.path().display().to_string(),
    };
    run.folder.notice(&started);
    options.observer.notice(&started);
}

/// The numbers of the runs of a package that are switched.
fn switched(destination: &dyn Destination, run_key: &str) -> Result<Vec<i64>, Error> {
    let runs = destination.runs(Some(run_key))?.into_iter();
    let switched = runs.filter(|run| run.record.state == RunState::Switched);
    Ok(switched.map(|run| run.record.run_id).collect())
}

/// Rejects of a run that published nothing are no leftovers: its command loads all of it.
fn refuse_unswitched(destination: &dyn Destination, name: &str) -> Result<(), Error> {
    let runs = destination.runs(None)?;
    let is_switched = |run: &inrush_destination::PastRun| {
        run.record.name == name && run.record.state == RunState::Switched
    };
    match runs.iter().find(|run| is_switched(run)) {
        None => Err(Error::NotSwitched {
            run: name.to_owned(),
            state: None,
        }),
        Some(run) => match run.gone.first() {
            None => Ok(()),
            Some(target) => Err(Error::Replaced {
                run: name.to_owned(),
                target: target.clone(),
                by: None,
            }),
        },
    }
}

/// Units whose rejects are not in the run's folder any more, each with what is told of it: they are
/// loaded anew, so that each of them is told again.
fn lost_rejects(
    plan: &ContractPlan,
    kept: &[UnitRecord],
    folder: &RunFolder,
) -> Result<Vec<(String, String)>, Error> {
    let mut lost = Vec::new();
    let kept: BTreeMap<&str, &UnitRecord> =
        kept.iter().map(|unit| (unit.key.as_str(), unit)).collect();
    for flow in &plan.flows {
        for unit in &flow.units {
            let known = kept.get(unit.key.as_str());
            let Some(split) = known.and_then(|known| split_of(&known.detail)) else {
                continue;
            };
            let rejected = split.account.rows_rejected;
            let name = reject_file_name(&reject_files::of_key(&flow.reading.name, &unit.key));
            let found = match rejected {
                0 => 0,
                _ => reject_files::count(&folder.rejects(), &[name])?,
            };
            if found >= rejected {
                continue;
            }
            let missing = rejected - found;
            lost.push((
                unit.key.clone(),
                format!(
                    "{} that the stopped run had rejected {} not in {} (the folder was removed, or \
                     the command runs in another folder): unit {} of {} is loaded again, to keep \
                     its rejects again",
                    counted(missing, "row"),
                    if missing == 1 { "is" } else { "are" },
                    folder.rejects().display(),
                    unit.number,
                    flow.reading.target
                ),
            ));
        }
    }
    Ok(lost)
}

/// The names of the files of a flow's rejects, of units that are kept.
fn names(flow: &ContractFlow, kept: &KeptUnits) -> Vec<String> {
    let units = flow
        .units
        .iter()
        .filter(|unit| kept.contains_key(&unit.key));
    let name = |key: &str| reject_file_name(&reject_files::of_key(&flow.reading.name, key));
    units.map(|unit| name(&unit.key)).collect()
}

/// Finds where the first records of file ranges begin that cannot be read without it.
fn place(run: &mut ContractRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let threads = run.plan.streams;
    for flow in &mut run.plan.flows {
        let ContractFlow { reading, units, .. } = flow;
        if !inrush_files::needs_place(&reading.dialect) {
            continue;
        }
        let mut splits: Vec<_> = units.iter().map(|unit| unit.split.clone()).collect();
        for own in splitting::files(&splits) {
            let is_kept = |at: usize| run.kept.contains_key(&units[at].key);
            if own.len() == 1
                || splits[own.start].file.table().is_some()
                || own.clone().all(is_kept)
            {
                continue;
            }
            let splitting = Event::Splitting {
                flow: reading.name.clone(),
                file: splits[own.start].file.path.display().to_string(),
                bytes: splits[own.start].file.size_bytes,
            };
            run.folder.notice(&splitting);
            options.observer.notice(&splitting);
            splitting::place(&mut splits[own], &reading.dialect, threads, &options.stop)?;
        }
        for (unit, split) in units.iter_mut().zip(splits) {
            unit.split = split;
        }
    }
    Ok(())
}

fn tell_plan(plan: &ContractPlan, options: &RunOptions<'_>) {
    let size = |flow: &ContractFlow| TargetSize {
        flow: flow.reading.name.clone(),
        target: flow.reading.target.clone(),
        stored_bytes: flow.splits().map(|split| split.size_bytes()).sum(),
        has_pipe: flow.splits().any(|split| split.file.is_pipe()),
        units: flow.units.len(),
    };
    options.observer.notice(&Event::Planned {
        package: plan.package.clone(),
        destination: plan.destination.clone(),
        streams: plan.streams,
        targets: plan.flows.iter().map(size).collect(),
    });
    for note in &plan.notes {
        options.observer.notice(&Event::Note { text: note.clone() });
    }
}
