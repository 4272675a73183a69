//! Loads one share of a run that another process holds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use inrush_fault::{self as fault, FaultPoint};
use inrush_package::Package;
use inrush_plan::ledger::Account;
use inrush_plan::planner::{JoinedRun, Planner};
use inrush_plan::units::work_items::WorkItem;
use inrush_plan::{ContentChecks, UnitPlace, earlier::kept_units, identity};
use inrush_rows::ids::RunName;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::error::ShareError;
use super::files::ShareFiles;
use super::sent_plan::{PLAN_FILE, SentPlan};
use super::waiting::SHOW_LIFE_EVERY;
use crate::error::Error;
use crate::pipeline::naming::holder;
use crate::pipeline::{RunOptions, stream_threads};
use crate::report::RunFolder;
use crate::run::context::RunContext;
use crate::run::gathering::Gathering;
use crate::run::prepare::ready;
use crate::run::prepared::{PreparedRun, begin_share};
use crate::run::{announcements, streams};

/// A share that is loaded.
#[derive(Debug)]
pub struct ShareLoaded {
    /// The run.
    pub run: RunName,
    /// The share.
    pub share: usize,
    /// The units of the share.
    pub units: usize,
    /// The units among them that an earlier process had committed.
    pub units_kept: usize,
    /// The rows of the share, including those of the kept units.
    pub account: Account,
}

/// Loads a share, counted from 1, of the run with this plan. Units of the share that are committed already are kept.
pub fn load_share(
    planner: &dyn Planner,
    runtime: &Runtime,
    package: &Package,
    options: &RunOptions<'_>,
    (plan_file, share): (&Path, usize),
) -> Result<ShareLoaded, Error> {
    if !planner.can_be_joined() {
        return Err(Error::no_several_hosts());
    }
    let sent = SentPlan::read(plan_file)?;
    let items = sent.share(share)?;
    let folder_path = &folder_of(plan_file, &sent)?;
    let files = ShareFiles::open(folder_path, sent.run.epoch)?;
    let held = files.hold(share)?;
    let mut gathering = Gathering::begin();
    let _showing = ShowsLife::begin(runtime, held.path());
    let folder = RunFolder::join(folder_path, share)?;
    let mut run = join(planner, package, options, &sent, folder)?;
    fault::reach(options.fault.as_deref(), FaultPoint::RunEntered);
    let units: BTreeSet<UnitPlace> = items.iter().map(WorkItem::unit_place).collect();
    let units_kept = units.iter().filter(|unit| is_kept(&run, **unit)).count();
    let mut account = Account::default();
    for unit in &units {
        account.add(&run.kept.account(*unit));
    }
    let mut work = items.to_vec();
    work.retain(|item| !is_kept(&run, item.unit_place()));
    begin_share(&mut run, &work, options)?;
    let streams = run.plan.streams.min(work.len());
    ready(&run, streams, &mut gathering)?;
    if !work.is_empty() {
        let gauges = stream_threads::gauges(streams);
        let context = RunContext::new(&run, runtime, options);
        streams::load(&context, work, &gauges, &mut gathering)?;
        context.tell_paces(&mut gathering);
    }
    for piece in &gathering.loaded {
        account.add(&piece.account);
    }
    // If all units were kept, the process that loaded them may have written a result already, and it is more complete.
    if units_kept < units.len() || files.result(share)?.is_none() {
        files.write(share, &gathering.share(holder()))?;
    }
    Ok(ShareLoaded {
        run: sent.run.name.clone(),
        share,
        units: units.len(),
        units_kept,
        account,
    })
}

/// Plans the package here, and joins the run if both plans are the same. All units that the ledger has are kept.
fn join(
    planner: &dyn Planner,
    package: &Package,
    options: &RunOptions<'_>,
    sent: &SentPlan,
    folder: RunFolder,
) -> Result<PreparedRun, Error> {
    let sources = options.sources();
    let contents = ContentChecks::default();
    let plan_options = options.plan_options(&package.run, &*sources, &contents, false);
    let planned = planner.plan(package, &plan_options)?;
    sent.compare(&planned.load_plan(), package)?;
    let JoinedRun { mut plan, open } = planned.join(&sent.run, &holder())?;
    sent.settle(&mut plan);
    announcements::planned(&plan, options);
    let (kept, _) = kept_units::in_ledger(planner.ledger(), open.record(), &plan.flows, |_| true)?;
    Ok(PreparedRun::new(plan, open, true, kept, folder))
}

/// Gives signs of life to the process that holds the run, until it is dropped. A suspended process gives none.
struct ShowsLife(AbortHandle);

impl ShowsLife {
    fn begin(runtime: &Runtime, path: &Path) -> ShowsLife {
        let path = path.to_owned();
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        let task = runtime.spawn(async move {
            let mut ticks = tokio::time::interval(SHOW_LIFE_EVERY);
            loop {
                ticks.tick().await;
                // If it fails, the share still loads; the process that holds the run may give up.
                let _ = utimensat(CWD, &path, &times, AtFlags::empty());
            }
        });
        ShowsLife(task.abort_handle())
    }
}

impl Drop for ShowsLife {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn is_kept(run: &PreparedRun, unit: UnitPlace) -> bool {
    let (flow, index) = unit;
    let splits = run.plan.flows[flow].units[index].splits.iter();
    !run.committed(unit).leaves(splits.map(identity::split_key))
}

/// The run's folder, which has its plan. The share's rejects and its result are written there.
fn folder_of(plan_file: &Path, sent: &SentPlan) -> Result<PathBuf, ShareError> {
    let path = fs::canonicalize(plan_file).map_err(|source| ShareError::File {
        doing: "read",
        path: plan_file.to_owned(),
        source,
    })?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let is_own = folder
        .file_name()
        .is_some_and(|name| name == sent.run.name.as_str())
        && path.file_name().is_some_and(|name| name == PLAN_FILE);
    match is_own {
        true => Ok(folder.to_owned()),
        false => Err(ShareError::Moved {
            path: plan_file.to_owned(),
            run: sent.run.name.to_string(),
        }),
    }
}
