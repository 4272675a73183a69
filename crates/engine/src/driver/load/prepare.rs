//! Opens the destination, plans, and enters the run into its ledger.

use inrush_destination::{Address, Destination, NewRun, OpenRun, PastRun, RunState, TargetPlan};
use inrush_package::{Connection, Package};
use inrush_rows::calendar::now_microseconds;
use inrush_rows::ids::{RunName, UnitKey};

use super::members;
use crate::driver::OpenDestination;
use crate::driver::plan::{self, ContractEarlier, ContractPlan};
use crate::error::Error;
use crate::pipeline::RunOptions;
use crate::pipeline::naming::{holder, new_run_name};
use crate::report::RunFolder;
use crate::run::announcements;
use crate::run::prepared::{self, PreparedRun};
use crate::run::steps::{AlreadyLoaded, Preparation};
use crate::shares::SentPlan;
use inrush_plan::ledger::each_record;
use inrush_plan::package_runs::PackageRuns;
use inrush_plan::{ContentChecks, UnitAccounts, UnitIndex, UnitPlace};

/// The most plans that are made if other runs of the package end meanwhile.
const TRIES: u32 = 3;

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
    let plan_options = options.plan_options(&package.run, &*sources, &contents, false);
    Ok(plan::build(destination, package, &plan_options).await?)
}

/// Plans the package and enters the run into the ledger, or finds that nothing is left to do.
pub async fn prepare(
    destination: &dyn Destination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Preparation, Error> {
    let mut tries = 0;
    let (plan, begun) = loop {
        let planning = plan(destination, package, options);
        let mut plan = options.unless_stopped(planning).await?;
        if let ContractEarlier::Loaded { run, accounts } = &mut plan.earlier {
            return Ok(Preparation::AlreadyLoaded(Box::new(AlreadyLoaded {
                run: run.name.clone(),
                accounts: std::mem::take(accounts),
                plan: plan.to_load_plan(),
            })));
        }
        if let Some(run) = &options.replays {
            refuse_unswitched(destination, run)?;
        }
        tries += 1;
        match begin(destination, &mut plan, new_run_name(&package.name))? {
            Some(begun) => break (plan, begun),
            None if tries < TRIES => {}
            None => {
                return Err(Error::from(inrush_destination::Error::Held {
                    what: format!(
                        "this run was planned {TRIES} times, and each time another run of this package ended meanwhile"
                    ),
                    hint: "run the same command again: it plans from the current state".to_owned(),
                }));
            }
        }
    };
    let BegunRun {
        open,
        resumed,
        wanted,
    } = begun;
    let plan = plan.to_load_plan();
    announcements::planned(&plan, options);
    let folder = RunFolder::open(&options.runs_folder, &open.record().name)?;
    let mut run = PreparedRun::new(plan, open, resumed, folder);
    if resumed {
        keep(destination, &mut run, &wanted)?;
    }
    members::serve(&run.plan.flows, run.open.as_ref());
    Ok(Preparation::Run(Box::new(run)))
}

/// Plans the package of a sent plan, and joins its run if both plans are the same. All units that the ledger has are
/// kept.
pub async fn join(
    destination: &dyn Destination,
    package: &Package,
    options: &RunOptions<'_>,
    sent: &SentPlan,
    folder: RunFolder,
) -> Result<PreparedRun, Error> {
    let planning = plan(destination, package, options);
    let planned = options.unless_stopped(planning).await?;
    let targets = targets(&planned);
    let mut plan = planned.to_load_plan();
    drop(planned);
    sent.settle(&mut plan, package)?;
    let open = destination.join(&sent.run, &targets, &holder())?;
    announcements::planned(&plan, options);
    let mut run = PreparedRun::new(plan, open, true, folder);
    sort_out(destination, &mut run, |_| true)?;
    Ok(run)
}

/// The targets of a plan.
pub fn targets(plan: &ContractPlan) -> Vec<TargetPlan> {
    plan.flows.iter().map(|flow| flow.target.clone()).collect()
}

/// A run that the ledger knows and that holds its lock.
struct BegunRun {
    open: Box<dyn OpenRun>,
    /// It resumes an earlier attempt.
    resumed: bool,
    /// Units of that attempt that the plan can keep.
    wanted: UnitAccounts,
}

/// Enters the run into the ledger. The units of an earlier attempt move from the plan to the new run. `None` if another
/// process has run the package since the plan was begun: then the plan is outdated, and the new run is discarded.
fn begin(
    destination: &dyn Destination,
    plan: &mut ContractPlan,
    name: RunName,
) -> Result<Option<BegunRun>, Error> {
    let (takes_over, wanted) = match &mut plan.earlier {
        ContractEarlier::Stopped { run, kept, .. } => (Some(run.run_id), std::mem::take(kept)),
        _ => (None, UnitAccounts::default()),
    };
    let targets = targets(plan);
    let open = destination.begin(
        &NewRun {
            run_key: plan.run_key.clone(),
            name,
            package: plan.package.clone(),
            package_hash: plan.package_hash.clone(),
            holder: holder(),
            started_at_microseconds: now_microseconds(),
            takes_over,
            lineage: plan.lineage.to_text(),
        },
        &targets,
    )?;
    let resumed = takes_over.is_some();
    let runs = PackageRuns::new(destination, &plan.run_key);
    if runs.switched()? == plan.switched_before {
        return Ok(Some(BegunRun {
            open,
            resumed,
            wanted,
        }));
    }
    let record = open.record().clone();
    drop(open);
    // The next plan finds a stopped run again.
    if !resumed {
        destination.discard(&PastRun {
            record,
            gone: Vec::new(),
        })?;
    }
    Ok(None)
}

/// Keeps the units that the plan can use, and drops the others from the destination.
fn keep(
    destination: &dyn Destination,
    run: &mut PreparedRun,
    wanted: &UnitAccounts,
) -> Result<(), Error> {
    let unwanted = sort_out(destination, run, |place| wanted.get(place).is_some())?;
    prepared::forget(run, &unwanted)
}

/// Goes through the run's records in the ledger: keeps those of wanted units, and returns the keys of the others.
fn sort_out(
    destination: &dyn Destination,
    run: &mut PreparedRun,
    is_wanted: impl Fn(UnitPlace) -> bool,
) -> Result<Vec<UnitKey>, Error> {
    let PreparedRun {
        plan, open, kept, ..
    } = run;
    let index = UnitIndex::new(&plan.flows);
    let mut unwanted = Vec::new();
    each_record(destination, open.record(), &mut |record| {
        let place = index.place_of(&record);
        match place.filter(|place| is_wanted(*place)) {
            Some(place) => {
                let unit = &plan.flows[place.0].units[place.1];
                kept.add_record(place, unit, &record);
            }
            None => unwanted.push(record.key),
        }
    })?;
    Ok(unwanted)
}

/// Refuses to replay the rejects of a run that is not switched: the run's own command still loads all of its rows.
fn refuse_unswitched(destination: &dyn Destination, name: &RunName) -> Result<(), Error> {
    let runs = destination.runs(None)?;
    let is_switched =
        |run: &PastRun| run.record.name == *name && run.record.state == RunState::Switched;
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
