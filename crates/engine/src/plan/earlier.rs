//! Finds the earlier run of a package that matters for its plan, for any destination.

use inrush_rows::ids::{FileKey, RunId, RunName};

use super::contents::Contents;
use super::error::PlanError;
use super::identity::file_key;
use super::loaded::{Loaded, LoadedFiles, WantedFiles};
use super::options::PlanOptions;
use crate::ledger::SplitRecord;

/// The runs of a package in the ledger of its destination.
pub trait PackageRuns {
    /// A run in the ledger.
    type Run;
    /// An error of the ledger.
    type Error: From<PlanError>;

    /// The latest run, if its rows are in their targets.
    fn latest_if_switched(
        &mut self,
    ) -> impl Future<Output = Result<Option<Self::Run>, Self::Error>>;

    /// Passes each file that a run has switched in, the newest run first.
    fn see_switched(
        &mut self,
        files: &mut LoadedFiles<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// Passes each file that this run has switched in. It is the result of `latest_if_switched`.
    fn see_switched_by(
        &mut self,
        run: &Self::Run,
        files: &mut LoadedFiles<'_>,
    ) -> impl Future<Output = Result<(), Self::Error>>;

    /// The name of a run.
    fn name<'r>(&self, run: &'r Self::Run) -> &'r RunName;

    /// The run with this number.
    fn with_id(
        &mut self,
        run_id: RunId,
    ) -> impl Future<Output = Result<Option<Self::Run>, Self::Error>>;

    /// The splits of a file that a run has switched in.
    fn splits_of(
        &mut self,
        run_id: RunId,
        file: &FileKey,
    ) -> impl Future<Output = Result<Vec<SplitRecord>, Self::Error>>;

    /// The latest run that stopped before its rows were in their targets.
    fn latest_stopped(&mut self) -> impl Future<Output = Result<Option<Self::Run>, Self::Error>>;
}

/// The earlier work that matters.
pub struct EarlierWork<R> {
    /// The earlier run.
    pub run: EarlierRun<R>,
    /// The flows, by their indices in ascending order, that are loaded already and left out of this run. None if all are
    /// loaded.
    pub left_out: Vec<usize>,
}

/// The earlier run that matters.
pub enum EarlierRun<R> {
    /// No earlier run matters.
    None,
    /// It has loaded all files of the plan.
    Loaded(R),
    /// It stopped before its switch, so its units may be kept.
    Stopped(R),
}

/// Finds the earlier run that matters. `wanted` are the files of each flow. Adds notes about targets that lost the rows of
/// these files, and about flows that are left out. Fails if some of the files of flows that append are loaded already, and
/// others are not.
pub async fn find<'a, L: PackageRuns>(
    runs: &mut L,
    wanted: impl Iterator<Item = WantedFiles<'a>>,
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<EarlierWork<L::Run>, L::Error> {
    let loaded = |run| {
        Ok(EarlierWork {
            run: EarlierRun::Loaded(run),
            left_out: Vec::new(),
        })
    };
    let mut left_out = Vec::new();
    if options.is_replay
        && !options.again
        && let Some(run) = runs.latest_if_switched().await?
    {
        // The corrected rejects were loaded or rejected again by that run, so it still counts.
        return loaded(run);
    }
    if options.again
        && let Some(run) = runs.latest_if_switched().await?
        && options.is_repeated(runs.name(&run))
    {
        let wanted: Vec<WantedFiles<'_>> = wanted.collect();
        if has_loaded(runs, &run, &wanted).await? {
            return loaded(run);
        }
    } else if !options.again && !options.is_replay {
        let wanted: Vec<WantedFiles<'_>> = wanted.collect();
        let mut files = LoadedFiles::new(&wanted);
        runs.see_switched(&mut files).await?;
        // A table that was written to since has another state than the killed command saw, so its rows are compared.
        if wanted.iter().any(WantedFiles::has_snapshot)
            && let Some(run) = runs.latest_if_switched().await?
            && options.was_killed(runs.name(&run))
            && has_loaded(runs, &run, &wanted).await?
        {
            return loaded(run);
        }
        compare_tables(runs, &mut files, &wanted, options).await?;
        let lost_rows = files.lost_rows();
        let of_other_packages = files.of_other_packages();
        match files.found()? {
            Loaded::All(run_id) => {
                if let Some(run) = runs.with_id(run_id).await? {
                    notes.extend(of_other_packages);
                    return loaded(run);
                }
            }
            Loaded::Flows(flows) => {
                notes.extend(lost_rows);
                leave_out_notes(notes, flows.iter().map(|flow| &wanted[*flow]));
                left_out = flows;
            }
        }
    }
    // `again` asks for a second load of rows that were switched in. A stopped run has switched nothing, so its units can be
    // kept.
    let stopped = runs.latest_stopped().await?;
    Ok(EarlierWork {
        run: stopped.map_or(EarlierRun::None, EarlierRun::Stopped),
        left_out,
    })
}

/// Replaces the notes about the target of each flow that is loaded already: they describe a load, so one note says
/// instead that the flow is left out.
fn leave_out_notes<'a, 'b: 'a>(
    notes: &mut Vec<String>,
    left_out: impl Iterator<Item = &'a WantedFiles<'b>>,
) {
    for flow in left_out {
        notes.retain(|note| !note.starts_with(&flow.target));
        let note = format!(
            "{} already has the current rows of its flow from an earlier run: only the other flows are loaded",
            flow.target
        );
        notes.insert(0, note);
    }
}

/// Removes flows from a plan, by their indices in ascending order.
pub fn leave_out<F>(flows: &mut Vec<F>, left_out: &[usize]) {
    let mut index = 0;
    flows.retain(|_| {
        index += 1;
        left_out.binary_search(&(index - 1)).is_err()
    });
}

/// Reads the tables again that may have changed since they were loaded, and compares their rows with those that were loaded.
async fn compare_tables<L: PackageRuns>(
    runs: &mut L,
    files: &mut LoadedFiles<'_>,
    wanted: &[WantedFiles<'_>],
    options: &PlanOptions<'_>,
) -> Result<(), L::Error> {
    for table in files.tables_to_compare() {
        let flow = &wanted[table.flow];
        let input = flow.files[table.file];
        let splits = runs.splits_of(table.run_id, &file_key(&**input)).await?;
        let splits: Vec<&SplitRecord> = splits.iter().collect();
        let state = input.state();
        let looked = options
            .contents
            .look((&**input, &state), flow.source, &splits);
        let looked = looked.await.map_err(PlanError::from)?;
        files.settle_table(&table, looked != Contents::Changed);
    }
    Ok(())
}

/// True if a run that was killed before its report has loaded the rows for which the same command asks now. Tables may
/// have changed since.
async fn has_loaded<L: PackageRuns>(
    runs: &mut L,
    run: &L::Run,
    wanted: &[WantedFiles<'_>],
) -> Result<bool, L::Error> {
    let mut files = LoadedFiles::of_killed(wanted);
    runs.see_switched_by(run, &mut files).await?;
    Ok(matches!(files.found(), Ok(Loaded::All(_))))
}
