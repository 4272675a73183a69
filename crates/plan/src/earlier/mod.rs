//! Finds the earlier run of a package that matters for its plan, for any destination.

pub mod changed;
pub mod contents;
pub mod coverage;
pub mod file_index;
pub mod kept_units;
pub mod loaded;
pub mod package_runs;
pub mod run_folder;

use std::ops::Deref;

use inrush_destination::{PastRun, RunRecord};
use inrush_package::Mode;

use crate::earlier::contents::{Contents, LoadedInput};
use crate::earlier::loaded::{Loaded, LoadedFiles, WantedFiles};
use crate::earlier::package_runs::PackageRuns;
use crate::error::PlanError;
use crate::identity::file_key;
use crate::load_flow::LoadFlow;
use crate::options::PlanOptions;
use crate::reading::since;

/// The earlier run of a package that matters for a plan. `W` is what the plan keeps of its work.
#[derive(Clone, Debug)]
pub enum Earlier<W> {
    /// There is none.
    None,
    /// It has loaded all inputs of the plan.
    Loaded(Box<RunRecord>),
    /// It has not been published. It has stopped, or is in progress; without the lock, a plan cannot tell which.
    Unpublished {
        /// The run.
        run: Box<RunRecord>,
        /// The part of its work that the plan keeps.
        work: W,
    },
}

impl<W> Earlier<W> {
    /// True if all inputs of the plan are loaded already.
    pub fn is_loaded(&self) -> bool {
        matches!(self, Earlier::Loaded(_))
    }

    /// The work that the plan keeps of an unpublished run.
    pub fn work(&self) -> Option<&W> {
        match self {
            Earlier::Unpublished { work, .. } => Some(work),
            Earlier::None | Earlier::Loaded(_) => None,
        }
    }

    /// The same run, with `see(work)` in place of its work.
    pub fn map<V>(&self, see: impl FnOnce(&W) -> V) -> Earlier<V> {
        match self {
            Earlier::None => Earlier::None,
            Earlier::Loaded(run) => Earlier::Loaded(run.clone()),
            Earlier::Unpublished { run, work } => Earlier::Unpublished {
                run: run.clone(),
                work: see(work),
            },
        }
    }
}

/// How much of a run's work is kept.
#[derive(Clone, Copy, Debug)]
pub struct KeptCount {
    /// The number of units that are kept, at least in part.
    pub units: usize,
    /// The number of units among them that are kept in part.
    pub in_part: usize,
    /// The number of units of the run that the plan cannot use, because their files or settings changed.
    pub dropped: usize,
}

/// The earlier run that matters, and the flows that are loaded already.
pub struct EarlierFound {
    /// The earlier run.
    pub run: Earlier<()>,
    /// The indices, in ascending order, of the flows that are loaded already and were removed from the plan. Empty if all
    /// flows are loaded.
    pub left_out: Vec<usize>,
    /// Notes for a plan that has nothing left to do: about rows that the targets have already.
    pub loaded_notes: Vec<String>,
}

impl EarlierFound {
    /// This run alone.
    pub fn of(run: Earlier<()>) -> EarlierFound {
        EarlierFound {
            run,
            left_out: Vec::new(),
            loaded_notes: Vec::new(),
        }
    }
}

/// Finds the earlier run that matters. Adds notes about targets that lost the rows of the plan's files. If some flows are
/// loaded already and others are not, the loaded ones are removed, with a note. Fails if some of the files of flows that
/// append are loaded already, and others are not.
pub fn find<F, E>(
    runs: &PackageRuns<'_>,
    package_hash: &str,
    flows: &mut Vec<F>,
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<EarlierFound, E>
where
    F: Deref<Target = LoadFlow>,
    E: From<PlanError> + From<inrush_destination::Error>,
{
    if let Some(run) = of_marks(runs, flows)? {
        return Ok(EarlierFound::of(Earlier::Loaded(Box::new(run))));
    }
    let wanted: Vec<WantedFiles<'_>> = flows
        .iter()
        .map(|flow| wanted(flow, package_hash))
        .collect();
    let found = look::<E>(runs, &wanted, options, notes)?;
    let left_out = match found {
        Found::Loaded { run, notes } => {
            return Ok(EarlierFound {
                loaded_notes: notes,
                ..EarlierFound::of(Earlier::Loaded(Box::new(run.record.clone())))
            });
        }
        Found::NotLoaded { left_out } => left_out,
    };
    drop(wanted);
    leave_out(flows, &left_out);
    // The flows that are left may all have nothing new.
    let run = match (of_marks(runs, flows)?, runs.latest_unpublished()?) {
        (Some(run), _) => Earlier::Loaded(Box::new(run)),
        // `again` asks for a second load of rows that were switched in. An unpublished run has switched nothing, so its
        // units can be kept.
        (None, Some(unpublished)) => Earlier::Unpublished {
            run: Box::new(unpublished.record.clone()),
            work: (),
        },
        (None, None) => Earlier::None,
    };
    Ok(EarlierFound {
        left_out,
        ..EarlierFound::of(run)
    })
}

/// The run that has set the flows' marks, if no flow has new rows.
fn of_marks<F: Deref<Target = LoadFlow>>(
    runs: &PackageRuns<'_>,
    flows: &[F],
) -> inrush_destination::Result<Option<RunRecord>> {
    let Some(name) = since::run_if_all(flows) else {
        return Ok(None);
    };
    Ok(runs.with_name(name)?.map(|run| run.record.clone()))
}

/// The files of a flow, to be looked up among the files that were switched in.
fn wanted<'a>(flow: &'a LoadFlow, package_hash: &'a str) -> WantedFiles<'a> {
    let reading = &flow.reading;
    WantedFiles {
        target: reading.target.clone(),
        source: &*reading.source,
        package_hash,
        replaces: flow.mode == Mode::Replace,
        merges: flow.mode == Mode::Upsert,
        files: flow.files(),
        // A target that was emptied since has no rows of the run.
        holds: Box::new(|switched| {
            let has_rows = flow.has_rows;
            has_rows.is_some_and(|has_rows| switched.rows_loaded == 0 || has_rows)
        }),
    }
}

/// What switched runs have loaded of the plan's files.
enum Found<'r> {
    /// All of them.
    Loaded {
        /// The newest of the runs.
        run: &'r PastRun,
        /// Notes about the rows that it has loaded.
        notes: Vec<String>,
    },
    /// Not all of them. The flows whose files are all loaded are left out.
    NotLoaded { left_out: Vec<usize> },
}

impl<'r> Found<'r> {
    /// This run has loaded all of them.
    fn loaded(run: &'r PastRun) -> Found<'r> {
        Found::Loaded {
            run,
            notes: Vec::new(),
        }
    }
}

fn look<'r, E>(
    runs: &'r PackageRuns<'_>,
    wanted: &[WantedFiles<'_>],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<Found<'r>, E>
where
    E: From<PlanError> + From<inrush_destination::Error>,
{
    let nothing = Found::NotLoaded {
        left_out: Vec::new(),
    };
    let latest = runs.latest_if_switched()?;
    if options.is_replay {
        // The corrected rejects were loaded or rejected again by that run, so it still counts.
        return Ok(match latest {
            Some(run) if !options.again => Found::loaded(run),
            _ => nothing,
        });
    }
    if options.again {
        return Ok(match latest {
            Some(run)
                if options.is_repeated(&run.record.name) && has_loaded(runs, run, wanted)? =>
            {
                Found::loaded(run)
            }
            _ => nothing,
        });
    }
    let mut files = LoadedFiles::new(wanted);
    runs.see_switched(&mut files)?;
    // If the command was killed after the switch, its tables count as loaded. They may have changed since, so their state and
    // rows are not compared.
    if wanted.iter().any(WantedFiles::has_snapshot)
        && let Some(run) = latest
        && options.was_killed(&run.record.name)
        && has_loaded(runs, run, wanted)?
    {
        return Ok(Found::loaded(run));
    }
    compare_tables::<E>(runs, &mut files, wanted, options)?;
    let lost_rows = files.lost_rows();
    let of_other_packages = files.of_other_packages();
    match files.found()? {
        Loaded::All(run_id) => Ok(match runs.with_id(run_id)? {
            Some(run) => Found::Loaded {
                run,
                notes: of_other_packages,
            },
            None => nothing,
        }),
        Loaded::Flows(left_out) => {
            notes.extend(lost_rows);
            leave_out_notes(notes, left_out.iter().map(|flow| &wanted[*flow]));
            Ok(Found::NotLoaded { left_out })
        }
    }
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

/// Reads tables that may have changed since they were loaded, and compares their rows with the loaded rows.
fn compare_tables<E>(
    runs: &PackageRuns<'_>,
    files: &mut LoadedFiles<'_>,
    wanted: &[WantedFiles<'_>],
    options: &PlanOptions<'_>,
) -> Result<(), E>
where
    E: From<PlanError> + From<inrush_destination::Error>,
{
    let tables = files.tables_to_compare();
    let mut loaded = Vec::with_capacity(tables.len());
    for table in &tables {
        let flow = &wanted[table.flow];
        let input = &**flow.files[table.file];
        loaded.push(LoadedInput {
            input,
            state: input.state(),
            source: flow.source,
            splits: runs.splits_of(table.run_id, &file_key(input))?,
        });
    }
    let looked = options.contents.look_at_all(&loaded, options.streams);
    for (table, contents) in tables.iter().zip(looked.map_err(PlanError::from)?) {
        files.settle_table(table, contents != Contents::Changed);
    }
    Ok(())
}

/// True if a run that was killed before its report has loaded the rows that the same command asks for now. Tables may have
/// changed since then.
fn has_loaded(
    runs: &PackageRuns<'_>,
    run: &PastRun,
    wanted: &[WantedFiles<'_>],
) -> inrush_destination::Result<bool> {
    let mut files = LoadedFiles::of_killed(wanted);
    runs.see_switched_by(run, &mut files)?;
    Ok(matches!(files.found(), Ok(Loaded::All(_))))
}
