//! A run that is planned and entered into its ledger, and the work that it keeps from earlier attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use inrush_convert::RunStamp;
use inrush_destination::{FedEnd, OpenRun};
use inrush_package::Package;
use inrush_plan::earlier::coverage::FileEnd;
use inrush_plan::earlier::kept_units::KeptUnits;
use inrush_plan::earlier::leave_out;
use inrush_plan::ledger::Account;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::{LedgerRecords, LoadPlan};
use inrush_plan::units::load_unit::LoadUnit;
use inrush_plan::units::part::Part;
use inrush_plan::units::places::{SplitPlace, UnitPlace};
use inrush_plan::units::work_items::{self, Committed, WorkItem};
use inrush_plan::{UnitIndex, identity};
use inrush_rows::ids::{RunName, UnitKey};
use inrush_rows::pace::Pace;
use inrush_source::{Input, Split};

use super::announcements;
use super::context::RunContext;
use crate::error::Error;
use crate::event::BegunRun;
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::fed_files::FedFiles;
use crate::pipeline::metering::FlowCount;
use crate::pipeline::reject_count::{RejectCount, RowTally};
use crate::pipeline::sharing::Sharing;
use crate::pipeline::splitting::{self, Locatable};
use crate::pipeline::{RunOptions, reject_files};
use crate::reject_replay;
use crate::report::{FilesOf, RunFolder, reject_file_name};

/// A run that is planned and holds its lock: the part that is the same for all destinations.
pub struct PreparedRun {
    /// The plan.
    pub plan: LoadPlan,
    /// The run's name.
    pub name: RunName,
    /// It resumes an earlier attempt.
    pub resumed: bool,
    /// Its folder.
    pub folder: RunFolder,
    /// Files that streams read through one feed.
    pub fed_files: FedFiles,
    /// The progress of each unit that several streams fill.
    pub sharing: BTreeMap<UnitPlace, Sharing>,
    /// Rejects of each flow so far.
    pub rejects: Vec<RejectCount>,
    /// Rows and bytes of each flow so far.
    pub flow_counts: Vec<FlowCount>,
    /// Delays all streams before they send, if there is a rate limit.
    pub pace: Arc<Pace>,
    /// The units that are kept from earlier attempts.
    pub kept: KeptUnits,
    /// Notes about the kept units, in addition to the notes of the plan.
    pub notes: Vec<String>,
    /// Units that this process has finished.
    finished: Mutex<BTreeSet<UnitPlace>>,
    /// The destination's side of the run. It is dropped last, because it has the lock: another process may begin after that.
    pub open: Box<dyn OpenRun>,
}

/// A ledger record that is kept from an earlier attempt: of a whole unit, or of a part of one.
pub struct KeptRecord {
    /// The unit.
    pub unit: UnitPlace,
    /// Its key in the ledger.
    pub key: UnitKey,
    /// Its rows were written directly to the target, so they cannot be removed.
    pub is_direct: bool,
    /// Rows of it that were rejected.
    pub rows_rejected: u64,
    /// The names of the files with these rejects.
    pub reject_files: Vec<String>,
}

impl PreparedRun {
    /// A run that keeps these units of earlier attempts.
    pub fn new(
        plan: LoadPlan,
        open: Box<dyn OpenRun>,
        resumed: bool,
        kept: KeptUnits,
        folder: RunFolder,
    ) -> PreparedRun {
        PreparedRun {
            pace: Arc::new(Pace::new(plan.settings.rate_bytes_max)),
            flow_counts: plan.flows.iter().map(|_| FlowCount::default()).collect(),
            plan,
            name: open.record().name.clone(),
            open,
            resumed,
            folder,
            fed_files: FedFiles::default(),
            sharing: BTreeMap::new(),
            rejects: Vec::new(),
            kept,
            notes: Vec::new(),
            finished: Mutex::default(),
        }
    }

    /// Ends the run. Its feeds and its log end before its lock.
    pub fn close(self) {
        let PreparedRun {
            plan,
            folder,
            fed_files,
            open,
            ..
        } = self;
        drop((fed_files, folder, plan));
        open.close();
    }

    /// Its number and start, for the columns that have them: the same in each of its attempts.
    pub fn stamp(&self) -> RunStamp {
        let record = self.open.record();
        RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        }
    }

    /// A unit and its flow.
    pub fn unit(&self, (flow, unit): UnitPlace) -> (&LoadFlow, &LoadUnit) {
        let flow = &self.plan.flows[flow];
        (flow, &flow.units[unit])
    }

    /// The key of the record that commits a part of a unit. No other record of the run has it.
    pub fn record_key(&self, unit: UnitPlace, part: Part) -> UnitKey {
        let (_, unit) = self.unit(unit);
        part.record_key(&unit.key, unit.splits.len())
    }

    /// The name of the file in the run's folder that holds the rejects of a part of a unit.
    pub fn reject_file_name(&self, place: UnitPlace, part: Part) -> String {
        let (flow, unit) = self.unit(place);
        match self.plan.ledger_records {
            LedgerRecords::Transactions => {
                reject_files::of_record(&flow.name, &self.record_key(place, part))
            }
            LedgerRecords::Units => reject_files::of_part(&flow.name, &unit.key, part),
        }
    }

    /// Called when a transaction was rolled back, or committed units were forgotten. The lookups forget the numbers of
    /// members, and ask the destination for them again.
    pub fn rolled_back(&self) {
        let flows = self.plan.flows.iter();
        for asked in flows.flat_map(|flow| &flow.asked_members) {
            asked.members.forget();
        }
    }

    /// The part of a unit that earlier attempts have committed. All of a fed file is committed only if its feed says so.
    pub fn committed(&self, place: UnitPlace) -> Committed<'_> {
        let (_, unit) = self.unit(place);
        match self.kept.get(place) {
            Some(kept) if kept.is_whole => Committed::All,
            Some(kept) if unit.is_shared => Committed::Splits(Box::new(|key| kept.has_split(key))),
            // A unit of one stream is kept completely or not at all.
            _ => Committed::Nothing,
        }
    }

    /// Called when a unit is complete, and prepared for the publish.
    pub fn note_finished(&self, place: UnitPlace) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.insert(place);
    }

    /// Units that several streams have filled and that are committed completely, but that nobody has finished.
    pub fn unfinished(&self) -> Vec<UnitPlace> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |place: &UnitPlace| !finished.contains(place) && !self.kept.is_whole(*place);
        let complete = self.sharing.iter().filter(|(_, sharing)| sharing.is_done());
        complete.map(|(place, _)| *place).filter(is_left).collect()
    }

    /// True if a split is kept completely. Of a split that is fed, ranges are kept instead.
    fn has_split(&self, (flow, unit, split): SplitPlace) -> bool {
        let (_, planned) = self.unit((flow, unit));
        let kept = self.kept.get((flow, unit));
        kept.is_some_and(|kept| kept.has_split(&identity::split_key(&planned.splits[split])))
    }

    /// The ends of a unit's files that are fed, as far as this process has read them.
    pub fn fed_ends(&self, place: UnitPlace) -> Vec<FedEnd> {
        let (_, unit) = self.unit(place);
        let fed = unit.splits.iter().filter(|split| split.is_shared);
        let end = |split: &Split| FedEnd {
            file_key: identity::file_key(&*split.input),
            text_end: self
                .fed_files
                .text_end(&self.plan.flows, place.0, &split.input),
        };
        fed.map(end).collect()
    }

    /// Where the ranges of a flow's file must end. A fed file that an earlier attempt has read to its end was checked
    /// then.
    pub fn file_end(&self, flow: usize, file: &Arc<dyn Input>, is_fed: bool) -> FileEnd {
        match is_fed {
            false => FileEnd::File,
            true => FileEnd::Fed(self.fed_files.text_end(&self.plan.flows, flow, file)),
        }
    }
}

/// The kept ledger records of a unit that have rejects; a single one if the ledger forgets units only as a whole.
pub fn kept_records(run: &PreparedRun, place: UnitPlace) -> Vec<KeptRecord> {
    let Some(kept) = run.kept.get(place) else {
        return Vec::new();
    };
    let (_, unit) = run.unit(place);
    let record = |part, account: Account| KeptRecord {
        unit: place,
        key: run.record_key(place, part),
        is_direct: kept.is_direct,
        rows_rejected: account.rows_rejected,
        reject_files: vec![reject_file_name(&run.reject_file_name(place, part))],
    };
    let parts = match kept.parts() {
        [] => vec![(Part::Whole, kept.account)],
        parts => parts.iter().map(|own| (own.part, own.account)).collect(),
    };
    let parts = parts.into_iter();
    let records = parts.map(|(part, account)| record(part, account));
    let has_rejects = |record: &KeptRecord| record.rows_rejected > 0;
    match run.plan.ledger_records {
        LedgerRecords::Transactions => records.filter(has_rejects).collect(),
        LedgerRecords::Units => {
            // The file of a transaction of several ranges has the name of the first range, whichever range the rejects are in.
            let all = records.reduce(|mut all, next| {
                all.rows_rejected += next.rows_rejected;
                all.reject_files.extend(next.reject_files);
                all
            });
            let key = unit.key.clone();
            let all = all.map(|all| KeptRecord { key, ..all });
            all.filter(has_rejects).into_iter().collect()
        }
    }
}

/// Removes records from the destination. The destination may remove other records together with them. The rows of all removed
/// records are loaded again.
pub fn forget(run: &mut PreparedRun, keys: &[UnitKey]) -> Result<(), Error> {
    if keys.is_empty() {
        return Ok(());
    }
    let gone = run.open.forget(keys)?;
    let PreparedRun { plan, kept, .. } = run;
    let index = UnitIndex::new(&plan.flows);
    for key in keys.iter().chain(&gone) {
        let Some(place) = index.find(&identity::unit_of(key)) else {
            continue;
        };
        let unit = &plan.flows[place.0].units[place.1];
        if let Some(part) = Part::of_record(key, unit.splits.len()) {
            kept.remove_part(place, unit, part);
        }
    }
    Ok(())
}

/// All units of flows, in their order.
pub fn places(flows: &[Arc<LoadFlow>]) -> impl Iterator<Item = (UnitPlace, &LoadUnit)> {
    flows.iter().enumerate().flat_map(|(flow_at, flow)| {
        let units = flow.units.iter().enumerate();
        units.map(move |(unit_at, unit)| ((flow_at, unit_at), unit))
    })
}

/// Begins a run: its counters start with the kept rows, files of uncommitted rejects are removed, the package is saved in its
/// folder, and its start is reported.
pub fn begin(
    run: &mut PreparedRun,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let plan = &run.plan;
    let chunk_bytes = plan.settings.chunk_bytes as usize;
    let finished = |(flow, unit, split): SplitPlace| run.kept.ranges((flow, unit), split);
    let fed_files = FedFiles::of(&plan.flows, chunk_bytes, plan.streams, finished);
    let sharing = sharing(run);
    let rejects = keep_rejects(run)?;
    run.fed_files = fed_files;
    run.sharing = sharing;
    run.rejects = rejects;
    let mut package = package.clone();
    leave_out(&mut package.flows, &run.plan.left_out);
    let flows = run.plan.flows.iter();
    let flows = flows.map(|flow| (&flow.reading, flow.saved_table.clone()));
    let saved = reject_replay::to_save(&package, flows, &options.folder);
    run.folder.write_package(&saved)?;
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    announcements::started(event_sink, &run.name, run.resumed, run.kept.count());
    options.observer.begun(&BegunRun {
        name: &run.name,
        lineage: &run.plan.lineage,
    });
    Ok(())
}

/// Begins to load a share of a run that another process holds: the counters start at zero, because each process counts its own
/// rows, and the reject files that a stopped process has left for these units are removed.
pub fn begin_share(
    run: &mut PreparedRun,
    work: &[WorkItem],
    options: &RunOptions<'_>,
) -> Result<(), Error> {
    let flows = &run.plan.flows;
    let names = work.iter().map(|item| {
        let flow = &flows[item.flow];
        let key = &flow.units[item.unit].key;
        reject_file_name(&reject_files::of_key(&flow.reading.name, key))
    });
    reject_files::remove_those(run.folder.rejects(), &names.collect::<Vec<_>>())?;
    let counts = flows.iter().map(|flow| {
        // The bytes of all splits: at most this much is left.
        RejectCount::new(&flow.reading, flow.splits(), RowTally::default())
    });
    run.rejects = counts.collect();
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    announcements::started(event_sink, &run.name, true, run.kept.count());
    Ok(())
}

/// The splits that are left of each shared unit.
fn sharing(run: &PreparedRun) -> BTreeMap<UnitPlace, Sharing> {
    let shared = places(&run.plan.flows).filter(|(_, unit)| unit.is_shared);
    let progress = |((flow, unit), planned): (UnitPlace, &LoadUnit)| {
        let splits = 0..planned.splits.len();
        let left = splits.filter(|split| !run.has_split((flow, unit, *split)));
        let kept = RowTally::from(run.kept.account((flow, unit)));
        ((flow, unit), Sharing::new(left.count(), kept))
    };
    shared.map(progress).collect()
}

/// The rejects of each flow, starting with those that are kept. All other reject files are removed.
fn keep_rejects(run: &mut PreparedRun) -> Result<Vec<RejectCount>, Error> {
    let names = kept_names(run);
    let all = names.concat();
    let files = FilesOf::pieces(&all);
    run.folder
        .take_rejects(|name| reject_files::is_of(name, &files))?;
    let folder = run.folder.rejects();
    let flows = &run.plan.flows;
    let mut accounts = vec![Account::default(); flows.len()];
    for (unit, _) in places(flows) {
        accounts[unit.0].add(&run.kept.account(unit));
    }
    let mut rejects = Vec::with_capacity(flows.len());
    for ((flow, names), account) in flows.iter().zip(names).zip(accounts) {
        let mut tally = RowTally {
            kept_bytes: reject_files::bytes(folder, &names)?,
            ..RowTally::default()
        };
        tally.add(RowTally::from(account));
        rejects.push(RejectCount::new(&flow.reading, flow.splits(), tally));
    }
    Ok(rejects)
}

/// The names of the kept reject files of each flow.
fn kept_names(run: &PreparedRun) -> Vec<Vec<String>> {
    let flows = &run.plan.flows;
    let mut names = vec![Vec::new(); flows.len()];
    for (unit, _) in places(flows) {
        let records = kept_records(run, unit).into_iter();
        names[unit.0].extend(records.flat_map(|record| record.reject_files));
    }
    names
}

/// Finds the first records of splits that cannot be read without them.
pub fn find_first_records(run: &PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    for (flow_at, flow) in run.plan.flows.iter().enumerate() {
        if !splitting::is_needed(&flow.reading) {
            continue;
        }
        let units = flow.units.iter().enumerate();
        let splits = units.flat_map(|(unit_at, unit)| {
            let own = unit.splits.iter().enumerate();
            own.map(move |(at, split)| ((flow_at, unit_at, at), split))
        });
        let splits = splits.map(|(place, split)| Locatable {
            split,
            is_kept: run.resumed && run.has_split(place),
        });
        let streams = run.plan.streams;
        splitting::find_first_records(event_sink, &flow.reading, splits.collect(), streams)?;
    }
    Ok(())
}

/// The work that earlier attempts have not committed: flows by their turns, and within a turn the largest first.
pub fn work_left(context: &RunContext<'_>) -> Vec<WorkItem> {
    let run = context.run;
    let plan = &run.plan;
    let streams = plan.streams;
    work_items::left(&plan.flows, streams, |unit, _| run.committed(unit))
}
