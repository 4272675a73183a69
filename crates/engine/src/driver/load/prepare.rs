//! Opens the destination, plans, and enters the run into its ledger.

use std::collections::BTreeMap;

use inrush_destination::{Address, Destination, NewRun, OpenRun, RunState, TargetPlan};
use inrush_package::{Connection, Package};
use inrush_rows::calendar::now_microseconds;
use inrush_rows::ids::{RunId, RunKey, UnitKey};
use inrush_rows::plural::counted;

use super::kept::KeptUnits;
use crate::driver::OpenDestination;
use crate::driver::plan::{
    self, ContractEarlier, ContractFlow, ContractPlan, UnitAccounts, UnitIndex, each_record,
};
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::announcements::{self, PlanFacts};
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::fed_files::FedFiles;
use crate::pipeline::metering::FlowCount;
use crate::pipeline::naming::{holder, new_run_name};
use crate::pipeline::reject_count::{RejectCount, RowTally};
use crate::pipeline::sharing::Sharing;
use crate::pipeline::{RunOptions, plan_options, reject_files, splitting};
use crate::plan::{ContentChecks, UnitPlace, identity};
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
    /// What is kept of its units.
    pub kept: KeptUnits,
    /// Files that all streams take from one feed, by their units.
    pub fed_files: FedFiles,
    /// How far each unit is that all streams take from a feed.
    pub sharing: BTreeMap<UnitPlace, Sharing>,
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
    Ok(connect(open, connection, package, options)?)
}

/// Opens the destination that a connection of the package names.
pub fn connect(
    open: OpenDestination,
    connection: &Connection,
    package: &Package,
    options: &RunOptions<'_>,
) -> inrush_destination::Result<Box<dyn Destination>> {
    open(&Address {
        url: connection.address(),
        options: &connection.options,
        folder: &options.folder,
        site_packages: options.site_packages.as_deref(),
        ledger_schema: &package.run.ledger_schema,
    })
}

/// Plans a package.
pub async fn plan(
    destination: &dyn Destination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<ContractPlan, Error> {
    let sources = options.sources();
    let contents = ContentChecks::default();
    let plan_options = plan_options(options, &*sources, &contents, false);
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
    if matches!(plan.earlier, ContractEarlier::Loaded { .. }) {
        return Ok(ContractPrepared::AlreadyLoaded(Box::new(plan)));
    }
    let facts = PlanFacts {
        package: &plan.package,
        destination: &plan.destination,
        streams: plan.streams,
        flows: &plan.flows,
        notes: &plan.notes,
    };
    announcements::planned(&facts, options);
    if let Some(run) = &options.replays {
        refuse_unswitched(destination, run)?;
    }
    let BegunRun {
        mut open,
        resumed,
        wanted,
    } = begin(destination, &mut plan, name)?;
    let folder = RunFolder::open(&options.runs_folder, &open.record().name)?;
    let mut kept = KeptUnits::none(&plan.flows);
    if resumed {
        let notes = keep(
            destination,
            open.as_mut(),
            &plan,
            &wanted,
            &folder,
            &mut kept,
        )?;
        for note in notes {
            options.observer.notice(&Event::Note { text: note.clone() });
            plan.notes.push(note);
        }
    }
    drop(wanted);
    let chunk_bytes = plan.settings.chunk_bytes as usize;
    let finished = |place, _: &_, _: &_| kept.ranges(place);
    let fed_files = FedFiles::of(&plan.flows, chunk_bytes, plan.streams, finished);
    let sharing = sharing(&plan, &kept);
    let rejects = kept_rejects(&plan, &folder, &kept)?;
    let flows = plan.flows.iter().zip(&package.flows);
    let flows = flows.map(|(flow, package)| (&flow.reading, package.table.clone()));
    folder.write_package(&reject_replay::to_save(package, flows, &options.folder))?;
    let event_sink = EventSink {
        folder: &folder,
        observer: options.observer,
    };
    let units_kept = kept.accounts().count();
    announcements::started(event_sink, &open.record().name, resumed, units_kept);
    find_first_records(&mut plan, &kept, event_sink)?;
    Ok(ContractPrepared::Run(Box::new(ContractRun {
        plan,
        open,
        folder,
        resumed,
        kept,
        fed_files,
        sharing,
        rejects,
        flow_counts: package.flows.iter().map(|_| FlowCount::default()).collect(),
    })))
}

/// A run that the ledger knows and that holds its lock.
struct BegunRun {
    open: Box<dyn OpenRun>,
    /// It goes on where an earlier attempt stopped.
    resumed: bool,
    /// Units of that attempt that the plan has a use for.
    wanted: UnitAccounts,
}

/// Enters the run into the ledger. Units of an earlier attempt go from the plan to the run that is begun.
fn begin(
    destination: &dyn Destination,
    plan: &mut ContractPlan,
    name: String,
) -> Result<BegunRun, Error> {
    let (takes_over, wanted) = match &mut plan.earlier {
        ContractEarlier::Stopped { run, kept, .. } => (Some(run.run_id), std::mem::take(kept)),
        _ => (None, UnitAccounts::default()),
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

/// Keeps the units that are wanted and whose rejects are there, and drops the others from the destination. What a user
/// should know of them comes back.
fn keep(
    destination: &dyn Destination,
    open: &mut dyn OpenRun,
    plan: &ContractPlan,
    wanted: &UnitAccounts,
    folder: &RunFolder,
    kept: &mut KeptUnits,
) -> Result<Vec<String>, Error> {
    let index = UnitIndex::new(&plan.flows);
    let mut unwanted = Vec::new();
    each_record(destination, open.record(), &mut |record| {
        let place = index.find(&record.unit_key());
        let place = place.filter(|place| wanted.get(*place).is_some());
        match place.filter(|_| !record.splits.is_empty()) {
            Some(place) => kept.add(place, record),
            None => unwanted.push(record.key),
        }
    })?;
    let mut notes = Vec::new();
    for (place, key, note) in lost_rejects(plan, kept, folder)? {
        kept.remove(place, &key);
        unwanted.push(key);
        notes.push(note);
    }
    if !unwanted.is_empty() {
        for key in open.forget(&unwanted)? {
            if let Some(place) = index.find(&identity::unit_of(&key)) {
                kept.remove(place, &key);
            }
        }
    }
    Ok(notes)
}

/// The rejects of each flow so far: those of units that are kept. The files of others are removed.
fn kept_rejects(
    plan: &ContractPlan,
    folder: &RunFolder,
    kept: &KeptUnits,
) -> Result<Vec<RejectCount>, Error> {
    let flows = 0..plan.flows.len();
    let names: Vec<Vec<String>> = flows.map(|flow| names(plan, flow, kept)).collect();
    reject_files::remove_all_but(&folder.rejects(), &names.concat())?;
    let mut rejects = Vec::new();
    for (index, flow) in plan.flows.iter().enumerate() {
        let mut tally = RowTally {
            kept_bytes: reject_files::bytes(&folder.rejects(), &names[index])?,
            ..RowTally::default()
        };
        tally.add(RowTally::from(kept.accounts().total(index)));
        rejects.push(RejectCount::new(&flow.reading, flow.splits(), tally));
    }
    Ok(rejects)
}

/// The units that are fed. Only the feed of a unit tells that all of it is committed.
fn sharing(plan: &ContractPlan, kept: &KeptUnits) -> BTreeMap<UnitPlace, Sharing> {
    let mut sharing = BTreeMap::new();
    for (flow_at, flow) in plan.flows.iter().enumerate() {
        for (unit_at, _) in flow
            .units
            .iter()
            .enumerate()
            .filter(|(_, unit)| unit.split.is_shared)
        {
            let place = (flow_at, unit_at);
            let committed = kept.accounts().get(place).unwrap_or_default();
            sharing.insert(place, Sharing::new(1, RowTally::from(committed)));
        }
    }
    sharing
}

/// Finds where the first records of file ranges begin that cannot be read without it.
fn find_first_records(
    plan: &mut ContractPlan,
    kept: &KeptUnits,
    event_sink: EventSink<'_>,
) -> Result<(), Error> {
    for (flow_at, flow) in plan.flows.iter_mut().enumerate() {
        let ContractFlow { reading, units, .. } = flow;
        let splits = units.iter_mut().map(|unit| &mut unit.split);
        let is_kept = |at| kept.has((flow_at, at));
        let threads = plan.streams;
        splitting::find_first_records(event_sink, reading, splits, is_kept, threads)?;
    }
    Ok(())
}

/// The numbers of the runs of a package that are switched.
fn switched(destination: &dyn Destination, run_key: &RunKey) -> Result<Vec<RunId>, Error> {
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

/// Records whose rejects are not in the run's folder any more, by the place of the unit and the key, each with what is told
/// of it: their rows are loaded anew, so that each reject is told again.
fn lost_rejects(
    plan: &ContractPlan,
    kept: &KeptUnits,
    folder: &RunFolder,
) -> Result<Vec<(UnitPlace, UnitKey, String)>, Error> {
    let mut lost = Vec::new();
    for (flow_index, flow) in plan.flows.iter().enumerate() {
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let place = (flow_index, unit_index);
            for (key, account) in kept.records(place, unit) {
                let rejected = account.rows_rejected;
                if rejected == 0 {
                    continue;
                }
                let name = reject_file_name(&reject_files::of_record(&flow.reading.name, key));
                let found = reject_files::count(&folder.rejects(), &[name])?;
                if found >= rejected {
                    continue;
                }
                let missing = rejected - found;
                let note = format!(
                    "{} that the stopped run had rejected {} not in {}, which was removed since, or the command \
                     is given in another folder: {}unit {} of {} is loaded again, to keep them again",
                    counted(missing, "row"),
                    if missing == 1 { "is" } else { "are" },
                    folder.rejects().display(),
                    if unit.split.is_shared {
                        "a part of "
                    } else {
                        ""
                    },
                    unit.number,
                    flow.reading.target
                );
                lost.push((place, key.clone(), note));
            }
        }
    }
    Ok(lost)
}

/// The names of the files of a flow's rejects, of what is kept.
fn names(plan: &ContractPlan, flow_index: usize, kept: &KeptUnits) -> Vec<String> {
    let flow = &plan.flows[flow_index];
    let mut names = Vec::new();
    for (unit_index, unit) in flow.units.iter().enumerate() {
        let records = kept.records((flow_index, unit_index), unit);
        let with_rejects = records.filter(|(_, account)| account.rows_rejected > 0);
        names.extend(
            with_rejects.map(|(key, _)| {
                reject_file_name(&reject_files::of_record(&flow.reading.name, key))
            }),
        );
    }
    names
}
